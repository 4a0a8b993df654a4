"""A latency belongs to one host: those of several are neither pooled nor compared, and quality does not care."""

from __future__ import annotations

from dataclasses import replace

import pytest

from searchmark import Answer, Run, RunLabel, compare, join_runs, match_hits, score
from searchmark.config.gates import DecisionTable
from searchmark.records.merge import with_missing_cases
from searchmark.records.provenance import Host, host_names
from searchmark.scoring.costs import (
    UNKNOWN_HOST,
    host_times,
    latencies_of,
    price_sentences,
    rows_by_host,
    usage_of,
    why_latencies_not_compared,
)
from searchmark.scoring.decisions import decide
from tests.support.hosts import CASES, SUITE, environment, made_of, on, on_several, part

EPYC = "EPYC, 4 cores, 16 GB"
ONE, TWO = Host("ci-1", EPYC), Host("ci-2", EPYC)


class TestHost:
    def test_is_its_name_and_hardware(self) -> None:
        assert environment("ci-1").measured_on == ONE

    def test_of_an_earlier_file_is_not_known(self) -> None:
        assert environment(None).measured_on is None
        assert on(None).provenance.hosts == ()

    def test_is_the_same_with_a_little_more_memory(self) -> None:
        assert replace(environment("ci-1"), memory_bytes=16 * 10**9 + 4096).measured_on == ONE

    def test_is_another_one_with_other_hardware(self) -> None:
        found = host_names([ONE, Host("ci-1", "EPYC, 8 cores"), TWO])
        assert list(found.values()) == [f"ci-1 ({EPYC})", "ci-1 (EPYC, 8 cores)", "ci-2"]


class TestJoined:
    def test_parts_of_one_host_are_as_one_run(self) -> None:
        run = join_runs([part("ci-1", CASES[:6]), part("ci-1", CASES[6:])])
        assert run.provenance.environment == environment("ci-1")
        assert run.provenance.hosts == (ONE,)
        assert run.provenance.index.seconds == 2.0
        assert latencies_of(run) == latencies_of(on("ci-1"))
        assert host_times(run) == ()

    def test_parts_of_several_hosts_have_neither_environment_nor_times_together(self) -> None:
        known = on_several().provenance
        assert (known.environment, known.index.seconds, known.start_seconds) == (None, None, ())
        assert (known.index.bytes, known.memory_bytes) == (4096, 3 * 10**9)
        assert [each.provenance.environment.host for each in known.parts] == ["ci-1", "ci-2", "ci-3"]

    @pytest.mark.parametrize("hosts", [(None, "ci-1"), ("ci-1", None)])
    def test_what_is_not_known_is_not_different(self, hosts: tuple[str | None, str | None]) -> None:
        run = join_runs([part(hosts[0], CASES[:6]), part(hosts[1], CASES[6:])])
        assert run.provenance.environment == environment("ci-1")
        assert latencies_of(run)["cold"].samples == 12

    def test_what_was_joined_is_joined_again(self) -> None:
        run = join_runs([on_several({"ci-1": CASES[:3], "ci-2": CASES[3:6]}), part("ci-1", CASES[6:])])
        assert run.provenance.hosts == (ONE, TWO)
        assert run.provenance.index.seconds is None


class TestLatencies:
    @pytest.mark.parametrize("run", [on_several(), made_of(part("ci-1", CASES[:6]), part("ci-2", CASES[6:]))])
    def test_of_several_hosts_are_not_pooled(self, run: Run) -> None:
        assert latencies_of(run) == {}
        usage = usage_of(run)
        assert (usage.start_ms, usage.waited_ms, usage.cold_less) == (None, None, {})

    def test_are_those_of_each_host(self) -> None:
        first, second, third = host_times(on_several())
        assert [each.name for each in (first, second, third)] == ["ci-1", "ci-2", "ci-3"]
        assert [each.cases for each in (first, second, third)] == [6, 3, 3]
        assert (first.latency_ms["cold"].p95, second.latency_ms["cold"].p95, third.latency_ms["warm"].p50) == (10, 200, 1500)
        assert (first.index_seconds, first.start_seconds, second.index_seconds) == (1.0, 0.1, 20.0)
        assert (first.usage.cold_less["process_start"].p50, first.usage.retries) == (7.5, None)
        assert second.environment == environment("ci-2")
        assert second.host == TWO

    def test_of_two_parts_of_one_host_count_together(self) -> None:
        first, second = host_times(join_runs([part("ci-1", CASES[:3]), part("ci-2", CASES[3:6]), part("ci-1", CASES[6:])]))
        assert (first.cases, first.latency_ms["cold"].samples, first.index_seconds) == (9, 9, 2.0)
        assert second.cases == 3

    def test_of_a_host_that_is_not_known_come_last(self) -> None:
        hosts = host_times(join_runs([part(None, CASES[:3]), part("ci-1", CASES[3:6]), part("ci-2", CASES[6:])]))
        assert [(each.name, each.cases) for each in hosts] == [("ci-1", 3), ("ci-2", 6), (UNKNOWN_HOST, 3)]

    def test_a_case_that_was_not_run_is_of_no_host(self) -> None:
        run = with_missing_cases(on_several({"ci-1": CASES[:3], "ci-2": CASES[3:6]}), CASES)
        assert rows_by_host(run) == {ONE: [0, 1, 2], TWO: [3, 4, 5]}

    def test_cases_that_get_other_ids_keep_their_host(self) -> None:
        run = on_several({"ci-1": CASES[:3], "ci-2": CASES[3:5]})
        renamed = run.with_cases(tuple(f"other-{case}" for case in run.case_ids))
        assert rows_by_host(renamed) == {ONE: [0, 1, 2], TWO: [3, 4]}


class TestComparison:
    def test_across_hosts_is_refused_with_both_names(self) -> None:
        assert why_latencies_not_compared({"bm25": [ONE], "hybrid": [TWO]}) == (
            "latencies are not compared: bm25 was measured on ci-1 and hybrid on ci-2"
        )

    def test_of_many_runs_names_two_and_counts_all(self) -> None:
        assert why_latencies_not_compared({"a": [ONE], "b": [ONE], "c": [TWO]}) == (
            "latencies are not compared: a was measured on ci-1 and c on ci-2 (3 runs on 2 hosts)"
        )

    def test_of_runs_on_several_hosts_is_refused_even_if_they_are_the_same(self) -> None:
        assert why_latencies_not_compared({"a": [ONE, TWO], "b": [ONE, TWO]}) == (
            "latencies are not compared: a and b were both measured on ci-1, ci-2, whose times are not one number"
        )

    @pytest.mark.parametrize("measured", [{"a": [ONE], "b": [ONE]}, {"a": [ONE], "b": []}, {"a": [ONE, TWO]}, {}])
    def test_on_one_host_or_an_unknown_one_is_not(self, measured: dict[str, list[Host]]) -> None:
        assert why_latencies_not_compared(measured) is None

    def test_prices_leave_out_latencies_alone(self) -> None:
        sentences = price_sentences(on("ci-1"), on("ci-2", "hybrid"))
        assert sentences[0] == "latencies are not compared: bm25 was measured on ci-1 and hybrid on ci-2"
        assert [each.partition(":")[0] for each in sentences[1:]] == ["index size", "memory"]

    def test_prices_tell_two_runs_of_one_agent_apart(self) -> None:
        before, after = on("ci-1", RunLabel("bm25", "a")), on("ci-2", RunLabel("bm25", "b"))
        assert "bm25@a was measured on ci-1 and bm25@b on ci-2" in price_sentences(before, after)[0]

    @pytest.mark.parametrize("hosts", [("ci-1", "ci-1"), ("ci-1", None), (None, None)])
    def test_prices_of_one_host_are_compared_as_ever(self, hosts: tuple[str | None, str | None]) -> None:
        assert price_sentences(on(hosts[0]), on(hosts[1], "hybrid"))[0].startswith("latency of new queries: ")

    def test_a_decision_says_so_and_is_the_same(self) -> None:
        def decided(*runs: Run):
            scores = {run.agent: score(match_hits(SUITE, run), ["RR"]) for run in runs}
            return decide(DecisionTable("hybrid", "bm25", (), otherwise="keep it"), compare(list(scores.values())), scores)

        here, apart = decided(on("ci-1"), on("ci-1", "hybrid")), decided(on("ci-1"), on("ci-2", "hybrid"))
        assert (here.decision, here.readings) == (apart.decision, apart.readings)
        assert "latencies are not compared: bm25 was measured on ci-1 and hybrid on ci-2" in apart.evidence
        assert not any(sentence.startswith("latency of") for sentence in apart.evidence)


def test_quality_does_not_depend_on_hosts() -> None:
    def summaries(run: Run):
        answers = [Answer(each.case, each.status, each.hits[: int(each.case[1:]) % 2], each.details) for each in run.answers]
        return score(match_hits(SUITE, Run.from_answers("bm25", answers, provenance=run.provenance)), ["RR", "nDCG@10"]).summaries()

    assert summaries(on_several()) == summaries(on("ci-1")) == summaries(on(None))
