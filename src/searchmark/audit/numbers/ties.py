"""How much the order of hits with equal scores decides: the best and the worst that it could have been."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.audit.numbers.limits import BEYOND_ROUNDING
from searchmark.audit.numbers.ranks import ranked_runs
from searchmark.audit.once import once
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import three_digits
from searchmark.measures.formulas import Floats, GradedHits, Ints
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import OK

# Not a matter of grades and ranks alone.
_BY_MORE = {"Tau", "InRange", "Abstain", "infAP", "alpha_nDCG", "ERR_IA", "nERR_IA", "StRecall", "LineR", "Efficiency"}


@dataclass(frozen=True)
class TieRange:
    """The mean of a measure with equal scores in the worst, the actual and the best order."""

    measure: str
    worst: float
    mean: float
    best: float


@dataclass(frozen=True, eq=False)
class TiedRun:
    """What ties leave open in one run; ``tied`` of its ``hits`` have the score of a neighbour."""

    tied: int
    hits: int
    ranges: tuple[TieRange, ...]


def tied_run(scores: Scores) -> TiedRun | None:
    """The ranges of all measures that ties could move; None without ties, or where scores did not make the order."""
    found = _tie_groups(scores)
    if found is None:
        return None
    first, size, tied, hits = found
    judged = scores.judged.hits
    best = first + _place_in_group(judged, first)
    worst = first + size - 1 - _place_in_group(judged, first)
    measures = [(column, each) for column, each in enumerate(scores.measures) if _moved_by_order(each)]
    ranges = tuple(_range(scores, column, each, _reordered(judged, worst), _reordered(judged, best)) for column, each in measures)
    return TiedRun(tied, hits, tuple(each for each in ranges if each.best - each.worst > BEYOND_ROUNDING))


def _moved_by_order(measure: AnyMeasure) -> bool:
    return (measure.tells_quality and measure.per_case) and not any(
        part.definition.name in _BY_MORE or part.options.get("credit") == "dir" or part.options.get("gains")
        for part in measure.parts
    )


def _tie_groups(scores: Scores) -> tuple[Ints, Ints, int, int] | None:
    """For every judged hit the first rank and the size of its group of equal scores; how many hits are tied, and of how many."""
    judged, run = scores.judged, scores.judged.run
    answers = np.array([run.index.get(case, -1) for case in judged.suite.table.ids], np.int64)
    rows, starts = run.first_rows(np.where(judged.status == OK, answers, -1), run.longest)
    answer = np.repeat(np.arange(len(answers)), np.diff(starts))
    same = np.r_[False, (run.scores[rows[1:]] == run.scores[rows[:-1]]) & (answer[1:] == answer[:-1])]
    if judged.matches.duplicates or not same.any() or (run.rank is None and int(same.sum()) == len(rows) - len(np.unique(answer))):
        return None
    group = np.cumsum(~same) - 1
    size = np.bincount(group)
    position = starts[judged.hits.case] + judged.hits.rank - 1
    first_of_group = np.flatnonzero(~same)
    first = first_of_group[group[position]] - starts[judged.hits.case] + 1
    return first, size[group[position]], int(size[size > 1].sum()), len(rows)


def _place_in_group(hits: GradedHits, first: Ints) -> Ints:
    """0, 1, 2, ... among the judged hits of a group, the highest grade first; those not judged come after them."""
    worth = hits.grade if hits.gain is None else hits.gain
    order = np.lexsort((-worth, first, hits.case))
    key = np.stack([hits.case[order], first[order]])
    begins = np.r_[True, (key[:, 1:] != key[:, :-1]).any(axis=0)] if len(order) else np.zeros(0, bool)
    number = np.arange(len(order))
    place = np.empty(len(order), np.int64)
    place[order] = number - np.maximum.accumulate(np.where(begins, number, 0))
    return place


def _reordered(hits: GradedHits, rank: Ints) -> GradedHits:
    order = np.lexsort((rank, hits.case))
    return hits.taken(order, rank)


def _range(scores: Scores, column: int, measure: AnyMeasure, worst: GradedHits, best: GradedHits) -> TieRange:
    values: Floats = scores.values[:, column]
    defined = ~np.isnan(values)
    low, mean, high = (
        float(each[defined].mean()) if defined.any() else 0.0 for each in (measure.compute(worst), values, measure.compute(best))
    )
    return TieRange(measure.name, low, mean, high)


@once
def _tied_runs(subject: Subject) -> dict[str, TiedRun]:
    found = {name: tied_run(scores) for name, scores in subject.scores.items()}
    return {name: each for name, each in found.items() if each is not None}


def about_ties(subject: Subject) -> Iterator[Finding]:
    """Runs whose ties weigh more than what is to be told apart."""
    for name, found in _tied_runs(subject).items():
        told = [_sentence(each) for each in found.ranges if _weighs(subject, name, each)]
        if told:
            message = f"{name}: {found.tied} of {found.hits} hits have equal scores, whose order leaves open {', '.join(told)}"
            yield finding("ties-decide", message)


def _sentence(found: TieRange) -> str:
    return f"{found.measure} {three_digits(found.worst)} to {three_digits(found.best)} ({three_digits(found.mean)} as it is)"


def _weighs(subject: Subject, name: str, found: TieRange) -> bool:
    """Whether ties move a mean by more than the smallest effect that matters, or past a run that it differs from by verdict."""
    if found.best - found.worst > subject.options.min_effect:
        return True
    passed = [other for other, each in subject.scores.items() if found.worst < each.mean(found.measure) < found.best]
    ranked = ranked_runs(subject) if passed else None
    return ranked is not None and ranked.measure == found.measure and any(ranked.are_apart(name, other) for other in passed)


def ties_table(subject: Subject) -> AuditTable | None:
    """What ties leave open, run by run."""
    rows = [
        (name, each.measure, each.worst, each.mean, each.best)
        for name, found in _tied_runs(subject).items()
        for each in found.ranges
    ]
    columns = ("run", "measure", "worst order", "as it is", "best order")
    return AuditTable("ties", "What the order of equal scores leaves open", columns, tuple(rows)) if rows else None
