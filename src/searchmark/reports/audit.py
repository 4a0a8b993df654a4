"""An audit as text, Markdown, HTML and JSON, and back from JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from searchmark.audit.check import Audit, AuditCell, AuditTable, Lack, kind_of
from searchmark.errors import FormatError, UsageError
from searchmark.io.data import Schema, check_shape, parse_json
from searchmark.io.plugins import load_code
from searchmark.io.secrets import environment_secrets, scrub, without_measured_texts
from searchmark.io.store import read_text
from searchmark.records.finding import Finding
from searchmark.records.sentences import plain_count
from searchmark.reports.cells import Table, table
from searchmark.reports.json_file import with_json_numbers
from searchmark.reports.markdown import markdown_of
from searchmark.reports.parts import Heading, Part, Sentence, finding_parts
from searchmark.reports.quoting import without_commands
from searchmark.reports.run_tables import finding_counts
from searchmark.reports.text import WIDTH, layout_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# An audit as JSON, for machines, and back.

AUDIT_SCHEMA = Schema("audit", 1)

LARGEST = 2**63 - 1  # of whole numbers


@dataclass(frozen=True)
class AuditedSuite:
    """What an audit says of the suite itself."""

    name: str
    hashes: Mapping[str, str | None]
    cases: int


@dataclass(frozen=True)
class TableEntry:
    """A table as it is in the file: every row has its columns as keys."""

    title: str
    rows: tuple[Mapping[str, AuditCell], ...]


@dataclass(frozen=True)
class AuditFile:
    """The file: what was not given, findings under ``audit`` as in a report, and the tables that have rows."""

    schema_version: int
    record: Literal["audit"]
    suite: AuditedSuite | None
    lacking: tuple[Lack, ...]
    audit: tuple[Finding, ...]
    tables: Mapping[str, TableEntry]


def audit_json(audit: Audit) -> str:
    """The machine-readable form."""
    data = {
        **AUDIT_SCHEMA.header(),
        "suite": None if audit.suite is None else {"name": audit.suite, "hashes": dict(audit.hashes), "cases": audit.cases},
        "lacking": list(audit.lacking),
        "audit": [asdict(each) for each in audit.findings],
        "tables": {each.name: {"title": each.title, "rows": _rows(each)} for each in audit.tables if each.rows},
    }
    return json.dumps(with_json_numbers(data), indent=1) + "\n"


def _rows(table: AuditTable) -> list[dict[str, AuditCell]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def is_audit(data: Any) -> bool:
    """Whether this is what a file with an audit holds."""
    return isinstance(data, dict) and data.get("record") == AUDIT_SCHEMA.record


def read_audit(path: str | PathLike[str]) -> Audit | None:
    """Read an audit that was written as JSON; None where the file holds something else."""
    data = parse_json(path, read_text(path))
    if not is_audit(data):
        return None
    file = check_shape(path, _adapter(), AUDIT_SCHEMA.upgrade(path, data))
    tables = tuple(_table(path, name, entry) for name, entry in file.tables.items())
    if file.suite is None:
        return Audit(None, 0, file.audit, {}, tables, lacking=file.lacking)
    if not 0 <= file.suite.cases <= LARGEST:
        raise FormatError(path, "suite.cases", f"is not a number from 0 to {LARGEST}")
    return Audit(file.suite.name, file.suite.cases, file.audit, file.suite.hashes, tables, lacking=file.lacking)


def _table(path: str | PathLike[str], name: str, entry: TableEntry) -> AuditTable:
    columns = tuple(entry.rows[0]) if entry.rows else ()
    if any(tuple(row) != columns for row in entry.rows):
        raise FormatError(path, f"tables.{name}", "has rows with different columns")
    if entry.rows and not columns:
        raise FormatError(path, f"tables.{name}", "has rows without columns")
    if any(isinstance(cell, int) and abs(cell) > LARGEST for row in entry.rows for cell in row.values()):
        raise FormatError(path, f"tables.{name}", f"has a whole number above {LARGEST}")
    return AuditTable(name, entry.title, columns, tuple(tuple(row.values()) for row in entry.rows))


@cache
def _adapter() -> TypeAdapter[AuditFile]:
    from pydantic import TypeAdapter

    return TypeAdapter(AuditFile)


# An audit laid out: text for a terminal, and Markdown.

# The tables that a screen shows whatever was found; the last two are there only if they were asked for.
_ALWAYS_SHOWN = ("measures", "comparison_to_settle", "next_pairs")


_LACKS: Mapping[Lack, str] = {
    "queries": "the texts of queries (--topics)",
    "corpus": "a corpus (--corpus)",
    "runs": "runs (--run)",
    "second_run": "a second run (--run)",
    "gate": "a gate (--config)",
}


def audit_text(audit: Audit, *, every_table: bool = True, colour: bool = False, width: int = WIDTH) -> str:
    """What was found, for a terminal; without ``every_table`` only those that findings refer to, and the names of the others."""
    return layout_text(_audit_parts(audit, every_table), colour=colour, width=width)


def _audit_parts(audit: Audit, every_table: bool = True) -> Iterator[Part]:
    yield Heading(f"Audit of {audit.suite or 'published numbers'}", 1)
    yield Sentence(audit_summary(audit), "bold")
    yield from map(Sentence, not_checked(audit))
    yield from finding_parts(audit.findings)
    names = {*_ALWAYS_SHOWN, *(kind.table for each in audit.findings if (kind := kind_of(each.code)) is not None)}
    for numbers in shown_tables(audit):
        if every_table or numbers.name in names:
            yield from (Heading(numbers.title), audit_cells(numbers))
    others = [numbers.name for numbers in shown_tables(audit) if not every_table and numbers.name not in names]
    if others:
        yield Sentence(f"more tables in -o audit.md: {', '.join(others)}")


def audit_summary(audit: Audit) -> str:
    """What was audited, and how many findings of each severity there are."""
    counts = finding_counts(audit.findings) or "no findings"
    return counts if audit.suite is None else f"{audit.suite} ({plain_count(audit.cases, 'case')}): {counts}"


def not_checked(audit: Audit) -> Iterator[str]:
    """What the checks that said nothing would need, if anything is lacking."""
    if audit.lacking:
        yield f"not checked, for lack of: {', '.join(_LACKS[each] for each in audit.lacking)}"


def shown_tables(audit: Audit) -> list[AuditTable]:
    """The tables that have rows."""
    return [numbers for numbers in audit.tables if numbers.rows]


def audit_cells(numbers: AuditTable) -> Table:
    """A table of an audit as renderers lay it out."""
    return table(numbers.columns, numbers.rows)


def audit_markdown(audit: Audit) -> str:
    """What was found, as a document."""
    return without_commands(markdown_of(_audit_parts(audit)))


# The file of an audit: its format is that of its extension, and no secret of the environment is in it.


def audit_format(path: str) -> str:
    """The extension that says how an audit is written; any other is refused."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise UsageError(f"{path}: an audit is written as {', '.join(list(_FORMATS)[:-1])} or {list(_FORMATS)[-1]}")
    return suffix


def without_secrets(audit: Audit) -> Audit:
    """The audit with no secret of the environment in any text; ids of cases stay as they are, as in reports."""
    secrets = environment_secrets()
    return scrub(audit, without_measured_texts(secrets, (case for each in audit.findings for case in each.cases)))


def audit_pieces(audit: Audit, suffix: str) -> Iterable[str]:
    """An audit as it is written."""
    content = _FORMATS[suffix](without_secrets(audit))
    return [content] if isinstance(content, str) else content


def _page(audit: Audit) -> Iterable[str]:
    pieces: Iterable[str] = load_code("searchmark.reports.page.document:audit_html")(audit)  # by name, as renderers of reports are
    return pieces


_FORMATS: dict[str, Callable[[Audit], str | Iterable[str]]] = {
    ".json": audit_json, ".md": audit_markdown, ".html": _page, ".txt": audit_text,
}  # fmt: skip
