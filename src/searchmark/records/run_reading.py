"""Runs from tables: one row per hit, as `Run.frame` has them, or as people do. A table may have a million rows: read by columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.options.column_names import RUN_FRAMES
from searchmark.records.answers import EMPTY, OK, STATUSES
from searchmark.records.columns import NO_LINE
from searchmark.records.frame_reading import FrameColumns, is_missing, number, text_or_none
from searchmark.records.id_columns import ranks_by_score

_UNSAID = -1  # in a column of statuses


@dataclass(frozen=True)
class FrameRun:
    """What a table says of a run: ``agent`` and ``snapshot`` where it names them, and the ``columns`` of its answers."""

    agent: str | None
    snapshot: str | None
    columns: Mapping[str, Any]


def run_of_frame(table: Any, mapping: Mapping[str, str] | None) -> FrameRun:
    """The answers of a table, by rank, or else by score as trec_eval does, or else in the order of the rows."""
    frame = FrameColumns.of(table, RUN_FRAMES, mapping)
    role = "case" if frame.has("case") else "query"
    if not frame.has(role):
        frame.need("case")
    frame.need("id")
    index: dict[str | None, int] = {}
    case = np.fromiter((index.setdefault(each, len(index)) for each in frame.ids(role)), np.int64, len(frame))
    said = _statuses(frame)
    ids = frame.ids("id", gaps=(said != _UNSAID).tolist())
    order = _ordered(frame, case, ids)
    counts = np.bincount(case[order], minlength=len(index))
    score = frame.numbers("score")
    columns = {
        "case_ids": tuple(index),
        "starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "ids": [ids[row] for row in order.tolist()],
        "scores": np.full(len(order), np.nan) if score is None else score[order],
        "status": _of_cases(said, case, counts),
        "valid": _valid(frame, order),
        **_lines(frame, order),
    }
    return FrameRun(_only(frame, frame.names.get("agent")), _only(frame, "snapshot"), columns)


def _only(frame: FrameColumns, name: str | None) -> str | None:
    """What a column says in every row; several runs are several tables."""
    values = dict.fromkeys(text_or_none(each) for each in (frame.own(name) if name else ()))
    if len(values) > 1:
        shown = ", ".join(map(repr, list(values)[:5]))
        raise UsageError(f"the frame holds several runs ({name}: {shown}); give the rows of one")
    return next(iter(values), None)


def _statuses(frame: FrameColumns) -> NDArray[np.int64]:
    """The number of each row's status, where it says one."""
    numbers: dict[str | None, int] = {None: _UNSAID, **{status: number for number, status in enumerate(STATUSES)}}
    texts = [text_or_none(each) for each in frame.own("status")]
    unknown = next((row for row, text in enumerate(texts) if text not in numbers), None)
    if unknown is not None:
        raise _odd_status(unknown)
    return np.fromiter((numbers[text] for text in texts), np.int64, len(texts))


def _of_cases(said: NDArray[np.int64], case: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The status of each case, which all of its rows must agree on; where they say none it is told by the hits."""
    _, first = np.unique(case, return_index=True)
    other = np.flatnonzero(said != said[first][case])
    if len(other):
        raise _odd_status(int(first[case[other[0]]]))
    return np.where(said[first] == _UNSAID, np.where(counts > 0, OK, EMPTY), said[first]).astype(np.uint8)


def _odd_status(row: int) -> UsageError:
    return UsageError(f"row {row} of the frame: status is one of {', '.join(STATUSES)}, and the same in all rows of a case")


def _ordered(frame: FrameColumns, case: NDArray[np.int64], ids: list[str | None]) -> NDArray[np.int64]:
    """The rows of hits: those of a case together, best first."""
    hits = np.flatnonzero(np.fromiter((each is not None for each in ids), bool, len(ids)))
    rank, score = frame.numbers("rank"), frame.numbers("score")
    together = hits[np.argsort(case[hits], kind="stable")]
    if rank is not None:
        _refuse_gap(frame, "rank", rank, hits)
        order = hits[np.lexsort((rank[hits], case[hits]))]
        twice = np.flatnonzero((np.diff(rank[order]) == 0) & (np.diff(case[order]) == 0))
        if len(twice):
            row = int(order[twice[0]])
            raise UsageError(f"row {row} of the frame: its rank {rank[row]:g} is there twice in one case")
        return order
    if score is None:
        return together
    _refuse_gap(frame, "score", score, hits)
    starts = np.concatenate([[0], np.cumsum(np.bincount(case[together]))]).astype(np.int64)
    ranks = ranks_by_score([str(ids[row]) for row in together.tolist()], score[together], starts)
    return together if ranks is None else together[np.lexsort((ranks, case[together]))]


def _refuse_gap(frame: FrameColumns, role: str, numbers: NDArray[np.float64], hits: NDArray[np.int64]) -> None:
    """What hits are ordered by, all of them must have."""
    gaps = hits[np.isnan(numbers[hits])]
    if len(gaps):
        number(frame.get(role)[gaps[0]], int(gaps[0]), role)


def _valid(frame: FrameColumns, order: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    values = frame.own("valid")
    found = [values[row] for row in order.tolist()] if "valid" in frame.columns else [None]
    return None if any(map(is_missing, found)) else np.array(found, bool)


def _lines(frame: FrameColumns, order: NDArray[np.int64]) -> dict[str, NDArray[np.int32]]:
    """The lines that hits mean; nothing where all of them mean whole documents."""
    first, last = (frame.numbers(name) for name in ("first_line", "last_line"))
    if first is None or last is None:
        return {}
    said = ~(np.isnan(first) | np.isnan(last))[order]
    if not said.any():
        return {}
    columns = {"first_line": first, "last_line": last}
    return {name: np.where(said, lines[order], NO_LINE).astype(np.int32) for name, lines in columns.items()}
