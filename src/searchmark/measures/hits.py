"""The formulas: arrays in, one float per case out.

Every function takes `GradedHits` and returns a float64 array with one value per case. Only judged hits
are stored, because no formula here looks at an unjudged one except through its rank. A case without
hits scores 0; NaN means undefined, and only the functions that say so return it. Where trec_eval has
the measure, the definition is trec_eval's, including the order of the additions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.read_lines import ReadLines

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A rank behind every rank that a hit can have.
NEVER = np.iinfo(np.int64).max // 4

NO_TARGET = -1


@dataclass(frozen=True, eq=False)
class DirectoryPairs:
    """Every hit on a directory with every target below it, by case, then directory, then target, both in path order.

    ``rank`` is that of the hit, and ``own_grade`` its grade if it is a target itself, else 0. ``target`` is the number of
    the target among all, ``grade`` what it is worth, and ``target_rank`` where it was returned itself, NEVER if it was not.
    """

    case: Ints
    rank: Ints
    own_grade: Ints
    target: Ints
    grade: Ints
    target_rank: Ints


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which aspects of their queries targets cover, by what grade: target ``i`` has the rows ``starts[i]`` to ``starts[i + 1]``.

    ``hit`` is the target that each judged hit is, NO_TARGET for one that is known by description only. ``aspect`` is a number
    that counts through the aspects of all cases. ``name_order`` puts the targets in the order of their names.
    """

    hit: Ints
    starts: Ints
    aspect: Ints
    grade: Ints
    name_order: Ints

    def of_hits(self, targets: Ints) -> Coverage:
        return replace(self, hit=targets)


@dataclass(frozen=True, eq=False)
class GradedHits:
    """The judged hits of all cases, and what there was to find.

    ``case``, ``rank`` and ``grade`` describe the judged hits, sorted by case and rank; ``returned`` counts
    all hits per case, judged or not. ``target_case`` and ``target_grade`` describe every judged target,
    sorted by case. A negative grade means pooled but not judged, as in trec_eval.

    The remaining columns serve single measures. ``ordered_*`` describe the targets of an expected ranking:
    the rank they should have and the rank they got, 0 if none. ``order`` tells the rankings apart, of which a case may
    have several; those of one are neighbours. ``ranged_*`` describe the targets with a
    score range: 1 inside, 0 outside or not returned, NaN if returned without a score. ``abstained`` is 1, 0,
    or NaN for a case that has an answer. ``directories`` are the hits above a target that is a path. ``gain`` and
    ``target_gain`` are what judged hits and targets pay where that is not their grade, None if it is everywhere.
    ``coverage`` tells of aspects, None if the judgments have none. ``lines`` are those that a reader of the answers sees, None
    where no line is judged or that is not known.
    """

    cases: int
    case: Ints
    rank: Ints
    grade: Ints
    returned: Ints
    target_case: Ints
    target_grade: Ints
    order: Ints
    ordered_case: Ints
    ordered_expected: Ints
    ordered_rank: Ints
    ranged_case: Ints
    ranged_inside: Floats
    abstained: Floats
    directories: DirectoryPairs
    gain: Floats | None = None
    target_gain: Floats | None = None
    coverage: Coverage | None = None
    lines: ReadLines | None = None

    def taken(self, rows: NDArray[np.intp] | NDArray[np.bool_], rank: Ints | None = None) -> GradedHits:
        """The same with some of the judged hits, or in another order, which may have other ranks."""
        return replace(
            self,
            case=self.case[rows],
            rank=(self.rank if rank is None else rank)[rows],
            grade=self.grade[rows],
            gain=None if self.gain is None else self.gain[rows],
            coverage=None if self.coverage is None else self.coverage.of_hits(self.coverage.hit[rows]),
            lines=None,  # who reads other hits, or in another order, sees other lines
        )

    @cached_property
    def judged_only(self) -> GradedHits:
        """The answers without their unjudged hits (Sakai, 2007); trec_eval's option -J."""
        kept = self.taken(self.grade >= 0)
        return replace(kept, rank=rank_in_case(kept.case), returned=np.bincount(kept.case, minlength=self.cases))

    @cached_property
    def ideal(self) -> tuple[Ints, Ints, Ints]:
        """Case, rank and grade of the best list there could be: all targets that pay, highest grade first."""
        pays = self.target_grade > 0
        case, grade = self.target_case[pays], self.target_grade[pays]
        order = by_case_and_grade(case, grade)
        return case[order], rank_in_case(case[order]), grade[order]

    def relevant(self, rel: int, k: int | None) -> NDArray[np.bool_]:
        """Which judged hits have at least grade ``rel`` and are among the first ``k``."""
        mask = self.grade >= rel
        return mask if k is None else mask & (self.rank <= k)

    def per_case(self, mask: NDArray[np.bool_], weights: Floats | None = None) -> Floats:
        """Count, or sum the weights of, the masked judged hits of every case."""
        return np.bincount(self.case[mask], weights, minlength=self.cases).astype(np.float64)

    def total_relevant(self, rel: int) -> Floats:
        """How many targets of at least grade ``rel`` every case has."""
        return np.bincount(self.target_case[self.target_grade >= rel], minlength=self.cases).astype(np.float64)


def by_case_and_grade(case: Ints, grade: Ints) -> Ints:
    """The order by case, then grade, highest first: by one key where it fits, since sorting by two takes several times as long."""
    top, bottom = int(grade.max(initial=0)), int(grade.min(initial=0))
    if (int(case.max(initial=0)) + 1) * (top - bottom + 1) >= NEVER:
        return np.lexsort((-grade, case))
    return np.argsort(case * (top - bottom + 1) + (top - grade), kind="stable")


def rank_in_case(case: Ints) -> Ints:
    """1, 2, 3, ... within each stretch of equal case numbers."""
    position = np.arange(len(case))
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    return position - np.maximum.accumulate(np.where(first, position, 0)) + 1


def ratio(above: Floats, below: Floats) -> Floats:
    """Division with 0 where the denominator is 0, trec_eval's answer for a case with nothing to find."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def found(hits: GradedHits, k: int | None, rel: int, credit: str) -> Floats:
    """The relevant targets found in the first k hits; with ``credit="dir"`` directories pay half."""
    exactly = hits.per_case(hits.relevant(rel, k))
    return exactly + 0.5 * paid_by_directories(hits, k or NEVER - 1, rel) if credit == "dir" else exactly


def paid_by_directories(hits: GradedHits, k: int, rel: int) -> Floats:
    """How many relevant targets a directory among the first k hits pays for.

    A target that is among the first k itself needs no other hit, and a hit that is relevant itself pays nothing else. Of
    the rest each directory, in path order, pays the first target below it, in path order, that no other has paid.
    """
    pairs = hits.directories
    pays = (pairs.rank <= k) & (pairs.own_grade < rel)
    unpaid = (pairs.grade >= rel) & (pairs.target_rank > k)
    counts, spent, paid = np.zeros(hits.cases), set(), set()
    columns = (column[pays & unpaid].tolist() for column in (pairs.case, pairs.rank, pairs.target))
    for case, rank, target in zip(*columns, strict=True):  # who has paid decides who pays next: no formula for all at once
        if (case, rank) not in spent and target not in paid:
            spent.add((case, rank))
            paid.add(target)
            counts[case] += 1
    return counts


def precision(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval P_k: found / k, however few were returned; without k set_P: found / returned. Empty: 0."""
    size = hits.returned.astype(np.float64) if k is None else np.full(hits.cases, float(k))
    return ratio(found(hits, k, rel, credit), size)


def recall(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval recall_k and set_recall: found / relevant targets. Nothing relevant: 0."""
    return ratio(found(hits, k, rel, credit), hits.total_relevant(rel))


def f1(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval set_F with weight 1: harmonic mean of precision and recall, at k if given."""
    p = precision(hits, k=k, rel=rel, credit=credit)
    r = recall(hits, k=k, rel=rel, credit=credit)
    return ratio(2.0 * p * r, p + r)


def set_f(hits: GradedHits, *, k: int | None = None, rel: int = 1, beta: float = 1.0) -> Floats:
    """trec_eval set_F: (beta + 1) P R / (R + beta P); its beta is the square of the one in textbooks."""
    p, r = precision(hits, k=k, rel=rel), recall(hits, k=k, rel=rel)
    return ratio((beta + 1.0) * p * r, r + beta * p)


def set_average_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval set_map: precision times recall of the whole answer."""
    return precision(hits, rel=rel) * recall(hits, rel=rel)


def reciprocal_rank(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval recip_rank: 1 / rank of the first relevant hit; none among the first k: 0."""
    mask = hits.relevant(rel, k)
    case, rank = hits.case[mask], hits.rank[mask]
    values = np.zeros(hits.cases)
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    values[case[first]] = 1.0 / rank[first]
    return values


def average_precision(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval map and map_cut: mean over all relevant targets of the precision where each was found."""
    mask = hits.relevant(rel, k)
    nth = rank_in_case(hits.case[mask])
    return ratio(hits.per_case(mask, nth / hits.rank[mask]), hits.total_relevant(rel))


def interpolated_precision(hits: GradedHits, *, recall: float, rel: int = 1) -> Floats:
    """trec_eval iprec_at_recall: the best precision from where a share of the relevant targets was found. Never found: 0."""
    mask = hits.relevant(rel, None)
    case = hits.case[mask]
    nth = rank_in_case(case)
    wanted = np.floor(recall * hits.total_relevant(rel) + 0.5)  # rounded, as trec_eval does from 10.0 on
    there = nth >= wanted[case]
    best = np.zeros(hits.cases)
    np.maximum.at(best, case[there], nth[there] / hits.rank[mask][there])
    return best


def returned_count(hits: GradedHits) -> Floats:
    """trec_eval num_ret."""
    return hits.returned.astype(np.float64)


def relevant_count(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval num_rel."""
    return hits.total_relevant(rel)


def found_count(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval num_rel_ret."""
    return hits.per_case(hits.relevant(rel, k))


def success(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval success_k: 1 if any of the first k hits is relevant."""
    return (hits.per_case(hits.relevant(rel, k)) > 0).astype(np.float64)


def r_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval Rprec: precision after as many hits as there are relevant targets."""
    total = hits.total_relevant(rel)
    mask = hits.relevant(rel, None) & (hits.rank <= total[hits.case])
    return ratio(hits.per_case(mask), total)


def judged(hits: GradedHits, *, k: int | None = None) -> Floats:
    """Share of the first k hits that have a judgment; of all that came where fewer came. Empty: 0."""
    size = hits.returned if k is None else np.minimum(hits.returned, k)
    return ratio(hits.per_case(hits.relevant(0, k)), size.astype(np.float64))


def all_found(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """1 if every relevant target is among the first k hits. Nothing relevant: 0."""
    total = hits.total_relevant(rel)
    complete: Floats = ((hits.per_case(hits.relevant(rel, k)) == total) & (total > 0)).astype(np.float64)
    return complete


def abstention(hits: GradedHits) -> Floats:
    """1 if an unanswerable case got no hit, else 0. NaN for a case that has an answer."""
    return hits.abstained


def scores_in_range(hits: GradedHits) -> Floats:
    """Share of the targets with a score range whose hit scored within it; a target not returned is outside.

    NaN where no target has a range, or where one of them was returned without a score.
    """
    inside = np.bincount(hits.ranged_case, hits.ranged_inside, minlength=hits.cases)
    ranged = np.bincount(hits.ranged_case, minlength=hits.cases)
    share: Floats = np.divide(inside, ranged, out=np.full(hits.cases, np.nan), where=ranged > 0)
    return share
