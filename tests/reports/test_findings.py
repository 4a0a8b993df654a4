"""Findings: every one has a code that is listed, the cases it is about, and is said once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Defaults,
    Finding,
    Hit,
    Judgment,
    Provenance,
    Run,
    RunLabel,
    Suite,
    build_comparison,
    build_report,
    compare,
    evaluate_run,
    match_hits,
    render,
    score,
)
from searchmark.audit.check import all_kinds
from searchmark.audit.runs import DROPPED
from searchmark.formats.corpora.corpus import Survey
from searchmark.records.finding import finding
from searchmark.records.provenance import TRUST_KINDS, TrustEvent
from tests.reports.samples import WATCHED_SUITE, watched_run

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
CASES = list(WATCHED_SUITE.table.ids)


def findings_of(run: Run, suite: Suite = WATCHED_SUITE, measures: tuple[str, ...] = ("RR",)) -> dict[str, Finding]:
    """The findings of one run by their codes; of several with one code the last."""
    return {each.code: each for each in build_report(score(match_hits(suite, run), measures)).audit}


def audited(run: Run, suite: Suite, measures: tuple[str, ...] = ("RR",)) -> dict[str, Finding]:
    """What a report says of a run and its suite, by code."""
    return {each.code: each for each in evaluate_run(suite, [run], measures).audit}


class TestCodes:
    def test_every_code_is_in_kebab_case(self) -> None:
        assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", code) for code in all_kinds())

    def test_every_code_is_on_the_page_with_what_it_says(self) -> None:
        rows = re.findall(
            r"^\| `([a-z0-9-]+)` \| (error|warning|note)(, untrusted)? \| (.*) \|$",
            PAGE.read_text().split("\n## Codes\n")[1],
            re.MULTILINE,
        )
        assert rows == [(kind.code, kind.severity, ", untrusted" * kind.spoils, kind.about) for kind in all_kinds().values()]

    def test_everything_that_is_dropped_has_a_code(self) -> None:
        assert {code for code, _ in DROPPED.values()} <= all_kinds().keys()

    def test_everything_that_spoils_trust_has_a_code(self) -> None:
        assert {TrustEvent(kind, "it happened").code for kind in TRUST_KINDS} <= all_kinds().keys()

    def test_a_finding_without_a_listed_code_cannot_be_made(self) -> None:
        with pytest.raises(KeyError):
            finding("something-new", "x")


class TestCases:
    """A note names the cases that it is about, in the order of the suite."""

    def test_what_a_watched_run_says(self) -> None:
        found = findings_of(watched_run(CASES[::-1]))
        assert {code: each.cases for code, each in found.items()} == {
            "too-many-failures": ("c1", "c2", "c7"),
            "failures": ("c1", "c2", "c7"),
            "repeat-failures": ("c3",),
            "unstable-answers": ("c4",),
            "worker-restarts": (),
            "limited-candidates": (),
            "not-isolated": (),
            "unreachable-targets": ("c5",),
            "hits-beyond-depth": ("c5",),
            "merged-chunks": ("c4",),
        }

    @pytest.mark.parametrize(
        ("found", "empty", "unanswerable", "noted"),
        [(0, 2, 0, True), (1, 9, 0, True), (1, 8, 0, False), (2, 9, 0, False), (0, 1, 0, False), (0, 1, 9, False), (0, 2, 1, True)],
    )
    def test_a_run_that_finds_next_to_nothing_is_told(self, found: int, empty: int, unanswerable: int, noted: bool) -> None:
        """Where there is nothing to find, an empty answer is right."""
        names = [f"c{number:02}" for number in range(found + empty + unanswerable)]
        answerable = names[: found + empty]
        cases = [Case(name, judgments=(Judgment("a"),)) for name in answerable]
        cases += [Case(name, unanswerable=True) for name in names[found + empty :]]
        answers = [Answer(name, "ok", (Hit("a", 1),)) for name in names[:found]] + [Answer(name, "empty") for name in names[found:]]
        said = findings_of(Run.from_answers("r", answers), Suite.from_cases("s", cases))
        told = said.get("empty-answers") or said.get("all-answers-empty")
        some = (
            "warning",
            f"answers without any hit: {empty} of {found + empty} (90 %), like case 'c01'",
            tuple(answerable[found:]),
        )
        none = ("error", f"untrusted: all of {empty} answers are empty: the agent returned no hit for any case", ())
        assert (told and (told.severity, told.message, told.cases)) == ((some if found else none) if noted else None)

    def test_cases_that_a_run_does_not_mention_are_not_empty_answers_too(self) -> None:
        suite = Suite.from_cases("s", [Case(f"c{row:02}", judgments=(Judgment("a"),)) for row in range(20)])
        said = findings_of(Run.from_answers("r", [Answer("c00", "ok", (Hit("a", 1),))]), suite)
        message = "untrusted: 19 of 20 cases are missing from the run"
        assert (said["most-cases-missing"].message, "empty-answers" in said, "cases-missing" in said) == (message, False, False)

    def test_the_most_frequent_failure_comes_first(self) -> None:
        report = build_report(score(match_hits(WATCHED_SUITE, watched_run(CASES)), ["RR"]))
        failures = [(each.message, each.cases) for each in report.audit if each.code == "failures"]
        assert failures == [("3 cases failed in 2 ways, most often (2 cases): crash", ("c1", "c2", "c7"))]

    def test_the_same_error_from_the_same_line_is_one_kind_and_a_case_that_was_not_run_has_not_failed(self) -> None:
        suite = Suite.from_cases("s", [Case(f"c{row:02}", judgments=(Judgment("a"),)) for row in range(40)])

        def answer(row: int) -> Answer:
            failures = [f"KeyError: {row}", f"Error{row}: x", "10 consecutive failures, the last one: KeyError: 5"]
            details = AnswerDetails(failure=failures[min(row // 5, 1 + (row > 30))], traceback='File "a.py", line 1, in x')
            return Answer(f"c{row:02}", "not_run" if row > 30 else "error", (), details)

        report = build_report(score(match_hits(suite, Run.from_answers("r", map(answer, range(40)))), ["RR"]))
        said = {each.code: each.message for each in report.audit}
        assert said["failures"] == "31 cases failed in 27 ways, most often (5 cases): KeyError: 0"
        assert said["too-many-failures"].endswith("more than 5%; most often: KeyError: 0")
        kinds = report.agents["r"].failures
        assert sum(len(kind.cases) for kind in kinds) == 40
        assert (len(kinds), kinds[0].status, kinds[-1].reason) == (20, "not_run", "failures of 9 more kinds")

    def test_failures_for_one_reason_are_one_note_whatever_was_there_instead(self) -> None:
        suite = Suite.from_cases("s", [Case(each, judgments=(Judgment("a"),)) for each in ("c1", "c2")])
        answers = [
            Answer(each, "error", (), AnswerDetails(failure="no list", failure_excerpt=f"'{each}'")) for each in ("c1", "c2")
        ]
        found = findings_of(Run.from_answers("r", answers), suite)["failures"]
        assert (found.message, found.cases) == ("2 cases failed: no list: 'c1'", ("c1", "c2"))

    def test_cases_that_an_imported_run_lacks_and_cases_without_a_target(self) -> None:
        suite = Suite.from_cases("s", [Case("c1", judgments=(Judgment("a"),)), Case("c2", judgments=(Judgment("a", grade=0),))])
        run = Run.from_answers("r", [Answer("c1", "ok", (Hit("a", 1),)), Answer("other", "ok", (Hit("a", 1),))])
        found = audited(run, suite)
        assert (found["cases-missing"].cases, found["cases-missing"].severity) == (("c2",), "warning")
        assert found["cases-without-target"].cases == ("c2",)
        assert found["cases-not-in-suite"].cases == ("other",)

    @pytest.mark.parametrize(
        ("measures", "message"),
        [
            (
                ("nDCG@10", "P@5", "RR"),
                "cases without a target of grade 2 or higher, which can only score 0 in P(rel=2)@5, RR(rel=2): 2 of 3",
            ),
            (("nDCG@10", "P(rel=1)@5"), "cases without a target of grade 1 or higher: 1 of 3"),
            (("Relevance",), "cases without a target of grade 2 or higher, which can only score 0 in Relevance: 2 of 3"),
        ],
    )
    def test_a_low_grade_pays_in_ndcg_and_not_in_measures_that_count_from_a_higher_one(
        self, measures: tuple[str, ...], message: str
    ) -> None:
        grades = {"c1": 2, "c2": 1, "c3": 0}
        cases = [Case(case, judgments=(Judgment("a", grade=grade),)) for case, grade in grades.items()]
        suite = Suite.from_cases("s", cases, defaults=Defaults(rel=2))
        run = Run.from_answers("r", [Answer(case, "ok", (Hit("a", 1),)) for case in grades])
        assert score(match_hits(suite, run), ["nDCG@10"]).values[:, 0].tolist() == [1, 1, 0]
        assert audited(run, suite, measures)["cases-without-target"].message == message

    def test_cases_that_were_not_run_make_a_result_untrusted(self) -> None:
        run = Run.from_answers("r", [Answer(case, "not_run" if case == "c3" else "empty") for case in CASES])
        found = findings_of(run)["cases-not-run"]
        assert (found.message, found.severity, found.cases) == ("untrusted: 1 of 12 cases were not run", "error", ("c3",))
        assert found.fix == "Continue with --resume, evaluate all shards together, or compare on the common cases with --intersect."

    def test_an_agent_that_did_not_start_is_said_once(self) -> None:
        failure = "bm25: no such file"
        answers = [Answer(case, "not_run", details=AnswerDetails(failure=failure)) for case in CASES]
        provenance = Provenance(trust=(TrustEvent("not_started", failure),))
        run = Run.from_answers("bm25", answers, provenance=provenance)
        report = build_report(score(match_hits(WATCHED_SUITE, run), ["RR"]))
        assert [each.code for each in report.audit if "no such file" in each.message] == ["not-started"]


def test_a_split_tells_of_cases_that_are_in_several_segments_or_in_none() -> None:
    tags = [("x", "y"), ("x",), (), ("y", "x"), ("x", "x")]
    fields = [{"level": n, "kind": "a"} if n else {"kind": "a"} for n in range(5)]
    cases = [Case(f"c{n}", "q", (Judgment("a"),), tags=tags[n], fields=fields[n]) for n in range(5)]
    run = Run.from_answers("agent", [Answer(case.id, "ok", (Hit("a", 1),)) for case in cases])
    scores = score(match_hits(Suite.from_cases("s", cases), run), ("RR",))
    expected = [
        "cases by tag: 2 of 5 in several, 1 of 5 in none of the segments",
        "cases by level: 1 of 5 in none of the segments",
    ]
    for report in (build_report(scores, iter(["tag", "level", "kind"])), build_comparison([scores], [], ["tag", "level", "kind"])):
        assert [each.message for each in report.audit if each.code == "cases-not-in-one-segment"] == expected


def test_oddities_of_the_corpus_have_codes() -> None:
    survey = Survey(ids=frozenset({"a"}), digest="d", duplicates=2, empty=3, skipped=4)
    report = build_report(score(match_hits(WATCHED_SUITE, watched_run(CASES)), ["RR"]), corpus=survey)
    found = [
        (each.code, each.message)
        for each in report.audit
        if each.code in ("duplicate-documents", "empty-documents", "skipped-files")
    ]
    assert found == [
        ("duplicate-documents", "documents of the corpus with a duplicate id, left out: 2"),
        ("empty-documents", "documents of the corpus without any text: 3"),
        ("skipped-files", "files of the corpus that hold no text or none of its documents, left out: 4"),
    ]


class TestSeveralRuns:
    def findings(self, *runs: Run) -> list[Finding]:
        scores = [score(match_hits(WATCHED_SUITE, run), ["RR"]) for run in runs]
        return list(build_comparison(scores, compare(scores)).audit)

    def test_a_note_that_holds_for_all_runs_is_said_once(self) -> None:
        runs = [watched_run(CASES, label=RunLabel("one")), watched_run(CASES, 1, RunLabel("two"), restarts=9)]
        messages = [each.message for each in self.findings(*runs)]
        assert "all runs: 3 cases failed in 2 ways, most often (2 cases): crash" in messages
        assert "one: restarts of the worker: 3" in messages
        assert "two: restarts of the worker: 9" in messages

    def test_equal_counts_of_different_cases_are_told_apart(self) -> None:
        runs = [
            Run.from_answers(name, [Answer(case, "empty") for case in CASES if case != left])
            for name, left in (("x", "c1"), ("y", "c2"))
        ]
        missing = {each.message.partition(":")[0]: each.cases for each in self.findings(*runs) if each.code == "cases-missing"}
        assert missing == {"x": ("c1",), "y": ("c2",)}

    def test_two_runs_of_one_agent_show_the_noise_floor(self) -> None:
        (found,) = [each for each in self.findings(watched_run(CASES), watched_run(CASES, 1)) if each.code == "noise-floor"]
        assert found.message.startswith("noise floor, bm25 asked twice: the means differ by RR 0.0000; the times by cold p50 0.0%")

    def test_two_agents_of_one_name_show_none(self) -> None:
        other = watched_run(CASES, 1)
        changed = replace(other, provenance=replace(other.provenance, agent=replace(other.provenance.agent, code="other")))  # type: ignore[type-var]  # it has one
        assert "noise-floor" not in {each.code for each in self.findings(watched_run(CASES), changed)}


def test_text_and_markdown_print_the_message() -> None:
    report = build_report(score(match_hits(WATCHED_SUITE, watched_run(CASES)), ["RR"]))
    assert "error too-many-failures: untrusted: 3 of 12 cases ended in an error or a time-out, more than 5%" in render(report)
    assert "- error: untrusted: 3 of 12 cases ended in an error or a time-out, more than 5%" in render(report, "markdown")
