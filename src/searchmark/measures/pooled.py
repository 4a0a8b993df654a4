"""Formulas that tell hits judged not relevant from those that nobody judged."""

from __future__ import annotations

import numpy as np

from searchmark.measures.formulas import Floats, GradedHits, Ints, rank_in_case, ratio

_SMOOTHING = 1e-5  # of infAP in trec_eval, so that nothing judged above a hit divides nothing by nothing


def bpref(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval bpref: how rarely judged non-relevant hits rank above relevant ones (Buckley and Voorhees, 2004)."""
    total = hits.total_relevant(rel)
    judged_against = (hits.target_grade >= 0) & (hits.target_grade < rel)
    against = np.bincount(hits.target_case[judged_against], minlength=hits.cases).astype(np.float64)
    wrong = ((hits.grade >= 0) & (hits.grade < rel)).astype(np.int64)
    mask = hits.relevant(rel, None)
    case = hits.case[mask]
    before = _running_total(wrong, hits.case)[mask].astype(np.float64)
    missed = ratio(np.minimum(before, total[case]), np.minimum(against, total)[case])
    return ratio(hits.per_case(mask, 1.0 - missed), total)


def _running_total(values: Ints, case: Ints) -> Ints:
    """Cumulative sum that starts again with every case."""
    total = np.cumsum(values)
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    before = np.where(first, total - values, 0)
    return total - np.maximum.accumulate(before)


def inferred_average_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval infAP (Yilmaz and Aslam, 2006): AP where of the documents in the pool only some were judged.

    A negative grade is a document of the pool that was not judged; one without a judgment is outside of the pool. Above a
    relevant hit, the share of the pool is known and the share of relevant ones among it is that of the judged ones.
    """
    mask = hits.relevant(rel, None)
    case, above = hits.case[mask], hits.rank[mask] - 1.0
    relevant = rank_in_case(case) - 1.0
    wrong = _running_total(((hits.grade >= 0) & (hits.grade < rel)).astype(np.int64), hits.case)[mask].astype(np.float64)
    unjudged = _running_total((hits.grade < 0).astype(np.int64), hits.case)[mask].astype(np.float64)
    pooled = ratio(relevant + wrong + unjudged, np.asarray(above, np.float64))
    expected = (relevant + _SMOOTHING) / (relevant + wrong + 2 * _SMOOTHING)
    precise = 1.0 / (above + 1.0) + above / (above + 1.0) * pooled * expected
    return ratio(hits.per_case(mask, precise), hits.total_relevant(rel))
