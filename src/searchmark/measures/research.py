"""The measures that research asks for: those of trec_eval, ndeval and ir_measures that are not common elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.common import average_precision, expected_reciprocal_rank, expected_stop, precision, recall, running_total
from searchmark.measures.definition import NO_ORDER, NOT_FOUND, PARAMETERS, PAYS_NOTHING, MeasureDefinition
from searchmark.measures.hits import (
    NO_TARGET,
    Coverage,
    GradedHits,
    ReadLines,
    order_by_case_and_grade,
    rank_in_case,
    ratio,
)
from searchmark.records.columns import Floats, Ints, distinct

# Line judgments: what a reader finds who reads an answer from its top until a budget is used up.
#
# A hit on a whole file is read from its first line to its last, one with a range of lines from the first to the last of
# these. A line that was read already costs nothing and finds nothing. A line that does not fit into what is left of the
# budget ends the reading, so that the hit at which the budget ends is read up to there, in whole lines.

_NO_LINES = "which lines are read is only known of answers as they were given, in their order"

_BUDGET = "read from the top until a budget of tokens or lines is used up"

_READING = "no line is read twice; a line that no longer fits ends the reading, so the last hit is read up to there"


def line_recall(hits: GradedHits, *, rel: int = 1, tokens: int = 0, lines: int = 0) -> Floats:
    """Relevant lines among those that are read, over all relevant lines. Not known what was read: NaN."""
    if hits.lines is None:
        return np.full(hits.cases, np.nan)
    relevant_lines, _ = _count_read_lines(hits.lines, hits.cases, rel, tokens, lines)
    relevant_places = hits.lines.place_grade >= rel
    below = np.bincount(hits.lines.place_case[relevant_places], hits.lines.place_lines[relevant_places], minlength=hits.cases)
    return ratio(relevant_lines, below.astype(float))


LINE_RECALL = MeasureDefinition(
    "LineR",
    line_recall,
    f"line recall: relevant lines among those {_BUDGET}, over all relevant lines",
    missing=f"a line that was not read is not found; {_READING}",
    parameters=("rel", "tokens", "lines"),
    cutoff=False,
    budgets=("tokens", "lines"),
    needs_targets=False,
    needs_lines=True,
    undefined=_NO_LINES,
)


def line_efficiency(hits: GradedHits, *, rel: int = 1, tokens: int = 0, lines: int = 0) -> Floats:
    """Relevant lines among those that are read, over these. Nothing read: 0; not known what was read: NaN."""
    if hits.lines is None:
        return np.full(hits.cases, np.nan)
    return ratio(*_count_read_lines(hits.lines, hits.cases, rel, tokens, lines))


def _count_read_lines(read_lines: ReadLines, cases: int, rel: int, tokens: int, lines: int) -> tuple[Floats, Floats]:
    """How many relevant lines are read in every case, and how many lines at all."""
    rows = read_lines.within(tokens, lines)
    case, relevant = read_lines.case[rows], read_lines.grade[rows] >= rel
    return np.bincount(case[relevant], minlength=cases).astype(float), np.bincount(case, minlength=cases).astype(float)


LINE_EFFICIENCY = replace(
    LINE_RECALL,
    name="Efficiency",
    compute=line_efficiency,
    summary=f"share of relevant lines among those {_BUDGET}",
    missing=f"nothing read: 0; {_READING}",
)


def interpolated_precision(hits: GradedHits, *, recall: float, rel: int = 1) -> Floats:
    """trec_eval iprec_at_recall: the best precision from where a share of the relevant targets was found. Never found: 0."""
    mask = hits.relevant(rel, None)
    case = hits.case[mask]
    nth = rank_in_case(case)
    hits_needed = np.floor(recall * hits.total_relevant(rel) + 0.5)  # rounded, as trec_eval does from 10.0 on
    there = nth >= hits_needed[case]
    best = np.zeros(hits.cases)
    np.maximum.at(best, case[there], nth[there] / hits.rank[mask][there])
    return best


INTERPOLATED_PRECISION = MeasureDefinition(
    "IPrec",
    interpolated_precision,
    "interpolated precision: the highest precision from where a share of the relevant targets was found",
    missing="that share was never found: 0; no relevant target: 0, as in trec_eval",
    parameters=("rel", "recall", "judged_only"),
    cutoff=False,
    at="recall",
    needs_at=True,
    numbered="iprec_at_recall",
    diluted=True,
    ideal="ranking",
)

GEOMETRIC_MEAN = MeasureDefinition(
    "GMAP",
    average_precision,
    "geometric mean of AP over the cases, an AP below 0.00001 counted as 0.00001; one number for all cases",
    missing="as in AP",
    parameters=("rel",),
    cutoff=False,
    aliases=("gm_map",),
    empty="counted as an AP of 0.00001",
    over_cases="AP",
)

_SMOOTHING = 1e-5  # of infAP in trec_eval, so that nothing judged above a hit divides nothing by nothing


def inferred_average_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval infAP (Yilmaz and Aslam, 2006): AP where of the documents in the pool only some were judged.

    A negative grade is a document of the pool that was not judged; one without a judgment is outside of the pool. Above a
    relevant hit, the share of the pool is known and the share of relevant ones among it is that of the judged ones.
    """
    mask = hits.relevant(rel, None)
    case, above = hits.case[mask], hits.rank[mask] - 1.0
    relevant = rank_in_case(case) - 1.0
    wrong = running_total(((hits.grade >= 0) & (hits.grade < rel)).astype(np.int64), hits.case)[mask].astype(np.float64)
    unjudged = running_total((hits.grade < 0).astype(np.int64), hits.case)[mask].astype(np.float64)
    pooled_share = ratio(relevant + wrong + unjudged, np.asarray(above, np.float64))
    expected = (relevant + _SMOOTHING) / (relevant + wrong + 2 * _SMOOTHING)
    precise = 1.0 / (above + 1.0) + above / (above + 1.0) * pooled_share * expected
    return ratio(hits.per_case(mask, precise), hits.total_relevant(rel))


INFERRED_AP = MeasureDefinition(
    "infAP",
    inferred_average_precision,
    "inferred AP: pooled documents that were not judged (negative grades) are taken to be relevant as often as judged ones",
    missing=NOT_FOUND,
    parameters=("rel",),
    cutoff=False,
    ideal="answer",
)


def set_f(hits: GradedHits, *, k: int | None = None, rel: int = 1, beta: float = 1.0) -> Floats:
    """trec_eval set_F: (beta + 1) P R / (R + beta P); its beta is the square of the one in textbooks."""
    p, r = precision(hits, k=k, rel=rel), recall(hits, k=k, rel=rel)
    return ratio((beta + 1.0) * p * r, r + beta * p)


SET_F = MeasureDefinition(
    "SetF",
    set_f,
    "(beta + 1) P R / (R + beta P), both at k, or both over the whole answer; beta=4 is the F2 of textbooks",
    missing=NOT_FOUND,
    parameters=("rel", "beta", "judged_only"),
    by_default="F1",
    aliases=("set_F",),
    of_sets=True,
    grows=True,
    diluted=True,
    ideal="ranking",
    labels="decide",
)


def set_average_precision(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval set_map: precision times recall of the whole answer."""
    return precision(hits, rel=rel) * recall(hits, rel=rel)


SET_AP = MeasureDefinition(
    "SetAP",
    set_average_precision,
    "precision times recall of the whole answer",
    missing=NOT_FOUND,
    parameters=("rel", "judged_only"),
    cutoff=False,
    aliases=("set_map",),
    ties=NO_ORDER,
    of_sets=True,
    grows=True,
    diluted=True,
    ideal="ranking",
    labels="decide",
)


def normalised_reciprocal_rank(hits: GradedHits, *, k: int | None = None, max_grade: int = 4) -> Floats:
    """ERR over that of the ideal list, which is cut at k as well. Nothing relevant: 0; a grade above ``max_grade``: NaN."""
    case, rank, grade = hits.ideal
    first = rank <= (k or len(rank))
    ideal = expected_stop(hits.cases, case[first], rank[first], grade[first], max_grade)
    values = expected_reciprocal_rank(hits, k=k, max_grade=max_grade)
    return np.where(np.isnan(values), np.nan, ratio(values, ideal))


NORMALISED_ERR = MeasureDefinition(
    "nERR",
    normalised_reciprocal_rank,
    "ERR over that of the ideal list, both cut at k",
    missing=f"{NOT_FOUND}; a grade above max: undefined",
    parameters=("max",),
    undefined="a grade lies above the measure's max",
    ideal="ranking",
    labels="decide",
)


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
    at_best = (
        np.repeat(np.arange(hits.cases), totals),
        np.concatenate([np.zeros(0, np.int64), *map(_ranks_from_one, totals.tolist())]),
    )
    scores = [
        np.bincount(cases, weights[depth[cases]] - weights[place - 1], minlength=hits.cases).astype(np.float64)
        for cases, place in ((case, np.maximum(rank, ideal_rank)), at_best)
    ]
    return ratio(*scores)


def _ranks_from_one(size: int) -> Ints:
    return np.arange(1, size + 1)


def _nearest_ideal(hits: GradedHits) -> Ints:
    """The rank of every relevant hit in the ideal ranking: behind all targets of higher grades, among its like in their order."""
    mask = hits.relevant(1, None)
    case, (ideal_case, _, ideal_grades) = hits.case[mask], hits.ideal
    # Grades by their place among all grades: numbered by themselves, very high ones would leave the range of integers.
    distinct_grades = distinct(ideal_grades)
    grade, ideal_grade = np.searchsorted(distinct_grades, hits.grade[mask]), np.searchsorted(distinct_grades, ideal_grades)
    width = len(distinct_grades) + 1
    better = np.searchsorted(ideal_case * width - ideal_grade, case * width - grade)
    before = np.searchsorted(ideal_case, case)
    order = order_by_case_and_grade(case, grade)
    tie_rank = np.empty(len(case), np.int64)
    tie_rank[order] = rank_in_case(case[order] * width + grade[order])
    return better - before + tie_rank


COMPATIBILITY = MeasureDefinition(
    "Compat",
    compatibility,
    "compatibility: rank-biased overlap with the nearest ideal ranking, over that of the ideal with itself",
    missing=NOT_FOUND,
    parameters=("p",),
    own_parameters=(replace(PARAMETERS["p"], default=0.95),),
    cutoff=False,
    aliases=("compatibility",),
    ideal="ranking",
)


# Queries with several aspects: what an answer repeats pays less than what it adds.
#
# Each aspect that a hit covers pays 1, less a share of ``alpha`` for every hit above that covers it too (Clarke et al., 2008).
# The definitions are those of ndeval, the program of the TREC Web tracks; an aspect that no target covers counts nowhere.

_NO_ASPECTS = "no aspect to cover: 0; judgments without aspects: undefined"

_ASPECTS = "the judgments of the case name no aspects; of qrels, --format diversity-qrels reads them"


@dataclass(frozen=True, eq=False)
class _AspectCase:
    """One case: the ranks of the hits that cover aspects, and which ones, one row each; the same for the targets to find."""

    rank: Ints
    hits: NDArray[np.bool_]
    targets: NDArray[np.bool_]

    @property
    def aspects(self) -> int:
        return int(self.targets.shape[1])


def alpha_ndcg(hits: GradedHits, *, k: int | None = None, rel: int = 1, alpha: float = 0.5) -> Floats:
    """Discounted gain (log2 of rank + 1) of new aspects over that of the best list. No aspect to cover: 0; none known: NaN."""
    return _per_case(hits, rel, lambda case: _normalise(case, k, alpha, _logarithmic_discount))


ALPHA_NDCG = MeasureDefinition(
    "alpha_nDCG",
    alpha_ndcg,
    "discounted gain of aspects, which pay less each time they come again, over that of the best list",
    missing=_NO_ASPECTS,
    parameters=("rel", "alpha", "judged_only"),
    aliases=("α_nDCG", "alpha-nDCG"),
    undefined=_ASPECTS,
)


def err_of_aspects(hits: GradedHits, *, k: int, rel: int = 1, alpha: float = 0.5) -> Floats:
    """ERR-IA (Chapelle et al., 2009), as ndeval has it: over the value of k hits that each cover every aspect of the case."""

    def share(case: _AspectCase) -> float:
        ranks = np.arange(1, k + 1)
        best = case.aspects * float(np.sum((1.0 - alpha) ** (ranks - 1.0) / ranks))
        return _alpha_gain(case.hits, case.rank, k, alpha, _rank_discount) / best

    return _per_case(hits, rel, share)


ERR_OF_ASPECTS = MeasureDefinition(
    "ERR_IA",
    err_of_aspects,
    "ERR of aspects, which pay less each time they come again, over that of k hits that cover all of them",
    missing=_NO_ASPECTS,
    parameters=("rel", "alpha", "judged_only"),
    needs_at=True,
    aliases=("ERR-IA",),
    undefined=_ASPECTS,
)


def normalised_err_of_aspects(hits: GradedHits, *, k: int | None = None, rel: int = 1, alpha: float = 0.5) -> Floats:
    """ERR-IA over that of the best list. No aspect to cover: 0; none known: NaN."""
    return _per_case(hits, rel, lambda case: _normalise(case, k, alpha, _rank_discount))


NORMALISED_ERR_OF_ASPECTS = MeasureDefinition(
    "nERR_IA",
    normalised_err_of_aspects,
    "ERR of aspects over that of the best list",
    missing=_NO_ASPECTS,
    parameters=("rel", "alpha", "judged_only"),
    aliases=("nERR-IA",),
    undefined=_ASPECTS,
)


def aspect_recall(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """Share of the aspects that the first k hits cover (Zhai, Cohen and Lafferty, 2003). None to cover: 0; none known: NaN."""
    return _per_case(hits, rel, lambda case: float(case.hits[case.rank <= (k or np.inf)].any(axis=0).mean()))


ASPECT_RECALL = MeasureDefinition(
    "StRecall",
    aspect_recall,
    "subtopic recall: share of the aspects that the first k hits cover",
    missing=_NO_ASPECTS,
    parameters=("rel",),
    numbered="strec",
    undefined=_ASPECTS,
)


def _logarithmic_discount(rank: Ints) -> Floats:
    return np.asarray(1.0 / np.log2(rank + 1.0), np.float64)


def _rank_discount(rank: Ints) -> Floats:
    return np.asarray(1.0 / rank, np.float64)


def _per_case(hits: GradedHits, rel: int, value: Callable[[_AspectCase], float]) -> Floats:
    if hits.coverage is None:
        return np.full(hits.cases, np.nan)
    values = np.where(_has_aspects(hits, hits.coverage), 0.0, np.nan)
    for number, case in _cases(hits, hits.coverage, rel):
        values[number] = value(case)
    return values


def _has_aspects(hits: GradedHits, coverage: Coverage) -> NDArray[np.bool_]:
    return np.bincount(hits.target_case, np.diff(coverage.starts), minlength=hits.cases) > 0


def _cases(hits: GradedHits, coverage: Coverage, rel: int) -> Iterator[tuple[int, _AspectCase]]:
    """The cases that have an aspect to cover. Their targets come by name, the last first, as ndeval resolves ties."""
    target = np.repeat(np.arange(len(hits.target_case)), np.diff(coverage.starts))
    covers = coverage.grade >= rel
    target, aspect = target[covers], coverage.aspect[covers]
    case = hits.target_case[target]
    for first, last in itertools.pairwise(np.flatnonzero(np.diff(case, prepend=-1, append=-1)).tolist()):
        number, here = int(case[first]), slice(first, last)
        aspects, column = np.unique(aspect[here], return_inverse=True)
        names, row = np.unique(-coverage.name_order[target[here]], return_inverse=True)
        targets = np.zeros((len(names), len(aspects)), bool)
        targets[row.reshape(-1), column.reshape(-1)] = True
        row_of = dict(zip(target[here].tolist(), row.reshape(-1).tolist(), strict=True))
        hit_rows = slice(*np.searchsorted(hits.case, [number, number + 1]).tolist())
        rows = np.array([row_of.get(each, NO_TARGET) for each in coverage.hit[hit_rows].tolist()], np.int64)
        yield number, _AspectCase(hits.rank[hit_rows][rows >= 0], targets[rows[rows >= 0]], targets)


def _normalise(case: _AspectCase, k: int | None, alpha: float, discount: Callable[[Ints], Floats]) -> float:
    """Never above 1, although an answer can beat the order that is taken for the best: ndeval then says more than 1."""
    best = _best_order(case.targets, k, alpha)
    gain = _alpha_gain(case.hits, case.rank, k, alpha, discount)
    return min(1.0, gain / _alpha_gain(best, np.arange(1, len(best) + 1), k, alpha, discount))


def _alpha_gain(covered: NDArray[np.bool_], rank: Ints, k: int | None, alpha: float, discount: Callable[[Ints], Floats]) -> float:
    first = rank <= (k or np.inf)
    covered, rank = covered[first], rank[first]
    before: Floats = (np.cumsum(covered, axis=0) - covered).astype(np.float64)
    new = np.where(covered, (1.0 - alpha) ** before, 0.0).sum(axis=1)
    return float(np.sum(new * discount(rank)))


def _best_order(targets: NDArray[np.bool_], k: int | None, alpha: float) -> NDArray[np.bool_]:
    """The targets by what each adds to those before it: the very best order would take too long to find."""
    free, order = np.ones(len(targets), bool), []
    aspect_gains = np.ones(targets.shape[1])
    for _ in range(min(len(targets), k or len(targets))):
        gain = np.zeros(len(targets))
        for aspect in range(targets.shape[1]):  # one by one, as ndeval adds them: their order decides what is equal
            gain += np.where(targets[:, aspect], aspect_gains[aspect], 0.0)
        best = int(np.argmax(np.where(free, gain, -1.0)))
        free[best] = False
        order.append(best)
        aspect_gains[targets[best]] *= 1.0 - alpha
    return targets[order]


# Counts.


def returned_count(hits: GradedHits) -> Floats:
    """trec_eval num_ret."""
    return hits.returned.astype(np.float64)


RETURNED = MeasureDefinition(
    "NumRet",
    returned_count,
    "hits returned; trec_eval prints the sum over the cases, here it is the mean",
    missing="depends on hits only",
    cutoff=False,
    aliases=("num_ret",),
    ties=NO_ORDER,
    high=inf,
    needs_targets=False,
    tells="how many hits came",
    grows=True,
)


def relevant_count(hits: GradedHits, *, rel: int = 1) -> Floats:
    """trec_eval num_rel."""
    return hits.total_relevant(rel)


RELEVANT = MeasureDefinition(
    "NumRel",
    relevant_count,
    "relevant targets of the case; trec_eval prints the sum over the cases, here it is the mean",
    missing="counted, returned or not",
    parameters=("rel",),
    cutoff=False,
    aliases=("num_rel",),
    ties=NO_ORDER,
    empty="as for any other answer",
    high=inf,
    tells="how much there is to find",
    sees_hits=False,
    ideal="ranking",
    chance=lambda view: view.all,
)


def found_count(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """trec_eval num_rel_ret."""
    return hits.per_case(hits.relevant(rel, k))


FOUND = MeasureDefinition(
    "NumRelRet",
    found_count,
    "relevant targets among the first k hits; trec_eval prints the sum over the cases, here it is the mean",
    missing=PAYS_NOTHING,
    parameters=("rel",),
    aliases=("num_rel_ret",),
    high=inf,
    needs_targets=False,
    of_sets=True,
    grows=True,
    ideal="ranking",
    chance=lambda view: view.found,
    labels="add up",
)
