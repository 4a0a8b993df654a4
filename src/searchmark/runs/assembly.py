"""Hits in columns become runs: rows of one case together, in the order that the file gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.records import EMPTY, OK, ImportedRun, Provenance, Run, RunLabel
from searchmark.records.id_columns import Texts, ranks_by_score, texts_at
from searchmark.runs.parts import refuse_two_rankings, two_queries
from searchmark.runs.source import RunFile


@dataclass(frozen=True, eq=False)
class HitColumns:
    """The hits of a file, a row each, in its order.

    ``case`` is what the file calls a case, ``query`` what was asked, where it says both. A rank or score is NaN where a row has
    none. A row with an empty id is a case without hits. ``agent`` is whose hit it is, where a file holds several runs.
    """

    case: Texts
    id: Texts
    query: Texts | None = None
    rank: NDArray[np.float64] | None = None
    score: NDArray[np.float64] | None = None
    agent: Texts | None = None

    def only(self, rows: NDArray[np.int64]) -> HitColumns:
        return HitColumns(
            case=taken(self.case, rows),
            id=taken(self.id, rows),
            query=None if self.query is None else taken(self.query, rows),
            rank=None if self.rank is None else self.rank[rows],
            score=None if self.score is None else self.score[rows],
        )


def taken(texts: Texts, rows: NDArray[np.int64]) -> Texts:
    """The texts in some rows, as a column of the same kind."""
    return texts_at(texts, rows) if isinstance(texts, list) else texts[rows]


def coded(texts: Texts) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The distinct texts in the order of their first row, and the number of each row's."""
    index: dict[str, int] = {}
    if isinstance(texts, list):
        codes = _codes(texts, index)
        return tuple(index), codes
    stretches = texts.rle().struct.unnest()
    codes = _codes(stretches["value"].to_list(), index)
    return tuple(index), np.repeat(codes, stretches["len"].to_numpy())


def _codes(texts: Sequence[str], index: dict[str, int]) -> NDArray[np.int64]:
    return np.fromiter((index.setdefault(text, len(index)) for text in texts), np.int64, len(texts))


def runs_of(file: RunFile, columns: HitColumns) -> list[Run]:
    """The runs of a file: one for each agent that it names, in the order of their first hits; it has a name where it names none."""
    if columns.agent is None:
        return [_run(file, columns, file.name)]
    agents, codes = coded(columns.agent)
    return [_run(file, columns.only(np.flatnonzero(codes == number)), agent or file.name) for number, agent in enumerate(agents)]


def _run(file: RunFile, columns: HitColumns, name: str) -> Run:
    cases, codes = coded(columns.case)
    is_hit = _filled(columns.id)
    asked = None if columns.query is None else _queries(file, columns.query, cases, codes)
    order, notes = _order(codes, columns.rank, is_hit)
    if columns.rank is not None:
        _refuse_rankings(file, cases, codes[order], order, columns.rank, columns.id)
    counts = np.bincount(codes[is_hit], minlength=len(cases))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ids = columns.id if _is_identity(order, len(codes)) else taken(columns.id, order)
    scores = np.full(len(order), np.nan) if columns.score is None else columns.score[order]
    by_score = columns.rank is None and columns.score is not None
    return Run(
        label=RunLabel(name),
        case_ids=cases,
        starts=starts,
        ids=ids,
        scores=scores,
        status=np.where(counts > 0, OK, EMPTY).astype(np.uint8),
        rank=ranks_by_score(ids, scores, starts) if by_score else None,
        provenance=Provenance(imported=ImportedRun(tuple(notes)) if notes else None),
        queries=asked,
    )


def _filled(ids: Texts) -> NDArray[np.bool_]:
    if isinstance(ids, list):
        return np.fromiter(map(bool, ids), bool, len(ids))
    return np.ones(len(ids), bool)  # a column of polars has been checked


def _order(
    codes: NDArray[np.int64], rank: NDArray[np.float64] | None, is_hit: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], list[str]]:
    """The rows of the hits, those of a case together and by rank where there are ranks; and what to say of these."""
    together = np.argsort(codes, kind="stable") if (codes[1:] < codes[:-1]).any() else np.arange(len(codes))
    together = together[is_hit[together]]
    if rank is None:
        return together, []
    same = codes[together][1:] == codes[together][:-1]
    steps = np.diff(rank[together])
    unsorted = len(np.unique(codes[together][1:][same & (steps < 0)]))
    order = together[np.lexsort((rank[together], codes[together]))] if unsorted else together
    equal = int(((np.diff(rank[order]) == 0) & (codes[order][1:] == codes[order][:-1])).sum())
    notes = [f"answers whose hits were not in the order of their ranks, sorted by rank: {unsorted}"] if unsorted else []
    return order, notes + ([f"hits with the same rank as another, kept in the order of the file: {equal}"] if equal else [])


def _is_identity(order: NDArray[np.int64], count: int) -> bool:
    return len(order) == count and bool((order == np.arange(count)).all())


def _refuse_rankings(
    file: RunFile,
    cases: Sequence[str],
    codes: NDArray[np.int64],
    order: NDArray[np.int64],
    rank: NDArray[np.float64],
    ids: Texts,
) -> None:
    """Look closer at answers in which a rank comes twice; ``codes`` are in the given order, and ascend."""
    again = (np.diff(rank[order]) == 0) & (codes[1:] == codes[:-1])
    for code in np.unique(codes[1:][again]).tolist():
        rows = np.sort(order[slice(*np.searchsorted(codes, [code, code + 1]).tolist())])
        refuse_two_rankings(file, cases[code], rank[rows].tolist(), texts_at(ids, rows))


def _queries(file: RunFile, texts: Texts, cases: Sequence[str], codes: NDArray[np.int64]) -> tuple[str | None, ...]:
    """What each case asks; None where its first row does not say."""
    first = np.full(len(cases), -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    distinct, numbers = coded(texts)
    differing = np.flatnonzero(numbers != numbers[first][codes])
    told = [row for row in differing.tolist() if distinct[numbers[row]] and distinct[numbers[first[codes[row]]]]]
    if told:
        case = codes[told[0]]
        raise two_queries(file, cases[case], distinct[numbers[first[case]]], distinct[numbers[told[0]]])
    return tuple(text or None for text in texts_at(texts, first))
