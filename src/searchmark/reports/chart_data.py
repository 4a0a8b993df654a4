"""How values are distributed over the cases of a report: histograms whose bins all runs share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import ceil, floor, isfinite, log10

import numpy as np

from searchmark.measures.formulas import Floats
from searchmark.records import AnswerDetails
from searchmark.reports.case_columns import CaseColumns
from searchmark.reports.case_records import CaseSummary
from searchmark.reports.hosts import latencies_not_compared
from searchmark.reports.measured import measure_named
from searchmark.reports.report import Report

BINS = 10
LARGEST = 1e200  # what is larger is as good as infinite: exponential gains of absurd grades
LATENCIES = ("warm", "cold")  # the usual one first
# Round numbers within a power of ten; the finer ones where the others would make too few bins to show a shape.
_COARSE, _FINE = (1, 2, 5), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_FEWEST_BINS = 6
# No clock is finer than a microsecond; a time of 0 is in the first bin.
_SHORTEST_MS = 0.001
# A value that was computed as 0.7 belongs to the bin from 0.7 on, whatever its last digit.
_DIGITS = 9


@dataclass(frozen=True)
class Histogram:
    """One quantity of one run: ``counts[i]`` values are from ``edges[i]`` up to below ``edges[i + 1]``, the last one included.

    ``undefined`` are the cases without a value, or with one that is infinite.
    """

    run: str
    quantity: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    undefined: int

    @property
    def total(self) -> int:
        """How many values are in the bins."""
        return sum(self.counts)


def histogram(report: Report, quantity: str) -> tuple[Histogram, ...]:
    """The distribution of a measure, or of the latency ``cold`` or ``warm``, in every run that has it; empty if none has.

    A measure is counted case by case, and a latency search by search, on a logarithmic scale. Latencies of different hosts are not
    drawn to one scale, and those of a run on several hosts are not counted together.
    """
    timed = quantity in LATENCIES
    values = _all_samples(report, quantity) if timed else _all_values(report, quantity)
    known = {run: found[np.abs(found) < LARGEST] for run, found in values.items()}
    together = np.concatenate([np.empty(0), *known.values()])
    if not len(together):
        return ()
    edges = time_edges(together) if timed else _edges(report, quantity, together)
    return tuple(
        Histogram(run, quantity, "ms" if timed else "", edges, _counts(found, edges), len(values[run]) - len(found))
        for run, found in known.items()
    )


def usual_latency(report: Report) -> str:
    """The latency that most runs have, warm rather than cold: one is never held against the other."""
    return max(LATENCIES, key=lambda kind: sum(kind in agent.latency_ms for agent in report.agents.values()))


def _counts(values: Floats, edges: Sequence[float]) -> tuple[int, ...]:
    """How many values are in each bin; what lies outside by a rounding error, or is too short to be told, is at the ends."""
    inside = np.clip(np.round(values, _DIGITS), edges[0], edges[-1])
    return tuple(np.histogram(inside, edges)[0].tolist())


def _all_values(report: Report, measure: str) -> dict[str, Floats]:
    return {name: _values(agent.cases, measure) for name, agent in report.agents.items() if measure in agent.measures}


def _values(cases: Mapping[str, CaseSummary], measure: str) -> Floats:
    """The value of every case, NaN where there is none."""
    if isinstance(cases, CaseColumns):
        return cases.scores.values[:, cases.scores.names.index(measure)]
    found = (case.measures.get(measure) for case in cases.values())
    return np.fromiter((np.nan if value is None else value for value in found), np.float64, len(cases))


def _all_samples(report: Report, kind: str) -> dict[str, Floats]:
    if latencies_not_compared(report) is not None:
        return {}
    return {name: _samples(agent.cases, kind) for name, agent in report.agents.items() if kind in agent.latency_ms}


def _samples(cases: Mapping[str, CaseSummary], kind: str) -> Floats:
    """The time of every search, and NaN for every case without one."""
    samples = ((each.warm_ms if kind == "warm" else each.cold_ms) or (np.nan,) for each in _details(cases))
    return np.fromiter(chain.from_iterable(samples), np.float64)


def _details(cases: Mapping[str, CaseSummary]) -> Iterable[AnswerDetails]:
    if not isinstance(cases, CaseColumns):
        return (case.details for case in cases.values())
    run = cases.scores.judged.run
    return (run.details_of(row) if row >= 0 else AnswerDetails() for row in cases.answers.tolist())


def _edges(report: Report, name: str, values: Floats) -> tuple[float, ...]:
    """Ten bins over the range of the measure, or round ones over the values where that has no end."""
    measure = measure_named(report, name)
    if measure is not None and isfinite(measure.low) and isfinite(measure.high) and measure.low < measure.high:
        return _spaced(measure.low, (measure.high - measure.low) / BINS, BINS)
    low, high = float(values.min()), float(values.max())
    step = _round_step(low, high)
    first = floor(low / step)
    return _spaced(first * step, step, max(1, ceil(high / step) - first))


def _round_step(low: float, high: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that needs no more than ten bins, or eleven where they begin in between."""
    size = max(1.0, abs(low), abs(high))
    width = high - low if high - low > size / 10**_DIGITS else size  # equal values have one bin
    power = 10.0 ** floor(log10(width / BINS))
    return next(step * power for step in (1, 2, 5, 10) if step * power * BINS >= width)


def _spaced(low: float, step: float, bins: int) -> tuple[float, ...]:
    return tuple(round(low + step * number, _DIGITS) for number in range(bins + 1))


def time_edges(milliseconds: Floats | Sequence[float]) -> tuple[float, ...]:
    """Round numbers from below the shortest time to above the longest, 1-2-5 where that makes bins enough."""
    low = max(_SHORTEST_MS, float(np.min(milliseconds)))
    high = max(low, float(np.max(milliseconds)))
    coarse = _round_numbers(low, high, _COARSE)
    return coarse if len(coarse) > _FEWEST_BINS else _round_numbers(low, high, _FINE)


def _round_numbers(low: float, high: float, steps: Sequence[float]) -> tuple[float, ...]:
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    numbers = [float(f"{step}e{power}") for power in powers for step in steps]  # as written, not as multiplied
    bins = [(left, right) for left, right in pairwise(numbers) if right > low and (left < high or left == low == high)]
    return (bins[0][0], *(right for _, right in bins))
