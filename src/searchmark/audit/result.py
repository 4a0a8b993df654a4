"""What an audit gives: findings, and the numbers behind them in tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from searchmark.findings import Finding

AuditCell = str | int | float | bool | None


@dataclass(frozen=True)
class AuditTable:
    """Numbers that an audit has worked out, a row each; None is not known. ``name`` is its key in JSON."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[AuditCell, ...], ...]


@dataclass(frozen=True)
class Audit:
    """All that an audit found. ``suite`` is the name of what was audited, None where only published numbers were."""

    suite: str | None
    cases: int
    findings: tuple[Finding, ...]
    hashes: Mapping[str, str | None] = field(default_factory=dict)
    tables: tuple[AuditTable, ...] = ()


NOTHING_ELSE = Audit(None, 0, ())
