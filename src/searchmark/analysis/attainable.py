"""The highest value of a measure that any ranking could have, case by case, and the range of those that leave nothing out.

No ranking is tried: what is best comes first, and the formula itself says what that is worth. That is the highest value of
each measure here, as exchanging two neighbours shows for all of them; expected orders are worked out by pairs.
"""

from __future__ import annotations

import itertools

import numpy as np

from searchmark.analysis.pools import Bools, Pool
from searchmark.measures.formulas import NEVER, Floats, GradedHits, Ints
from searchmark.measures.grammar import AnyMeasure, Formula, Measure

BY_SCORE = "InRange"  # tells of scores, which an order does not have
# Not at their best in the order that is best for others.
_ALONE = {BY_SCORE, "Tau", "Abstain"}
# The order that is best for these is not known, or that of a single number for all cases is not that of cases.
_UNKNOWN = {BY_SCORE, "alpha_nDCG", "ERR_IA", "nERR_IA", "StRecall", "NumRet", "GMAP"}
_SHARES_OF_ANSWERS = {"P", "F1", "SetF", "SetAP", "IPrec"}  # without a cutoff, anything else that is returned lowers them


def attainable(measure: AnyMeasure, pool: Pool) -> Floats | None:
    """The highest possible value of every case, NaN where it is undefined; None if it is not known for one of them."""
    undefined = pool.undefined(measure)
    if not _is_known(measure, pool, ~undefined):
        return None
    values = np.zeros(len(pool.suite))
    for weight, part in _terms(measure):
        values += weight * _highest(part, pool)
    values[undefined] = np.nan
    return values


def _terms(measure: AnyMeasure) -> tuple[tuple[float, Measure], ...]:
    return measure.terms if isinstance(measure, Formula) else ((1.0, measure),)


def _is_known(measure: AnyMeasure, pool: Pool, cases: Bools) -> bool:
    names = {part.definition.name for part in measure.parts}
    if (
        names & _UNKNOWN
        or any(part.options.get("gains") for part in measure.parts)
        or (len(measure.parts) > 1 and names & _ALONE)
        or not _at_once(measure)
    ):
        return False
    by_directory = any(part.options.get("credit") == "dir" for part in measure.parts)
    # A directory may pay for a target that is missing from it, and which of them are returned as hits is not known.
    return bool((pool.traits[0] | ~cases).all() and not (by_directory and (~pool.findable).any()))


def _at_once(measure: AnyMeasure) -> bool:
    """Whether one ranking is best for all parts: none of them needs what spoils another."""
    wanted = [_lowest_grade(part) for part in measure.parts]
    spoiled = [_lowest_grade(part) for part in measure.parts if part.cutoff is None and part.definition.name in _SHARES_OF_ANSWERS]
    return all(max(spoiled, default=0) <= each for each in wanted)


def _lowest_grade(measure: Measure) -> int:
    """The lowest grade that a measure gains from."""
    return int(measure.options.get("rel", 0 if measure.definition.name == "Judged" else 1))


def _highest(measure: Measure, pool: Pool) -> Floats:
    if measure.definition.name == "Tau":
        return _best_agreement(pool, measure.cutoff or NEVER)
    if measure.definition.unanswerable:
        return np.ones(len(pool.suite))
    if (
        measure.definition.name == "Judged"
    ):  # an answer of nothing else; to put all judgments in order takes long where they are many
        return (pool.count(pool.findable & (pool.suite.judgments.grades >= 0)) > 0).astype(np.float64)
    return measure.compute(best_answers(pool, _lowest_grade(measure)))


def best_answers(pool: Pool, lowest: int) -> GradedHits:
    """All targets of at least this grade that can be found, the best first, and nothing else."""
    if lowest not in pool.best:
        wanted = pool.findable & (pool.suite.judgments.grades >= lowest)
        rows, counts = pool.by_grade(wanted), pool.count(wanted)
        pool.best[lowest] = pool.ranked(_ranks_from_one(pool, rows, counts), counts, rows)
    return pool.best[lowest]


def best_first(pool: Pool, wanted: Bools) -> Ints:
    """A rank for each of these judgments, from 1 in every case, the highest grade first; 0 for the others."""
    return _ranks_from_one(pool, pool.by_grade(wanted), pool.count(wanted))


def _ranks_from_one(pool: Pool, rows: Ints, counts: Ints) -> Ints:
    """A rank for each of these judgments, which are in the order of their ranks, as many as each case has; 0 for the others."""
    rank = np.zeros(len(pool.suite.judgments), np.int64)
    rank[rows] = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank


def of_whole_rankings(measure: Measure, pool: Pool) -> tuple[Floats, Floats] | None:
    """The lowest and the highest value of answers that leave out no document, case by case; None if they are not known."""
    undefined = pool.undefined(measure)
    told = {measure.definition.name} & (_ALONE | _UNKNOWN | {"infAP"}) or measure.options.get("gains")
    unknown = pool.documents is None or told or not (pool.traits[0] & ~pool.parts | undefined).all()
    if unknown or pool.documents is None or measure.options.get("credit") == "dir":
        return None
    wanted = pool.drawn & (pool.suite.judgments.grades >= 0)
    first = best_first(pool, wanted)
    last = np.where(first > 0, pool.documents[pool.suite.judgments.case] + 1 - first, 0)
    low, high = (np.where(undefined, np.nan, measure.compute(pool.ranked(rank, pool.documents))) for rank in (last, first))
    return low, high


def _best_agreement(pool: Pool, k: int) -> Floats:
    """The best order of the targets that can be found: each pays the pairs that it is right in and takes those that it is not.

    The first ones in the expected order pay most and take least, so that they are returned as long as they pay.
    """
    orders, best = pool.orders, np.full(len(pool.suite), np.nan)
    bounds = np.flatnonzero(np.diff(orders.order, prepend=-1, append=-1))
    for first, last in itertools.pairwise(bounds.tolist()):
        expected, judgment = orders.rank[first:last], orders.judgment[first:last]
        case = pool.suite.judgments.case[judgment[0]]
        best[case] = np.fmax(best[case], _best_balance(expected, pool.findable[judgment], k))
    return best


def _best_balance(expected: Ints, findable: Bools, k: int) -> float:
    all_of_them, missing = np.sort(expected), np.sort(expected[~findable])
    found = np.sort(expected[findable])
    below = len(expected) - np.searchsorted(all_of_them, found, side="right")
    pays = (below - np.searchsorted(missing, found))[: min(k, len(found))]
    pairs = (len(expected) - np.searchsorted(all_of_them, all_of_them, side="right")).sum()
    return float(np.maximum(pays, 0).sum() / pairs) if pairs else np.nan
