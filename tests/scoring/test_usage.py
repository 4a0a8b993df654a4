"""What agents state of their searches: told with for how many, tokens apart by their counter, and subtracted only as a whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Answer, AnswerDetails, Hit, Provenance, Run
from searchmark.records.provenance import IndexBuild
from searchmark.scoring.costs import UNNAMED, ReportedCount, UsageSummary, latencies_in, price_sentences, usage_in, usage_of
from tests.support.strategies import details as any_details


def run_of(name: str, *details: AnswerDetails, **known: object) -> Run:
    answers = [Answer(f"c{n}", "ok", (Hit("a", 1),), each) for n, each in enumerate(details)]
    return Run.from_answers(name, answers, provenance=Provenance(**known))  # type: ignore[arg-type]  # its own fields


def counted(tokens: int, by: str | None = "gpt") -> AnswerDetails:
    return AnswerDetails(tokens=tokens, tokens_by=by)


def tokens_of(baseline: Run, candidate: Run) -> list[str]:
    return [sentence for sentence in price_sentences(baseline, candidate) if "token" in sentence]


class TestNumbers:
    def test_an_agent_that_states_nothing_has_no_zero(self) -> None:
        assert usage_in([AnswerDetails((1.0,), (2.0,))]) == UsageSummary()

    def test_tokens_are_kept_apart_by_who_has_counted_them(self) -> None:
        found = usage_in([counted(10), counted(30), counted(5, "server"), counted(7, None), AnswerDetails()])
        assert found.tokens == {
            UNNAMED: ReportedCount(1, 5, 1, 7, 7, 7, 7),
            "gpt": ReportedCount(2, 5, 2, 40, 20, 10, 30),
            "server": ReportedCount(1, 5, 1, 5, 5, 5, 5),
        }

    def test_retries_and_times_say_of_how_many_searches_they_are(self) -> None:
        found = usage_in([
            AnswerDetails((9.0,), retries=0, waited_ms=0.0, start_ms=4.0),
            AnswerDetails((9.0,), retries=3, waited_ms=6.0),
            AnswerDetails((9.0,)),
        ])  # fmt: skip
        assert found.retries == ReportedCount(2, 3, 1, 3, 1.5, 0, 3)
        assert found.waited_ms == ReportedCount(2, 3, 1, 6.0, 3.0, 0.0, 6.0)
        assert found.start_ms == ReportedCount(1, 3, 1, 4.0, 4.0, 4.0, 4.0)

    def test_cases_that_were_not_run_are_no_searches(self) -> None:
        asked = Answer("c1", "ok", (Hit("a", 1),), counted(10))
        assert usage_of(Run.from_answers("r", [asked, Answer("c2", "not_run")])).tokens == {
            "gpt": ReportedCount(1, 1, 1, 10, 10, 10, 10)
        }


class TestSubtraction:
    def test_is_made_search_by_search(self) -> None:
        left = usage_in([AnswerDetails((10.0,), start_ms=4.0), AnswerDetails((2.0,), start_ms=2.0)]).cold_less
        assert [(left["process_start"].p50, left["process_start"].p99, left["process_start"].samples)] == [(0.0, 6.0, 2)]
        assert list(left) == ["process_start"]

    def test_what_is_longer_than_the_search_is_not_stated_at_all(self) -> None:
        found = usage_in([AnswerDetails((10.0,), waited_ms=4.0), AnswerDetails((2.0,), waited_ms=5.0)])
        assert (found.waited_ms, found.cold_less) == (ReportedCount(1, 2, 1, 4.0, 4.0, 4.0, 4.0), {})

    def test_needs_every_search_also_those_that_failed(self) -> None:
        stated, failed = AnswerDetails((10.0,), start_ms=4.0), AnswerDetails((10.0,), failure="crash")
        assert usage_in([stated, failed]).cold_less == {}

    def test_what_is_always_nothing_is_not_subtracted(self) -> None:
        assert usage_in([AnswerDetails((10.0,), waited_ms=0.0)]).cold_less == {}

    @given(st.lists(any_details, max_size=6))
    def test_is_never_more_than_what_passed_and_changes_none_of_it(self, details: list[AnswerDetails]) -> None:
        passed = latencies_in(details)
        for left in usage_in(details).cold_less.values():
            assert 0 <= left.p50 <= passed["cold"].p50
            assert 0 <= left.p99 <= passed["cold"].p99
            assert left.samples == passed["cold"].samples


class TestPrices:
    def test_tokens_of_one_counter_are_compared_on_the_cases_that_both_have(self) -> None:
        baseline, candidate = run_of("a", counted(100), counted(900)), run_of("b", counted(250), AnswerDetails())
        assert tokens_of(baseline, candidate) == ["tokens per answer: 2.5x that of a (100 to 250 on 1 case, counted by gpt)"]

    @pytest.mark.parametrize(
        ("old", "new", "sentence"),
        [
            (["gpt"], ["server"], "tokens per answer are not comparable: those of a by gpt, those of b by server"),
            (["gpt"], ["gpt", "x"], "tokens per answer are not comparable: those of a by gpt, those of b by gpt and x"),
            (
                [""],
                [""],
                "tokens per answer are not comparable: those of a by a counter without a name, those of b by a counter without a name",
            ),
            ([], ["gpt"], "tokens per answer: not known of a"),
            (["gpt"], [], "tokens per answer: not known of b"),
        ],
    )
    def test_else_it_is_said_why_they_are_not(self, old: list[str], new: list[str], sentence: str) -> None:
        runs = [run_of(name, *(counted(5, by) for by in counters)) for name, counters in (("a", old), ("b", new))]
        assert tokens_of(*runs) == [sentence]

    def test_runs_without_tokens_say_nothing_of_them(self) -> None:
        assert tokens_of(run_of("a", AnswerDetails()), run_of("b", AnswerDetails())) == []

    def test_the_memory_of_the_process_that_asks_a_service_is_not_compared(self) -> None:
        known = {"memory_bytes": 10**6, "index": IndexBuild(1.0, bytes=10**6)}
        sentences = price_sentences(run_of("a", **known), run_of("b", index=IndexBuild(), own_corpus=True))
        assert sentences == ["index size and memory of b: not known (the agent searches its own corpus)"]

    def test_the_memory_of_a_program_that_is_started_here_is_compared(self) -> None:
        program = run_of("b", memory_bytes=2 * 10**6, index=IndexBuild(), own_corpus=True)
        assert price_sentences(run_of("a", memory_bytes=10**6), program) == [
            "memory: 2.0x that of a (1 MB to 2 MB)",
            "index size of b: not known (the agent searches its own corpus)",
        ]
