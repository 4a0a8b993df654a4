"""Intervals that cover, a test that fires as often as it says, and numbers that agree with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from searchmark.analysis.intervals import effective_size
from searchmark.analysis.paired_statistics import (
    cases_needed,
    detectable_difference,
    difference_intervals,
    expanded_tail,
    holm,
    newcombe,
    randomisation_p,
    rank_biased_overlap,
    t_quantile,
)
from tests.support.simulation import KINDS, Kind, simulated

TRIALS = 600


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("cases", [20, 50, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_true_difference(kind: Kind, cases: int, shift: float) -> None:
    """Small size of the simulation in benchmarks/comparison.py; 600 trials leave ±2 % of chance around 92 to 97 %."""
    first, second, true = simulated(kind, cases, TRIALS, shift, seed=cases)
    if kind == "binary":
        low, high = np.transpose([newcombe(a, b, cases) for a, b in zip(first, second, strict=True)])
    else:
        low, high, _ = difference_intervals((second - first).T, np.ones(cases), resamples=1000)
    assert 0.90 <= np.mean((low <= true) & (true <= high)) <= 0.985


@pytest.mark.parametrize("cases", [20, 50, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_the_test_fires_as_often_as_it_should_under_the_null(kind: Kind, cases: int) -> None:
    first, second, _ = simulated(kind, cases, TRIALS, 0.0, seed=cases + 1)
    p = randomisation_p((second - first).T, mid=kind == "binary", resamples=1000)
    assert 0.02 <= np.mean(p < 0.05) <= 0.08


def test_holm_keeps_the_family_wise_error() -> None:
    """Ten true nulls at once: at least one false alarm in at most about 5 % of the families."""
    first, second, _ = simulated("beta", 50, TRIALS * 10, 0.0, seed=7)
    p = randomisation_p((second - first).T, resamples=1000).reshape(TRIALS, 10)
    false_alarms = np.mean([min(holm(family.tolist())) < 0.05 for family in p])
    assert false_alarms <= 0.08


@pytest.mark.parametrize("degrees", [9, 19, 49, 199])
def test_t_quantiles_agree_with_scipy(degrees: int) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-4)


def test_the_expanded_tail_shrinks_to_the_plain_one() -> None:
    assert expanded_tail(10) < expanded_tail(50) < expanded_tail(5000) == pytest.approx(0.025, abs=1e-4)
    assert expanded_tail(2) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_small_samples_are_exact_and_agree_with_scipy(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.3, 1, 9)
    expected = stats.permutation_test(
        (values, np.zeros(9)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_p(values[:, None])[0] == pytest.approx(expected.pvalue)


def test_mid_p_of_binary_values_is_that_of_the_sign_test() -> None:
    values = np.array([1.0] * 9 + [-1.0] * 2 + [0.0] * 20)
    point = stats.binom.pmf(9, 11, 0.5)
    assert randomisation_p(values[:, None], mid=True)[0] == pytest.approx(2 * (stats.binom.sf(9, 11, 0.5) + point / 2))
    assert randomisation_p(values[:, None])[0] == pytest.approx(stats.binomtest(9, 11).pvalue)


def test_sampled_p_is_near_the_exact_one(monkeypatch) -> None:
    values = np.random.default_rng(3).normal(0.4, 1, (18, 1))
    exact = randomisation_p(values)[0]
    monkeypatch.setattr("searchmark.analysis.paired_statistics.EXACT_UP_TO", 3)
    assert randomisation_p(values)[0] == pytest.approx(exact, abs=0.01)


def test_no_difference_has_p_one() -> None:
    assert randomisation_p(np.zeros((30, 2))).tolist() == [1.0, 1.0]


def test_holm_by_hand() -> None:
    """Sorted: 0.01 * 3, 0.02 * 2, 0.04 * 1; none may be below the one before it."""
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_and_keeps_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(a >= v for a, v in zip(adjusted, values, strict=True))
    assert [adjusted[i] for i in np.argsort(values, kind="stable")] == sorted(adjusted)


def test_newcombe_by_the_published_example() -> None:
    """Newcombe (1998), table II, example (a): 36 both, 12 only first, 2 only second, 0 neither; method 10 gives .0569 to .3404."""
    first = np.array([1.0] * 36 + [1.0] * 12 + [0.0] * 2)
    second = np.array([1.0] * 36 + [0.0] * 12 + [1.0] * 2)
    low, high = newcombe(second, first, 50)
    assert (low, high) == pytest.approx((0.0569, 0.3404), abs=0.0015)


def test_power_by_hand() -> None:
    """Student's t with 99 degrees: (1.9842 + 0.8453) * 0.02 = 0.0566; the way back needs 100 cases."""
    assert detectable_difference(0.02, 100) == pytest.approx(0.05659, abs=1e-5)
    assert cases_needed(0.02, 100, 0.0566) == 100


def test_a_difference_beyond_all_samples_is_told_apart_from_others() -> None:
    """With 10,000 samples p could not fall below 1e-4, and Holm over 528 pairs could find nothing."""
    assert randomisation_p(np.full((60, 1), 0.5))[0] < 1e-10
    assert randomisation_p(np.full((12, 1), 1e-10))[0] == randomisation_p(np.ones((12, 1)))[0]


def test_cases_of_unequal_origins_are_worth_fewer_observations() -> None:
    assert effective_size(["a", "b", "c"]) == 3
    assert effective_size(["a"] * 91 + [f"s{n}" for n in range(19)]) == pytest.approx(110**2 / (91**2 + 19))


class TestOverlap:
    def test_equal_lists_overlap_fully_and_disjoint_ones_not_at_all(self) -> None:
        assert rank_biased_overlap("abc", "abc", 10) == pytest.approx(1.0)
        assert rank_biased_overlap("abc", "xyz", 10) == 0.0
        assert rank_biased_overlap("", "", 10) == 1.0

    def test_a_list_that_goes_on_as_the_other_begins_is_extrapolated(self) -> None:
        assert rank_biased_overlap(["a"], ["a", "b"], 10) == pytest.approx(1.0)

    def test_by_hand(self) -> None:
        """Agreement 0 at rank 1 and 1 at rank 2: 0.1 * 0.9 * 1 + 1 * 0.81."""
        assert rank_biased_overlap("ab", "ba", 10) == pytest.approx(0.9)

    @given(st.permutations("abcdef"), st.permutations("abcdef"))
    def test_is_symmetric_and_between_zero_and_one(self, first: list[str], second: list[str]) -> None:
        overlap = rank_biased_overlap(first, second, 6)
        assert overlap == rank_biased_overlap(second, first, 6)
        assert 0 <= overlap <= 1 + 1e-12
