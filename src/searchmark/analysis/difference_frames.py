"""Differences as a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from searchmark.analysis.verdicts import Difference
from searchmark.records.frames import typed_frame

if TYPE_CHECKING:
    import polars as pl

# The columns in the order in which a reader needs them: what was compared, what came out, and what it rests on.
_COLUMNS: dict[str, type] = {
    "baseline": str,
    "candidate": str,
    "by": str,
    "segment": str,
    "measure": str,
    "cases": int,
    "baseline_mean": float,
    "difference": float,
    "low": float,
    "high": float,
    "p": float,
    "p_holm": float,
    "family": int,
    "verdict": str,
    "reason": str,
    "undone": str,
    "wins": int,
    "ties": int,
    "losses": int,
    "independent": int,
    "effect_size": float,
    "detectable": float,
    "cases_needed": int,
    "too_small": bool,
    "non_inferior": bool,
}


def difference_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return typed_frame(rows, _COLUMNS)


def difference_rows(
    differences: Iterable[Difference], segments: Mapping[str, Mapping[str, Iterable[Difference]]]
) -> Iterator[dict[str, Any]]:
    """Every difference of two runs as a row: those of all cases, then those of every value that the cases are split by."""
    yield from ({"by": None, "segment": None, **vars(found)} for found in differences)
    for by, values in segments.items():
        yield from ({"by": by, "segment": value, **vars(found)} for value, of_value in values.items() for found in of_value)
