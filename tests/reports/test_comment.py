"""A comment on a pull request: the verdict first, short enough for GitHub, and nothing in it that pings, links or runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import GateSettings, Pin, render
from searchmark.reports.ci import LONGEST, MARK
from searchmark.reports.render import format_of
from tests.reports.samples import HOSTILE, comparison_of, report_of
from tests.reports.test_junit import gated


@pytest.mark.parametrize(
    ("gates", "line"),
    [
        (GateSettings(thresholds={"RR": 0.5}), "## ✅ Search quality: the gate passed"),
        (GateSettings(thresholds={"RR": 0.99}), "## ❌ Search quality: the gate failed"),
        (GateSettings(thresholds={"Tau": 0.5}), "## ⚠️ Search quality: untrusted, so nothing is known"),
        (GateSettings(), "## ℹ️ Search quality: measured, and no gate checks it"),
    ],
)
def test_the_verdict_is_the_first_line(gates: GateSettings, line: str) -> None:
    assert render(gated(gates), "comment").splitlines()[0] == line


def test_rules_are_a_table_with_those_that_are_not_met_first() -> None:
    lines = render(gated(GateSettings(thresholds={"Success@10": 0.5, "RR": 0.99})), "comment").splitlines()
    start = lines.index("| rule | expected | actual | verdict |")
    assert lines[start + 2 : start + 4] == ["| RR | \\>= 0.99 | 0.9333 | failed |", "| Success@10 | \\>= 0.5 | 0.9333 | passed |"]


def test_causing_cases_are_folded_away_and_the_next_command_is_code() -> None:
    text = render(replace(gated(GateSettings(thresholds={"RR": 0.99})), next_step="searchmark evaluate `x` ```"), "comment")
    details = text[text.index("<details>") : text.index("</details>")]
    assert "- c1 'query 1': expected a, b; got x" in details
    assert "````````sh\nsearchmark evaluate `x` ```\n````````\n" in text
    assert text.endswith(f"\n{MARK}\n")


def test_it_is_never_longer_than_github_takes() -> None:
    pins = tuple(Pin("c1", must_contain="@|_*" * 200 + str(n)) for n in range(400))
    text = render(replace(gated(GateSettings(pins=pins)), next_step="`" * 5000), "comment")
    assert len(text) <= LONGEST
    assert text.splitlines()[0].startswith("## ❌")
    assert " more lines are in the report." in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert text.endswith(f"{MARK}\n")


def test_no_mention_link_or_markup_survives() -> None:
    text = render(report_of(f"{HOSTILE} @octocat www.evil.example #12 </details><img src=x>", minimum=0.9), "comment")
    assert not any(mark in text for mark in ("@octocat", "@everyone", "http://", "www.evil", "#12", "[link](", "::error"))
    assert [tag for tag in ("<script", "<img", "</details><") if tag in text.replace("\\<", "")] == []


def test_a_comparison_without_a_gate_shows_its_verdicts() -> None:
    assert "| run | against | measure | difference |" in render(comparison_of(), "comment")


@pytest.mark.parametrize(
    ("name", "format"),
    [("report.md", "markdown"), ("a.comment.md", "comment"), ("A.COMMENT.MD", "comment"), ("x/comment.md", "markdown"),
     ("report.xml", "junit"), ("report.junit.xml", "junit")],
)  # fmt: skip
def test_the_longest_extension_decides(name: str, format: str) -> None:  # noqa: A002  # the word that users know
    assert format_of(Path(name)) == format
