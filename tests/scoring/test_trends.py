"""Trends: points in order, the noise band, and since which run a measure is worse, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.scoring.trends import Fingerprints, PastRun, Trend, trends_of
from tests.scoring.histories import START, history, past_run, summary

LOSS = [*history([0.8] * 10), past_run(10, 0.7, {"model": "large"}), past_run(11, 0.71, {"model": "large"})]


def trend_of(past: list[PastRun]) -> Trend:
    (found,) = trends_of(past)
    return found


class TestTrends:
    def test_points_have_mean_and_interval_of_each_run(self) -> None:
        point = trend_of(history([0.8, 0.9])).points[1]
        assert (point.entry, point.time, point.mean) == ("e01", START + timedelta(days=1), 0.9)
        assert (point.low, point.high) == pytest.approx((0.85, 0.95))

    def test_name_agent_suite_measure_and_band(self) -> None:
        found = trend_of(history([0.8] * 5))
        assert (found.agent, found.suite, found.measure, found.where) == ("bm25", "demo", "nDCG@10", {})
        assert (found.low, found.high) == pytest.approx((0.79, 0.81))
        assert (found.worse_since, found.sentence) == (None, None)

    def test_the_band_ends_where_the_measure_does(self) -> None:
        assert trend_of(history([1.0] * 5)).high == 1.0

    def test_nothing_is_followed_without_runs(self) -> None:
        assert trends_of([]) == []

    def test_every_segment_is_followed_by_itself(self) -> None:
        runs = [
            past_run(day, segments={"category": {"x": {"RR": summary(mean)}}}) for day, mean in enumerate([0.5] * 10 + [0.2] * 2)
        ]
        whole, part = trends_of(runs)
        assert (whole.where, whole.worse_since) == ({}, None)
        assert (part.where, part.measure, part.worse_since) == ({"category": "x"}, "RR", "e10")
        assert part.sentence == (
            "RR of bm25, category x has been worse since e10 (2026-05-11): 0.2000 in the last run, "
            "below the noise band of 0.4900 to 0.5100; nothing that is known has changed"
        )

    def test_agents_snapshots_and_suites_are_kept_apart(self) -> None:
        runs = [past_run(0), past_run(1, agent="other"), past_run(2, snapshot="head"), past_run(3, suite="second")]
        assert [(found.agent, found.snapshot, found.suite) for found in trends_of(runs)] == [
            ("bm25", None, "demo"),
            ("other", None, "demo"),
            ("bm25", "head", "demo"),
            ("bm25", None, "second"),
        ]

    def test_runs_that_cannot_be_trusted_are_left_out_and_counted(self) -> None:
        found = trend_of([past_run(0), past_run(1, 0.1, trusted=False)])
        assert ([point.entry for point in found.points], found.left_out, found.left_out_since) == (["e00"], 1, 1)

    def test_a_loss_in_the_last_run_that_is_trusted_is_told_as_that(self) -> None:
        found = trend_of([past_run(2, 0.1, trusted=False, entry="x"), *LOSS, past_run(12, 0.1, trusted=False)])
        assert (found.left_out, found.left_out_since) == (2, 1)
        assert ": 0.7100 in the last run that can be trusted, below " in str(found.sentence)

    def test_a_run_without_a_value_is_no_point(self) -> None:
        assert [point.entry for point in trend_of([past_run(0), past_run(1, None)]).points] == ["e00"]

    def test_a_run_in_several_entries_is_one_point(self) -> None:
        baseline = past_run(0, id="run-1")
        found = trend_of([replace(baseline, entry="e05"), baseline, past_run(1, id="run-2")])
        assert [point.entry for point in found.points] == ["e00", "e01"]

    def test_repeats_of_an_entry_are_one_point(self) -> None:
        repeats = [past_run(10, mean, repeat=each, id=f"r{each}") for each, mean in enumerate((0.69, 0.7, 0.71), 1)]
        found = trend_of([*history([0.8] * 10), *repeats])
        last = found.points[-1]
        assert (len(found.points), last.entry, last.mean, last.low) == (11, "e10", pytest.approx(0.7), None)
        assert (found.worse_since, str(found.sentence).endswith("one run proves no trend")) == (None, True)

    def test_runs_of_an_entry_that_nothing_tells_apart_are_kept_apart(self) -> None:
        runs = [past_run(day, mean, number=number) for day in range(4) for number, mean in ((1, 0.8), (2, 0.7))]
        assert [(found.agent, [point.mean for point in found.points]) for found in trends_of(runs)] == [
            ("bm25", [0.8] * 4),
            ("bm25#2", [0.7] * 4),
        ]

    def test_an_imported_run_that_is_evaluated_again_at_once_is_one_point(self) -> None:
        again = [past_run(10, 0.7, entry=f"a{hour}", time=START + timedelta(days=10, hours=hour), answers="x") for hour in range(3)]
        found = trend_of([*history([0.8] * 10), *again])
        assert ([point.entry for point in found.points[9:]], found.worse_since) == (["e09", "a0"], None)

    def test_answers_that_come_back_or_come_on_another_day_are_points(self) -> None:
        hours, answers = (0, 1, 2, 26), "xyxx"
        runs = [
            past_run(0, entry=f"a{hour}", time=START + timedelta(hours=hour), answers=each)
            for hour, each in zip(hours, answers, strict=True)
        ]
        assert [point.entry for point in trend_of(runs).points] == ["a0", "a1", "a2", "a26"]

    @given(st.lists(st.floats(0, 1), max_size=25), st.randoms(use_true_random=False))
    def test_the_order_of_entries_changes_nothing(self, means: list[float], random: Random) -> None:
        runs = history(means)
        shuffled = random.sample(runs, len(runs))
        assert trends_of(shuffled) == trends_of(runs)


class TestWorseSince:
    def test_names_the_first_run_and_its_likely_cause(self) -> None:
        found = trend_of(LOSS)
        assert found.worse_since == "e10"
        assert [point.entry for point in found.points if point.worse] == ["e10", "e11"]
        assert found.points[10].changed == ("another model (small, now large)",)
        assert found.sentence == (
            "nDCG@10 of bm25 has been worse since e10 (2026-05-11): 0.7100 in the last run, "
            "below the noise band of 0.7900 to 0.8100; likely cause: another model (small, now large)"
        )

    def test_all_that_changed_is_named(self) -> None:
        changed = {"corpus": "c2", "code": "k2"}
        sentence = trend_of([*history([0.8] * 10), past_run(10, 0.7, changed), past_run(11, 0.7, changed)]).sentence
        assert sentence is not None
        assert sentence.endswith("; likely causes: another corpus, other code of the agent")

    def test_a_machine_explains_no_quality(self) -> None:
        machine = {"machine": "2 cores"}
        sentence = trend_of([*history([0.8] * 10), past_run(10, 0.7, machine), past_run(11, 0.7, machine)]).sentence
        assert sentence is not None
        assert sentence.endswith("; nothing that is known has changed")

    def test_of_runs_that_know_nothing_of_themselves_no_cause_is_told(self) -> None:
        known = Fingerprints(queries="q1", judgments="j1", corpus="c1")  # those of the suite
        runs = [replace(run, fingerprints=known) for run in history([0.8] * 10 + [0.7] * 2)]
        sentence = trend_of(runs).sentence
        assert sentence is not None
        assert sentence.endswith("; what else has changed is not known")

    def test_imported_runs_that_may_be_one_are_told_as_that(self) -> None:
        sentence = trend_of([*history([0.8] * 10), past_run(10, 0.7, answers="x"), past_run(11, 0.7, answers="x")]).sentence
        assert sentence is not None
        assert sentence.endswith("; its 2 runs have the same answers and may be one that was evaluated again")

    def test_one_run_below_the_band_is_told_as_that(self) -> None:
        found = trend_of(LOSS[:11])
        assert found.worse_since is None
        assert (
            found.sentence
            == "nDCG@10 of bm25 is below the noise band of 0.7900 to 0.8100 in the last run (0.7000); one run proves no trend"
        )

    def test_two_runs_after_a_few_are_told_as_that(self) -> None:
        assert trend_of(history([0.8] * 4 + [0.7] * 2)).sentence == (
            "nDCG@10 of bm25 is below the noise band of 0.7900 to 0.8100 in the last run (0.7000); 2 runs after so few prove no trend"
        )

    def test_more_judged_hits_are_not_better(self) -> None:
        runs = [past_run(day, measures={"Judged@10": summary(mean)}) for day, mean in enumerate([0.8] * 10 + [0.5] * 3)]
        found = trend_of(runs)
        assert (found.worse_since, found.sentence, any(point.worse for point in found.points)) == (None, None, False)

    def test_a_snapshot_is_named(self) -> None:
        sentence = trend_of([replace(run, snapshot="parent") for run in LOSS]).sentence
        assert sentence is not None
        assert sentence.startswith("nDCG@10 of bm25@parent has been worse")


def test_the_sentence_in_the_docs_is_what_is_said() -> None:
    assert f"> {trend_of(LOSS).sentence}\n" in Path("docs/drift.md").read_text()


class TestBreaks:
    @pytest.mark.parametrize(
        ("run", "why"),
        [
            (past_run(10, 0.5, {"judgments": "j2"}), "other judgments"),
            (past_run(10, measures={"nDCG@10": summary(0.5, definition="0.5*P@5")}), "another formula"),
            (past_run(10, measures={"nDCG@10": summary(0.5, cases=31)}), "other cases"),
        ],
        ids=["judgments", "formula", "cases"],
    )
    def test_other_questions_begin_a_new_series(self, run: PastRun, why: str) -> None:
        found = trend_of([*history([0.8] * 10), run])
        assert (found.low, found.worse_since, found.points[-1].begins) == (None, None, True)
        assert found.sentence == f"nDCG@10 of bm25 starts again with e10 (2026-05-11): {why} than before"

    @pytest.mark.parametrize("more", [{}, {"judgments": "j2"}], ids=str)
    def test_other_queries_are_followed_by_themselves(self, more: dict[str, str]) -> None:
        whole, part = trends_of([*history([0.8] * 10), past_run(10, 0.5, {"queries": "q2", **more})])
        assert (whole.queries, len(whole.points), whole.sentence) == ("q1", 10, None)
        assert (part.queries, len(part.points), part.low, part.sentence) == ("q2", 1, None, None)

    def test_a_run_on_a_part_of_the_suite_hides_no_loss(self) -> None:
        part = past_run(11, measures={"nDCG@10": summary(0.9, cases=3)}, differs={"queries": "q2", "judgments": "j2"})
        whole, other = trends_of([*history([0.8] * 11), part, *(past_run(day, 0.7) for day in (12, 13, 14))])
        assert (whole.worse_since, whole.low, whole.high) == ("e12", pytest.approx(0.79), pytest.approx(0.81))
        assert ((whole.cases, len(whole.points)), (other.cases, len(other.points))) == ((30, 14), (3, 1))

    def test_other_judgments_in_between_hide_no_loss(self) -> None:
        between = past_run(11, 0.3, {"judgments": "j2"})
        found = trend_of([*history([0.8] * 11), between, *(past_run(day, 0.7) for day in (12, 13))])
        assert found.worse_since == "e12"
        assert [point.entry for point in found.points if point.begins] == ["e11", "e12"]
        assert found.sentence is not None
        assert found.sentence.endswith("; nothing that is known has changed")

    def test_another_corpus_does_not(self) -> None:
        found = trend_of([*history([0.8] * 10), past_run(10, 0.8, {"corpus": "c2"})])
        assert (found.points[-1].begins, found.points[-1].changed) == (False, ("another corpus",))

    def test_what_is_not_known_is_not_different(self) -> None:
        assert not trend_of([past_run(0), past_run(1, differs={"judgments": None})]).points[-1].begins

    def test_a_run_that_does_not_know_is_no_bridge(self) -> None:
        judgments = ("j1", None, "j2")
        found = trend_of([past_run(day, differs={"judgments": each}) for day, each in enumerate(judgments)])
        assert [point.begins for point in found.points] == [False, False, True]

    def test_a_loss_after_a_break_is_held_against_the_new_series(self) -> None:
        later = [past_run(day, 0.5 if day < 15 else 0.4, {"judgments": "j2"}) for day in range(10, 18)]
        found = trend_of([*history([0.8] * 10), *later])
        assert (found.worse_since, found.low) == ("e15", pytest.approx(0.49))
