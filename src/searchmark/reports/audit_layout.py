"""An audit laid out: text for a terminal, and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import rich.text

from searchmark.audit.result import Audit, AuditCell, AuditTable, Lack
from searchmark.findings.sentences import counted
from searchmark.findings.tables import TABLE_OF
from searchmark.reports.cells import SMALLEST_P, UNDEFINED, Cell, Count, Number, PValue, Table, Text, table
from searchmark.reports.finding_layout import finding_counts, finding_sentence, lines_below
from searchmark.reports.markdown import finding_lines, table_lines
from searchmark.reports.quoting import LONGEST_SENTENCE, markdown_line, visible, without_commands
from searchmark.reports.text import SEVERITY_STYLES, WIDTH, Part, printed

# What is shown on a screen whatever was found; the last two are there only if they were asked for.
_ALWAYS_SHOWN = ("measures", "comparison_to_settle", "next_pairs")
_LACKS: Mapping[Lack, str] = {
    "queries": "the texts of queries (--topics)",
    "corpus": "a corpus (--corpus)",
    "runs": "runs (--run)",
    "second_run": "a second run (--run)",
    "gate": "a gate (--config)",
}


def audit_text(found: Audit, *, every_table: bool = True, colour: bool = False, width: int = WIDTH) -> str:
    """What was found, for a terminal; without ``every_table`` only those that findings refer to, and the names of the others."""
    return printed(_parts(found, every_table), colour=colour, width=width)


def _parts(found: Audit, every_table: bool) -> Iterator[Part]:
    yield _line(audit_summary(found), "bold")
    yield from map(_line, not_checked(found))
    told = set[str]()
    for each in found.findings:
        yield _line(finding_sentence(each), SEVERITY_STYLES[each.severity])
        yield from map(_line, lines_below(each, reasons=each.code not in told))
        told.add(each.code)
    wanted = {*_ALWAYS_SHOWN, *(TABLE_OF.get(each.code) for each in found.findings)}
    for numbers in shown_tables(found):
        if every_table or numbers.name in wanted:
            yield _line(numbers.title, "bold")
            yield audit_cells(numbers)
    others = [numbers.name for numbers in shown_tables(found) if not every_table and numbers.name not in wanted]
    if others:
        yield _line(f"more tables in -o audit.md: {', '.join(others)}")


def audit_summary(found: Audit) -> str:
    """What was audited, and how many findings of each severity there are."""
    told = finding_counts(found.findings) or "no findings"
    return told if found.suite is None else f"{found.suite} ({counted(found.cases, 'case')}): {told}"


def not_checked(found: Audit) -> Iterator[str]:
    """What the checks that said nothing would need, if anything is lacking."""
    if found.lacking:
        yield f"not checked, for lack of: {', '.join(_LACKS[each] for each in found.lacking)}"


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
    for line in not_checked(found):
        yield markdown_line(line, LONGEST_SENTENCE)
        yield ""
    yield from finding_lines(found.findings)
    for numbers in shown_tables(found):
        yield f"## {markdown_line(numbers.title, LONGEST_SENTENCE)}"
        yield ""
        yield from table_lines(audit_cells(numbers))
