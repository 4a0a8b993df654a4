"""No worse by a margin among many: the same interval as the gate's, corrected for all candidates."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, match_hits, score
from searchmark.scoring.planned_tests import cases_for_margin, non_inferiorities, non_inferiority_p
from searchmark.scoring.statistics import LEAN, SHOWN_LEVEL, ConfidenceLevel, difference_intervals, observations


def differences(cases: int, seed: int, shift: float = 0.0) -> np.ndarray:
    drawn = np.random.default_rng(seed)
    return np.clip(np.where(drawn.random(cases) < 0.7, 0.0, drawn.normal(shift, 0.2, cases)), -1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("margin", [0.01, 0.03, 0.08])
def test_p_is_below_a_twentieth_exactly_where_the_interval_of_a_gate_lies_above_the_margin(seed, margin):
    values = differences(150, seed)
    low, _ = difference_intervals(observations(values[:, None], None), SHOWN_LEVEL)
    p = non_inferiority_p(values, None, margin)
    assert (p < 0.05) == (low[0] > -margin)


def test_p_falls_as_the_margin_grows():
    values = differences(150, 1, -0.05)
    found = [non_inferiority_p(values, None, margin) for margin in (0.005, 0.01, 0.02, 0.05, 0.1, 0.3)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.5
    assert found[-1] < 0.001


def test_fewer_than_ten_independent_cases_show_nothing():
    assert non_inferiority_p(np.zeros(9), None, 0.5) is None
    assert non_inferiority_p(np.zeros(50), ["one"] * 50, 0.5) is None


def test_ties_alone_show_no_more_than_that_a_share_of_losses_would_have_been_seen():
    assert non_inferiority_p(np.zeros(100), None, 0.02) > 0.05
    assert non_inferiority_p(np.zeros(400), None, 0.02) < 0.05


def scored(runs: list[list[bool | None]]) -> list:
    """A run per list: whether each case finds its target; None is an error."""
    suite = Suite.from_cases("s", [Case(f"c{i}", f"q{i}", judgments=(Judgment(f"d{i}"),)) for i in range(len(runs[0]))])
    made = []
    for number, found in enumerate(runs):
        answers = [
            Answer(f"c{i}", "error") if hit is None else Answer(f"c{i}", "ok", (Hit(f"d{i}" if hit else "other", 1),))
            for i, hit in enumerate(found)
        ]
        made.append(score(match_hits(suite, Run.from_answers(f"r{number}", answers)), ["nDCG@10"]))
    return made


@pytest.mark.slow
def test_the_more_candidates_the_less_is_shown():
    same, runs = [True] * 250, 12
    alone = non_inferiorities(scored([same, same]), 0, [1], 0, 0.02)[1]
    among = non_inferiorities(scored([same] * runs), 0, list(range(1, runs)), 0, 0.02)
    assert alone.shown
    assert alone.family == 1
    assert not any(each.shown for each in among.values())
    assert {each.family for each in among.values()} == {runs - 1}
    assert among[1].p == alone.p
    assert among[1].p_holm == pytest.approx(11 * alone.p)


@pytest.mark.slow
def test_how_many_ties_would_show_it_is_right():
    enough = non_inferiorities(scored([[True] * 40] * 4), 0, [1, 2, 3], 0, 0.02)[1].cases_needed
    assert non_inferiorities(scored([[True] * enough] * 4), 0, [1, 2, 3], 0, 0.02)[1].shown
    assert not non_inferiorities(scored([[True] * (enough - 1)] * 4), 0, [1, 2, 3], 0, 0.02)[1].shown


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "shift", "margin", "family"), [(1, 0.0, 0.02, 1), (2, -0.02, 0.03, 7), (4, 0.0, 0.03, 7)])
def test_the_cases_that_are_needed_show_it_four_times_in_five(seed, shift, margin, family):
    values = differences(60, seed, shift)
    needed = cases_for_margin(values, None, margin, family)
    assert needed > 60
    drawn = np.random.default_rng(seed).choice(values, (needed, 1000))
    low, _ = difference_intervals(observations(drawn, None), ConfidenceLevel(0.025 / family, LEAN))
    assert 0.7 < np.mean(low > -margin) < 0.9


def test_where_cases_come_in_groups_whole_groups_more_are_needed():
    values, groups = np.repeat(differences(60, 1), 3), [str(i // 3) for i in range(180)]
    alone, grouped = cases_for_margin(values[::3], None, 0.02), cases_for_margin(values, groups, 0.02)
    assert grouped == pytest.approx(3 * alone, rel=0.02)


def test_a_loss_beyond_the_margin_is_never_shown_by_more_cases():
    worse = [i % 5 != 0 for i in range(100)]
    assert non_inferiorities(scored([[True] * 100, worse]), 0, [1], 0, 0.02)[1].cases_needed is None


@pytest.mark.slow
def test_failures_of_the_baseline_do_not_make_a_candidate_good():
    """The baseline loses 12 cases by errors, as many as the candidate loses by its answers."""
    baseline = [None if i < 12 else True for i in range(300)]
    candidate = [i < 288 for i in range(300)]
    honest = non_inferiorities(scored([[True] * 300, candidate]), 0, [1], 0, 0.06)[1]
    found = non_inferiorities(scored([baseline, candidate]), 0, [1], 0, 0.06)[1]
    assert found.p >= honest.p * 0.9
