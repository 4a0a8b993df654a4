"""What two runs returned: the distinct documents of each case, where each run has them, and their grades where they are judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.judging.judge import Judged
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import OK
from searchmark.records.id_columns import texts_at

DEEPEST = 100  # ranks of a measure without a cutoff that are looked at


@dataclass(frozen=True)
class PooledDocument:
    """A document of a case. ``ranks`` has None for a run that did not return it, ``grade`` is None where it is not judged."""

    case: int
    item: str
    ranks: tuple[int | None, int | None]
    grade: int | None

    @property
    def best_rank(self) -> int:
        return min(rank for rank in self.ranks if rank is not None)

    @property
    def in_both(self) -> bool:
        return None not in self.ranks


def depth_of(measure: AnyMeasure) -> int:
    """How deep a measure looks, as far as that is worth a judgment."""
    return max(part.cutoff or DEEPEST for part in measure.parts)


def pooled(first: Scores, second: Scores, column: int) -> list[PooledDocument]:
    """Everything that one of two runs returned as deep as a measure looks, for the cases where both have a value of it."""
    depth = depth_of(first.measures[column])
    found: list[PooledDocument] = []
    for case in np.flatnonzero(~np.isnan(first.values[:, column] + second.values[:, column])).tolist():
        returned = [dict(_returned(scores.judged, case, depth)) for scores in (first, second)]
        for item in dict.fromkeys([*returned[0], *returned[1]]):
            ranks = tuple(each[item][0] if item in each else None for each in returned)
            grade = next(each[item][1] for each in returned if item in each)
            found.append(PooledDocument(case, item, (ranks[0], ranks[1]), grade))
    return found


def _returned(judged: Judged, case: int, depth: int) -> Iterator[tuple[str, tuple[int, int | None]]]:
    """The distinct hits of a case that exist, with rank and grade."""
    answer = judged.run.index.get(judged.suite.table.ids[case])
    if answer is None or judged.status[case] != OK:
        return
    rows = judged.run.rows_of(answer)
    grades = _grades(judged, case)
    seen: set[str] = set()
    for row, item in zip(rows.tolist(), texts_at(judged.run.ids, rows), strict=True):
        if item in seen:
            continue
        seen.add(item)
        if len(seen) > depth:
            return
        if judged.valid is None or judged.valid[row]:
            yield item, (len(seen), grades.get(row))


def _grades(judged: Judged, case: int) -> dict[int, int]:
    """The grades of the judged hits of a case, by their rows in the run."""
    matches = judged.matches
    start, end = np.searchsorted(matches.case, [case, case + 1])
    return dict(zip(matches.row[start:end].tolist(), matches.grade[start:end].tolist(), strict=True))
