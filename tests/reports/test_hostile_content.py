"""Whatever strangers write into queries, ids, names, errors and messages stays text, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from searchmark import Report, render
from searchmark.reports.audit import audit_pieces
from searchmark.reports.markdown import markdown_of
from searchmark.reports.parts import failure_parts
from searchmark.reports.render import RENDERERS
from searchmark.reports.report import SuiteSummary
from searchmark.scoring.trust import FailureKind
from tests.reports import chart_reports
from tests.reports.audits import audit_with
from tests.reports.hostile import ATTACKS, MEASURES, hostile_comparison, hostile_report

BREAK = "\u200b"  # the one invisible character that renderers write
COMMANDS = ("##[", "##vso[", "##teamcity[")
LONGEST = 200_000  # of what people read


def nothing_unseen(text: str) -> None:
    unseen = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert unseen <= {"\n", BREAK}


def no_ci_command(text: str) -> None:
    assert not [line for line in text.split("\n") if line.lstrip().startswith("::")]
    assert not [mark for mark in COMMANDS if mark in text]
    assert len(text) < LONGEST


def check_text(text: str, report: Report) -> None:
    nothing_unseen(text)
    no_ci_command(text)


def check_summary(text: str, report: Report) -> None:
    check_text(text, report)
    assert text.count("\n") <= 75


def flat(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token, *flat(token.children or []))]


OUR_MARKUP = {"<!-- searchmark -->\n", "<details><summary>Cases and findings</summary>\n", "</details>\n", "<sup>", "</sup>"}


def check_markdown(text: str, report: Report) -> None:
    """A real parser finds no markup in it but ours."""
    nothing_unseen(text)
    no_ci_command(text)
    tokens = flat(MarkdownIt("commonmark").enable("table").parse(text))
    kinds = {token.type for token in tokens}
    assert not kinds & {"link_open", "image", "code_inline", "code_block", "em_open", "blockquote_open", "hr", "entity"}
    assert {token.content for token in tokens if token.type in ("html_block", "html_inline")} <= OUR_MARKUP
    assert not re.search(r"(?i)www\.|://|@everyone|[^\\]#\d|a@b", text.replace(fenced(tokens), ""))
    for table in text.split("\n\n"):
        if table.startswith("|"):
            assert len({re.sub(r"\\.", "", line).count("|") for line in table.strip().split("\n")}) == 1


def fenced(tokens: list[Token]) -> str:
    """The command to run next, which is code: a link in it is none."""
    return next((token.content for token in tokens if token.type == "fence"), "\0")


def check_csv(text: str, report: Report) -> None:
    """No cell is a formula, and every list is the list that it was."""
    nothing_unseen(text)
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if is_obeyed(cell)]


def is_obeyed(cell: str) -> bool:
    first = cell.lstrip()[:1]
    formula = first != "" and first in "=+-@\uff1d\uff0b\uff0d\uff20" and not re.fullmatch(r"-?\d+\.\d+(e-\d+)?", cell)
    return formula or cell.lstrip().startswith(("::", *COMMANDS))


def check_case_csv(text: str, report: Report) -> None:
    check_csv(text, report)
    cases = [(case_id, case) for agent in report.agents.values() for case_id, case in agent.cases.items()]
    for row, (_, case) in zip(csv.DictReader(io.StringIO(text)), cases, strict=True):
        assert json.loads(row["retrieved_files"]) == [hit.id for hit in case.hits]
        assert json.loads(row["ground_truth_files"]) == [each.target for each in case.expected]


LATEX_COMMANDS = {
    "begin", "end", "centering", "caption", "label", "hline", "textbackslash", "textasciitilde", "textasciicircum", "textasciigrave",
    "textless", "textgreater", "textbar",
}  # fmt: skip


def check_latex(text: str, report: Report) -> None:
    """Every command is one of ours, every row has all its columns, and nothing follows a comment."""
    nothing_unseen(text)
    assert set(re.findall(r"\\([a-zA-Z]+)", text.replace(r"\\", ""))) <= LATEX_COMMANDS
    bare = re.sub(r"\\[^a-zA-Z]", "", text)
    assert set(re.findall(r"\\([a-zA-Z]+)", bare)) <= LATEX_COMMANDS
    assert bare.count("%") == 1
    assert not re.search(r"[#_~]|\^\^", bare)
    rows = [line for line in re.sub(r"\\&", "", text).split("\n") if line.endswith(r"\\")]
    assert len({row.count("&") for row in rows}) == 1
    assert re.search(r"\\label\{tab:[a-z0-9-]+\}", text)


def check_junit(text: str, report: Report) -> None:
    nothing_unseen(text)
    root = ET.fromstring(text)  # noqa: S314  # our own, without a DTD
    assert {element.tag for element in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped"}
    assert "\ufffe" not in text


def check_ascii(text: str) -> None:
    assert text.isascii()
    assert not [char for char in text if ord(char) < 32 and char != "\n"]


def check_json(text: str, report: Report) -> None:
    """What is in it is what came, and on the way it is nothing but ASCII."""
    check_ascii(text)
    assert list(json.loads(text)["agents"]) == list(report.agents)


class Page(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


FOLLOWED = ("href", "src", "action", "formaction", "xlink:href", "data", "srcdoc", "content", "style")


def check_html(text: str, report: Report) -> None:
    page = Page()
    page.feed(text)
    assert "img" not in page.tags
    assert not [name for name, value in page.attributes if name.startswith("on")]
    assert not [name for name, value in page.attributes if name in FOLLOWED and "javascript:" in (value or "")]
    assert "<script>alert" not in text


CHECKS: dict[str, Callable[[str, Report], None]] = {
    "text": check_text,
    "summary": check_summary,
    "markdown": check_markdown,
    "comment": check_markdown,
    "csv": check_case_csv,
    "summary-csv": check_csv,
    "latex": check_latex,
    "junit": check_junit,
    "json": check_json,
    "html": check_html,
}
REPORTS = [hostile_report, hostile_comparison]
NO_REPORT = Report(SuiteSummary("", {}, 0), {})


@pytest.mark.slow
@pytest.mark.parametrize("report_of", REPORTS)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("name", RENDERERS)
def test_text_stays_text(name: str, attack: str, report_of: Callable[[str], Report]) -> None:
    report = report_of(attack)
    CHECKS[name](render(report, name), report)


@pytest.mark.parametrize("name", [name for name in RENDERERS if name not in ("json", "html")])  # these quote by an encoder
def test_the_check_of_a_format_fails_once_nothing_is_quoted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RENDERERS[name].load()
    without_quoting(monkeypatch)
    assert not all(stays_text(name, attack) for attack in ATTACKS.values())


def test_what_an_agent_printed_does_not_leave_its_place_in_markdown() -> None:
    """A line of blanks ends HTML in Markdown, and GitHub makes links of what is between tags, too."""
    attack = "a\n \n\n\t\n# @all [x](http://e.x)"
    agent = replace(chart_reports.agent(), failures=(FailureKind("error", attack, (attack,), attack, attack),))
    lines = markdown_of(failure_parts(agent)).split("\n")
    begin, end = lines.index("<pre>"), lines.index("</pre>")
    assert all(line.strip(" \t") for line in lines[:end])
    assert not re.search(r"@all|http://", "".join(lines[:begin]))
    assert {token.type for token in MarkdownIt("commonmark").parse("\n".join(lines))} == {"html_block"}


def without_quoting(monkeypatch: pytest.MonkeyPatch) -> None:
    quoting = ("visible", "markdown_text", "markdown_line", "xml_text", "csv_text", "latex_text", "without_commands")
    modules = [module for path, module in sys.modules.items() if path.startswith("searchmark.reports.")]
    for module in modules:
        for function in quoting:
            if hasattr(module, function):
                monkeypatch.setattr(module, function, lambda text, width=None: text)


AUDIT_CHECKS: dict[str, Callable[[str], None]] = {
    ".txt": lambda text: check_text(text, NO_REPORT),
    ".md": lambda text: check_markdown(text, NO_REPORT),
    ".html": lambda text: check_html(text, NO_REPORT),
    ".json": check_ascii,
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("suffix", AUDIT_CHECKS)
def test_text_stays_text_in_an_audit(suffix: str, attack: str) -> None:
    AUDIT_CHECKS[suffix]("".join(audit_pieces(audit_with(attack, attack), suffix)))


@pytest.mark.parametrize("suffix", [".txt", ".md"])
def test_the_check_of_an_audit_fails_once_nothing_is_quoted(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_quoting(monkeypatch)
    assert not all(audit_stays_text(suffix, attack) for attack in ATTACKS.values())


def audit_stays_text(suffix: str, attack: str) -> bool:
    try:
        AUDIT_CHECKS[suffix]("".join(audit_pieces(audit_with(attack, attack), suffix)))
    except AssertionError:
        return False
    return True


def stays_text(name: str, attack: str) -> bool:
    report = hostile_report(attack)
    try:
        CHECKS[name](render(report, name), report)
    except (AssertionError, ET.ParseError, csv.Error):
        return False
    return True


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX on this machine")
@pytest.mark.parametrize("report_of", REPORTS)
@pytest.mark.parametrize("name", ["latex input", "latex shell", "latex signs", "pipes", "markdown", "quotes", "terminal codes"])
def test_a_table_compiles(name: str, report_of: Callable[[str], Report], tmp_path: Path) -> None:
    body = render(report_of(ATTACKS[name]), "latex")
    (tmp_path / "paper.tex").write_text(f"\\documentclass{{article}}\\begin{{document}}\n{body}\\end{{document}}\n")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2000:]
    assert (tmp_path / "paper.pdf").exists()


def test_every_measure_has_its_row_in_a_hostile_table() -> None:
    text = render(hostile_report(ATTACKS["latex shell"]), "latex")
    assert all(name in text for name in MEASURES)
