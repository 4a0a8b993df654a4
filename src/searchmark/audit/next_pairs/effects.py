"""What a measure would be if one more document of a case were relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.scores import Scores
from searchmark.audit.next_pairs.pooling import PooledDocument
from searchmark.measures.formulas import DirectoryPairs, Floats, GradedHits, Ints

MOST_ROWS = 2_000_000  # of judgments that are in memory at a time


def effects(first: Scores, second: Scores, column: int, unjudged: Sequence[PooledDocument], grade: int) -> Floats:
    """By how much each document alone, if it had this grade, would change the value of the second run less that of the first."""
    return _changes((first, second), column, unjudged, np.arange(len(unjudged)), grade)


def joint_effect(first: Scores, second: Scores, column: int, unjudged: Sequence[PooledDocument], grade: int) -> float:
    """The sum of these changes over all cases if all of the documents had this grade."""
    cases = np.array([each.case for each in unjudged], np.int64)
    _, together = np.unique(cases, return_inverse=True)
    return float(_changes((first, second), column, unjudged, together, grade).sum())


def _changes(
    runs: tuple[Scores, Scores], column: int, unjudged: Sequence[PooledDocument], group: NDArray[np.intp], grade: int
) -> Floats:
    """The change of the difference for each group of documents of one case; groups are numbered from 0."""
    cases = np.array([each.case for each in unjudged], np.int64)
    case_of = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    case_of[group] = cases
    sizes = np.bincount(runs[0].judged.hits.target_case, minlength=runs[0].judged.hits.cases)[case_of] + 1
    changes, parts = np.zeros(len(case_of)), np.cumsum(sizes) // MOST_ROWS
    for part in np.unique(parts).tolist():
        groups = np.flatnonzero(parts == part)
        rows = np.flatnonzero(parts[group] == part)
        for run, sign in ((0, -1.0), (1, 1.0)):
            ranks = np.array([unjudged[row].ranks[run] or 0 for row in rows.tolist()], np.int64)
            more = _MoreTargets(case_of[groups], group[rows] - groups[0], ranks, grade)
            with_them = runs[run].measures[column].compute(_with_more(runs[run].judged.hits, more))
            changes[groups] += sign * np.nan_to_num(with_them - runs[run].values[case_of[groups], column])
    return changes


@dataclass(frozen=True, eq=False)
class _MoreTargets:
    """Cases that are scored again, and for each new target the number of its case among them and its rank, 0 for none."""

    cases: Ints
    case: Ints
    rank: Ints
    grade: int


def _with_more(hits: GradedHits, more: _MoreTargets) -> GradedHits:
    """The cases again, with their new targets, which are hits where they have a rank."""
    cases, grade = more.cases, more.grade
    hit_rows, of_hit = _rows_of(hits.case, cases)
    target_rows, of_target = _rows_of(hits.target_case, cases)
    returned = more.rank > 0
    case = np.concatenate([of_hit, more.case[returned]])
    rank = np.concatenate([hits.rank[hit_rows], more.rank[returned]])
    grades = np.concatenate([hits.grade[hit_rows], np.full(int(returned.sum()), grade)])
    order = np.lexsort((rank, case))
    added = np.full(len(more.case), float(grade))
    target_case = np.concatenate([of_target, more.case])
    by_case = np.argsort(target_case, kind="stable")
    none = np.zeros(0, np.int64)
    return GradedHits(
        cases=len(cases),
        case=case[order],
        rank=rank[order],
        grade=grades[order],
        returned=hits.returned[cases],
        target_case=target_case[by_case],
        target_grade=np.concatenate([hits.target_grade[target_rows], np.full(len(more.case), grade)])[by_case],
        order=none,
        ordered_case=none,
        ordered_expected=none,
        ordered_rank=none,
        ranged_case=none,
        ranged_inside=np.zeros(0),
        abstained=np.full(len(cases), np.nan),
        directories=DirectoryPairs(none, none, none, none, none, none),
        gain=None if hits.gain is None else np.concatenate([hits.gain[hit_rows], added[returned]])[order],
        target_gain=None if hits.target_gain is None else np.concatenate([hits.target_gain[target_rows], added])[by_case],
    )


def _rows_of(sorted_case: Ints, cases: Ints) -> tuple[Ints, Ints]:
    """The rows of each of these cases in a column that is sorted by case, and the number of the case for each of them."""
    starts, ends = np.searchsorted(sorted_case, cases), np.searchsorted(sorted_case, cases + 1)
    lengths = ends - starts
    number = np.repeat(np.arange(len(cases)), lengths)
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(cases) else np.zeros(0, np.int64)
    return np.arange(len(number)) - before[number] + starts[number], number
