"""What an audit gives: findings, and the numbers behind them in tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from searchmark.findings import Finding
from searchmark.records import Document

AuditCell = str | int | float | bool | None


@dataclass(frozen=True)
class AuditTable:
    """Numbers that an audit has worked out, a row each; None is not known. ``name`` is its key in JSON."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[AuditCell, ...], ...]

    def without_empty(self) -> AuditTable:
        """The table without columns in which nothing is known."""
        kept = [column for column in range(len(self.columns)) if any(row[column] is not None for row in self.rows)]
        rows = tuple(tuple(row[column] for column in kept) for row in self.rows)
        return AuditTable(self.name, self.title, tuple(self.columns[column] for column in kept), rows)


@dataclass(frozen=True)
class PairToJudge:
    """An unjudged document that one of two runs returned: where, how likely it is relevant, and what that would change.

    ``effect`` is by how much the difference of both runs would change if it were; ``document`` is None where it is not known.
    """

    case: str
    query: str
    item: str
    ranks: tuple[int | None, int | None]
    chance: float
    effect: float
    document: Document | None = None


@dataclass(frozen=True)
class JudgingPlan:
    """What to judge next, so that a comparison of two runs is settled soonest; ``runs`` are the baseline and the candidate.

    ``why`` says why these two. ``open`` counts the unjudged pairs that could change the ``difference``, which then lies between
    ``least`` and ``most``, and as it seems near ``expected``. ``needed`` is about how many of them settle which run is better on
    these cases, None if all of them may not.
    """

    runs: tuple[str, str]
    why: str
    measure: str
    difference: float
    verdict: str
    open: int
    least: float
    most: float
    expected: float
    needed: int | None
    pairs: tuple[PairToJudge, ...]


@dataclass(frozen=True)
class Audit:
    """All that an audit found. ``suite`` is the name of what was audited, None where only published numbers were.

    ``plan`` is what to judge next, where that was asked.
    """

    suite: str | None
    cases: int
    findings: tuple[Finding, ...]
    hashes: Mapping[str, str | None] = field(default_factory=dict)
    tables: tuple[AuditTable, ...] = ()
    plan: JudgingPlan | None = None


NOTHING_ELSE = Audit(None, 0, ())
