"""What a measure would be if one more document of a case were relevant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.audit.next_pairs.pooling import PooledDocument
from searchmark.measures.formulas import DirectoryPairs, Floats, GradedHits, Ints

MOST_ROWS = 2_000_000  # of judgments that are in memory at a time


def effects(first: Scores, second: Scores, column: int, unjudged: Sequence[PooledDocument], grade: int) -> Floats:
    """By how much each document alone, if it had this grade, would change the value of the second run less that of the first."""
    changes = [_changes(scores, column, unjudged, run, grade) for run, scores in enumerate((first, second))]
    return changes[1] - changes[0]


def _changes(scores: Scores, column: int, unjudged: Sequence[PooledDocument], run: int, grade: int) -> Floats:
    cases = np.array([each.case for each in unjudged], np.int64)
    ranks = np.array([each.ranks[run] or 0 for each in unjudged], np.int64)
    sizes = np.bincount(scores.judged.hits.target_case, minlength=scores.judged.hits.cases)[cases] + 1
    parts = np.cumsum(sizes) // MOST_ROWS if len(sizes) else np.zeros(0, np.int64)
    changes = np.zeros(len(unjudged))
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        with_it = scores.measures[column].compute(_with_one_more(scores.judged.hits, cases[rows], ranks[rows], grade))
        changes[rows] = np.nan_to_num(with_it - scores.values[cases[rows], column])
    return changes


def _with_one_more(hits: GradedHits, cases: Ints, ranks: Ints, grade: int) -> GradedHits:
    """For each document its case again, with one more target of this grade, which is a hit where its rank is not 0."""
    hit_rows, of_hit = _rows_of(hits.case, cases)
    target_rows, of_target = _rows_of(hits.target_case, cases)
    new = np.arange(len(cases))
    returned = ranks > 0
    case = np.concatenate([of_hit, new[returned]])
    rank = np.concatenate([hits.rank[hit_rows], ranks[returned]])
    grades = np.concatenate([hits.grade[hit_rows], np.full(int(returned.sum()), grade)])
    order = np.lexsort((rank, case))
    target_case = np.concatenate([of_target, new])
    by_case = np.argsort(target_case, kind="stable")
    none = np.zeros(0, np.int64)
    return GradedHits(
        cases=len(cases),
        case=case[order],
        rank=rank[order],
        grade=grades[order],
        returned=hits.returned[cases],
        target_case=target_case[by_case],
        target_grade=np.concatenate([hits.target_grade[target_rows], np.full(len(cases), grade)])[by_case],
        order=none,
        ordered_case=none,
        ordered_expected=none,
        ordered_rank=none,
        ranged_case=none,
        ranged_inside=np.zeros(0),
        abstained=np.full(len(cases), np.nan),
        directories=DirectoryPairs(none, none, none, none, none, none),
    )


def _rows_of(sorted_case: Ints, cases: Ints) -> tuple[Ints, Ints]:
    """The rows of each of these cases in a column that is sorted by case, and the number of the case for each of them."""
    starts, ends = np.searchsorted(sorted_case, cases), np.searchsorted(sorted_case, cases + 1)
    lengths = ends - starts
    number = np.repeat(np.arange(len(cases)), lengths)
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(cases) else np.zeros(0, np.int64)
    return np.arange(len(number)) - before[number] + starts[number], number
