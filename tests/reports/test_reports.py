"""Reports: one record, several renderings, none of them fooled by what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    Hit,
    Judgment,
    Run,
    Suite,
    build_report,
    check_gate,
    judge,
    parse_threshold,
    read_report,
    render,
    score,
)
from searchmark.errors import FormatError, UsageError
from searchmark.reports import write_report
from searchmark.reports.quoting import markdown_text, visible
from searchmark.reports.report import Report
from searchmark.reports.text import to_text

HOSTILE = "|<script>alert(1)</script>\n::error::pwned \x1b[31mred\x1b[0m [link](http://x) `code` @everyone \u202eevil [bold]x[/bold] \udcff"


def report_of(query: str = "find it", hit: str = "a", by: tuple[str, ...] = ("category",), minimum: float | None = None) -> Report:
    suite = Suite.from_cases(
        "demo",
        [
            Case("c1", query, (Judgment("a", grade=2), Judgment("b")), category="x"),
            Case("c2", query, (Judgment("z", "glob"),), category="y"),
            Case("c3", query, unanswerable=True, category="y"),
        ],
    )
    run = Run.from_answers("agent", [Answer("c1", "ok", (Hit(hit, 1, float("inf")), Hit("b", 2, 0.1))), Answer("c2", "timeout")])
    scores = score(judge(suite, run), ["RR", "nDCG@10", "Abstain", "mine = 0.5*P@5 + 0.5*RR"])
    gate = None if minimum is None else check_gate(scores, [parse_threshold(f"RR={minimum}")])
    return build_report(scores, by, gate)


class TestJson:
    def test_has_the_agreed_shape(self) -> None:
        data = json.loads(render(report_of(), "json"))
        agent = data["agents"]["agent"]
        assert data["schema_version"] == 1
        assert data["suite"]["cases"] == 3
        assert set(data["suite"]["hashes"]) == {"queries", "corpus", "judgments"}
        assert agent["counts"] == {"ok": 1, "empty": 1, "error": 0, "timeout": 1, "not_run": 0}
        assert agent["status"] == "untrusted"
        assert set(agent["measures"]["nDCG@10"]) == {"mean", "median", "std", "low", "high", "cases", "answered_mean", "undefined"}
        assert agent["measures"]["mine"]["definition"] == "0.5*P@5 + 0.5*RR"
        assert set(agent["segments"]["category"]) == {"x", "y"}
        assert agent["cases"]["c1"]["hits"] == [{"id": "a", "score": "inf"}, {"id": "b", "score": 0.1}]

    def test_undefined_is_null_with_a_reason(self) -> None:
        case = json.loads(render(report_of(), "json"))["agents"]["agent"]["cases"]["c2"]
        assert case["measures"]["nDCG@10"] is None
        assert case["undefined"]["nDCG@10"].startswith("glob and symbol judgments name no targets")
        assert "RR" not in case["undefined"]

    def test_numbers_are_in_full_precision_and_strictly_json(self) -> None:
        text = render(report_of(), "json")
        data = json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
        assert data["agents"]["agent"]["measures"]["mine"]["mean"] == (0.4 * 0.5 + 0.5 + 0) / 2

    def test_is_read_back_identical(self, tmp_path: Path) -> None:
        report = report_of(HOSTILE, minimum=0.3)
        write_report(report, tmp_path / "report.json")
        assert read_report(tmp_path / "report.json") == report

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("[]", "is not a report"),
            ('{"schema_version": 9}', "schema_version: is 9"),
            ('{"schema_version": 1}', "suite: is missing"),
        ],
    )
    def test_a_file_that_is_no_report_is_refused(self, file, content: str, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            read_report(file("report.json", content))


class TestText:
    def test_shows_means_denominators_and_notes(self) -> None:
        text = render(report_of())
        assert "3 cases: 1 ok, 1 empty, 1 timeout" in text
        assert "note: not to be trusted: 1 of 3 cases ended in an error or a time-out, more than 5%" in text
        assert "note: cases for which nDCG@10 is undefined, not in its mean: 1" in text

    def test_control_codes_never_reach_the_terminal(self) -> None:
        text = render(report_of(HOSTILE, hit=HOSTILE))
        assert not {char for char in text if ord(char) < 32} - {"\n"}
        assert "\u202e" not in text
        assert "[bold]" in render(report_of("[bold]x[/bold]"))

    @pytest.mark.parametrize("command", ["::error::x", "a ##[error]x", "##vso[task]x", "##teamcity[x]"])
    def test_commands_of_ci_systems_are_broken_up(self, command: str) -> None:
        text = render(report_of(command, hit=command))
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
        assert not any(mark in text for mark in ("##[", "##vso[", "##teamcity["))

    def test_a_long_query_is_cut_and_numbers_are_never_broken(self) -> None:
        text = to_text(report_of("x" * 100_000), width=40)
        assert len(text) < 10_000
        assert "0.5000" in text

    def test_the_gate_has_the_last_word(self) -> None:
        assert render(report_of(minimum=0.1)).rstrip().splitlines()[-1].startswith("gate untrusted: RR 0.5000")


class TestMarkdown:
    def test_the_verdict_comes_first(self) -> None:
        lines = render(report_of(minimum=0.9), "markdown").splitlines()
        assert lines[0] == "# demo: search quality"
        assert lines[2].startswith("**gate untrusted")

    def test_no_markup_survives(self) -> None:
        text = render(report_of(HOSTILE, hit=HOSTILE), "markdown")
        assert "<script" not in text.replace("\\<", "")
        assert not any(line.startswith("::") for line in text.splitlines())
        assert "\x1b" not in text
        rows = [line for line in text.splitlines() if line.startswith("| c1")]
        assert all(line.replace("\\|", "").count("|") == 5 for line in rows)


def test_an_unknown_format_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the formats are csv, json, latex, markdown, text"):
        render(report_of(), "pdf")
    with pytest.raises(UsageError, match="the extension must be one of"):
        write_report(report_of(), tmp_path / "report.pdf")


def test_cases_that_all_score_zero_are_all_bad() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(2)])
    run = Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("x", 1),)) for n in range(2)])
    assert build_report(score(judge(suite, run), ["RR"])).agents["agent"].worst == ("c0", "c1")


def test_infinite_values_are_text_in_json() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a", grade=999 + n),)) for n in range(2)])
    run = Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("a", 1),)) for n in range(2)])
    text = render(build_report(score(judge(suite, run), ["DCG(gain=exp)"])), "json")
    json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))


def test_the_worst_cases_come_first_and_perfect_ones_never() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(4)])
    answers = [Answer(f"c{n}", "ok", tuple(Hit(h, r) for r, h in enumerate([*"xyz"][:n] + ["a"], 1))) for n in range(4)]
    report = build_report(score(judge(suite, Run.from_answers("agent", answers)), ["RR"]))
    assert report.agents["agent"].worst == ("c3", "c2", "c1")


def test_visible_writes_out_what_cannot_be_seen() -> None:
    assert visible("a\tb\x1b\u202e\udcff") == "a b\\x1b\\u202e\\udcff"
    assert visible("abcdef", 4) == "abc…"


def test_markdown_text_leaves_no_mention_or_command() -> None:
    assert "@e" not in markdown_text("@everyone")
    assert markdown_text("P@5") == "P@5"
    assert "::" not in markdown_text("::set-output")
