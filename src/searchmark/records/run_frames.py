"""The hits of a run, and the times of its searches, as frames; column by column, since there may be millions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from searchmark.records.answers import AnswerDetails
from searchmark.records.columns import NO_LINE, rows_or_none, starts_of
from searchmark.records.frames import constant_columns, in_rows, null_column, number_column, text_column, typed_frame
from searchmark.records.id_columns import Texts

if TYPE_CHECKING:
    import polars as pl


# What agents state of an answer, and of which kind it is.
USAGE = {"cost": float, "tokens": int, "tokens_by": str, "retries": int, "waited_ms": float, "start_ms": float}
ANN = {"ann_k": int, "ann_recall": float, "ann_overlap": float}


class HitTable(Protocol):
    """The columns of a run; `Run` says what each of them means."""

    @property
    def case_ids(self) -> tuple[str, ...]: ...
    @property
    def starts(self) -> NDArray[np.int64]: ...
    @property
    def ids(self) -> Texts: ...
    @property
    def scores(self) -> NDArray[np.float64]: ...
    @property
    def rank(self) -> NDArray[np.int32] | None: ...
    @property
    def valid(self) -> NDArray[np.bool_] | None: ...
    @property
    def first_line(self) -> NDArray[np.int32] | None: ...
    @property
    def last_line(self) -> NDArray[np.int32] | None: ...


def hit_frame(run: Mapping[str, str | None], hits: HitTable, status: Sequence[str]) -> pl.DataFrame:
    """One row per hit, best first; one for an answer without any, so that no case gets lost."""
    import polars as pl

    answer, rank, rows = _rows(hits)
    count = len(rows)
    return pl.DataFrame(
        {
            **constant_columns(run, count),
            "case": text_column(hits.case_ids).gather(answer),
            "status": text_column(status).gather(answer),
            "rank": number_column(rank, rows < 0),
            "id": in_rows(text_column(hits.ids), rows),
            "score": in_rows(number_column(hits.scores, np.isnan(hits.scores)), rows),
            "valid": null_column(bool, count) if hits.valid is None else in_rows(pl.Series(values=hits.valid), rows),
            "first_line": _line_column(hits.first_line, rows),
            "last_line": _line_column(hits.last_line, rows),
        }
    )


def _rows(hits: HitTable) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For every row of the frame: which answer, which rank, and which row of the columns; -1 for an answer without hits."""
    answer, place, rows = rows_or_none(hits.starts)
    if hits.rank is None:
        return answer, place + 1, rows
    ordered = np.empty(len(hits.rank) + 1, np.int64)
    ordered[-1] = -1  # which is where a row of -1 looks
    first = np.repeat(hits.starts[:-1], np.diff(hits.starts))
    ordered[first + hits.rank - 1] = np.arange(len(hits.rank))
    return answer, place + 1, ordered[rows]


def _line_column(lines: NDArray[np.int32] | None, rows: NDArray[np.int64]) -> pl.Series:
    return null_column(int, len(rows)) if lines is None else in_rows(number_column(lines.astype(np.int64), lines == NO_LINE), rows)


def time_frame(
    run: Mapping[str, str | None], case_ids: Sequence[str], status: Sequence[str], details: Sequence[AnswerDetails]
) -> pl.DataFrame:
    """One row per search that was timed: of which case and kind, its number among these, and its milliseconds."""
    import polars as pl

    samples: dict[str, list[Sequence[float]]] = {
        "cold": [each.cold_ms for each in details],
        "warm": [each.warm_ms for each in details],
        "first_hit": [() if each.first_hit_ms is None else (each.first_hit_ms,) for each in details],
        "index_cold": [() if each.index_cold_ms is None else (each.index_cold_ms,) for each in details],
        "index_warm": [each.index_warm_ms for each in details],
    }
    cases, ended = text_column(case_ids), text_column(status)
    frames = [_times_of({**run, "kind": kind}, times, cases, ended) for kind, times in samples.items()]
    return pl.concat(frames)


def usage_frame(
    run: Mapping[str, str | None], case_ids: Sequence[str], status: Sequence[str], details: Sequence[AnswerDetails]
) -> pl.DataFrame:
    """One row per answer: what it took beside time and what its index found, as the agent states it; null where it does not."""
    columns = {name: [getattr(each, name) for each in details] for name in USAGE | ANN}
    return typed_frame(
        [
            {**run, "case": case, "status": ended, **dict(zip(columns, values, strict=True))}
            for case, ended, *values in zip(case_ids, status, *columns.values(), strict=False)
        ],
        {"run": str, "snapshot": str, "case": str, "status": str, **USAGE, **ANN},
    )


def _times_of(named: Mapping[str, str | None], times: list[Sequence[float]], cases: pl.Series, status: pl.Series) -> pl.DataFrame:
    import polars as pl

    starts = starts_of(map(len, times), len(times))
    answer = np.repeat(np.arange(len(times)), np.diff(starts))
    count = len(answer)
    return pl.DataFrame(
        {
            **constant_columns(named, count),
            "case": cases.gather(answer),
            "status": status.gather(answer),
            "search": np.arange(count) - starts[answer] + 1,
            "ms": np.fromiter(chain.from_iterable(times), np.float64, count),
        }
    )
