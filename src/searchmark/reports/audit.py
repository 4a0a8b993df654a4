"""An audit as JSON, for machines, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from searchmark.audit.result import Audit, AuditCell, AuditTable, Lack
from searchmark.errors import FormatError
from searchmark.files.schemas import Schema
from searchmark.files.store import check_shape, parse_json, read_text
from searchmark.findings import Finding
from searchmark.reports.case_entries import with_numbers

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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


def audit_json(found: Audit) -> str:
    """The machine-readable form."""
    data = {
        **AUDIT_SCHEMA.header(),
        "suite": None if found.suite is None else {"name": found.suite, "hashes": dict(found.hashes), "cases": found.cases},
        "lacking": list(found.lacking),
        "audit": [asdict(each) for each in found.findings],
        "tables": {each.name: {"title": each.title, "rows": _rows(each)} for each in found.tables if each.rows},
    }
    return json.dumps(with_numbers(data), indent=1) + "\n"


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
    file = check_shape(path, _adapter(), AUDIT_SCHEMA.upgraded(path, data))
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
