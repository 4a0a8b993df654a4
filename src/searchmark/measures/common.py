"""The measures that most people ask for: each with its formula, its chance level, its shape and its definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from math import inf, prod

import numpy as np

from searchmark.measures.definition import NO_ORDER, NOT_FOUND, PAYS_NOTHING, MeasureDefinition
from searchmark.measures.hits import (
    ALL,
    ANY,
    AVERAGE,
    COUNT,
    DISCOUNTED,
    EXPONENTIAL,
    FIRST,
    LINEAR,
    NEVER,
    NOTHING,
    GradedHits,
    PoolView,
    rank_in_case,
    ratio,
)
from searchmark.records.columns import Bools, Floats, Ints, distinct

# A formula takes `GradedHits` and returns a float64 array with one value per case. Only judged hits are stored, because no
# formula looks at an unjudged one except through its rank. A case without hits scores 0; NaN means undefined, and only the
# formulas that say so return it. Where trec_eval has the measure, it is trec_eval's, including the order of the additions.
#
# Chance: every order of the documents is as likely as every other, so that how many relevant ones are among the first k is
# hypergeometric and each document is at each rank with the same probability. Most measures are sums over ranks or documents,
# whose expectation needs no more than that. Where none is known (ERR, aspects, several expected orders), rankings are drawn.
#
# Shape: on one case most measures are a weight times a count or a rank; P@5 and R@5 both count the relevant among the first
# five. Measures with the same shape in all cases are one measure.


def relevant_found(hits: GradedHits, k: int | None, rel: int, credit: str) -> Floats:
    """The relevant targets found in the first k hits; with ``credit="dir"`` directories pay half."""
    exactly = hits.per_case(hits.relevant(rel, k))
    return exactly + 0.5 * directory_credit(hits, k or NEVER - 1, rel) if credit == "dir" else exactly


def directory_credit(hits: GradedHits, k: int, rel: int) -> Floats:
    """How many relevant targets a directory among the first k hits pays for.

    A target that is among the first k itself needs no other hit, and a hit that is relevant itself pays nothing else. Of
    the rest each directory, in path order, pays the first target below it, in path order, that no other has paid.
    """
    pairs = hits.directories
    pays = (pairs.rank <= k) & (pairs.own_grade < rel)
    unpaid = (pairs.grade >= rel) & (pairs.target_rank > k)
    counts, used_hits, paid_targets = np.zeros(hits.cases), set(), set()
    columns = (column[pays & unpaid].tolist() for column in (pairs.case, pairs.rank, pairs.target))
    for case, rank, target in zip(*columns, strict=True):  # who has paid decides who pays next: no formula for all at once
        if (case, rank) not in used_hits and target not in paid_targets:
            used_hits.add((case, rank))
            paid_targets.add(target)
            counts[case] += 1
    return counts


def precision(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval P_k: found / k, however few were returned; without k set_P: found / returned. Empty: 0."""
    size = hits.returned.astype(np.float64) if k is None else np.full(hits.cases, float(k))
    return ratio(relevant_found(hits, k, rel, credit), size)


PRECISION = MeasureDefinition(
    "P",
    precision,
    "precision: relevant hits among the first k, over k; without @k over all hits returned",
    missing="fewer than k hits still divide by k",
    parameters=("rel", "credit", "judged_only"),
    word="Precision",
    aliases=("SetP", "set_P"),
    numbered="P",
    of_sets=True,
    diluted=True,
    needs_targets=False,
    ideal="ranking",
    chance=lambda view: view.share(view.found, view.cutoff or view.documents),
    labels="add up",
    shape=lambda view: None if view.cutoff is None else view.shape(COUNT, 1 / view.cutoff),
    first_hit=True,
)


def recall(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval recall_k and set_recall: found / relevant targets. Nothing relevant: 0."""
    return ratio(relevant_found(hits, k, rel, credit), hits.total_relevant(rel))


RECALL = MeasureDefinition(
    "R",
    recall,
    "recall: relevant targets among the first k hits, over all relevant targets",
    missing=NOT_FOUND,
    parameters=("rel", "credit", "judged_only"),
    word="Recall",
    aliases=("SetR", "set_recall"),
    numbered="recall",
    of_sets=True,
    grows=True,
    ideal="ranking",
    chance=lambda view: view.share(view.found, view.all),
    labels="decide",
    shape=lambda view: view.shape(COUNT, 1 / view.all),
    never_falls=True,
    at_most=("Success",),
)


def f1(hits: GradedHits, *, k: int | None = None, rel: int = 1, credit: str = "exact") -> Floats:
    """trec_eval set_F with weight 1: harmonic mean of precision and recall, at k if given."""
    p = precision(hits, k=k, rel=rel, credit=credit)
    r = recall(hits, k=k, rel=rel, credit=credit)
    return ratio(2.0 * p * r, p + r)


def _f1_by_chance(view: PoolView) -> Floats:
    """Linear in what is found: P is found / k and R found / all, so that F1 is 2 * found / (k + all)."""
    return view.share(2 * view.found, (view.cutoff or view.documents) + view.all)


F1 = MeasureDefinition(
    "F1",
    f1,
    "harmonic mean of P and R, both at k, or both over the whole answer",
    missing=NOT_FOUND,
    parameters=("rel", "credit", "judged_only"),
    of_sets=True,
    grows=True,
    diluted=True,
    ideal="ranking",
    chance=_f1_by_chance,
    labels="decide",
    shape=lambda view: None if view.cutoff is None else view.shape(COUNT, 2 / (view.cutoff + view.all)),
    at_most=("Success",),
)


def reciprocal_rank(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval recip_rank: 1 / rank of the first relevant hit; none among the first k: 0."""
    mask = hits.relevant(rel, k)
    case, rank = hits.case[mask], hits.rank[mask]
    values = np.zeros(hits.cases)
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    values[case[first]] = 1.0 / rank[first]
    return values


LONGEST_SUM = 4096  # ranks that are added up one by one


def _once_per_count(expectation: Callable[[int, int, int], float], *columns: Floats) -> Floats:
    """The same for cases with the same numbers, worked out once."""
    distinct, number = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_inverse=True)
    return np.array([expectation(*row) for row in distinct.tolist()], np.float64)[number.reshape(-1)]


def _first_relevant(documents: int, relevant: int, first: int) -> float:
    """The mean of 1 / rank of the first relevant document, if it is among the first ones.

    Over all ranks it follows from that of one relevant document less: E(r) = r / ((r - 1)(N - r + 1)) * ((N - r + 2) E(r - 1) - 1),
    which is used where there are many ranks and few relevant documents, where it loses no digits.
    """
    if not relevant:
        return 0.0
    if first == documents > LONGEST_SUM and 2 * relevant < documents:
        expected = float(np.sum(1 / np.arange(documents, 0, -1))) / documents
        for r in range(2, relevant + 1):
            expected = r / ((r - 1) * (documents - r + 1)) * ((documents - r + 2) * expected - 1)
        return expected
    ranks = np.arange(1, min(first, documents - relevant + 1) + 1)
    none_before = np.r_[1.0, np.cumprod((documents - relevant - ranks[:-1] + 1) / (documents - ranks[:-1] + 1))]
    return float(np.sum(none_before * relevant / (documents - ranks + 1) / ranks))


RECIPROCAL_RANK = MeasureDefinition(
    "RR",
    reciprocal_rank,
    "reciprocal rank of the first relevant hit",
    missing="no relevant hit among the first k: 0",
    parameters=("rel", "judged_only"),
    word="MRR",
    aliases=("recip_rank",),
    needs_targets=False,
    ideal="ranking",
    chance=lambda view: _once_per_count(_first_relevant, view.documents, view.relevant, view.first),
    labels="decide",
    shape=lambda view: view.shape(np.where(view.first == 1, COUNT, FIRST), 1.0),
    first_hit=True,
    never_falls=True,
)


def average_precision(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval map and map_cut: mean over all relevant targets of the precision where each was found."""
    mask = hits.relevant(rel, k)
    nth = rank_in_case(hits.case[mask])
    return ratio(hits.per_case(mask, nth / hits.rank[mask]), hits.total_relevant(rel))


def _average_precision_by_chance(view: PoolView) -> Floats:
    """At rank j: the document is relevant with r / N, and each of those before it then with (r - 1) / (N - 1)."""
    one = view.relevant / view.documents
    two = one * view.share(view.relevant - 1, view.documents - 1)
    harmonic = _sums(1 / np.arange(1, int(view.first.max(initial=1)) + 1), view.first)
    return view.share(one * harmonic + two * (view.first - harmonic), view.all)


def _sums(terms: Floats, sizes: Floats) -> Floats:
    """The sum of the first terms, as many as each case has."""
    return np.asarray(np.r_[0.0, np.cumsum(terms)][sizes.astype(np.int64)], np.float64)


AVERAGE_PRECISION = MeasureDefinition(
    "AP",
    average_precision,
    "average precision: precision at each relevant hit, over all relevant targets",
    missing=NOT_FOUND,
    parameters=("rel", "judged_only"),
    word="MAP",
    numbered="map_cut",
    ideal="ranking",
    chance=_average_precision_by_chance,
    labels="decide",
    shape=lambda view: view.shape(np.where(view.first == 1, COUNT, np.where(view.findable == 1, FIRST, AVERAGE)), 1 / view.all),
    at_most=("Success", "R"),
)


# Discounted gain. What a judgment pays is its grade, or its own gain where it has one, or what the measure's ``gains`` say.

# 2 ** 1024 is no longer a float64: exponential gains end here.
HIGHEST_EXP_GRADE = 1000


@lru_cache(maxsize=64)
def gains_by_grade(text: str) -> dict[int, float]:
    """What grades pay, from ``0:0,1:1,2:10``."""
    pairs = (pair.split(":") for pair in text.split(","))
    return {int(grade): float(pay) for grade, pay in pairs}


def grade_gain(grade: Ints | Floats, gain: str) -> Floats:
    """What a grade pays: itself, or 2 ** grade - 1 (Burges et al., 2005); never less than nothing."""
    positive = np.maximum(grade, 0).astype(np.float64)
    if gain == "linear":
        return positive
    return np.exp2(np.where(positive > HIGHEST_EXP_GRADE, np.nan, positive)) - 1.0


def judgment_gains(grade: Ints, own: Floats | None, gain: str, gains: str) -> Floats:
    """What judgments pay: by a table of the measure, NaN for a grade that is missing there, or by their gain or grade."""
    if not gains:
        return grade_gain(grade if own is None else own, gain)
    pay_by_grade = gains_by_grade(gains)
    distinct, number = np.unique(grade, return_inverse=True)
    pays = [pay_by_grade.get(each, np.nan if each > 0 else 0.0) if each >= 0 else 0.0 for each in distinct.tolist()]
    return np.array(pays, np.float64)[number.reshape(-1)]


def _sum_discounted(cases: int, case: Ints, rank: Ints, pay: Floats, k: int | None) -> Floats:
    mask = pay != 0 if k is None else (pay != 0) & (rank <= k)
    return np.bincount(case[mask], pay[mask] / np.log2(rank[mask] + 1.0), minlength=cases).astype(np.float64)


def _dcg(cases: int, case: Ints, rank: Ints, grade: Ints, k: int | None, gain: str) -> Floats:
    """The same where grades alone decide: what pays nothing is left out before anything is worked out."""
    mask = grade > 0 if k is None else (grade > 0) & (rank <= k)
    pay = grade_gain(grade[mask], gain) / np.log2(rank[mask] + 1.0)
    return np.bincount(case[mask], pay, minlength=cases).astype(np.float64)


def dcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear", gains: str = "") -> Floats:
    """Discounted cumulative gain, discount log2(rank + 1) (Järvelin and Kekäläinen, 2002)."""
    if hits.gain is None and not gains:
        return _dcg(hits.cases, hits.case, hits.rank, hits.grade, k, gain)
    return _sum_discounted(hits.cases, hits.case, hits.rank, judgment_gains(hits.grade, hits.gain, gain, gains), k)


def ideal_dcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear", gains: str = "") -> Floats:
    """The discounted gain of the best list that there could be, cut at k."""
    if hits.target_gain is None and not gains:
        return _dcg(hits.cases, *hits.ideal, k, gain)
    pay = judgment_gains(hits.target_grade, hits.target_gain, gain, gains)
    rows = np.flatnonzero(pay != 0)
    rows = rows[np.lexsort((-np.nan_to_num(pay[rows], nan=np.inf), hits.target_case[rows]))]
    case = hits.target_case[rows]
    return _sum_discounted(hits.cases, case, rank_in_case(case), pay[rows], k)


def ndcg(hits: GradedHits, *, k: int | None = None, gain: str = "linear", gains: str = "") -> Floats:
    """trec_eval ndcg and ndcg_cut: DCG over that of the ideal list, which is cut at k as well."""
    ideal = ideal_dcg(hits, k=k, gain=gain, gains=gains)
    values = ratio(dcg(hits, k=k, gain=gain, gains=gains), ideal)
    return np.where(np.isnan(ideal), np.nan, values)


def _gain_by_chance(view: PoolView) -> Floats:
    judgments, gain, gains = view.pool.suite.judgments, str(view.options["gain"]), str(view.options["gains"])
    paid, own = view.pool.drawn & (judgments.grades >= (0 if gains else 1)), judgments.gains
    pays = judgment_gains(judgments.grades[paid], None if own is None else own[paid], gain, gains)
    sums = np.bincount(judgments.case[paid], pays, minlength=len(view.pool.suite))
    discounts = _sums(1 / np.log2(np.arange(1, int(view.first.max(initial=1)) + 1) + 1.0), view.first)
    return np.asarray(sums / view.documents * discounts, np.float64)


def _normalised_gain_by_chance(view: PoolView) -> Floats:
    gain, gains = str(view.options["gain"]), str(view.options["gains"])
    ideal = ideal_dcg(view.pool.best_answers(1), k=view.cutoff, gain=gain, gains=gains)
    return np.where(np.isnan(ideal), np.nan, view.share(_gain_by_chance(view), ideal))


def _shape_of_normalised_gain(view: PoolView) -> Floats:
    """With one grade only, all gains are alike; the ideal list is cut at k as well, and may be longer than the documents."""
    gain_kind = EXPONENTIAL if view.options["gain"] == "exp" else LINEAR
    cut = np.minimum(np.maximum(view.documents, view.all), view.cutoff or NEVER)
    kind = np.where(view.highest > view.lowest, gain_kind, np.where(cut == 1, COUNT, DISCOUNTED))
    return view.shape(kind, 1.0, cut)


NORMALISED_GAIN = MeasureDefinition(
    "nDCG",
    ndcg,
    "discounted gain (log2 of rank + 1) over that of the ideal list, both cut at k",
    missing=NOT_FOUND,
    parameters=("gain", "gains", "judged_only"),
    numbered="ndcg_cut",
    ideal="ranking",
    chance=_normalised_gain_by_chance,
    labels="decide",
    shape=_shape_of_normalised_gain,
    at_most=("Success",),
)


GAIN = MeasureDefinition(
    "DCG",
    dcg,
    "discounted gain (log2 of rank + 1), not normalised",
    missing=PAYS_NOTHING,
    parameters=("gain", "gains", "judged_only"),
    high=inf,
    needs_targets=False,
    undefined="a grade is too high for exponential gain, or globs or symbols with gains of their own were not expanded",
    ideal="ranking",
    chance=_gain_by_chance,
    labels="add up",
)


def success(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval success_k: 1 if any of the first k hits is relevant."""
    return (hits.per_case(hits.relevant(rel, k)) > 0).astype(np.float64)


def _none_among(documents: int, relevant: int, first: int) -> float:
    """C(N - r, k) / C(N, k), as a product over the fewer of r and k."""
    few, many = sorted((relevant, first))
    return prod(max(0, documents - many - i) / (documents - i) for i in range(few))


SUCCESS = MeasureDefinition(
    "Success",
    success,
    "1 if any of the first k hits is relevant",
    missing="no relevant hit: 0",
    parameters=("rel", "judged_only"),
    word="Hit rate",
    aliases=("HitRate", "hit_rate"),
    numbered="success",
    needs_targets=False,
    ideal="ranking",
    chance=lambda view: np.asarray(1 - _once_per_count(_none_among, view.documents, view.relevant, view.first), np.float64),
    labels="decide",
    shape=lambda view: view.shape(np.where((view.findable == 1) | (view.first == 1), COUNT, ANY), 1.0),
    binary=True,
    first_hit=True,
    never_falls=True,
)


def r_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval Rprec: precision after as many hits as there are relevant targets."""
    total = hits.total_relevant(rel)
    mask = hits.relevant(rel, None) & (hits.rank <= total[hits.case])
    return ratio(hits.per_case(mask), total)


R_PRECISION = MeasureDefinition(
    "Rprec",
    r_precision,
    "precision after as many hits as there are relevant targets",
    missing=NOT_FOUND,
    parameters=("rel", "judged_only"),
    cutoff=False,
    ideal="ranking",
    chance=lambda view: view.share(np.minimum(view.all, view.documents) * view.relevant / view.documents, view.all),
    shape=lambda view: view.shape(COUNT, 1 / view.all, np.minimum(view.first, view.all)),
    at_most=("Success",),
)


def bpref(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval bpref: how rarely judged non-relevant hits rank above relevant ones (Buckley and Voorhees, 2004)."""
    total = hits.total_relevant(rel)
    judged_against = (hits.target_grade >= 0) & (hits.target_grade < rel)
    against = np.bincount(hits.target_case[judged_against], minlength=hits.cases).astype(np.float64)
    wrong = ((hits.grade >= 0) & (hits.grade < rel)).astype(np.int64)
    mask = hits.relevant(rel, None)
    case = hits.case[mask]
    before = running_total(wrong, hits.case)[mask].astype(np.float64)
    penalty = ratio(np.minimum(before, total[case]), np.minimum(against, total)[case])
    return ratio(hits.per_case(mask, 1.0 - penalty), total)


def running_total(values: Ints, case: Ints) -> Ints:
    """Cumulative sum that starts again with every case."""
    total = np.cumsum(values)
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    before = np.where(first, total - values, 0)
    return total - np.maximum.accumulate(before)


def _bpref_by_chance(view: PoolView) -> Floats:
    """How many of n judged against a relevant one rank above it is each of 0 to n with the same probability."""
    grades = view.pool.suite.judgments.grades
    wrong = (grades >= 0) & (grades < view.rel)
    against, drawn = (view.pool.count(mask).astype(np.float64) for mask in (wrong, wrong & view.pool.drawn))
    most = np.minimum(drawn, view.all)
    above = (most * (most + 1) / 2 + (drawn - most) * view.all) / (drawn + 1)
    penalty = view.share(above, np.minimum(against, view.all))
    return view.share(view.relevant * (1 - penalty), view.all)


BPREF = MeasureDefinition(
    "Bpref",
    bpref,
    "how rarely hits judged not relevant rank above relevant ones; unjudged hits are skipped",
    missing=NOT_FOUND,
    parameters=("rel",),
    cutoff=False,
    ideal="ranking",
    chance=_bpref_by_chance,
)


def rank_biased_precision(hits: GradedHits, *, k: int | None = None, rel: int = 1, p: float = 0.8) -> Floats:
    """(1 - p) times the sum of p ** (rank - 1) over relevant hits (Moffat and Zobel, 2008). Binary."""
    mask = hits.relevant(rel, k)
    weights: Floats = np.power(p, hits.rank[mask] - 1.0)
    return (1.0 - p) * hits.per_case(mask, weights)


RANK_BIASED = MeasureDefinition(
    "RBP",
    rank_biased_precision,
    "rank-biased precision: (1 - p) * sum of p^(rank - 1) over relevant hits",
    missing=PAYS_NOTHING,
    parameters=("rel", "p"),
    needs_targets=False,
    ideal="ranking",
    chance=lambda view: np.asarray(view.relevant / view.documents * (1 - float(view.options["p"]) ** view.first), np.float64),
    labels="add up",
)


def expected_reciprocal_rank(hits: GradedHits, *, k: int | None = None, max_grade: int = 4) -> Floats:
    """Chapelle et al. (2009): a hit of grade g satisfies with (2 ** g - 1) / 2 ** max_grade.

    NaN where a target has a grade above ``max_grade``: the scale does not fit the judgments.
    """
    mask = hits.relevant(1, k)
    values = expected_stop(hits.cases, hits.case[mask], hits.rank[mask], hits.grade[mask], max_grade)
    values[hits.target_case[hits.target_grade > max_grade]] = np.nan
    return values


def expected_stop(cases: int, case: Ints, rank: Ints, grade: Ints, max_grade: int) -> Floats:
    """The expected 1 / rank of where a reader stops; the hits are relevant ones, by case and rank."""
    values = np.zeros(cases)
    nth = rank_in_case(case)
    unsatisfied = np.ones(cases)
    by_turn = np.argsort(nth, kind="stable")
    turns = np.searchsorted(nth[by_turn], np.arange(1, int(nth.max(initial=0)) + 2))
    for start, end in itertools.pairwise(turns.tolist()):  # the first relevant hits of all cases, then the second ones, ...
        at = by_turn[start:end]
        satisfies = grade_gain(np.minimum(grade[at], max_grade), "exp") / 2.0**max_grade
        values[case[at]] += unsatisfied[case[at]] * satisfies / rank[at]
        unsatisfied[case[at]] *= 1.0 - satisfies
    return values


EXPECTED_RECIPROCAL_RANK = MeasureDefinition(
    "ERR",
    expected_reciprocal_rank,
    "expected reciprocal rank: a reader stops at a hit of grade g with (2^g - 1) / 2^max",
    missing=f"{PAYS_NOTHING}; a grade above max: undefined",
    parameters=("max",),
    needs_targets=False,
    undefined="a grade lies above the measure's max",
    ideal="ranking",
    labels="decide",
)


def judged_share(hits: GradedHits, *, k: int | None = None) -> Floats:
    """Share of the first k hits that have a judgment; of all that came where fewer came. Empty: 0."""
    size = hits.returned if k is None else np.minimum(hits.returned, k)
    return ratio(hits.per_case(hits.relevant(0, k)), size.astype(np.float64))


def _best_share_judged(view: PoolView) -> Floats:
    """Of an answer of judged documents alone; to put all judgments in order takes long where they are many."""
    return (view.pool.count(view.pool.findable & (view.pool.suite.judgments.grades >= 0)) > 0).astype(np.float64)


def _judged_by_chance(view: PoolView) -> Floats:
    judged = view.pool.drawn & (view.pool.suite.judgments.grades >= 0)
    return np.asarray(view.pool.count(judged) / view.documents, np.float64)


JUDGED = MeasureDefinition(
    "Judged",
    judged_share,
    "share of the first k hits that have a judgment; of all hits where fewer came",
    missing="depends on hits only",
    needs_targets=False,
    tells="how much was judged",
    ideal="ranking",
    highest=_best_share_judged,
    lowest_grade=0,
    chance=_judged_by_chance,
)


def all_found(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """1 if every relevant target is among the first k hits. Nothing relevant: 0."""
    total = hits.total_relevant(rel)
    complete: Floats = ((hits.per_case(hits.relevant(rel, k)) == total) & (total > 0)).astype(np.float64)
    return complete


def _all_found_by_chance(view: PoolView) -> Floats:
    """C(N - R, k - R) / C(N, k): the relevant ones are all among the first k."""
    every = _once_per_count(lambda n, r, k: prod((k - i) / (n - i) for i in range(r)), view.documents, view.relevant, view.first)
    return np.where((view.relevant == view.all) & (view.all > 0), every, 0.0)


def _shape_of_all_found(view: PoolView) -> Floats:
    shape = view.shape(np.where(view.all == 1, COUNT, ALL), 1.0)
    shape[(view.findable < view.all) | (view.first < view.all)] = NOTHING
    return shape


ALL_FOUND = MeasureDefinition(
    "Acc",
    all_found,
    "1 if every relevant target is among the first k hits",
    missing="one target missing: 0; no relevant target: 0",
    parameters=("rel",),
    ideal="ranking",
    chance=_all_found_by_chance,
    shape=_shape_of_all_found,
    binary=True,
    never_falls=True,
    at_most=("Success", "R"),
)


def abstention(hits: GradedHits) -> Floats:
    """1 if an unanswerable case got no hit, else 0. NaN for a case that has an answer."""
    return hits.abstained


ABSTENTION = MeasureDefinition(
    "Abstain",
    abstention,
    "1 if a case marked unanswerable got no hit; defined for those cases only",
    missing="an unanswerable case has no target",
    cutoff=False,
    ties=NO_ORDER,
    empty="1; an error or a time-out: 0",
    needs_targets=False,
    unanswerable=True,
    asked_by=lambda suite: suite.table.unanswerable is not None,
    highest=lambda view: np.ones(len(view.pool.suite)),
    chance=lambda view: np.asarray(view.documents == 0, np.float64),
    binary=True,
)


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
        expected_sign = np.sign(expected[rest] - expected[first])
        balance += int((expected_sign * np.sign(rank[rest] - rank[first])).sum())
        pairs += int(np.abs(expected_sign).sum())
    return balance / pairs if pairs else np.nan


def _best_agreement(view: PoolView) -> Floats:
    """The best order of the targets that can be found: each pays the pairs that it is right in and takes those that it is not.

    The first ones in the expected order pay most and take least, so that they are returned as long as they pay.
    """
    pool, orders, best = view.pool, view.pool.orders, np.full(len(view.pool.suite), np.nan)
    bounds = np.flatnonzero(np.diff(orders.order, prepend=-1, append=-1))
    for first, last in itertools.pairwise(bounds.tolist()):
        expected, judgment = orders.rank[first:last], orders.judgment[first:last]
        case = pool.suite.judgments.case[judgment[0]]
        best[case] = np.fmax(best[case], _best_balance(expected, pool.findable[judgment], view.cutoff or NEVER))
    return best


def _best_balance(expected: Ints, findable: Bools, k: int) -> float:
    all_of_them, missing = np.sort(expected), np.sort(expected[~findable])
    findable_ranks = np.sort(expected[findable])
    below = len(expected) - np.searchsorted(all_of_them, findable_ranks, side="right")
    pays = (below - np.searchsorted(missing, findable_ranks))[: min(k, len(findable_ranks))]
    pairs = (len(expected) - np.searchsorted(all_of_them, all_of_them, side="right")).sum()
    return float(np.maximum(pays, 0).sum() / pairs) if pairs else np.nan


def _agreement_by_chance(view: PoolView) -> Floats | None:
    """Either order of two documents is as likely; a target that is no document ranks below those that are looked at."""
    if any(view.pool.suite.table.other_orders or ()):
        return None
    orders, values = view.pool.orders, np.full(len(view.pool.suite), np.nan)
    for case in distinct(orders.order).tolist():
        rows = orders.order == case
        expected, drawn = orders.rank[rows], view.pool.drawn[orders.judgment[rows]]
        expected_sign = np.sign(expected[None, :] - expected[:, None])
        pairs = np.abs(expected_sign).sum() / 2
        share = view.first[case] / view.documents[case]
        values[case] = share * expected_sign[drawn][:, ~drawn].sum() / pairs if pairs else np.nan
    return values


RANK_AGREEMENT = MeasureDefinition(
    "Tau",
    rank_agreement,
    "Kendall's tau between the expected order of the targets, the best of several, and the order returned",
    missing="ranks below all that were returned; no two targets with different expected ranks: undefined",
    aliases=("KendallTau",),
    ties="equal expected ranks: the order of the two does not count (tau-b's correction, for the expected order)",
    low=-1.0,
    undefined="no two targets have different expected ranks",
    asked_by=lambda suite: suite.judgments.ranks is not None,
    highest=_best_agreement,
    chance=_agreement_by_chance,
)


def scores_in_range(hits: GradedHits) -> Floats:
    """Share of the targets with a score range whose hit scored within it; a target not returned is outside.

    NaN where no target has a range, or where one of them was returned without a score.
    """
    inside = np.bincount(hits.ranged_case, hits.ranged_inside, minlength=hits.cases)
    ranged = np.bincount(hits.ranged_case, minlength=hits.cases)
    share: Floats = np.divide(inside, ranged, out=np.full(hits.cases, np.nan), where=ranged > 0)
    return share


IN_RANGE = MeasureDefinition(
    "InRange",
    scores_in_range,
    "share of the targets with a score range whose hit scored inside it",
    missing="outside; no range in the case, or a hit without a score: undefined",
    cutoff=False,
    ties=NO_ORDER,
    undefined="no target has a score range, or a hit came without a score",
    by_scores=True,
    asked_by=lambda suite: suite.judgments.has_ranges,
)
