"""The numbers behind charts: histograms, and accuracy against latency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import ceil, floor, isfinite, log10

import numpy as np

from searchmark.records.answers import AnswerDetails
from searchmark.records.columns import Floats
from searchmark.reports.cases import CaseColumns, CaseSummary
from searchmark.reports.report import Report, leading_measure, measure_named, why_latencies_not_comparable

# How values are distributed over the cases of a report: histograms whose bins all runs share.

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
    """One quantity of one run: ``counts[i]`` values are from ``edges[i]`` up to below ``edges[i + 1]``, the last one included."""

    run: str
    quantity: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    undefined: int  # cases without a value, or with one that is infinite

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
    finite = {run: samples[np.abs(samples) < LARGEST] for run, samples in values.items()}
    together = np.concatenate([np.empty(0), *finite.values()])
    if not len(together):
        return ()
    edges = time_edges(together) if timed else _edges(report, quantity, together)
    return tuple(
        Histogram(run, quantity, "ms" if timed else "", edges, _counts(samples, edges), len(values[run]) - len(samples))
        for run, samples in finite.items()
    )


def usual_latency(report: Report) -> str:
    """The latency that most runs have, warm rather than cold: one is never compared with the other."""
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
    values = (case.measures.get(measure) for case in cases.values())
    return np.fromiter((np.nan if value is None else value for value in values), np.float64, len(cases))


def _all_samples(report: Report, kind: str) -> dict[str, Floats]:
    if why_latencies_not_comparable(report) is not None:
        return {}
    return {name: _samples(agent.cases, kind) for name, agent in report.agents.items() if kind in agent.latency_ms}


def _samples(cases: Mapping[str, CaseSummary], kind: str) -> Floats:
    """The time of every search, and NaN for every case without one."""
    samples = ((each.warm_ms if kind == "warm" else each.cold_ms) or (np.nan,) for each in _details(cases))
    return np.fromiter(chain.from_iterable(samples), np.float64)


def _details(cases: Mapping[str, CaseSummary]) -> Iterable[AnswerDetails]:
    return cases.details(0, len(cases)) if isinstance(cases, CaseColumns) else (case.details for case in cases.values())


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


# Accuracy against latency: which runs or settings no other one beats in both.

FEWEST = 2  # runs


@dataclass(frozen=True)
class FrontierPoint:
    """One run: its mean with the interval, where there is one, and its median latency."""

    run: str
    quality: float
    low: float | None
    high: float | None
    latency_ms: float
    on_frontier: bool  # no other one of its group is at least as good and as fast, and better in one of them; equal ones share that
    group: int = 1


@dataclass(frozen=True)
class Frontier:
    """All runs that have both numbers, in the order of the report."""

    measure: str
    latency: str  # which one it is, as in "warm p50 ms"
    points: tuple[FrontierPoint, ...]


def frontier(report: Report) -> Frontier | None:
    """The leading measure against the median latency of each run; None where fewer than two runs have both.

    Latencies of different hosts have no frontier.
    """
    measure, kind = leading_measure(report), usual_latency(report)
    if measure is None or why_latencies_not_comparable(report) is not None:
        return None
    rows = {}
    for name, agent in report.agents.items():
        summary, latency = agent.measures.get(measure), agent.latency_ms.get(kind)
        if summary is not None and summary.mean is not None and latency is not None:
            rows[name] = summary.mean, summary.low, summary.high, latency.p50
    if len(rows) < FEWEST:
        return None
    is_best = beaten_by_none({name: (mean, p50) for name, (mean, _, _, p50) in rows.items()})
    return Frontier(measure, f"{kind} p50 ms", tuple(FrontierPoint(name, *row, is_best[name]) for name, row in rows.items()))


def case_points(report: Report) -> tuple[str, str, list[tuple[float, float]]] | None:
    """The leading measure and the latency, named, and both numbers of each case of the only run; None without such cases."""
    measure, kind = leading_measure(report), usual_latency(report)
    if measure is None or len(report.agents) != 1 or why_latencies_not_comparable(report) is not None:
        return None
    (agent,) = report.agents.values()
    times = ((each.warm_ms if kind == "warm" else each.cold_ms) for each in _details(agent.cases))
    pairs = zip(times, _values(agent.cases, measure).tolist(), strict=True)
    points = [(float(np.median(ms)), value) for ms, value in pairs if ms and isfinite(value)]
    return (measure, f"{kind} ms", points) if points else None


def beaten_by_none(points: Mapping[str, tuple[float | None, float | None]]) -> dict[str, bool]:
    """For all that have both numbers, more of the first and less of the second being better; equal ones share the frontier."""
    complete = {name: (good, slow) for name, (good, slow) in points.items() if good is not None and slow is not None}
    return {name: not any(_beats(other, point) for other in complete.values()) for name, point in complete.items()}


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] <= other[1] and one != other
