"""Drift: what is further from the runs of the last seven days than allowed, with noise and likely cause in a sentence."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import UsageError
from searchmark.config.gates import DriftSettings
from searchmark.records.provenance import VectorStatistics
from searchmark.scoring.costs import AnnRecall
from searchmark.scoring.drift import Drift, drifts_of, why_no_latency_compared, why_not_compared
from searchmark.scoring.trends import Fingerprints, PastRun, ScoreSpread
from tests.scoring.histories import KNOWN, START, history, latency, past_run, summary

WEEK = history([0.8] * 7)


def drift(current: PastRun, past: list[PastRun], limit: float = 0.05) -> Drift:
    (found,) = drifts_of("bm25", current, past, limit)
    return found


def recall(share: float) -> AnnRecall:
    return AnnRecall(10, share, share, share, 0, 30, 30)


def timed(day: int, p50: float, p95: float = 20.0, differs: dict[str, Any] | None = None) -> PastRun:
    return past_run(day, differs=differs, latency_ms={"warm": latency(p50, p95)})


class TestReference:
    def test_is_the_median_of_the_seven_days_before(self) -> None:
        found = drift(past_run(7, 0.7), history([0.81, 0.78, 0.8, 0.9]))
        assert found.before == pytest.approx(0.805)
        assert found.runs == ("e00", "e01", "e02", "e03")
        assert found.change == pytest.approx(-0.105 / 0.805)

    def test_older_runs_do_not_count_where_there_are_younger_ones(self) -> None:
        assert drift(past_run(9, 0.7), history([0.1, 0.1, 0.8])).runs == ("e02",)

    def test_is_the_last_run_where_none_is_younger(self) -> None:
        found = drift(past_run(30, 0.7), history([0.1, 0.8]))
        assert (found.before, found.runs) == (0.8, ("e01",))

    def test_only_earlier_runs_count(self) -> None:
        assert drifts_of("bm25", past_run(3, 0.7), [past_run(3, 0.1, entry="same time"), past_run(4, 0.1)]) == []

    def test_only_trusted_runs_count(self) -> None:
        assert drift(past_run(3, 0.7), [past_run(0, 0.8), past_run(1, 0.1, trusted=False)]).runs == ("e00",)

    @pytest.mark.parametrize(
        "other", [{"agent": "other"}, {"snapshot": "head"}, {"number": 2}, {"entry": "e03"}, {"id": "me"}], ids=str
    )
    def test_other_agents_snapshots_and_the_run_itself_do_not_count(self, other: dict[str, Any]) -> None:
        assert drifts_of("bm25", past_run(3, 0.7, id="me"), [past_run(0, 0.1, **other)]) == []

    def test_a_run_in_several_entries_counts_once(self) -> None:
        baseline = past_run(0, 0.9, id="base")
        past = [
            baseline,
            replace(baseline, entry="again"),
            replace(baseline, entry="once more"),
            past_run(1, 0.8),
            past_run(2, 0.8),
        ]
        assert drift(past_run(3, 0.7), past).before == 0.8

    @pytest.mark.parametrize(
        ("part", "by_values", "by_times"),
        [("judgments", ("e02",), ("e00", "e01", "e02")), ("machine", ("e00", "e01", "e02"), ("e02",))],
    )
    def test_is_of_like_runs_where_there_are_some(self, part: str, by_values: tuple[str], by_times: tuple[str]) -> None:
        other = {part: "other"}
        past = [timed(0, 5, differs=other), timed(1, 5, differs=other), timed(2, 10)]
        current = past_run(3, 0.7, latency_ms={"warm": latency(12)})
        found = {each.quantity: each.runs for each in drifts_of("bm25", current, past)}
        assert found == {"nDCG@10": by_values, "latency warm p50": by_times}

    def test_times_are_never_of_another_host(self) -> None:
        here, elsewhere = {"host": "ci-1"}, {"host": "ci-2"}
        current = timed(3, 12, differs=here)
        assert (
            drifts_of("bm25", current, [timed(0, 5, differs=elsewhere), timed(1, 5, differs=here | {"machine": "2 cores"})]) == []
        )
        assert drift(current, [timed(0, 5, differs=elsewhere), timed(1, 10, differs=here)]).runs == ("e01",)
        assert drift(current, [timed(0, 5)]).runs == ("e00",)  # what is not known is not different

    def test_values_are_of_any_host(self) -> None:
        assert drift(past_run(3, 0.7, {"host": "ci-1"}), [past_run(0, 0.8, {"host": "ci-2"})]).quantity == "nDCG@10"

    def test_a_renamed_suite_has_no_past(self) -> None:
        assert drifts_of("bm25", past_run(3, 0.7), [past_run(0, suite="old name")]) == []

    def test_an_imported_run_is_not_held_against_itself(self) -> None:
        again = past_run(3, 0.7, answers="x", entry="first", time=START + timedelta(days=2, hours=23))
        assert drift(past_run(3, 0.7, answers="x"), [past_run(0), again]).runs == ("e00",)

    def test_repeats_of_an_entry_count_together(self) -> None:
        past = [past_run(0, mean, repeat=each) for each, mean in enumerate((0.7, 0.8, 0.9), 1)]
        repeats = [past_run(1, mean, repeat=each) for each, mean in enumerate((0.55, 0.6, 0.65), 1)]
        found = drift(repeats[0], [*past, *repeats])
        assert (found.before, found.now, found.runs) == (pytest.approx(0.8), pytest.approx(0.6), ("e00",))

    def test_the_words_say_that_others_came_later(self) -> None:
        other = {"machine": "2 cores", "judgments": "j2"}
        current = past_run(3, 0.7, latency_ms={"warm": latency(12)})
        one = drifts_of("bm25", current, [timed(1, 10), timed(2, 5, differs=other)])
        many = drifts_of("bm25", current, [timed(0, 10), timed(1, 10), timed(2, 5, differs=other)])
        assert "(0.8000 in the last run by these judgments, e01)" in one[0].sentence
        assert "(10 ms in the last run on this machine, e01)" in one[1].sentence
        assert "in the median of 2 runs on this machine of the seven days before)" in many[1].sentence

    @given(st.lists(st.floats(0, 1), max_size=12), st.floats(0, 1), st.randoms(use_true_random=False))
    def test_the_order_of_entries_changes_nothing(self, means: list[float], now: float, random: Random) -> None:
        runs, current = history(means), past_run(len(means), now)
        assert drifts_of("bm25", current, random.sample(runs, len(runs))) == drifts_of("bm25", current, runs)


def with_norms(day: int, mean: float, std: float, differs: dict[str, Any] | None = None, arm: str | None = None) -> PastRun:
    return past_run(day, differs=differs, vectors=(VectorStatistics(300, 256, norm_mean=mean, norm_std=std, arm=arm),))


class TestVectors:
    """What vectors are like, and what an index finds and takes, is followed as scores and times are."""

    def test_norms_may_drift_and_the_normalisation_is_named(self) -> None:
        past = [with_norms(day, 1.0, 3e-8, {"normalisation": "normalised"}) for day in range(7)]
        mean, std = drifts_of("bm25", with_norms(7, 2.5, 0.4, {"normalisation": "not normalised"}), past)
        assert (mean.quantity, mean.before, mean.now) == ("norms mean", 1.0, 2.5)
        assert (std.quantity, std.before, std.now) == ("norms std", 0.0, 0.4)
        assert mean.cause == std.cause == "other normalisation (normalised, now not normalised)"

    def test_rounding_of_lengths_is_no_drift(self) -> None:
        assert drifts_of("bm25", with_norms(1, 1.0, 6e-8), [with_norms(0, 1.0, 3e-8)]) == []

    def test_norms_within_5_percent_are_no_drift(self) -> None:
        assert drifts_of("bm25", with_norms(1, 2.08, 0.52), [with_norms(0, 2.0, 0.5)]) == []

    def test_every_arm_has_norms_of_its_own(self) -> None:
        found = drift(with_norms(1, 2.0, 0.0, arm="vectors"), [with_norms(0, 1.0, 0.0, arm="vectors")])
        assert found.quantity == "norms of vectors mean"

    def test_without_a_known_cause_it_says_what_to_check(self) -> None:
        found = drift(with_norms(7, 2.0, 0.0), [with_norms(day, 1.0, 0.0) for day in range(7)])
        assert found.sentence.endswith(
            "; nothing that is known has changed: check model, chunking, and that vectors are normalised once"
        )

    def test_recall_of_the_index_may_drift_and_its_parameters_are_named(self) -> None:
        past = [past_run(day, ann={"10": recall(0.99)}) for day in range(7)]
        found = drift(past_run(7, differs={"index": "hnsw, ef_search 8"}, ann={"10": recall(0.8)}), past)
        assert (found.quantity, found.noise) == ("ANN recall@10", "outside")
        assert found.cause == "another index (exact, now hnsw, ef_search 8)"

    def test_of_many_parameters_those_that_differ_are_named(self) -> None:
        index = 'ranking=vectors, distance=cosine, index={{"ef_construction": 128, "ef_search": {}, "m": 16, "name": "hnsw"}}'
        past = [past_run(0, differs={"index": index.format(64)}, ann={"10": recall(0.99)})]
        found = drift(past_run(1, differs={"index": index.format(8)}, ann={"10": recall(0.8)}), past)
        assert found.cause == "another index (ef_search: 64, now ef_search: 8)"

    def test_recall_at_another_k_is_another_number(self) -> None:
        assert drifts_of("bm25", past_run(1, ann={"10": recall(0.8)}), [past_run(0, ann={"20": replace(recall(0.99), k=20)})]) == []

    def test_the_time_of_the_index_may_drift(self) -> None:
        cold, warm = (replace(latency(10), of=kind) for kind in ("cold", "warm"))
        past, slower = past_run(0, latency_ms={"index_only": warm}), replace(warm, p50=12.0)
        assert drift(past_run(1, latency_ms={"index_only": slower}), [past]).quantity == "latency index_only p50"
        assert drifts_of("bm25", past_run(1, latency_ms={"index_only": replace(cold, p50=99.0)}), [past]) == []


class TestQuantities:
    @given(st.floats(0, 1), st.floats(0.001, 1e6), st.integers(1, 20))
    def test_a_constant_history_never_drifts(self, mean: float, time: float, runs: int) -> None:
        scores = {"top_1": ScoreSpread(mean - 0.5, mean, 30)}
        times = {"warm": latency(time, time), "cold": latency(time, time)}
        constant = [past_run(day, mean, latency_ms=times, similarity=scores) for day in range(runs + 1)]
        assert drifts_of("bm25", constant[-1], constant) == []

    def test_exactly_5_percent_is_no_drift(self) -> None:
        assert drifts_of("bm25", past_run(1, 0.95), [past_run(0, 1.0)]) == []
        assert len(drifts_of("bm25", past_run(1, 0.9499), [past_run(0, 1.0)])) == 1

    def test_the_limit_can_be_set(self) -> None:
        assert drifts_of("bm25", past_run(1, 0.7), [past_run(0, 0.8)], limit=0.2) == []

    def test_gains_are_drifts_too(self) -> None:
        assert drift(past_run(1, 0.9), [past_run(0, 0.8)]).change == pytest.approx(0.125)

    def test_distributions_of_scores_may_drift(self) -> None:
        past = [past_run(0, similarity={"top_1": ScoreSpread(-0.5, 0.1, 30), "top_10": ScoreSpread(0.4, None, 1)})]
        current = past_run(1, similarity={"top_1": ScoreSpread(-0.6, 0.2, 30), "top_10": ScoreSpread(0.4, 0.1, 30)})
        found = drifts_of("bm25", current, past)
        assert [(each.quantity, each.change) for each in found] == [
            ("scores top_1 mean", pytest.approx(-0.2)),
            ("scores top_1 std", pytest.approx(1.0)),
        ]

    def test_latencies_may_drift_warm_and_cold(self) -> None:
        past = [past_run(0, latency_ms={"warm": latency(10, 20), "cold": latency(30, 40), "first_hit": latency(1, 1)})]
        current = past_run(1, latency_ms={"warm": latency(11, 22), "cold": latency(33, 44), "first_hit": latency(9, 9)})
        assert [each.quantity for each in drifts_of("bm25", current, past)] == [
            "latency cold p50",
            "latency cold p95",
            "latency warm p50",
            "latency warm p95",
        ]

    def test_a_formula_with_another_definition_is_another_number(self) -> None:
        one, other = ({"mine": summary(mean, definition=text)} for mean, text in ((0.8, "0.5*P@5"), (0.4, "0.2*P@5")))
        assert drifts_of("bm25", past_run(1, measures=other), [past_run(0, measures=one)]) == []


class TestSentences:
    def test_name_change_reference_noise_and_cause(self) -> None:
        found = drift(past_run(7, 0.7, {"model": "large"}), WEEK)
        assert found.sentence == (
            "nDCG@10 of bm25 fell by 12.5% to 0.7000 (0.8000 in the median of 7 runs of the seven days before), "
            "outside the noise band of 0.7900 to 0.8100; likely cause: another model (small, now large)"
        )
        assert (found.run, found.cause, found.noise) == ("bm25", "another model (small, now large)", "outside")
        assert (found.low, found.high) == pytest.approx((0.79, 0.81))

    def test_say_what_is_within_noise(self) -> None:
        past = [timed(day, p50) for day, p50 in enumerate([10, 12, 9, 11, 10, 12, 9])]
        found = drift(timed(7, 11.5, differs={"code": "k2"}), past)
        assert found.noise == "within"
        # Squared differences 4 + 9 + 4 + 1 + 4 + 9 over 12, 72/17 degrees of freedom: 10 ± 3.64 * 1.607 * sqrt(1 + pi/14).
        assert found.sentence == (
            "latency warm p50 of bm25 rose by 15.0% to 11.5 ms (10 ms in the median of 7 runs of the seven days before), "
            "within noise (the band is 3.54 ms to 16.5 ms); what else differs: other code of the agent"
        )

    def test_say_where_there_is_no_noise(self) -> None:
        past = [past_run(day, similarity={"top_1": ScoreSpread(0.5, None, 30)}) for day in range(7)]
        assert drift(past_run(7, similarity={"top_1": ScoreSpread(0.6, None, 30)}), past).sentence == (
            "scores top_1 mean of bm25 rose by 20.0% to 0.6000 (0.5000 in the median of 7 runs of the seven days before), "
            "and earlier runs show no noise; "
            "nothing that is known has changed: check model, chunking, and that vectors are normalised once"
        )

    def test_say_where_noise_is_not_known(self) -> None:
        assert drift(past_run(9, 0.7), [past_run(0, 0.8)]).sentence == (
            "nDCG@10 of bm25 fell by 12.5% to 0.7000 (0.8000 in the last run, e00), "
            "and whether that is noise is not known; nothing that is known has changed"
        )

    def test_a_change_from_0_is_absolute(self) -> None:
        found = drift(past_run(1, 0.1), [past_run(0, 0.0)])
        assert found.change is None
        assert found.sentence.startswith("nDCG@10 of bm25 rose from 0 by 0.1 (absolute) to 0.1000 (0.0000 in the last run, e00), ")
        assert drifts_of("bm25", past_run(1, 0.05), [past_run(0, 0.0)]) == []

    @pytest.mark.parametrize(
        ("differs", "words"),
        [
            ({"model": "large"}, "likely cause: another model (small, now large)"),
            ({"chunking": "words"}, "likely cause: other chunking (lines, now words)"),
            ({"index": "hnsw"}, "likely cause: another index (exact, now hnsw)"),
            ({"corpus": "c2"}, "likely cause: another corpus"),
            ({"judgments": "j2"}, "likely cause: other judgments"),
            ({"code": "k2"}, "likely cause: other code of the agent"),
            ({"options": "o2"}, "likely cause: other options of the agent"),
            ({"asking": "a2"}, "likely cause: other options of the run"),
            ({"version": "1.1"}, "likely cause: another version of Searchmark (1.0, now 1.1)"),
            ({"packages": "p2"}, "likely cause: other versions of Python or its packages"),
            ({"machine": "2 cores"}, "nothing that is known has changed"),
            ({"model": None}, "nothing that is known has changed"),
            ({"model": "large", "corpus": "c2"}, "likely causes: another model (small, now large), another corpus"),
        ],
        ids=str,
    )
    def test_name_every_cause_that_is_known(self, differs: dict[str, Any], words: str) -> None:
        assert drift(past_run(1, 0.7, differs), [past_run(0, 0.8)]).sentence.rpartition("; ")[2] == words

    def test_say_of_how_many_runs_a_cause_holds(self) -> None:
        past = [past_run(0, 0.8, {"model": "large"}), past_run(1, 0.8), past_run(2, 0.8)]
        assert drift(past_run(3, 0.7, {"model": "large"}), past).cause == "another model than in 2 of 3 runs (small, now large)"

    def test_of_runs_that_know_nothing_of_themselves_no_cause_is_told(self) -> None:
        suite = Fingerprints(queries="q1", judgments="j1", corpus="c1")
        unknown = [replace(run, fingerprints=suite) for run in history([0.8, 0.7])]
        assert drift(unknown[1], unknown[:1]).sentence.endswith("; what else has changed is not known")

    def test_another_machine_may_change_times_and_has_no_band_yet(self) -> None:
        found = drift(timed(7, 15, differs={"machine": "2 cores"}), [timed(day, 10) for day in range(7)])
        assert found.sentence == (
            "latency warm p50 of bm25 rose by 50.0% to 15 ms (10 ms in the median of 7 runs of the seven days before), "
            "and whether that is noise is not known; likely cause: another machine (4 cores, now 2 cores)"
        )

    def test_long_times_are_told_in_whole_milliseconds(self) -> None:
        assert " to 12,345 ms (9,000 ms in " in drift(timed(1, 12345.4), [timed(0, 9000)]).sentence

    def test_a_new_level_is_no_noise_of_the_old_one(self) -> None:
        past = [replace(run, time=START) for run in history([0.7] * 11 + [0.8] * 2)]
        found = drift(past_run(13, 0.8, time=START + timedelta(days=1)), past)
        assert (found.before, found.noise) == (0.7, "outside")

    def test_judgments_change_no_time(self) -> None:
        assert drift(timed(1, 15, differs={"judgments": "j2"}), [timed(0, 10)]).cause is None

    def test_other_judgments_have_no_band_yet(self) -> None:
        assert drift(past_run(7, 0.7, {"judgments": "j2"}), WEEK).noise == "unknown"


class TestNotCompared:
    def test_other_queries_are_not_comparable(self) -> None:
        current = past_run(7, 0.1, {"queries": "q2"})
        assert drifts_of("bm25", current, WEEK) == []
        assert why_not_compared("bm25", current, WEEK) == "bm25 is not compared with earlier runs: they were asked other queries"

    def test_a_result_that_cannot_be_trusted_has_no_drift(self) -> None:
        current = past_run(7, 0.1, trusted=False)
        assert drifts_of("bm25", current, WEEK) == []
        assert why_not_compared("bm25", current, WEEK) == "bm25 is not compared with earlier runs: its result cannot be trusted"

    def test_nor_has_one_after_such_results_only(self) -> None:
        past = [replace(run, trusted=False) for run in WEEK]
        assert (
            why_not_compared("bm25", past_run(7), past)
            == "bm25 is not compared with earlier runs: none of their results can be trusted"
        )

    def test_nothing_is_said_where_it_was_compared_or_is_the_first(self) -> None:
        assert why_not_compared("bm25", past_run(7), WEEK) is None
        assert why_not_compared("bm25", past_run(7), []) is None

    def test_without_digests_the_name_of_the_suite_decides(self) -> None:
        known = replace(KNOWN, queries=None)
        past = [past_run(0, fingerprints=known), past_run(1, 0.1, fingerprints=known, suite="other")]
        assert drift(past_run(2, 0.7, fingerprints=known), past).runs == ("e00",)


class TestOptions:
    def test_the_limit_is_5_percent(self) -> None:
        assert DriftSettings().limit == 0.05

    def test_a_limit_of_0_is_refused(self) -> None:
        with pytest.raises(UsageError, match="limit must be a number above 0, not 0"):
            DriftSettings(limit=0)


def test_the_sentence_in_the_docs_is_what_is_said() -> None:
    found = drift(past_run(7, 0.7, {"model": "large"}), WEEK)
    assert f"> {found.sentence}\n" in Path("docs/drift.md").read_text()


def test_a_week_is_seven_days_to_the_second() -> None:
    past = [past_run(0, 0.8), past_run(1, 0.8, time=START - timedelta(seconds=1))]
    assert drift(past_run(7, 0.7, time=START + timedelta(days=7)), past).runs == ("e00",)


class TestOtherHosts:
    CURRENT = timed(3, 12, differs={"host": "ci-1"})

    def test_are_named_where_no_latency_is_compared(self) -> None:
        past = [timed(0, 5, differs={"host": "ci-2"}), timed(1, 5, differs={"host": "ci-3"})]
        assert why_no_latency_compared("bm25", self.CURRENT, past) == (
            "latencies of bm25 are not compared with earlier runs: they were measured on ci-2, ci-3, this one on ci-1"
        )

    @pytest.mark.parametrize(
        "past", [[], [timed(0, 5)], [timed(0, 5, differs={"host": "ci-2"}), timed(1, 5, differs={"host": "ci-1"})], [past_run(0)]]
    )
    def test_are_not_told_where_one_is_or_there_is_none(self, past: list[PastRun]) -> None:
        assert why_no_latency_compared("bm25", self.CURRENT, past) is None

    def test_are_not_told_of_a_run_whose_host_is_not_known(self) -> None:
        assert why_no_latency_compared("bm25", timed(3, 12), [timed(0, 5, differs={"host": "ci-2"})]) is None
