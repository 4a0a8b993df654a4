"""An audit laid out: text for a terminal, and Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import rich.text

from searchmark.audit.result import Audit, AuditCell, AuditTable
from searchmark.findings import Finding
from searchmark.findings.sentences import counted
from searchmark.reports.cells import SMALLEST_P, UNDEFINED, Cell, Count, Number, PValue, Table, Text, table
from searchmark.reports.finding_layout import case_names, finding_counts
from searchmark.reports.markdown import finding_lines, table_lines
from searchmark.reports.quoting import LONGEST_SENTENCE, markdown_line, visible, without_commands
from searchmark.reports.text import SEVERITY_STYLES, WIDTH, Part, printed


def audit_text(found: Audit, *, colour: bool = False, width: int = WIDTH) -> str:
    """What was found, for a terminal."""
    return printed(_parts(found), colour=colour, width=width)


def _parts(found: Audit) -> Iterator[Part]:
    yield _line(audit_summary(found), "bold")
    told = set[str]()
    for each in found.findings:
        yield _line(f"{each.severity} {each.code}: {each.message}", SEVERITY_STYLES[each.severity])
        yield from (_line(f"  {line}") for line in _more(each, each.code not in told))
        told.add(each.code)
    for numbers in shown_tables(found):
        yield _line(numbers.title, "bold")
        yield audit_cells(numbers)


def audit_summary(found: Audit) -> str:
    """What was audited, and how many findings of each severity there are."""
    told = finding_counts(found.findings) or "no findings"
    return told if found.suite is None else f"{found.suite} ({counted(found.cases, 'case')}): {told}"


def _more(each: Finding, reasons: bool) -> Iterator[str]:
    """The cases; and why it matters and what to do, which is said once of each code."""
    if each.cases:
        yield f"cases: {case_names(each)}"
    if reasons:
        yield from filter(None, (each.why, each.fix and f"fix: {each.fix}"))


def shown_tables(found: Audit) -> list[AuditTable]:
    """The tables that have rows."""
    return [numbers for numbers in found.tables if numbers.rows]


def audit_cells(numbers: AuditTable) -> Table:
    """A table of an audit as renderers lay it out."""
    of_numbers = [any(isinstance(value, int | float) for value in column) for column in zip(*numbers.rows, strict=True)]
    return table(numbers.columns, (tuple(map(_cell, row, of_numbers)) for row in numbers.rows))


def _cell(value: AuditCell, among_numbers: bool) -> Cell:
    if value is None:
        return Number(None) if among_numbers else Text(UNDEFINED)
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int):
        return Count(value)
    if isinstance(value, float):
        return PValue(value) if 0 < value < SMALLEST_P else Number(value)  # what is not 0 does not read 0.0000
    return Text(value)


def _line(text: str, style: str = "") -> rich.text.Text:
    return rich.text.Text(visible(text, LONGEST_SENTENCE), style=style)


def audit_markdown(found: Audit) -> str:
    """What was found, as a document."""
    return without_commands("\n".join(_markdown(found)).rstrip() + "\n")


def _markdown(found: Audit) -> Iterator[str]:
    yield f"# Audit of {markdown_line(found.suite or 'published numbers', LONGEST_SENTENCE)}"
    yield ""
    yield markdown_line(audit_summary(found), LONGEST_SENTENCE)
    yield ""
    yield from finding_lines(found.findings)
    for numbers in shown_tables(found):
        yield f"## {markdown_line(numbers.title, LONGEST_SENTENCE)}"
        yield ""
        yield from table_lines(audit_cells(numbers))
