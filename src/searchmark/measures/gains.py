"""Formulas that pay by grade: discounted gain, and readers who stop where they are satisfied.

What a judgment pays in DCG and nDCG is its grade, or its own gain where it has one, or what the measure's ``gains`` say.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from searchmark.measures.formulas import Floats, GradedHits, Ints, rank_in_case, ratio

# 2 ** 1024 is no longer a float64: exponential gains end here.
HIGHEST_EXP_GRADE = 1000


@lru_cache(maxsize=64)
def gains_by_grade(text: str) -> dict[int, float]:
    """What grades pay, from ``0:0,1:1,2:10``."""
    pairs = (pair.split(":") for pair in text.split(","))
    return {int(grade): float(pay) for grade, pay in pairs}


def paid(grade: Ints | Floats, gain: str) -> Floats:
    """What a grade pays: itself, or 2 ** grade - 1 (Burges et al., 2005); never less than nothing."""
    positive = np.maximum(grade, 0).astype(np.float64)
    if gain == "linear":
        return positive
    return np.exp2(np.where(positive > HIGHEST_EXP_GRADE, np.nan, positive)) - 1.0


def paid_by_judgments(grade: Ints, own: Floats | None, gain: str, gains: str) -> Floats:
    """What judgments pay: by a table of the measure, NaN for a grade that is missing there, or by their gain or grade."""
    if not gains:
        return paid(grade if own is None else own, gain)
    known = gains_by_grade(gains)
    distinct, number = np.unique(grade, return_inverse=True)
    pays = [known.get(each, np.nan if each > 0 else 0.0) if each >= 0 else 0.0 for each in distinct.tolist()]
    return np.array(pays, np.float64)[number.reshape(-1)]


def _discounted(cases: int, case: Ints, rank: Ints, pay: Floats, k: int | None) -> Floats:
    mask = pay != 0 if k is None else (pay != 0) & (rank <= k)
    return np.bincount(case[mask], pay[mask] / np.log2(rank[mask] + 1.0), minlength=cases).astype(np.float64)


def _dcg(cases: int, case: Ints, rank: Ints, grade: Ints, k: int | None, gain: str) -> Floats:
    """The same where grades alone decide: what pays nothing is left out before anything is worked out."""
    mask = grade > 0 if k is None else (grade > 0) & (rank <= k)
    pay = paid(grade[mask], gain) / np.log2(rank[mask] + 1.0)
    return np.bincount(case[mask], pay, minlength=cases).astype(np.float64)


def dcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear", gains: str = "") -> Floats:
    """Discounted cumulative gain, discount log2(rank + 1) (Järvelin and Kekäläinen, 2002)."""
    if hits.gain is None and not gains:
        return _dcg(hits.cases, hits.case, hits.rank, hits.grade, k, gain)
    return _discounted(hits.cases, hits.case, hits.rank, paid_by_judgments(hits.grade, hits.gain, gain, gains), k)


def ideal_dcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear", gains: str = "") -> Floats:
    """The discounted gain of the best list that there could be, cut at k."""
    if hits.target_gain is None and not gains:
        return _dcg(hits.cases, *hits.ideal, k, gain)
    pay = paid_by_judgments(hits.target_grade, hits.target_gain, gain, gains)
    rows = np.flatnonzero(pay != 0)
    rows = rows[np.lexsort((-np.nan_to_num(pay[rows], nan=np.inf), hits.target_case[rows]))]
    case = hits.target_case[rows]
    return _discounted(hits.cases, case, rank_in_case(case), pay[rows], k)


def ndcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear", gains: str = "") -> Floats:
    """trec_eval ndcg and ndcg_cut: DCG over that of the ideal list, which is cut at k as well."""
    ideal = ideal_dcg(hits, k=k, gain=gain, gains=gains)
    values = ratio(dcg(hits, k=k, gain=gain, gains=gains), ideal)
    return np.where(np.isnan(ideal), np.nan, values)


def rank_biased_precision(hits: GradedHits, *, k: int | None = None, rel: int = 1, p: float = 0.8) -> Floats:
    """(1 - p) times the sum of p ** (rank - 1) over relevant hits (Moffat and Zobel, 2008). Binary."""
    mask = hits.relevant(rel, k)
    weights: Floats = np.power(p, hits.rank[mask] - 1.0)
    return (1.0 - p) * hits.per_case(mask, weights)


def expected_reciprocal_rank(hits: GradedHits, *, k: int | None = None, max_grade: int = 4) -> Floats:
    """Chapelle et al. (2009): a hit of grade g satisfies with (2 ** g - 1) / 2 ** max_grade.

    NaN where a target has a grade above ``max_grade``: the scale does not fit the judgments.
    """
    mask = hits.relevant(1, k)
    values = _stopping(hits.cases, hits.case[mask], hits.rank[mask], hits.grade[mask], max_grade)
    values[hits.target_case[hits.target_grade > max_grade]] = np.nan
    return values


def normalised_reciprocal_rank(hits: GradedHits, *, k: int | None = None, max_grade: int = 4) -> Floats:
    """ERR over that of the ideal list, which is cut at k as well. Nothing relevant: 0; a grade above ``max_grade``: NaN."""
    case, rank, grade = hits.ideal
    first = rank <= (k or len(rank))
    ideal = _stopping(hits.cases, case[first], rank[first], grade[first], max_grade)
    found = expected_reciprocal_rank(hits, k=k, max_grade=max_grade)
    return np.where(np.isnan(found), np.nan, ratio(found, ideal))


def _stopping(cases: int, case: Ints, rank: Ints, grade: Ints, max_grade: int) -> Floats:
    """The expected 1 / rank of where a reader stops; the hits are relevant ones, by case and rank."""
    values = np.zeros(cases)
    nth = rank_in_case(case)
    unsatisfied = np.ones(cases)
    by_turn = np.argsort(nth, kind="stable")
    turns = np.searchsorted(nth[by_turn], np.arange(1, int(nth.max(initial=0)) + 2))
    for start, end in itertools.pairwise(turns.tolist()):  # the first relevant hits of all cases, then the second ones, ...
        at = by_turn[start:end]
        satisfies = paid(np.minimum(grade[at], max_grade), "exp") / 2.0**max_grade
        values[case[at]] += unsatisfied[case[at]] * satisfies / rank[at]
        unsatisfied[case[at]] *= 1.0 - satisfies
    return values
