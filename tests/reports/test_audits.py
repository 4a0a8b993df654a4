"""Audits in every format: each shows every finding whole, and one that was read back is shown alike."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import Finding, FormatError, UsageError
from searchmark.audit.check import Audit, AuditTable, all_kinds, by_theme
from searchmark.records.finding import SEVERITIES, THEMES, by_severity, finding
from searchmark.reports.audit import audit_format, audit_pieces, audit_text, read_audit
from tests.reports.audits import audit_with

all_kinds()  # loads every module that has kinds of findings

FORMATS = [".json", ".md", ".html", ".txt"]
FOUND = Audit(
    "shop",
    30,
    (
        finding("cases-not-run", "untrusted: 1 of 30 cases were not run", ["c3"]),
        finding("cases-missing", "a: cases missing: 20", [f"c{number}" for number in range(20)]),
        finding("cases-missing", "b: cases missing: 1", ["c7"]),
    ),
    {"queries": "1f", "judgments": None, "corpus": None},
    (
        AuditTable("limits", "What measures can be", ("measure", "lowest", "cases", "known"), (("RR", 0.125, 3, True), ("P", None, 4, False))),
        AuditTable("nothing", "Nothing to show", ("measure",), ()),
    ),
)  # fmt: skip


def written(found: Audit, suffix: str) -> str:
    return "".join(audit_pieces(found, suffix))


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_has_each_finding_with_its_code_reason_remedy_and_cases(suffix: str) -> None:
    text = " ".join(written(FOUND, suffix).replace(r"\_", "_").split())
    for each in FOUND.findings:
        parts = (each.severity, each.code, each.message, each.why, each.fix, each.cases[0])
        assert [part for part in parts if part and part not in text] == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_has_the_tables_that_have_rows(suffix: str) -> None:
    text = written(FOUND, suffix)
    assert all(part in text for part in ("What measures can be", "0.125", "RR"))
    assert "Nothing to show" not in text


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("found", [FOUND, audit_with("plain"), Audit(None, 0, ())])
def test_an_audit_that_was_read_back_is_written_alike(found: Audit, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    file.write_text(written(found, ".json"))
    read = read_audit(file)
    assert read is not None
    assert written(read, suffix) == written(found, suffix)


def test_why_and_what_to_do_are_said_once_for_each_code() -> None:
    text = " ".join(written(FOUND, ".txt").split())
    assert text.count("They count as empty answers and score 0") == 1


def test_a_page_has_the_findings_under_their_themes_and_runs_nothing() -> None:
    page = written(FOUND, ".html")
    assert page.index('id="errors"') < page.index("cases-not-run") < page.index('id="runs"') < page.index("cases-missing")
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in page
    assert "<script" not in page
    assert "c19" in page


def test_a_page_has_all_errors_first_and_themes_with_warnings_before_those_with_notes() -> None:
    codes = ("formula", "duplicate-queries", "decision-hole", "claim-f1")  # a note of runs, a warning and an error of later themes
    found = Audit("shop", 30, tuple(by_severity(finding(code, f"message of {code}") for code in codes)))
    page = written(found, ".html")
    severities = [next(each.severity for each in found.findings if each.code == code) for code in sorted(codes, key=page.index)]
    assert severities == sorted(severities, key=SEVERITIES.index)
    assert len(set(severities)) == 3


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_says_what_was_not_checked_for_lack_of_what(suffix: str) -> None:
    text = written(replace(FOUND, lacking=("corpus", "second_run", "gate")), suffix)
    said = "not checked, for lack of: a corpus (--corpus), a second run (--run), a gate (--config)"
    in_json = json.dumps({"lacking": ["corpus", "second_run", "gate"]}, indent=1)[1:-2]
    assert (in_json if suffix == ".json" else said) in text.replace("\\", "")
    assert "not checked" not in written(FOUND, suffix)


def test_a_screen_has_the_tables_that_findings_refer_to_and_names_the_others() -> None:
    tables = [AuditTable(name, f"Title of {name}", ("measure",), (("RR",),)) for name in ("judged", "measures", "bounds", "ties")]
    found = Audit("shop", 30, (finding("ties-decide", "x"),), {}, tuple(tables))
    text = audit_text(found, every_table=False)
    assert [name for name in ("judged", "measures", "bounds", "ties") if f"Title of {name}" in text] == ["measures", "ties"]
    assert text.endswith("more tables in -o audit.md: judged, bounds\n")
    assert "more tables" not in audit_text(found)


def test_findings_of_an_unknown_code_come_last() -> None:
    unknown = Finding("something-new", "error", "x")
    assert list(by_theme([unknown, finding("cases-missing", "y")])) == [THEMES[0], "Other findings"]


def test_the_worst_come_first_and_those_of_one_code_are_side_by_side() -> None:
    found = [finding("formula", "x"), finding("cases-missing", "a"), finding("duplicate-hits", "a"), finding("cases-missing", "b")]
    assert [(each.code, each.message) for each in by_severity([*found, found[1]])] == [
        ("cases-missing", "a"), ("cases-missing", "b"), ("duplicate-hits", "a"), ("formula", "x"),
    ]  # fmt: skip


def test_a_file_with_something_else_is_no_audit(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text('{"schema_version": 1, "agents": {}}')
    assert read_audit(file) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"audit": [{"code": "x", "severity": "fatal", "message": "m"}]}, r"audit\.0\.severity"),
        ({"schema_version": 9}, "schema_version: is 9; this program reads version 1 of an audit"),
        ({"tables": {"t": {"title": "T", "rows": [{"a": 1}, {"b": 1}]}}}, r"tables\.t.*different columns"),
        ({"tables": {"t": {"title": "T", "rows": [{}, {}]}}}, r"tables\.t.*rows without columns"),
        ({"tables": {"t": {"title": "T", "rows": [{"a": 10**400}]}}}, r"tables\.t.*whole number above"),
        ({"suite": {"name": "s", "hashes": {}, "cases": -5}}, r"suite\.cases: is not a number from 0"),
        ({"suite": {"name": "s", "hashes": {}, "cases": 10**400}}, r"suite\.cases: is not a number from 0"),
        ({"suite": {"name": "s"}}, "suite"),
    ],
)
def test_an_audit_that_was_broken_is_refused_by_its_field(change: dict[str, object], said: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(json.loads(written(FOUND, ".json")) | change))
    with pytest.raises(FormatError, match=said):
        read_audit(file)


def test_another_extension_is_refused() -> None:
    with pytest.raises(UsageError, match=r"audit\.csv: an audit is written as \.json, \.md, \.html or \.txt"):
        audit_format("audit.csv")
