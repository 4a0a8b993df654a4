"""Relative gains: an interval that doubts the baseline too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from searchmark.scoring.decisions import gain_of


def test_by_fiellers_formula_on_dense_scores() -> None:
    random = np.random.default_rng(1)
    before = random.beta(4, 4, 400)
    after = np.clip(before + 0.1 + 0.1 * random.standard_normal(400), 0, 1)
    gain = gain_of(before, after, None, 1.0)
    line = lambda g: stats.ttest_1samp(after - (1 + g) * before, 0).statistic  # noqa: E731  # a formula
    assert gain.mean == pytest.approx(after.mean() / before.mean() - 1)
    assert line(gain.low) == pytest.approx(1.96, abs=0.06)
    assert line(gain.high) == pytest.approx(-1.96, abs=0.06)


@pytest.mark.slow
def test_covers_where_an_exact_baseline_would_not() -> None:
    """With the baseline's mean taken as known, 78 to 89 % would be covered."""
    random, covered = np.random.default_rng(2), []
    true = 1.2 * float(np.minimum(np.random.default_rng(3).beta(2, 2, 400_000), 1 / 1.2).mean()) * 0.6 / 0.3 - 1
    for _ in range(60):
        hard = random.random(50) < 0.4
        before = np.where(hard, 0.0, random.beta(2, 2, 50))
        after = np.where(random.random(50) < 0.4, 0.0, 1.2 * np.minimum(random.beta(2, 2, 50), 1 / 1.2))
        gain = gain_of(before, after, None, 1.0)
        covered.append(gain.low <= true <= gain.high)
    assert np.mean(covered) >= 0.88


def test_a_baseline_that_could_be_nothing_has_no_upper_end() -> None:
    before, after = np.array([0.2] + [0.0] * 19), np.full(20, 0.5)
    assert gain_of(before, after, None, 1.0).high == float("inf")


@pytest.mark.slow
def test_nothing_that_is_never_negative_loses_more_than_all_of_it() -> None:
    before, after = np.array([1.0, 1.0, 0.5] + [0.0] * 17), np.array([0.1, 0.0, 0.0] + [0.0] * 17)
    gain, unbounded = gain_of(before, after, None, 1.0), gain_of(before, after, None, 1.0, -1.0)
    assert unbounded.low < -1
    assert gain == replace(unbounded, low=-1.0)


def test_a_baseline_of_nothing_is_measured_absolutely() -> None:
    gain = gain_of(np.zeros(20), np.full(20, 0.5) + np.arange(20) / 100, None, 1.0)
    assert gain.absolute
    assert 0.3 < gain.low < gain.mean < gain.high < 0.9


def test_too_few_independent_cases_have_no_interval() -> None:
    gain = gain_of(np.full(20, 0.5), np.full(20, 0.6), [f"o{n % 5}" for n in range(20)], 1.0)
    assert (gain.mean, gain.low, gain.high) == (pytest.approx(0.2), None, None)


def test_equal_runs_prove_no_more_than_their_ties_do() -> None:
    """Twenty ties: a share of 17 % that changes could have been missed, which is a third of a mean of 0.5."""
    values = np.random.default_rng(5).beta(4, 4, 20)
    gain = gain_of(values, values, None, 1.0)
    share = 1 - 0.025 ** (1 / 20)
    assert gain.high == pytest.approx(share / values.mean(), rel=0.001)
    assert gain.low == pytest.approx(-share / values.mean(), rel=0.001)
