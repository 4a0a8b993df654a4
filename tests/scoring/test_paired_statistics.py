"""A test that fires as often as it says, and numbers that agree with scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from searchmark.scoring.statistics import holm, randomisation_p
from tests.support.simulation import NULLS, Population

TRIALS = 600


@pytest.mark.slow
@pytest.mark.parametrize("cases", [20, 50, 200])
@pytest.mark.parametrize(
    "population", [each for each in NULLS if each.cluster == 1 and each.name != "lopsided"], ids=lambda each: each.name
)
def test_the_test_fires_no_more_often_than_it_should_under_the_null(population: Population, cases: int) -> None:
    first, second = population.sample(cases, TRIALS, seed=cases + 1)
    p = randomisation_p(second - first)
    assert np.mean(p < 0.05) <= 0.08
    assert np.mean(p < 0.05) >= 0.02 or not population.dense


@pytest.mark.slow
def test_holm_keeps_the_family_wise_error() -> None:
    """Ten true nulls at once: at least one false alarm in at most about 5 % of the families."""
    first, second = NULLS[0].sample(50, TRIALS * 10, seed=7)
    p = randomisation_p(second - first).reshape(TRIALS, 10)
    false_alarms = np.mean([min(holm(family.tolist())) < 0.05 for family in p])
    assert false_alarms <= 0.08


@pytest.mark.parametrize("seed", range(5))
def test_small_samples_are_exact_and_agree_with_scipy(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.3, 1, 9)
    expected = stats.permutation_test(
        (values, np.zeros(9)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_p(values[:, None])[0] == pytest.approx(expected.pvalue)


def test_changes_of_one_size_get_the_mid_p_of_the_sign_test() -> None:
    """Whatever the size is: P@1 and Success@1 cannot be told apart by their values."""
    values = np.array([1.0] * 9 + [-1.0] * 2 + [0.0] * 20)
    expected = 2 * (stats.binom.sf(9, 11, 0.5) + stats.binom.pmf(9, 11, 0.5) / 2)
    assert randomisation_p(np.column_stack([values, values / 5])) == pytest.approx([expected, expected])


def test_changes_of_different_size_get_no_mid_p() -> None:
    assert randomisation_p(np.array([[0.5], [0.5], [0.5], [0.6]]))[0] == pytest.approx(0.125)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shift", [0.0, 0.4, 0.8])
def test_many_changes_have_nearly_the_exact_p(monkeypatch, shift: float, seed: int) -> None:
    """Down to p of 0.0001 within a few percent: Holm over hundreds of comparisons depends on small ones."""
    values = np.random.default_rng(seed).normal(shift, 1, (20, 1))
    equal = np.sign(values)
    exact = randomisation_p(np.hstack([values, equal]))
    monkeypatch.setattr("searchmark.scoring.statistics.EXACT_UP_TO", 3)
    assert randomisation_p(np.hstack([values, equal])) == pytest.approx(exact, rel=0.06, abs=1e-5)


def test_gains_alone_have_the_p_of_their_one_sign_pattern() -> None:
    assert randomisation_p(np.arange(1.0, 31.0)[:, None])[0] == pytest.approx(2.0**-29)
    assert randomisation_p(np.ones((30, 1)))[0] == pytest.approx(2.0**-30)


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


def test_a_difference_beyond_all_samples_is_told_apart_from_others() -> None:
    """With 10,000 samples p could not fall below 1e-4, and Holm over 528 pairs could find nothing."""
    assert randomisation_p(np.full((60, 1), 0.5))[0] < 1e-10
