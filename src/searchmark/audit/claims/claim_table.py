"""A table of published numbers: rows of systems, each with n and measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from searchmark.audit.claims.printed import PrintedNumber
from searchmark.measures.grammar import AnyMeasure, Formula


@dataclass(frozen=True)
class Claim:
    """What a row says of one measure; ``header`` is the measure in the words of the table."""

    measure: AnyMeasure
    header: str
    value: PrintedNumber
    low: PrintedNumber | None = None
    high: PrintedNumber | None = None
    p: PrintedNumber | None = None

    @property
    def said(self) -> str:
        return f"{self.header} {self.value.text}"

    @property
    def base(self) -> str:
        """The measure without its cutoff and options; empty for a formula and for credit that is not whole."""
        if isinstance(self.measure, Formula) or self.measure.options.get("credit") == "dir":
            return ""
        return self.measure.definition.name

    @property
    def cutoff(self) -> int | None:
        return None if isinstance(self.measure, Formula) else self.measure.cutoff

    @property
    def rel(self) -> object:
        """The lowest grade that counts: where none is named, as in nDCG, every grade above 0 does."""
        return None if isinstance(self.measure, Formula) else self.measure.options.get("rel", 1)


@dataclass(frozen=True)
class ClaimedRow:
    """One row. ``system`` is what it is a result of, ``group`` what else it is about: rows of one group may be compared."""

    label: str
    system: str
    group: tuple[str, ...]
    line: int
    n: int | None
    vs: str | None
    p: PrintedNumber | None
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class ClaimTable:
    """A whole table. ``per_cent`` are columns that were read so without a sign, ``skipped`` those that were not read."""

    name: str
    rows: tuple[ClaimedRow, ...]
    per_cent: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def claims(self) -> Iterator[tuple[ClaimedRow, Claim]]:
        return ((row, claim) for row in self.rows for claim in row.claims)
