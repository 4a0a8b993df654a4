"""Measures that say nothing, or the same, whatever the ranking: told from the suite, not from equal numbers of runs.

On one case most measures are a weight times a count or a rank: P@5 and R@5 both count the relevant among the first five.
That form is written down for every case; measures with the same forms in all cases are one measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.attainable import of_whole_rankings
from searchmark.analysis.pools import Bools, Pool
from searchmark.audit.numbers.limits import BEYOND_ROUNDING
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.measures.formulas import NEVER, Floats, Ints
from searchmark.measures.grammar import AnyMeasure, Measure

# More of the cases than not: the mean then moves less than half as far as it seems to.
MOST_OF_THEM = 0.5
_WITHOUT_ORDER = {"P", "R", "F1", "Success", "Acc"}  # without a cutoff they are about what was returned, and not about its order
# What is counted or weighed on a case; the gains of grades that differ are two more kinds.
NOTHING, COUNT, FIRST, AVERAGE, ANY, ALL, DISCOUNTED, LINEAR, EXPONENTIAL = range(9)


def about_constant(subject: Subject) -> Iterator[Finding]:
    """Measures that all rankings of all documents share."""
    constant: dict[str, Bools] = {}
    for each in subject.limits:
        cases = (
            _constant_cases(each.measure, subject.pool) if isinstance(each.measure, Measure) and each.tells_of_rankings else None
        )
        if cases is not None:
            constant[each.measure.name] = cases
    if constant:
        told = ", ".join(f"{name} in {int(cases.sum())} of {len(cases)} cases" for name, cases in constant.items())
        ids, any_of_them = subject.pool.suite.table.ids, np.any(list(constant.values()), axis=0)
        message = f"the same for all rankings of all documents: {told}"
        yield finding("constant-measure", message, (ids[row] for row in np.flatnonzero(any_of_them).tolist()))


def _constant_cases(measure: Measure, pool: Pool) -> Bools | None:
    """The cases in which no order of all documents makes a difference, if they are most of those with something to find."""
    if pool.documents is None or (measure.cutoff is None and measure.definition.name in _WITHOUT_ORDER):
        return None
    # With more documents than this, some ranking has nothing at all of what is relevant among the first ones.
    few = pool.documents < pool.count(pool.drawn) + (measure.cutoff or 1)
    known = of_whole_rankings(measure, pool) if few.sum() > MOST_OF_THEM * few.size * _share_with_targets(pool) else None
    if known is None:
        return None
    low, high = known
    cases = (high > 0) & (high - low < BEYOND_ROUNDING)
    return cases if cases.sum() > MOST_OF_THEM * (high > 0).sum() else None


def _share_with_targets(pool: Pool) -> float:
    """Cases with something to find, as a share of all: only these can speak for a measure."""
    return float((pool.count(pool.drawn & (pool.suite.judgments.grades > 0)) > 0).mean())


def about_identical(subject: Subject) -> Iterator[Finding]:
    """Measures that are the same number in every case, with the reason."""
    groups: dict[bytes, list[AnyMeasure]] = {}
    for each in subject.limits:
        form = form_of(each.measure, subject.pool) if isinstance(each.measure, Measure) else None
        if form is not None and (np.nan_to_num(form[:, 0]) != NOTHING).any():
            groups.setdefault(form.tobytes(), []).append(each.measure)
    same = [" = ".join(each.name for each in group) + _reason(group, subject.pool) for group in groups.values() if len(group) > 1]
    if same:
        yield finding("identical-measures", f"the same number for every ranking: {'; '.join(same)}")


def _reason(group: list[AnyMeasure], pool: Pool) -> str:
    parts = [part for each in group for part in each.parts]
    cuts = {part.cutoff for part in parts}
    totals = [pool.relevant(int(part.options.get("rel", 1))) for part in parts]
    asked = ~pool.undefined(group[0])
    counts = {int(count) for each in totals for count in each[asked]}
    if cuts == {1}:
        return " (the first hit alone)"
    if len(counts) == 1:
        return f" (every case has {counts.pop()} relevant)"
    return " (by the targets and grades of these cases)"


@dataclass(frozen=True, eq=False)
class _CaseTargets:
    """Per case: where a measure cuts, what is relevant to it (in all, and of that what can be found), and its lowest grade."""

    k: Floats
    all: Floats
    found: Floats
    lowest: Floats

    @classmethod
    def to(cls, measure: Measure, pool: Pool) -> _CaseTargets:
        rel = int(measure.options.get("rel", 1))
        everything = pool.relevant(rel)
        all_findable = bool(pool.findable.all())
        found = everything if all_findable else pool.count(pool.findable & (pool.suite.judgments.grades >= rel))
        lowest = _extreme_grade(pool, rel, np.minimum)
        documents = np.full(len(pool.suite), NEVER) if pool.documents is None else pool.documents
        k = np.minimum(documents, measure.cutoff or NEVER)
        return cls(*(np.asarray(each, np.float64) for each in (k, everything, found, lowest)))

    def form(self, kind: Floats | int, weight: Floats | float) -> Floats:
        """Kind, cutoff, lowest relevant grade and weight of every case; nothing where nothing can be found."""
        form = np.stack(np.broadcast_arrays(np.asarray(kind, np.float64), self.k, self.lowest, weight), axis=1).copy()
        form[self.found == 0] = NOTHING
        return form


def _extreme_grade(pool: Pool, rel: int, which: np.ufunc) -> Ints:
    """The lowest or the highest grade among the relevant targets of each case; 0 where there are none."""
    judgments, counts = pool.suite.judgments, pool.relevant(rel)
    extreme, filled = np.zeros(len(pool.suite), np.int64), np.flatnonzero(counts)
    if len(filled):
        starts = (np.cumsum(counts) - counts)[filled]
        extreme[filled] = which.reduceat(judgments.grades[judgments.grades >= rel], starts)
    return extreme


def form_of(measure: Measure, pool: Pool) -> Floats | None:
    """What a measure is on every case, NaN where it is undefined; None if it has no such form."""
    shape = _SHAPES.get(measure.definition.name)
    if shape is None or measure.options.get("credit") == "dir" or not pool.traits[0].all():
        return None
    with np.errstate(divide="ignore"):
        form = shape(measure, pool, _CaseTargets.to(measure, pool))
    if form is not None:
        form[pool.undefined(measure)] = np.nan
    return form


def _precision(measure: Measure, _: Pool, of: _CaseTargets) -> Floats | None:
    return None if measure.cutoff is None else of.form(COUNT, 1 / measure.cutoff)


def _recall(_: Measure, __: Pool, of: _CaseTargets) -> Floats:
    return of.form(COUNT, 1 / of.all)


def _f1(measure: Measure, _: Pool, of: _CaseTargets) -> Floats | None:
    return None if measure.cutoff is None else of.form(COUNT, 2 / (measure.cutoff + of.all))


def _success(_: Measure, __: Pool, of: _CaseTargets) -> Floats:
    return of.form(np.where((of.found == 1) | (of.k == 1), COUNT, ANY), 1.0)


def _every(_: Measure, __: Pool, of: _CaseTargets) -> Floats:
    form = of.form(np.where(of.all == 1, COUNT, ALL), 1.0)
    form[(of.found < of.all) | (of.k < of.all)] = NOTHING
    return form


def _reciprocal_rank(_: Measure, __: Pool, of: _CaseTargets) -> Floats:
    return of.form(np.where(of.k == 1, COUNT, FIRST), 1.0)


def _average_precision(_: Measure, __: Pool, of: _CaseTargets) -> Floats:
    return of.form(np.where(of.k == 1, COUNT, np.where(of.found == 1, FIRST, AVERAGE)), 1 / of.all)


def _r_precision(_: Measure, __: Pool, of: _CaseTargets) -> Floats:
    return _CaseTargets(np.minimum(of.k, of.all), of.all, of.found, of.lowest).form(COUNT, 1 / of.all)


def _normalised_gain(measure: Measure, pool: Pool, of: _CaseTargets) -> Floats:
    """With one grade only, all gains are alike; the ideal list is cut at k as well, and may be longer than the documents."""
    highest = _extreme_grade(pool, int(measure.options.get("rel", 1)), np.maximum)
    graded = EXPONENTIAL if measure.options["gain"] == "exp" else LINEAR
    documents = np.full(len(pool.suite), NEVER) if pool.documents is None else pool.documents
    cut = np.minimum(np.maximum(documents, of.all), measure.cutoff or NEVER)
    kind = np.where(highest > of.lowest, graded, np.where(cut == 1, COUNT, DISCOUNTED))
    return _CaseTargets(cut, of.all, of.found, of.lowest).form(kind, 1.0)


_SHAPES: dict[str, Callable[[Measure, Pool, _CaseTargets], Floats | None]] = {
    "P": _precision,
    "R": _recall,
    "F1": _f1,
    "Success": _success,
    "Acc": _every,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "Rprec": _r_precision,
    "nDCG": _normalised_gain,
}
