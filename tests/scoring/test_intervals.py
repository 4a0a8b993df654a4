"""Intervals that cover: small sizes of the simulation in benchmarks/verdicts.py, and edges by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from searchmark.scoring.statistics import (
    EQUIVALENCE_LEVEL,
    SHOWN_LEVEL,
    Observations,
    beta_quantile,
    difference_intervals,
    mean_intervals,
    observations,
    proportion_limits,
    t_quantile,
)
from tests.support.simulation import EFFECTS, NULLS, Population

TRIALS = 600
UNIT = [(0.0, 1.0)]
# 600 trials leave two standard errors of 2 % around 93 % of coverage.
LOWEST = 0.91


def single(values: np.ndarray) -> Observations:
    return observations(values[:, None], None)


@pytest.mark.parametrize("degrees", [9, 19, 49, 199])
def test_t_quantiles_agree_with_scipy(degrees: int) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-4)


@given(st.floats(0.25, 5000), st.floats(0.25, 5000), st.sampled_from([0.025, 0.05, 0.95, 0.975]))
def test_beta_quantiles_agree_with_scipy(a: float, b: float, share: float) -> None:
    ours = beta_quantile(share, np.array([a]), np.array([b]))[0]
    assert ours == pytest.approx(stats.beta.ppf(share, a, b), abs=3e-4 * stats.beta.std(a, b))


@given(st.integers(1, 200), st.data())
def test_limits_of_a_proportion_are_exact_for_equality(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = proportion_limits(np.array([successes / trials]), np.array([float(trials)]), EQUIVALENCE_LEVEL)
    expected = stats.binomtest(successes, trials).proportion_ci(0.90, method="exact")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-4)


@pytest.mark.parametrize("trials", [10, 25, 50, 100, 500])
def test_every_proportion_is_covered_at_least_93_percent_of_the_time(trials: int) -> None:
    low, high = proportion_limits(np.arange(trials + 1) / trials, np.full(trials + 1, float(trials)), SHOWN_LEVEL)
    share = np.linspace(0.0005, 0.9995, 2000)
    chance = stats.binom.pmf(np.arange(trials + 1)[:, None], trials, share)
    covered = (chance * ((low[:, None] <= share) & (share <= high[:, None]))).sum(axis=0)
    assert covered.min() >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("cases", [10, 30, 200])
@pytest.mark.parametrize("population", [*NULLS, *EFFECTS], ids=lambda each: f"{each.name} {each.difference:.3f}")
def test_intervals_of_differences_cover(population: Population, cases: int) -> None:
    first, second = population.sample(cases, TRIALS, seed=cases)
    found = observations(second - first, population.clusters(cases))
    if not found.enough:
        pytest.skip("cases worth fewer than ten independent ones get no interval")
    low, high = difference_intervals(found, SHOWN_LEVEL)
    covered = np.mean((low <= population.difference) & (population.difference <= high))
    assert covered >= LOWEST
    assert covered <= 0.985 or not population.dense or cases < 30


@pytest.mark.parametrize("cases", [10, 30, 200])
@pytest.mark.parametrize(
    ("name", "true"), [("beta", 0.5), ("skewed", 0.25), ("nine of ten perfect", 0.95), ("four of five zero", 0.1)]
)
def test_intervals_of_scores_cover(name: str, true: float, cases: int) -> None:
    random = np.random.default_rng(cases)
    shape = (cases, TRIALS)
    values = {
        "beta": lambda: random.beta(2, 2, shape),
        "skewed": lambda: random.beta(0.5, 1.5, shape),
        "nine of ten perfect": lambda: np.where(random.random(shape) < 0.9, 1.0, random.random(shape)),
        "four of five zero": lambda: np.where(random.random(shape) < 0.8, 0.0, random.random(shape)),
    }[name]()
    low, high = np.transpose(mean_intervals(values, None, UNIT * TRIALS))
    assert np.mean((low <= true) & (true <= high)) >= LOWEST


def test_binary_values_are_seen_from_the_values() -> None:
    values = np.array([1.0] * 13 + [0.0] * 7)
    (interval,) = mean_intervals(values[:, None], None, UNIT)
    low, high = proportion_limits(np.array([0.65]), np.array([20.0]), SHOWN_LEVEL)
    assert interval == pytest.approx((low[0], high[0]))


@pytest.mark.parametrize("value", [0.0, 0.63, 1.0])
def test_ten_equal_values_leave_doubt(value: float) -> None:
    ((low, high),) = mean_intervals(np.full((10, 1), value), None, UNIT)
    assert high - low > 0.2
    assert 0 <= low <= value <= high <= 1


def test_dense_scores_get_nearly_the_t_interval() -> None:
    values = np.random.default_rng(1).beta(4, 4, 80)
    ((low, high),) = mean_intervals(values[:, None], None, UNIT)
    t = stats.t.interval(0.95, 79, values.mean(), stats.sem(values))
    assert (low, high) == pytest.approx(t, abs=0.003)


def test_an_open_range_has_no_interval() -> None:
    values = np.array([[0.0], [5.0]] * 10)
    assert mean_intervals(values, None, [(0.0, math.inf)]) == [None]
    assert mean_intervals(values, None, [(0.0, 5.0)]) != [None]


def test_the_same_cases_in_another_order_give_the_same_digits() -> None:
    random = np.random.default_rng(3)
    values, names = random.random((50, 2)), [f"c{n % 20}" for n in range(50)]
    order = random.permutation(50)
    assert mean_intervals(values[order], None, UNIT * 2) == mean_intervals(values, None, UNIT * 2)
    assert mean_intervals(values[order], [names[i] for i in order], UNIT * 2) == mean_intervals(values, names, UNIT * 2)


def test_cases_of_one_origin_are_one_observation() -> None:
    """Ten copies of each of 20 values carry no more evidence than the 20 values."""
    values = np.random.default_rng(4).random((20, 1))
    names = [f"origin {n:02}" for n in range(20)]
    (once,) = mean_intervals(values, names, UNIT)
    (copied,) = mean_intervals(np.repeat(values, 10, axis=0), np.repeat(names, 10).tolist(), UNIT)
    (apart,) = mean_intervals(np.repeat(values, 10, axis=0), None, UNIT)
    assert copied == pytest.approx(once)
    assert apart[1] - apart[0] < 0.5 * (copied[1] - copied[0])


def test_origins_of_unequal_size_are_worth_fewer_observations() -> None:
    assert observations(np.zeros((3, 1)), ["a", "b", "c"]).effective_size == 3
    found = observations(np.zeros((110, 1)), ["a"] * 91 + [f"s{n}" for n in range(19)])
    assert (len(found), found.effective_size) == (20, pytest.approx(110**2 / (91**2 + 19)))


def test_one_large_origin_beside_small_ones_is_worth_no_interval() -> None:
    values, names = np.random.default_rng(6).random((60, 1)), ["large"] * 40 + [f"o{n}" for n in range(20)]
    assert mean_intervals(values, names, UNIT) == [None]


def test_gains_without_any_loss_leave_room_for_the_losses_that_were_not_seen() -> None:
    """Eight gains of 0.1 and two of 0.2: a loss in a tenth of the cases would have been missed every third time."""
    low, high = difference_intervals(single(np.array([0.1] * 8 + [0.2] * 2)), SHOWN_LEVEL)
    assert low[0] < 0.0 < high[0]
