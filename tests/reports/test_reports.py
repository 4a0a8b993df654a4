"""Reports: one record, several renderings, none of them fooled by what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    Hit,
    Judgment,
    Run,
    Suite,
    UsageError,
    build_comparison,
    build_report,
    compare,
    match_hits,
    render,
    score,
)
from searchmark.reports.quoting import markdown_text, visible
from searchmark.reports.render import RENDERERS, suffixes, write_report
from searchmark.reports.text import to_text
from tests.reports.samples import HOSTILE, WATCHED_SUITE, comparison_of, report_of, watched_run


class TestText:
    def test_shows_means_denominators_and_findings(self) -> None:
        text = render(report_of())
        assert "3 cases: 1 ok, 1 empty, 1 timeout" in text
        assert "error too-many-failures: untrusted: 1 of 3 cases ended in an error or a time-out, more than 5%" in text
        assert "note undefined-values: cases for which nDCG@10 is undefined, not in its mean: 1" in text

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
        last = " ".join(render(report_of(minimum=0.1)).rstrip().splitlines()[-2:])
        assert "gate untrusted: RR >= 0.1 cannot be checked, the run is untrusted: 1 of 3 cases " in last


class TestMarkdown:
    def test_the_verdict_comes_first(self) -> None:
        lines = render(report_of(minimum=0.9), "markdown").splitlines()
        assert lines[0] == "**untrusted: 1 of 3 cases ended in an error or a time-out, more than 5%**"
        assert lines[2] == "# demo: search quality"
        assert lines[4].startswith("**gate untrusted")

    def test_no_markup_survives(self) -> None:
        text = render(report_of(HOSTILE, hit=HOSTILE), "markdown")
        assert "<script" not in text.replace("\\<", "")
        assert not any(line.startswith("::") for line in text.splitlines())
        assert "\x1b" not in text
        rows = [line for line in text.splitlines() if line.startswith(("| c1", "| c2"))]
        assert all(line.replace("\\|", "").count("|") == 6 for line in rows)


class TestRenderers:
    def test_an_unknown_format_is_a_usage_error(self, tmp_path: Path) -> None:
        with pytest.raises(
            UsageError, match="available: comment, csv, html, json, junit, latex, markdown, summary, summary-csv, text"
        ):
            render(report_of(), "pdf")
        with pytest.raises(
            UsageError, match=r"the extension must be one of \.json, .md, .markdown, .comment.md, .xml, .html, .htm, .txt"
        ):
            write_report(report_of(), tmp_path / "report.pdf")

    @pytest.mark.parametrize("name", RENDERERS)
    def test_every_format_writes_a_comparison(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / f"report{RENDERERS[name].suffixes[0]}"
        write_report(comparison_of(), path)
        assert "bm25" in path.read_text()

    def test_no_extension_asks_for_two_formats(self) -> None:
        every = [suffix for renderer in RENDERERS.values() for suffix in renderer.suffixes]
        assert len(every) == len(set(every))

    def test_every_extension_is_in_the_docs(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "reports.md").read_text()
        assert all(f"`out{suffix}`" in page for suffix in suffixes())

    @pytest.mark.parametrize("name", RENDERERS)
    def test_every_format_writes_one_run(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / f"report{RENDERERS[name].suffixes[0]}"
        write_report(report_of(), path)
        assert "demo" in path.read_text() or "agent" in path.read_text()


class TestUnits:
    """Every number that is no value of a measure says in what it is counted."""

    def test_times_and_sizes_of_one_run(self) -> None:
        run = watched_run(list(WATCHED_SUITE.table.ids))
        text = render(build_report(score(match_hits(WATCHED_SUITE, run), ["RR"])))
        assert "index: 0.5 s, 1 full build, 12 incremental updates, 4.1 KB large, peak memory 1 MB, worker start 0.25 s" in text
        assert "2 ms" in text

    def test_times_and_sizes_side_by_side(self) -> None:
        row = next(line for line in render(comparison_of(), "markdown").splitlines() if line.startswith("| bm25@\u200bparent | 2"))
        assert row == "| bm25@\u200bparent | 2 / 3 ms | 1 / 2 ms | 0.5 s | 4.1 KB | 1 MB |"

    def test_a_tiny_p_is_not_zero(self) -> None:
        suite = Suite.from_cases(
            "s", [Case(f"c{n}", judgments=(Judgment(f"a{n}"), Judgment(f"x{n}", grade=0))) for n in range(100)]
        )
        runs = [
            Run.from_answers(name, [Answer(f"c{n}", "ok", (Hit(f"{hit}{n}", 1),)) for n in range(100)])
            for name, hit in (("old", "x"), ("new", "a"))
        ]
        scores = [score(match_hits(suite, run), ["RR"]) for run in runs]
        text = render(build_comparison(scores, compare(scores)))
        assert "< 0.0001" in text
        assert "0.0000 " not in text.split("RR: IMPROVED")[0].split("p (Holm)")[1]


def test_cases_that_all_score_zero_are_all_bad() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(2)])
    run = Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("x", 1),)) for n in range(2)])
    assert build_report(score(match_hits(suite, run), ["RR"])).agents["agent"].worst == ("c0", "c1")


def test_the_worst_cases_come_first_and_perfect_ones_never() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(4)])
    answers = [Answer(f"c{n}", "ok", tuple(Hit(h, r) for r, h in enumerate([*"xyz"][:n] + ["a"], 1))) for n in range(4)]
    report = build_report(score(match_hits(suite, Run.from_answers("agent", answers)), ["RR"]))
    assert report.agents["agent"].worst == ("c3", "c2", "c1")


def test_visible_writes_out_what_cannot_be_seen() -> None:
    assert visible("a\tb\x1b\u202e\udcff") == "a b\\x1b\\u202e\\udcff"
    assert visible("abcdef", 4) == "abc…"


def test_markdown_text_leaves_no_mention_or_command() -> None:
    assert "@e" not in markdown_text("@everyone")
    assert markdown_text("P@5") == "P@5"
    assert "::" not in markdown_text("::set-output")
