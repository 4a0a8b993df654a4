"""From two columns of scores to the numbers of their difference, for many pairs and measures at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.distributions import Floats
from searchmark.analysis.intervals import EQUIVALENCE, SAME, SHOWN, Level, observations
from searchmark.analysis.paired_statistics import (
    difference_intervals,
    one_sided_size,
    randomisation_p,
    standard_errors,
    statistic_variance,
)
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.analysis.verdicts import PairedEvidence
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import Suite

Rows = NDArray[np.intp]


class Question(NamedTuple):
    """What is asked of a set of runs: the numbers of the baseline and of the candidate, and the column of the measure."""

    baseline: int
    candidate: int
    column: int


@dataclass(frozen=True)
class Rigour:
    """How sure ``low`` and ``high`` are, and whether the test may count by half what differs exactly as much."""

    interval: Level = SHOWN
    mid_p: bool = True


USUAL = Rigour()


def evidence_for(
    scores: Sequence[Scores], questions: Sequence[Question], rows: Rows, rigour: Rigour = USUAL
) -> dict[Question, PairedEvidence]:
    """The evidence on every question over some cases; those that are defined for the same cases are worked out together."""
    groups: dict[bytes, list[Question]] = {}
    for asked in questions:
        groups.setdefault((~np.isnan(_differences(scores, asked, rows))).tobytes(), []).append(asked)
    found: dict[Question, PairedEvidence] = {}
    for mask, members in groups.items():
        found |= _group_evidence(scores, members, rows[np.frombuffer(mask, bool)], rigour)
    return found


def _differences(scores: Sequence[Scores], asked: Question, rows: Rows) -> Floats:
    return np.asarray(scores[asked.candidate].values[rows, asked.column] - scores[asked.baseline].values[rows, asked.column])


def _group_evidence(
    scores: Sequence[Scores], questions: list[Question], rows: Rows, rigour: Rigour
) -> Mapping[Question, PairedEvidence]:
    if not len(rows):
        return dict.fromkeys(questions, PairedEvidence())
    values = np.column_stack([_differences(scores, asked, rows) for asked in questions])
    spans = np.array([_span(scores, asked, rows) for asked in questions])
    found = paired_evidence(values, spans, scores[0].judged.suite, rows, rigour)
    # Of a measure without a highest value it cannot be said how much an unseen case would change.
    measures = (scores[asked.baseline].measures[asked.column] for asked in questions)
    ranged = [replace(each, span=measure.high - measure.low) for each, measure in zip(found, measures, strict=True)]
    return dict(zip(questions, ranged, strict=True))


def _span(scores: Sequence[Scores], asked: Question, rows: Rows) -> float:
    """How far apart two values of the measure can be; without a highest value, how far apart any two are."""
    return measure_span(
        scores[asked.baseline].measures[asked.column],
        *(scores[run].values[rows, asked.column] for run in (asked.baseline, asked.candidate)),
    )


def measure_span(measure: AnyMeasure, *values: Floats) -> float:
    """How far apart two values can be; of a measure without a highest value, how far apart any two of these are."""
    if np.isfinite(measure.high - measure.low):
        return measure.high - measure.low
    lowest, highest = min(column.min() for column in values), max(column.max() for column in values)
    return float(highest - lowest) if np.isfinite(highest - lowest) and highest > lowest else 1.0


def paired_evidence(values: Floats, spans: Floats, suite: Suite, rows: Rows, rigour: Rigour = USUAL) -> list[PairedEvidence]:
    """The evidence in columns of differences; ``spans`` says how large those of each column could be."""
    counted = [_counted(column) for column in values.T]
    found = observations(values / spans, clusters_of(suite, rows))
    known = [replace(each, observations=len(found), worth=found.worth) for each in counted]
    if not found.enough:
        return known
    (low, high), (equal_low, equal_high) = (difference_intervals(found, level) for level in (rigour.interval, EQUIVALENCE))
    columns = {
        "low": low * spans,
        "high": high * spans,
        "equal_low": equal_low * spans,
        "equal_high": equal_high * spans,
        "error": standard_errors(found) * spans,
        "unseen": one_sided_size(found) * spans,
        "statistic_variance": statistic_variance(found),
        "p": randomisation_p(found.sums, mid=rigour.mid_p),
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [replace(each, **dict(zip(columns, line, strict=True))) for each, line in zip(known, lines, strict=True)]


def _counted(values: Floats) -> PairedEvidence:
    return PairedEvidence(
        cases=len(values),
        mean=exact_mean(values),
        wins=int((values > SAME).sum()),
        ties=int((np.abs(values) <= SAME).sum()),
        losses=int((values < -SAME).sum()),
    )


def exact_mean(values: Floats) -> float | None:
    """The mean, summed exactly, so that the order of the cases cannot change its last digit."""
    return fsum(values.tolist()) / len(values) if len(values) else None
