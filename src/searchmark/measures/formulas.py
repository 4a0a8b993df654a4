"""The formulas: arrays in, one float per case out.

Every function takes `GradedHits` and returns a float64 array with one value per case. Only judged hits
are stored, because no formula here looks at an unjudged one except through its rank. A case without
hits scores 0; NaN means undefined, and only the functions that say so return it. Where trec_eval has
the measure, the definition is trec_eval's, including the order of the additions.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# 2 ** 1024 is no longer a float64: exponential gains end here.
HIGHEST_EXP_GRADE = 1000

# A rank behind every rank that a hit can have.
NEVER = np.iinfo(np.int64).max // 4


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
class GradedHits:
    """The judged hits of all cases, and what there was to find.

    ``case``, ``rank`` and ``grade`` describe the judged hits, sorted by case and rank; ``returned`` counts
    all hits per case, judged or not. ``target_case`` and ``target_grade`` describe every judged target,
    sorted by case. A negative grade means pooled but not judged, as in trec_eval.

    The remaining columns serve single measures. ``ordered_*`` describe the targets of an expected ranking:
    the rank they should have and the rank they got, 0 if none. ``order`` tells the rankings apart, of which a case may
    have several; those of one are neighbours. ``ranged_*`` describe the targets with a
    score range: 1 inside, 0 outside or not returned, NaN if returned without a score. ``abstained`` is 1, 0,
    or NaN for a case that has an answer. ``directories`` are the hits above a target that is a path.
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

    @cached_property
    def ideal(self) -> tuple[Ints, Ints, Ints]:
        """Case, rank and grade of the best list there could be: all targets that pay, highest grade first."""
        pays = self.target_grade > 0
        case, grade = self.target_case[pays], self.target_grade[pays]
        order = by_case_and_grade(case, grade)
        return case[order], _rank_in_case(case[order]), grade[order]

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


def _rank_in_case(case: Ints) -> Ints:
    """1, 2, 3, ... within each stretch of equal case numbers."""
    position = np.arange(len(case))
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    return position - np.maximum.accumulate(np.where(first, position, 0)) + 1


def _ratio(above: Floats, below: Floats) -> Floats:
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
    return _ratio(found(hits, k, rel, credit), size)


def recall(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval recall_k and set_recall: found / relevant targets. Nothing relevant: 0."""
    return _ratio(found(hits, k, rel, credit), hits.total_relevant(rel))


def f1(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval set_F with weight 1: harmonic mean of precision and recall, at k if given."""
    p = precision(hits, k=k, rel=rel, credit=credit)
    r = recall(hits, k=k, rel=rel, credit=credit)
    return _ratio(2.0 * p * r, p + r)


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
    nth = _rank_in_case(hits.case[mask])
    return _ratio(hits.per_case(mask, nth / hits.rank[mask]), hits.total_relevant(rel))


def gains(grade: Ints, gain: str) -> Floats:
    """What a grade pays: itself, or 2 ** grade - 1 (Burges et al., 2005); never less than nothing."""
    positive = np.maximum(grade, 0).astype(np.float64)
    if gain == "linear":
        return positive
    return np.exp2(np.where(positive > HIGHEST_EXP_GRADE, np.nan, positive)) - 1.0


def _dcg(cases: int, case: Ints, rank: Ints, grade: Ints, k: int | None, gain: str) -> Floats:
    mask = grade > 0 if k is None else (grade > 0) & (rank <= k)
    pay = gains(grade[mask], gain) / np.log2(rank[mask] + 1.0)
    return np.bincount(case[mask], pay, minlength=cases).astype(np.float64)


def dcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear") -> Floats:
    """Discounted cumulative gain, discount log2(rank + 1) (Järvelin and Kekäläinen, 2002)."""
    return _dcg(hits.cases, hits.case, hits.rank, hits.grade, k, gain)


def ideal_dcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear") -> Floats:
    """The discounted gain of the best list that there could be, cut at k."""
    return _dcg(hits.cases, *hits.ideal, k, gain)


def ndcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear") -> Floats:
    """trec_eval ndcg and ndcg_cut: DCG over that of the ideal list, which is cut at k as well."""
    ideal = ideal_dcg(hits, k=k, gain=gain)
    values = _ratio(dcg(hits, k=k, gain=gain), ideal)
    return np.where(np.isnan(ideal), np.nan, values)


def success(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval success_k: 1 if any of the first k hits is relevant."""
    return (hits.per_case(hits.relevant(rel, k)) > 0).astype(np.float64)


def r_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval Rprec: precision after as many hits as there are relevant targets."""
    total = hits.total_relevant(rel)
    mask = hits.relevant(rel, None) & (hits.rank <= total[hits.case])
    return _ratio(hits.per_case(mask), total)


def bpref(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval bpref: how rarely judged non-relevant hits rank above relevant ones (Buckley and Voorhees, 2004)."""
    total = hits.total_relevant(rel)
    judged_against = (hits.target_grade >= 0) & (hits.target_grade < rel)
    against = np.bincount(hits.target_case[judged_against], minlength=hits.cases).astype(np.float64)
    wrong = ((hits.grade >= 0) & (hits.grade < rel)).astype(np.int64)
    mask = hits.relevant(rel, None)
    case = hits.case[mask]
    before = _running_total(wrong, hits.case)[mask].astype(np.float64)
    missed = _ratio(np.minimum(before, total[case]), np.minimum(against, total)[case])
    return _ratio(hits.per_case(mask, 1.0 - missed), total)


def _running_total(values: Ints, case: Ints) -> Ints:
    """Cumulative sum that starts again with every case."""
    total = np.cumsum(values)
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    before = np.where(first, total - values, 0)
    return total - np.maximum.accumulate(before)


def rank_biased_precision(hits: GradedHits, *, k: int | None = None, rel: int = 1, p: float = 0.8) -> Floats:
    """(1 - p) times the sum of p ** (rank - 1) over relevant hits (Moffat and Zobel, 2008). Binary."""
    mask = hits.relevant(rel, k)
    weights: Floats = np.power(p, hits.rank[mask] - 1.0)
    return (1.0 - p) * hits.per_case(mask, weights)


def expected_reciprocal_rank(hits: GradedHits, *, k: int | None = None, max_grade: int = 4) -> Floats:
    """Chapelle et al. (2009): a hit of grade g satisfies with (2 ** g - 1) / 2 ** max_grade.

    NaN where a target has a grade above ``max_grade``: the scale does not fit the judgments.
    """
    values = np.zeros(hits.cases)
    mask = hits.relevant(1, k)
    case, rank, grade = hits.case[mask], hits.rank[mask], hits.grade[mask]
    nth = _rank_in_case(case)
    unsatisfied = np.ones(hits.cases)
    by_turn = np.argsort(nth, kind="stable")
    turns = np.searchsorted(nth[by_turn], np.arange(1, int(nth.max(initial=0)) + 2))
    for start, end in itertools.pairwise(turns.tolist()):  # the first relevant hits of all cases, then the second ones, ...
        at = by_turn[start:end]
        satisfies = gains(np.minimum(grade[at], max_grade), "exp") / 2.0**max_grade
        values[case[at]] += unsatisfied[case[at]] * satisfies / rank[at]
        unsatisfied[case[at]] *= 1.0 - satisfies
    values[hits.target_case[hits.target_grade > max_grade]] = np.nan
    return values


def judged(hits: GradedHits, *, k: int | None = None) -> Floats:
    """Share of the first k hits that have a judgment; of all that came where fewer came. Empty: 0."""
    size = hits.returned if k is None else np.minimum(hits.returned, k)
    return _ratio(hits.per_case(hits.relevant(0, k)), size.astype(np.float64))


def all_found(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """1 if every relevant target is among the first k hits. Nothing relevant: 0."""
    total = hits.total_relevant(rel)
    complete: Floats = ((hits.per_case(hits.relevant(rel, k)) == total) & (total > 0)).astype(np.float64)
    return complete


def abstention(hits: GradedHits) -> Floats:
    """1 if an unanswerable case got no hit, else 0. NaN for a case that has an answer."""
    return hits.abstained


def rank_agreement(hits: GradedHits, *, k: int | None = None) -> Floats:
    """Kendall's tau between an expected order and the order returned, over the pairs whose order is expected.

    Without equal expected ranks it is tau-a (Kendall, 1938), with some Somers' D of the order returned given the expected
    one (Somers, 1962): the correction of tau-b, on the expected side alone and in full, so that an expected order scores 1.
    A target that is not among the first k ranks below all that are; a pair of two such targets counts neither way. Of
    several expected orders the best counts. NaN where no two targets have different expected ranks.
    """
    missing = (hits.ordered_rank == 0) | (hits.ordered_rank > (k or NEVER))
    rank = np.where(missing, NEVER, hits.ordered_rank)
    best = np.full(hits.cases, np.nan)
    bounds = np.flatnonzero(np.diff(hits.order, prepend=-1, append=-1))
    for first, last in itertools.pairwise(bounds.tolist()):
        case = hits.ordered_case[first]
        best[case] = np.fmax(best[case], _pair_balance(hits.ordered_expected[first:last], rank[first:last]))
    return best


def _pair_balance(expected: Ints, rank: Ints) -> float:
    """Pairs in the expected order minus pairs in the other, over the pairs that are expected in any; NaN without any."""
    balance = pairs = 0
    for first in range(len(expected) - 1):  # one row at a time: all pairs at once would take memory by the square
        rest = slice(first + 1, None)
        wanted = np.sign(expected[rest] - expected[first])
        balance += int((wanted * np.sign(rank[rest] - rank[first])).sum())
        pairs += int(np.abs(wanted).sum())
    return balance / pairs if pairs else np.nan


def scores_in_range(hits: GradedHits) -> Floats:
    """Share of the targets with a score range whose hit scored within it; a target not returned is outside.

    NaN where no target has a range, or where one of them was returned without a score.
    """
    inside = np.bincount(hits.ranged_case, hits.ranged_inside, minlength=hits.cases)
    ranged = np.bincount(hits.ranged_case, minlength=hits.cases)
    share: Floats = np.divide(inside, ranged, out=np.full(hits.cases, np.nan), where=ranged > 0)
    return share
