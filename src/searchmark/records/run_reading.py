"""Runs from tables: one row per hit, as `Run.frame` has them, or as people do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from searchmark.errors import UsageError
from searchmark.records.answers import STATUSES, Answer, Hit, Status
from searchmark.records.frame_reading import RUN_COLUMNS, FrameColumns, is_missing, number, text_or_none
from searchmark.records.id_columns import in_bytes


@dataclass(frozen=True)
class FrameRun:
    """What a table says of a run; ``agent`` and ``snapshot`` where it names them."""

    agent: str | None
    snapshot: str | None
    answers: list[Answer]


def run_of_frame(table: Any, mapping: Mapping[str, str] | None) -> FrameRun:
    """The answers of a table, by rank, or else by score as trec_eval does, or else in the order of the rows."""
    frame = FrameColumns.of(table, RUN_COLUMNS, mapping)
    role = "case" if frame.has("case") else "query"
    if not frame.has(role):
        frame.need("case")
    cases, statuses = frame.ids(role), [text_or_none(each) for each in frame.own("status")]
    frame.need("id")
    ids = frame.ids("id", gaps=[each is not None for each in statuses])
    rows: dict[str, list[int]] = {}
    for row, case in enumerate(cases):
        rows.setdefault(str(case), []).append(row)
    answers = [_answer(case, of_case, frame, ids, statuses) for case, of_case in rows.items()]
    return FrameRun(_only(frame, frame.names.get("agent")), _only(frame, "snapshot"), answers)


def _only(frame: FrameColumns, name: str | None) -> str | None:
    """What a column says in every row; several runs are several tables."""
    values = dict.fromkeys(text_or_none(each) for each in (frame.own(name) if name else ()))
    if len(values) > 1:
        shown = ", ".join(map(repr, list(values)[:5]))
        raise UsageError(f"the frame holds several runs ({name}: {shown}); give the rows of one")
    return next(iter(values), None)


def _answer(case: str, rows: list[int], frame: FrameColumns, ids: list[str | None], statuses: list[str | None]) -> Answer:
    status = statuses[rows[0]]
    hits = [row for row in rows if ids[row] is not None]
    if status is not None and (status not in STATUSES or any(statuses[row] != status for row in rows)):
        raise UsageError(f"row {rows[0]} of the frame: status is one of {', '.join(STATUSES)}, and the same in all rows of a case")
    given: Status = status or ("ok" if hits else "empty")
    return Answer(case, given, tuple(_hit(row, rank, frame, ids) for rank, row in enumerate(_ordered(hits, frame, ids), 1)))


def _ordered(rows: list[int], frame: FrameColumns, ids: list[str | None]) -> list[int]:
    if frame.has("rank"):
        ranks = {row: number(frame.get("rank")[row], row, "rank") for row in rows}
        if len(set(ranks.values())) < len(ranks):
            twice = next(row for row in rows if list(ranks.values()).count(ranks[row]) > 1)
            raise UsageError(f"row {twice} of the frame: its rank {ranks[twice]:g} is there twice in one case")
        return sorted(rows, key=ranks.__getitem__)
    if frame.has("score"):
        scores = {row: number(frame.get("score")[row], row, "score") for row in rows}
        return sorted(rows, key=lambda row: (scores[row], in_bytes(str(ids[row]))), reverse=True)
    return rows


def _hit(row: int, rank: int, frame: FrameColumns, ids: list[str | None]) -> Hit:
    score, valid = frame.get("score")[row], frame.own("valid")[row]
    first, last = (frame.own(name)[row] for name in ("first_line", "last_line"))
    return Hit(
        str(ids[row]),
        rank,
        None if is_missing(score) else number(score, row, "score"),
        None if is_missing(valid) else bool(valid),
        None if is_missing(first) or is_missing(last) else (int(first), int(last)),
    )
