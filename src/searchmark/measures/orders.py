"""Formulas that hold one order against another: that of an expected ranking, or that of an ideal one."""

from __future__ import annotations

import itertools

import numpy as np

from searchmark.measures.formulas import NEVER, Floats, GradedHits, Ints, by_case_and_grade, rank_in_case, ratio


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


def compatibility(hits: GradedHits, *, p: float = 0.95) -> Floats:
    """Rank-biased overlap with the ideal ranking that is nearest, over that of the ideal with itself (Clarke et al., 2021).

    Ideal are all relevant targets, highest grade first; of equal grades those that were returned come first, in their order.
    Overlap is counted as deep as the longer of both lists.
    """
    mask = hits.relevant(1, None)
    case, rank, ideal_rank = hits.case[mask], hits.rank[mask], _nearest_ideal(hits)
    totals = hits.total_relevant(1).astype(np.int64)
    depth = np.maximum(hits.returned, totals)
    # A target counts from where both lists have it: weights are summed from there to the end.
    weights = np.r_[0.0, np.cumsum(np.power(p, np.arange(int(depth.max(initial=0)))) / np.arange(1, depth.max(initial=0) + 1))]
    at_best = np.repeat(np.arange(hits.cases), totals), np.concatenate([np.zeros(0, np.int64), *map(_from_one, totals.tolist())])
    scores = [
        np.bincount(cases, weights[depth[cases]] - weights[place - 1], minlength=hits.cases).astype(np.float64)
        for cases, place in ((case, np.maximum(rank, ideal_rank)), at_best)
    ]
    return ratio(*scores)


def _from_one(size: int) -> Ints:
    return np.arange(1, size + 1)


def _nearest_ideal(hits: GradedHits) -> Ints:
    """The rank of every relevant hit in the ideal ranking: behind all targets of higher grades, among its like in their order."""
    mask = hits.relevant(1, None)
    case, (ideal_case, _, ideal_grades) = hits.case[mask], hits.ideal
    # Grades by their place among all grades: numbered by themselves, very high ones would leave the range of integers.
    known = np.unique(ideal_grades)
    grade, ideal_grade = np.searchsorted(known, hits.grade[mask]), np.searchsorted(known, ideal_grades)
    width = len(known) + 1
    better = np.searchsorted(ideal_case * width - ideal_grade, case * width - grade)
    before = np.searchsorted(ideal_case, case)
    order = by_case_and_grade(case, grade)
    among = np.empty(len(case), np.int64)
    among[order] = rank_in_case(case[order] * width + grade[order])
    return better - before + among
