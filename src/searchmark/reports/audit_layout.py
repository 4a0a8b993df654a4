"""An audit laid out: text for a terminal, Markdown, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import rich.text

from searchmark.audit.result import Audit, AuditCell, AuditTable
from searchmark.files.schemas import Schema
from searchmark.findings import SEVERITIES, Finding
from searchmark.findings.sentences import counted
from searchmark.records.shown import listed
from searchmark.reports.case_entries import with_numbers
from searchmark.reports.cells import UNDEFINED, Cell, Count, Number, Table, Text, table
from searchmark.reports.markdown import table_lines
from searchmark.reports.quoting import LONGEST_SENTENCE, markdown_line, visible, without_commands
from searchmark.reports.text import SEVERITY_STYLES, WIDTH, Part, printed

AUDIT_SCHEMA = Schema("audit", 1)
CASES_SHOWN = 5


def audit_json(found: Audit) -> str:
    """The machine-readable form: findings under ``audit``, as in a report, and every table as a list of rows."""
    data = {
        "schema_version": AUDIT_SCHEMA.version,
        "suite": None if found.suite is None else {"name": found.suite, "hashes": dict(found.hashes), "cases": found.cases},
        "audit": [asdict(each) for each in found.findings],
        "tables": {each.name: [dict(zip(each.columns, row, strict=True)) for row in each.rows] for each in found.tables},
    }
    return json.dumps(with_numbers(data), indent=1) + "\n"


def audit_text(found: Audit, *, colour: bool = False, width: int = WIDTH) -> str:
    """What was found, for a terminal."""
    return printed(_parts(found), colour=colour, width=width)


def _parts(found: Audit) -> Iterator[Part]:
    yield _line(verdict(found), "bold")
    for each in found.findings:
        yield _line(f"{each.severity} {each.code}: {each.message}", SEVERITY_STYLES[each.severity])
        yield from (_line(f"  {line}") for line in _more(each))
    for numbers in found.tables:
        if numbers.rows:
            yield _line(numbers.title, "bold")
            yield _cells(numbers)


def verdict(found: Audit) -> str:
    """The first line: what was audited, and how many findings of each severity there are."""
    counts = [(severity, sum(each.severity == severity for each in found.findings)) for severity in SEVERITIES]
    told = ", ".join(counted(count, severity) for severity, count in counts if count) or "no findings"
    return told if found.suite is None else f"{found.suite} ({counted(found.cases, 'case')}): {told}"


def _more(each: Finding) -> Iterator[str]:
    if each.cases:
        yield f"cases: {listed(list(each.cases), CASES_SHOWN)}"
    yield from filter(None, (each.why, each.fix and f"fix: {each.fix}"))


def _cells(numbers: AuditTable) -> Table:
    return table(numbers.columns, (tuple(map(_cell, row)) for row in numbers.rows))


def _cell(value: AuditCell) -> Cell:
    if value is None:
        return Text(UNDEFINED)
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int):
        return Count(value)
    return Number(value) if isinstance(value, float) else Text(value)


def _line(text: str, style: str = "") -> rich.text.Text:
    return rich.text.Text(visible(text, LONGEST_SENTENCE), style=style)


def audit_markdown(found: Audit) -> str:
    """What was found, as a document."""
    return without_commands("\n".join(_markdown(found)) + "\n")


def _markdown(found: Audit) -> Iterator[str]:
    yield f"# Audit of {markdown_line(found.suite or 'published numbers', LONGEST_SENTENCE)}"
    yield f"\n{markdown_line(verdict(found), LONGEST_SENTENCE)}"
    for each in found.findings:
        yield f"\n- **{each.severity}** `{each.code}`: {markdown_line(each.message, LONGEST_SENTENCE)}"
        yield from (f"  - {markdown_line(line, LONGEST_SENTENCE)}" for line in _more(each))
    for numbers in found.tables:
        if numbers.rows:
            yield f"\n## {markdown_line(numbers.title, LONGEST_SENTENCE)}\n"
            yield from table_lines(_cells(numbers))
