"""What changed for users, case by case: the cases that moved most, and how far two runs agree whatever is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from searchmark.analysis.intervals import SAME
from searchmark.analysis.scores import Scores
from searchmark.judging.judge import target_ranks
from searchmark.judging.matching import apart
from searchmark.judging.names import CaseKinds
from searchmark.judging.spelling import normal_path
from searchmark.records import ERROR, NOT_RUN, OK, TIMEOUT, Run

TELLING = 10
CHURN_DEPTH = 10


@dataclass(frozen=True)
class RankMove:
    """Where a relevant target stood before and after; None if it was not returned."""

    target: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class TellingCase:
    """A case that moved much."""

    case: str
    query: str | None
    before: float
    after: float
    moves: tuple[RankMove, ...]


@dataclass(frozen=True)
class Churn:
    """How much changed for users, whatever is right: no judgment is needed for this."""

    cases: int
    first_changed: int
    overlap: float
    parting_depth: float | None


def telling_cases(first: Scores, second: Scores, column: int) -> Iterator[TellingCase]:
    """The cases whose measure moved most, with the moves of their relevant targets."""
    before, after = first.values[:, column], second.values[:, column]
    change = after - before
    moved = np.flatnonzero(np.abs(np.nan_to_num(change)) > SAME)
    table = first.judged.suite.table
    for row in sorted(moved.tolist(), key=lambda row: (-abs(change[row]), table.ids[row]))[:TELLING]:
        query = None if table.queries is None else table.queries[row]
        moves = tuple(_rank_moves(first, second, row))
        yield TellingCase(table.ids[row], query, float(before[row]), float(after[row]), moves)


def _rank_moves(first: Scores, second: Scores, row: int) -> Iterator[RankMove]:
    before, after = target_ranks(first.judged, row), target_ranks(second.judged, row)
    return (RankMove(target, rank, after[target]) for target, rank in before.items() if rank != after[target])


def first_hits_of(scores: Scores) -> list[list[str] | None]:
    """The first hits of every case; None where there was no answer."""
    kinds = CaseKinds.of(scores.judged.suite)
    files = bool((kinds.paths | kinds.lines).any())
    return [_first_hits(scores.judged.run, case, files) for case in scores.judged.suite.table.ids]


def _first_hits(run: Run, case: str, files: bool) -> list[str] | None:
    """The first distinct hits of an answer; a file has one name, however it is spelt and whichever of its lines are meant."""
    row = run.index.get(case)
    if row is not None and run.status[row] in (ERROR, TIMEOUT, NOT_RUN):
        return None
    hits = run.ids_of(row) if row is not None and run.status[row] == OK else []
    names = (normal_path(apart(hit)[0]) for hit in hits) if files else iter(hits)
    first: dict[str, None] = {}
    while len(first) < CHURN_DEPTH and (name := next(names, None)) is not None:
        first[name] = None
    return list(first)


def churn_between(first: Sequence[list[str] | None], second: Sequence[list[str] | None]) -> Churn:
    """Over the cases that both runs answered: changed first hits, overlap of the first hits, where they part."""
    answered = [(one, two) for one, two in zip(first, second, strict=True) if one is not None and two is not None]
    changed = sum(one[:1] != two[:1] for one, two in answered)
    overlaps = [rank_biased_overlap(one, two, CHURN_DEPTH) if one != two else 1.0 for one, two in answered]
    depths = [_parting_depth(one, two) for one, two in answered if one != two]
    overlap = float(np.mean(overlaps)) if overlaps else 1.0
    return Churn(len(answered), changed, overlap, float(np.median(depths)) if depths else None)


def _parting_depth(first: list[str], second: list[str]) -> int:
    """The first rank at which two lists differ; behind the shorter one if that is where they begin to."""
    shorter = min(len(first), len(second))
    return next((rank for rank in range(1, shorter + 1) if first[rank - 1] != second[rank - 1]), shorter + 1)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int, p: float = 0.9) -> float:
    """How alike two rankings are, the top counting most (Webber et al., 2010, equation 32: extrapolated)."""
    shorter, longer = sorted((list(first[:depth]), list(second[:depth])), key=len)
    if not shorter:
        return 1.0 if not longer else 0.0
    overlaps = _overlaps(shorter, longer)
    short, long = len(shorter), len(longer)
    seen = sum(overlap / rank * p**rank for rank, overlap in enumerate(overlaps, 1))
    unseen = sum(overlaps[short - 1] * (rank - short) / (short * rank) * p**rank for rank in range(short + 1, long + 1))
    rest = ((overlaps[-1] - overlaps[short - 1]) / long + overlaps[short - 1] / short) * p**long
    return (1 - p) / p * (seen + unseen) + rest


def _overlaps(shorter: list[str], longer: list[str]) -> list[int]:
    """How many ids both lists have in common down to each rank of the longer one; no id is twice in a list."""
    found: list[int] = []
    common, alone_in_short, alone_in_long = 0, set[str](), set[str]()
    for one, other in zip_longest(longer, shorter):
        if one == other:
            common += 1
        else:
            common += (one in alone_in_short) + (other in alone_in_long)
            alone_in_long.add(one)
            alone_in_short.add(other)
        found.append(common)
    return found
