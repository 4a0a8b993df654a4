"""What searches took beside time is shown with who states it, and what cannot be known of a service is never a zero."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Experiment,
    Finding,
    Hit,
    Judgment,
    Provenance,
    Report,
    RetrievalResult,
    Run,
    SearchScope,
    Suite,
    build_report,
    evaluate_run,
    match_hits,
    read_report,
    render,
    score,
)
from searchmark.agents.protocol import Usage
from searchmark.records.provenance import IndexBuild
from searchmark.reports.cards import card
from searchmark.reports.run_tables import preparation
from searchmark.reports.text import to_text

SUITE = Suite.from_cases("s", [Case(f"c{n}", f"query {n}", (Judgment("a"), Judgment("gone"))) for n in range(12)])
STATED = AnswerDetails((50.0,), tokens=400, tokens_by="wordllama", retries=0, waited_ms=0.0, start_ms=40.0)


def report_of(*details: AnswerDetails, **known: object) -> Report:
    """A report on a run that states these of its first answers, and of all others the last."""
    each = [*details, *[details[-1]] * (len(SUITE) - len(details))]
    answers = [
        Answer(case, "error" if told.failure else "ok", () if told.failure else (Hit("a", 1), Hit("zz", 2)), told)
        for case, told in zip(SUITE.table.ids, each, strict=True)
    ]
    run = Run.from_answers("tool", answers, provenance=Provenance(**known))  # type: ignore[arg-type]  # its own fields
    return build_report(score(match_hits(SUITE, run), ["RR"]))


def findings_of(report: Report) -> dict[str, Finding]:
    return {each.code: each for each in report.audit}


def searched(query: str, k: int) -> RetrievalResult:
    return RetrievalResult(["a", "zz"], usage=Usage(tokens=len(query), tokens_by="letters", retries=1, waited_ms=0.001))


@pytest.fixture(scope="module")
def at_a_service() -> Report:
    """What a plain function found that asks a service."""
    runs = Experiment(SUITE, [searched], where=SearchScope(service="shop")).run().runs
    return evaluate_run(SUITE, runs, ["RR"])


def boasts(query: str, k: int) -> RetrievalResult:
    return RetrievalResult(["a"], usage=Usage(retries=0, waited_ms=3_600_000.0, start_ms=0.0))


class TestNotes:
    def test_retried_searches_are_counted_with_their_cases(self) -> None:
        retried = AnswerDetails((5000.0,), retries=3, waited_ms=4200.0)
        report = report_of(STATED, retried, retried, AnswerDetails((50.0,), retries=0, waited_ms=0.0))
        found = findings_of(report)["retried-searches"]
        assert found.message == (
            "2 of 12 searches were retried (6 attempts more, part of the latency); "
            "all searches waited 8.4 s together, before further attempts or for a rate limit"
        )
        assert (found.cases, found.severity) == (("c1", "c2"), "note")

    def test_it_says_for_how_many_more_it_does_not_know(self) -> None:
        found = findings_of(report_of(AnswerDetails(retries=1), AnswerDetails(retries=0), AnswerDetails()))["retried-searches"]
        assert found.message == "1 of 2 searches were retried (1 attempt more, part of the latency; not stated for 10 more)"

    def test_a_start_that_is_most_of_the_latency_is_said(self) -> None:
        found = findings_of(report_of(STATED))["process-start"]
        assert found.message == "starting the process is 80 % of the median latency: see the row without it, or let it stay up"

    def test_a_start_that_is_half_of_it_or_less_is_not(self) -> None:
        assert "process-start" not in findings_of(report_of(AnswerDetails((50.0,), start_ms=25.0)))

    def test_a_part_that_is_stated_of_some_searches_is_subtracted_from_none(self) -> None:
        report = report_of(STATED, AnswerDetails((9.0,), waited_ms=1.0))
        assert findings_of(report)["partly-stated"].message == (
            "process start: stated for 1 of 12 searches, so that no latency is shown without it"
        )
        assert "cold less process start" not in render(report)
        assert "cold less waits (as the agent states it)" in render(report)

    def test_counters_are_not_mixed(self) -> None:
        report = report_of(STATED, AnswerDetails(tokens=10, tokens_by="server"))
        assert findings_of(report)["several-token-counters"].message == (
            "tokens were counted by several counters, which are not averaged together: server (11 answers), wordllama (1 answer)"
        )
        assert [line.split("  ")[0].strip() for line in render(report).splitlines() if "tokens per answer" in line] == [
            "tokens per answer, counted by server",
            "tokens per answer, counted by wordllama",
        ]

    def test_an_agent_that_states_nothing_has_none_of_these(self) -> None:
        report = report_of(AnswerDetails((3.0,)))
        assert findings_of(report) == {}
        assert "as the agent states it" not in render(report)


class TestFormats:
    @pytest.mark.parametrize("name", ["text", "markdown", "html", "summary", "latex", "summary-csv"])
    def test_tokens_are_named_with_their_counter(self, name: str) -> None:
        assert "counted by wordllama" in render(report_of(STATED), name)

    def test_the_time_to_the_first_hit_is_in_every_table_of_times(self) -> None:
        report = report_of(AnswerDetails((3.0,), first_hit_ms=0.125))
        assert [name for name in ("text", "markdown", "html") if "first hit" not in render(report, name)] == []
        assert [name for name in ("text", "markdown", "html", "csv", "json") if "0.125" not in render(report, name)] == []

    def test_the_page_tells_them_case_by_case(self) -> None:
        page = render(report_of(AnswerDetails((9.0,), tokens=7, tokens_by="gpt", retries=2, waited_ms=3.5, start_ms=1.5)), "html")
        facts = {"tokens": "7, counted by gpt", "further attempts": "2", "waited, part of the first search": "3.5 ms"}
        assert [part for fact in facts.items() for part in fact if f'"{part}"' not in page] == []

    def test_the_latency_that_passed_is_the_same_with_and_without_them(self) -> None:
        bare = report_of(AnswerDetails((50.0,))).agents["tool"].latency_ms
        assert report_of(STATED).agents["tool"].latency_ms == bare

    @pytest.mark.parametrize("width", [60, 80, 120])
    def test_tables_fit_the_terminal(self, width: int) -> None:
        assert [line for line in to_text(report_of(STATED, service="shop"), width=width).splitlines() if len(line) > width] == []

    def test_a_card_of_a_run_has_its_tokens(self) -> None:
        run = Run.from_answers("tool", [Answer("c0", "ok", (Hit("a", 1),), STATED)])
        assert "tokens per answer: mean 400, p95 400 (counted by wordllama, 1 of 1 searches)" in card(run)

    def test_a_report_that_was_read_back_is_the_same(self, tmp_path: Path) -> None:
        report, path = report_of(STATED, service="shop"), tmp_path / "report.json"
        path.write_text(render(report, "json"))
        assert all(
            render(read_report(path), name) == render(report, name) for name in ("text", "markdown", "csv", "summary-csv", "html")
        )

    def test_a_report_from_before_there_were_such_numbers_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "report.json"
        data = json.loads(render(report_of(AnswerDetails((3.0,))), "json"))
        assert "usage" not in data["agents"]["tool"]
        path.write_text(json.dumps(data))
        assert read_report(path).agents["tool"].usage == report_of(AnswerDetails()).agents["tool"].usage


class TestServices:
    """Nothing is known of what a service has: no zero is printed for what was not looked at."""

    @pytest.mark.slow
    def test_that_hits_were_not_checked_is_said(self, at_a_service: Report) -> None:
        assert findings_of(at_a_service)["own-corpus"].message == (
            "invalid hits, unreachable targets and the index are not known (the agent searches its own corpus)"
        )

    def test_unknown_counts_are_null(self, at_a_service: Report) -> None:
        (agent,) = json.loads(render(at_a_service, "json"))["agents"].values()
        assert [agent["dropped"][name] for name in ("invalid", "unreachable_targets")] == [None, None]
        assert agent["index"] == {"seconds": None, "bytes": None}
        assert agent["run"]["service"] == "shop"

    def test_no_time_or_size_of_its_index_is_told(self, at_a_service: Report) -> None:
        text = render(at_a_service)
        assert "index and peak memory: not known (the agent searches its own corpus), worker start" in text.replace("\n", " ")

    def test_nothing_is_said_of_one_that_never_ran(self) -> None:
        answers = [Answer(case, "not_run", (), AnswerDetails(failure="it is not there")) for case in SUITE.table.ids]
        known = Provenance(own_corpus=True, service="shop", index=IndexBuild(), start_seconds=(1.25,))
        report = build_report(score(match_hits(SUITE, Run.from_answers("tool", answers, provenance=known)), ["RR"]))
        assert "own-corpus" not in findings_of(report)
        assert preparation(report.agents["tool"]) == "worker start 1.25 s"

    def test_what_the_function_states_arrives(self, at_a_service: Report) -> None:
        (agent,) = at_a_service.agents.values()
        assert agent.usage.retries is not None
        assert (agent.usage.retries.total, agent.usage.tokens["letters"].searches) == (12, 12)

    @pytest.mark.slow
    def test_times_that_are_longer_than_the_search_are_counted_and_not_believed(self) -> None:
        ran = Experiment(SUITE, [boasts], where=SearchScope(service="shop")).run()
        report = evaluate_run(SUITE, ran.runs, ["RR"])
        (agent,) = report.agents.values()
        assert (agent.usage.waited_ms, agent.usage.cold_less, agent.dropped["impossible_times"]) == (None, {}, 12)
        assert agent.usage.start_ms is not None
        assert findings_of(report)["impossible-times"].message == (
            "times that the agent states as part of a search but that are longer, left out: 12"
        )

    def test_hits_that_are_checked_against_a_corpus_are_known(self) -> None:
        run = Run.from_answers(
            "tool", [Answer(case, "ok", (Hit("zz", 1),)) for case in SUITE.table.ids], provenance=Provenance(service="x")
        )
        report = build_report(score(match_hits(SUITE, run, {"a"}), ["RR"]))
        assert "own-corpus" not in findings_of(report)
        assert (report.agents["tool"].dropped["invalid"], report.agents["tool"].dropped["unreachable_targets"]) == (12, 12)

    def test_a_run_from_a_file_without_a_corpus_says_nothing_of_services(self) -> None:
        assert "own-corpus" not in findings_of(report_of(AnswerDetails()))


def test_anything_that_is_dropped_has_words() -> None:
    answers = [Answer(case, "ok", (Hit("a", 1),)) for case in SUITE.table.ids]
    report = build_report(score(match_hits(SUITE, Run.from_answers("tool", answers, dropped={"odd_things": 3})), ["RR"]))
    assert findings_of(report)["left-out"].message == "odd things, left out: 3"
