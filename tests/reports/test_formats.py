"""What each format is for: narrow screens, failed queries with what was expected, rows for machines, tables for papers."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Evidence,
    Finding,
    Hit,
    Judgment,
    Report,
    Run,
    Suite,
    build_comparison,
    build_report,
    check_gate,
    compare,
    match_hits,
    parse_threshold,
    read_report,
    render,
    score,
)
from searchmark.measures.catalogue import in_words, with_words
from searchmark.reports.text import to_text
from tests.reports.samples import WATCHED_SUITE, comparison_of, report_of, watched_run

MEASURES = ["nDCG@10", "RR", "R@10", "P@5", "Success@5", "Judged@10"]


def suite_of(count: int = 20) -> Suite:
    cases = [
        Case(
            f"case {n}; second",
            f"how to do the thing number {n}",
            (Judgment(f"src/a file; {n}.py", grade=2),),
            category=f"kind{n % 3}",
        )
        for n in range(count)
    ]
    return Suite.from_cases("My suite_1: α & more", cases)


def run_of(suite: Suite, name: str, wrong: int = 3) -> Run:
    details = AnswerDetails((9.0,), (1.0, 3.0, 2.0))
    targets = [f"src/a file; {n}.py" if n % wrong else "src/other.py" for n in range(len(suite))]
    answers = [Answer(case, "ok", (Hit(hit, 1, 1.0),), details) for case, hit in zip(suite.table.ids, targets, strict=True)]
    return Run.from_answers(name, answers)


def one(minimum: dict[str, float] | None = None) -> Report:
    suite = suite_of()
    scores = score(match_hits(suite, run_of(suite, "bm25")), MEASURES)
    rules = [parse_threshold(f"{name}={value}") for name, value in (minimum or {}).items()]
    return build_report(scores, ("category",), check_gate(Evidence.of(scores), rules) if rules else None)


def several() -> Report:
    suite = suite_of(60)
    scores = [score(match_hits(suite, run_of(suite, name, wrong)), MEASURES) for name, wrong in (("old", 2), ("new", 60))]
    return build_comparison(scores, compare(scores, ("category",)), ("category",))


class TestWords:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("P@5", "Precision@5"),
            ("P(rel=2)@5", "Precision@5"),
            ("RR", "MRR"),
            ("RR@10", "MRR@10"),
            ("Success@5", "Hit rate@5"),
            ("R", "Recall"),
            ("AP@100", "MAP@100"),
            ("nDCG@10", "nDCG@10"),
            ("0.5*P@5 + 0.5*RR", "0.5*P@5 + 0.5*RR"),
            ("Rprec", "Rprec"),
        ],
    )
    def test_a_measure_has_a_common_word(self, name: str, words: str) -> None:
        assert in_words(name) == words

    @pytest.mark.parametrize("name", ["text", "markdown", "summary", "latex"])
    def test_rows_have_both(self, name: str) -> None:
        text = render(one(), name)
        assert all(with_words(measure) in text for measure in ("P@5", "RR", "Success@5"))


class TestNarrow:
    @pytest.mark.slow
    @pytest.mark.parametrize("width", [60, 80, 100, 120])
    @pytest.mark.parametrize(
        "report", [one(), several(), comparison_of(), one({"RR": 0.9})], ids=["one", "several", "watched", "gate"]
    )
    def test_no_line_is_wider_than_the_terminal(self, report: Report, width: int) -> None:
        assert max(map(len, to_text(report, width=width).split("\n"))) <= width

    @pytest.mark.parametrize("width", [60, 80])
    def test_every_number_of_a_wide_table_is_whole_on_a_narrow_one(self, width: int) -> None:
        wide, narrow = (set(re.findall(r"[+-]?\d\.\d{4}", to_text(one(), width=columns))) for columns in (200, width))
        means = {f"{summary.mean:.4f}" for summary in one().agents["bm25"].measures.values() if summary.mean is not None}
        assert means <= narrow <= wide

    def test_what_is_secondary_is_left_out_first(self) -> None:
        assert "median" in to_text(one(), width=120)
        assert "median" not in to_text(one(), width=80)
        assert "95 % interval" in to_text(one(), width=80)

    def test_without_colour_there_is_no_code(self) -> None:
        assert "\x1b" not in to_text(several(), width=80)
        assert "\x1b" in to_text(several(), width=80, colour=True)


class TestExpectedAnswers:
    @pytest.mark.parametrize("width", [80, 160])
    def test_the_lowest_cases_name_them_on_a_terminal(self, width: int) -> None:
        text = re.sub(r"\s+", " ", to_text(one(), width=width))
        assert "src/a file; 0.py (not found)" in text or "src/a file; 0.py" in text
        assert "src/other.py" in text

    def test_failed_queries_name_them_in_markdown(self) -> None:
        lines = render(one(), "markdown").split("\n")
        at = lines.index("### Failed queries")
        assert lines[at + 2] == "| case | query | why | expected | first hits |"
        assert lines[at + 4].endswith("| src/a file; 0.py (not found) | src/other.py |")
        assert sum("(not found)" in line for line in lines) == 7

    def test_a_target_that_came_late_has_its_rank(self) -> None:
        suite = Suite.from_cases("s", [Case("c", "q", (Judgment("a"),))])
        run = Run.from_answers("r", [Answer("c", "ok", tuple(Hit(hit, rank) for rank, hit in enumerate("xyza", 1)))])
        assert "| a (rank 4) | x, y, z |" in render(build_report(score(match_hits(suite, run), ["RR"])), "markdown")


class TestMarkdown:
    def test_the_sections_are_in_the_order_in_which_they_are_read(self) -> None:
        text = render(one({"RR": 0.6, "R@10": 0.2, "P@5": 0.9}), "markdown")
        titles = ["# My suite", "**gate failed", "## Summary", "### Failed queries", "### Category breakdown"]
        assert sorted(titles, key=text.index) == titles
        assert "| ⚠️ | MRR (RR) |" in text
        assert "| ✅ | Recall@10 (R@10) |" in text
        assert "| ❌ | Precision@5 (P@5) |" in text

    def test_without_a_gate_there_is_no_mark(self) -> None:
        text = render(one(), "markdown")
        assert not [mark for mark in ("✅", "⚠️", "❌") if mark in text]
        assert "| MRR (RR) | 0.6500 | " in text


class TestCsv:
    def rows(self, report: Report, name: str = "csv") -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(render(report, name))))

    def test_a_case_has_its_lists_and_its_median_latency(self) -> None:
        row = self.rows(one())[1]
        assert (row["run"], row["test_case_id"], row["category"]) == ("bm25", "case 1; second", "kind1")
        assert json.loads(row["retrieved_files"]) == json.loads(row["ground_truth_files"]) == ["src/a file; 1.py"]
        assert (row["latency_ms"], row["cold_ms"], row["warm_ms"]) == ("2.5", "9.0", "2.0")

    def test_the_median_of_two_searches_is_between_them(self) -> None:
        suite = Suite.from_cases("suite", [Case("c", "q", (Judgment("a"),))])
        run = Run.from_answers("agent", [Answer("c", "ok", (Hit("a", 1),), AnswerDetails((10.0,), (1.0,)))])
        (row,) = self.rows(build_report(score(match_hits(suite, run), ["RR"])))
        assert (row["latency_ms"], row["cold_ms"], row["warm_ms"]) == ("5.5", "10.0", "1.0")

    @pytest.mark.slow
    def test_a_report_that_was_read_back_gives_the_same_rows(self, tmp_path) -> None:
        path = tmp_path / "report.json"
        path.write_text(render(several(), "json"))
        assert all(
            render(read_report(path), name) == render(several(), name) for name in ("csv", "summary-csv", "summary", "latex")
        )

    def test_a_text_that_is_no_formula_comes_back_by_taking_off_one_apostrophe(self) -> None:
        row = self.rows(report_of("=1+1", hit="=1+1"))[0]
        assert row["query"] == "'=1+1"
        assert json.loads(row["retrieved_files"])[0] == "=1+1"

    def test_means_and_latencies_have_a_row_each(self) -> None:
        run = watched_run(list(WATCHED_SUITE.table.ids))
        rows = self.rows(build_report(score(match_hits(WATCHED_SUITE, run), ["RR"])), "summary-csv")
        assert [(row["measure"], row["unit"]) for row in rows] == [
            ("RR", ""), ("latency cold", "ms"), ("latency warm", "ms"), ("latency first_hit", "ms"),
        ]  # fmt: skip
        assert (rows[1]["median"], rows[1]["p99"], rows[1]["searches"], rows[1]["failed"]) == ("2.0", "3.0", "12", "3")


class TestSummary:
    @pytest.mark.parametrize("report", [one({"RR": 0.6}), several(), comparison_of()], ids=["gate", "several", "watched"])
    def test_it_is_short_and_narrow(self, report: Report) -> None:
        lines = render(report, "summary").split("\n")
        assert len(lines) <= 60

    def test_it_says_what_it_means(self) -> None:
        assert "gate passed: MRR (RR) is 0.65" in render(one({"MRR": 0.6}), "summary")
        assert "new against old: nDCG@10 +0.4833, IMPROVED" in render(several(), "summary")
        assert "measured, and no gate checks it" in render(one(), "summary")

    def test_it_says_how_much_it_leaves_out(self) -> None:
        suite = suite_of(12)
        scores = [score(match_hits(suite, run_of(suite, f"run{number}", number + 2)), MEASURES) for number in range(8)]
        report = build_comparison(scores, compare(scores))
        shown = render(report, "summary")
        assert len(report.pairs) == 28
        assert "and 22 more pairs of runs" in shown
        assert "and 4 more runs" in shown
        assert "not shown: the means of run4, run5, run6" in shown

    def test_it_has_every_note_that_makes_it_untrusted(self) -> None:
        found = tuple(Finding("failed", "error", f"wrong in way {number}") for number in range(9))
        shown = render(replace(one(), audit=found), "summary")
        assert [each for each in found if f"error failed: {each.message}" not in shown] == []


@pytest.mark.parametrize("colour", [True, False])
def test_no_line_ends_with_blanks_that_make_it_wider_than_the_terminal(colour: bool) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", to_text(several(), colour=colour, width=40))
    assert [line for line in text.split("\n") if line != line.rstrip()] == []


class TestLatex:
    def test_one_run_and_a_comparison_have_caption_and_label(self) -> None:
        single, compared = render(one(), "latex"), render(several(), "latex")
        assert r"\label{tab:my-suite-1-more}" in single
        assert r"\caption{Search quality of bm25 on My suite\_1: α \& more, 20 cases: means" in single
        assert "A superscript names the runs that a mean beats with evidence" in compared
        assert "^{a}$" in compared


class TestJudged:
    """How much was judged is no quality: it is no verdict, whatever the difference."""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["text", "markdown", "summary", "latex", "comment"])
    def test_no_format_gives_it_a_verdict(self, name: str) -> None:
        rows = [line for line in render(several(), name).split("\n") if "Judged@10" in line]
        assert not [row for row in rows if "IMPROVED" in row or "REGRESSED" in row]

    def test_its_means_have_no_letters(self) -> None:
        last = [line.split("&")[-1] for line in render(several(), "latex").split("\n") if line.endswith(r"\\")][1:]
        assert not [cell for cell in last if "^" in cell]
