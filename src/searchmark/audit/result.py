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
    ``least`` and ``most``. ``expected`` is what it becomes on average once all of them are judged, and ``turns`` about how
    likely its sign is another one then; both are None where the judgments do not tell how likely unjudged documents are relevant.
    ``highest_grade`` is the highest that a pair may get.
    """

    runs: tuple[str, str]
    why: str
    measure: str
    difference: float
    verdict: str
    open: int
    least: float
    most: float
    expected: float | None
    turns: float | None
    highest_grade: int
    pairs: tuple[PairToJudge, ...]

    @property
    def settled(self) -> str | None:
        """Why which run is better on these cases is settled already, None if it is not."""
        if self.open == 0:
            return "no unjudged pair changes it"
        return "no grades of unjudged pairs turn its sign" if self.least > 0 or self.most < 0 else None


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
