"""The cases of a suite without their judgments, in columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.records.document import Document
from searchmark.records.field_values import FieldValues, field_texts
from searchmark.records.frames import null_column, text_column

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class CaseTable:
    """The cases of a suite without their judgments, one row each; an absent column is all default.

    ``excluded_ids`` are those of the documents that ``excludes`` mean, once a corpus has said which; they are in no digest.
    """

    ids: tuple[str, ...]
    queries: tuple[str | None, ...] | None = None
    categories: tuple[str | None, ...] | None = None
    tags: tuple[tuple[str, ...], ...] | None = None
    origins: tuple[str | None, ...] | None = None
    unanswerable: NDArray[np.bool_] | None = None
    documents: tuple[tuple[Document, ...], ...] | None = None
    other_orders: tuple[tuple[tuple[str, ...], ...], ...] | None = None
    order_only: NDArray[np.bool_] | None = None
    excludes: tuple[Mapping[str, FieldValues], ...] | None = None
    excluded_ids: tuple[frozenset[str], ...] | None = None
    requests: tuple[Mapping[str, Any] | None, ...] | None = None
    fields: tuple[Mapping[str, Any], ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        return {case_id: row for row, case_id in enumerate(self.ids)}

    def of_rows(self, rows: Sequence[int]) -> CaseTable:
        """Some of the cases, in this order."""
        return CaseTable(**{each.name: _of_rows(getattr(self, each.name), rows) for each in fields(self)})

    def series(self) -> dict[str, pl.Series]:
        """Every column for a frame, null where a case has nothing; tags and fields, of which a case has many, as JSON."""
        import polars as pl

        count = len(self)
        unanswerable = np.zeros(count, bool) if self.unanswerable is None else self.unanswerable
        return {
            "case": text_column(self.ids),
            "query": null_column(str, count) if self.queries is None else text_column(self.queries),
            "category": null_column(str, count) if self.categories is None else text_column(self.categories),
            "tags": null_column(str, count) if self.tags is None else _json_column(self.tags),
            "origin": null_column(str, count) if self.origins is None else text_column(self.origins),
            "unanswerable": pl.Series(values=unanswerable),
            "fields": null_column(str, count) if self.fields is None else _json_column(self.fields),
        }

    def beside_judgments(self) -> dict[str, list[Any]]:
        """What else of a case decides on values of measures, for the cases where it is not the default."""
        more: dict[str, list[Any]] = {}
        for case, orders in zip(self.ids, self.other_orders or (), strict=False):
            if orders:
                more.setdefault(case, []).append(sorted(orders))
        for case, only in zip(self.ids, () if self.order_only is None else self.order_only.tolist(), strict=False):
            if only:
                more.setdefault(case, []).append("order only")
        for case, exclude in zip(self.ids, self.excludes or (), strict=False):
            if exclude:
                more.setdefault(case, []).append({"exclude": {name: field_texts(exclude[name]) for name in sorted(exclude)}})
        return more


def _of_rows(column: Any, rows: Sequence[int]) -> Any:
    if column is None:
        return None
    return column[rows] if isinstance(column, np.ndarray) else tuple([column[row] for row in rows])


def _json_column(values: Iterable[object]) -> pl.Series:
    """Nested values as JSON, which every consumer of a frame can hold; null for an empty one."""
    return text_column([json.dumps(value, ensure_ascii=False, default=str) if value else None for value in values])
