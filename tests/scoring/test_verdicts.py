"""The decision procedure: interval and test agree, equality is earned, and power is that of the rule."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark.scoring.statistics import (
    EQUIVALENCE_LEVEL,
    SHOWN_LEVEL,
    difference_intervals,
    observations,
    randomisation_p,
    standard_errors,
)
from searchmark.scoring.verdicts import (
    PairedEvidence,
    VerdictRule,
    cases_needed,
    decide_difference,
    detectable_difference,
    is_within_noise,
    ties_for_equality,
)
from tests.support.simulation import EFFECTS, NULLS, Population, at_the_line

TRIALS = 400
# Two standard errors of 400 trials around 5 %.
TOLERANCE = 0.05 + 0.022

CLEAR = PairedEvidence(
    cases=50, mean=0.05, low=0.01, high=0.09, equal_low=0.02, equal_high=0.08, p=0.01, observations=50, effective_size=50
)


def verdicts(population: Population, cases: int, min_effect: float) -> np.ndarray:
    first, second = population.sample(cases, TRIALS, seed=cases)
    found = observations(second - first, population.clusters(cases))
    columns = (
        found.means,
        *difference_intervals(found, SHOWN_LEVEL),
        *difference_intervals(found, EQUIVALENCE_LEVEL),
        randomisation_p(found.sums),
    )
    evidence = [
        PairedEvidence(cases, *each, observations=len(found), effective_size=found.effective_size, wins=1)
        for each in zip(*columns, strict=True)
    ]
    return np.array([decide_difference(each, each.p, min_effect).verdict for each in evidence])


@pytest.mark.parametrize("cases", [10, 50, 200])
@pytest.mark.parametrize("population", NULLS, ids=lambda each: each.name)
def test_no_true_difference_is_seldom_called_one(population: Population, cases: int) -> None:
    if not observations(np.zeros((cases, 1)), population.clusters(cases)).enough:
        pytest.skip("cases worth fewer than ten independent ones get no verdict")
    assert np.isin(verdicts(population, cases, 1e-6), ("IMPROVED", "REGRESSED")).mean() <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("cases", [50, 300, 500])
@pytest.mark.parametrize("population", at_the_line(0.01), ids=lambda each: each.name)
def test_a_difference_that_counts_is_seldom_called_noise(population: Population, cases: int) -> None:
    assert (verdicts(population, cases, 0.01) == "WITHIN NOISE").mean() <= TOLERANCE


@pytest.mark.slow
def test_no_sign_is_mistaken_for_the_other() -> None:
    for population in EFFECTS:
        wrong = "REGRESSED" if population.difference > 0 else "IMPROVED"
        assert (verdicts(population, 50, 1e-6) == wrong).mean() <= TOLERANCE


class TestRule:
    def test_interval_and_test_must_agree(self) -> None:
        assert decide_difference(CLEAR, 0.01, 0.01).verdict == "IMPROVED"
        assert decide_difference(CLEAR, 0.06, 0.01, family=6).reason == "not significant after Holm correction for 6 comparisons"
        wide = PairedEvidence(50, 0.05, -0.01, 0.11, -0.0, 0.1, 0.01, 0.02, 50, 50, wins=9)
        assert decide_difference(wide, 0.01, 0.01).reason == "the test speaks for a difference, the interval contains 0"

    def test_all_ties_prove_equality_by_the_share_that_would_have_shown(self) -> None:
        """0.99 to the power of 299 is the first below 0.05."""
        assert [ties_for_equality(effect) for effect in (0.01, 0.02, 0.05, 1.0)] == [299, 149, 59, 1]

    def test_small_noise_proves_no_more_than_ties_would(self) -> None:
        evidence = PairedEvidence(100, 0.0, -0.001, 0.001, -0.001, 0.001, 1.0, 0.0005, 100, 100)
        assert not is_within_noise(evidence, 0.01)
        assert is_within_noise(evidence, 0.05)


def observed(mean: float, error: float, cases: int = 100) -> PairedEvidence:
    return PairedEvidence(cases=cases, mean=mean, error=error, observations=cases)


class TestPower:
    def test_by_hand(self) -> None:
        """Student's t with 99 degrees and the normal quantile of 0.8: (1.9842 + 0.8416) * 0.02; interval and test take 4 % more."""
        assert detectable_difference(0.02, 100, VerdictRule(0.01)) == pytest.approx(0.05652, abs=1e-5)
        assert cases_needed(observed(0.0565, 0.02), VerdictRule(0.01)) == pytest.approx(104, abs=1)

    def test_the_smallest_effect_that_counts_is_never_shown_with_80_percent(self) -> None:
        assert cases_needed(observed(0.01, 0.02), VerdictRule(0.01)) is None
        assert detectable_difference(0.0001, 10_000, VerdictRule(0.01)) > 0.01

    def test_an_effect_little_above_it_takes_many_cases(self) -> None:
        """The mean must not fall below 0.01: 0.8416 standard errors must fit into 0.002."""
        needed = cases_needed(observed(-0.012, 0.02), VerdictRule(0.01))
        assert needed == pytest.approx((0.8416 * 0.2 / 0.002) ** 2, rel=0.001)

    def test_not_even_gains_in_all_cases_are_significant_with_too_few(self) -> None:
        assert cases_needed(observed(0.04, 0.0002), VerdictRule(0.01, 28)) == 12  # 2 to the power of -11 is below 0.05 / 28

    def test_room_for_losses_that_were_never_seen_takes_more_cases_and_has_one_answer(self) -> None:
        evidence = PairedEvidence(cases=5000, mean=0.0528, error=0.1 / 5000**0.5, observations=5000, unseen=1.0)
        needed = [cases_needed(evidence, VerdictRule(0.01, family)) for family in (1, 10, 28)]
        assert needed == sorted(needed)

    def test_a_family_takes_more(self) -> None:
        alone, among = (cases_needed(observed(0.05, 0.02), VerdictRule(0.01, family)) for family in (1, 28))
        assert among > 1.5 * alone

    @pytest.mark.slow
    @pytest.mark.parametrize("population", [EFFECTS[0], EFFECTS[5], EFFECTS[7]], ids=lambda each: each.name)
    def test_the_cases_that_are_said_to_be_needed_give_the_power_that_is_promised(self, population: Population) -> None:
        first, second = population.sample(50_000, 1, seed=1)
        found = observations(second - first, None)
        needed = cases_needed(observed(population.difference, float(standard_errors(found)[0]), len(found)), VerdictRule(0.01))
        assert needed is not None
        power = (verdicts(population, needed, 0.01) == "IMPROVED").mean()
        assert 0.75 - 0.035 <= power <= 0.85 + 0.03
