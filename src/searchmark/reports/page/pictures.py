"""The drawings of the page: distributions, accuracy against latency, and what became of a number over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from searchmark.analysis.trends import Trend, TrendPoint
from searchmark.measures.words import with_words
from searchmark.reports.cells import Interval, Milliseconds, Number
from searchmark.reports.distributions import Histogram, histogram, usual_latency
from searchmark.reports.frontier import Frontier, frontier
from searchmark.reports.measured import distributed_measure
from searchmark.reports.page.figures import Bar, Label, Line, Scale, Tick, bars, labels, path_lines, scale_of, time_scale
from searchmark.reports.report import Report

_TICK_EVERY = 4


@dataclass(frozen=True)
class RunBars:
    """The histogram of one run."""

    run: str
    values: int
    undefined: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Distribution:
    """One quantity of all runs, drawn to one scale; ``highest`` is the count at the top."""

    title: str
    what: str
    highest: int
    ticks: tuple[Tick, ...]
    runs: tuple[RunBars, ...]


def distributions(report: Report) -> list[Distribution]:
    """F1 where it was measured, else the leading measure; and the latency that most runs have."""
    found = [histogram(report, name) for name in _quantities(report)]
    return [_distribution(histograms) for histograms in found if histograms]


def _quantities(report: Report) -> list[str]:
    measure = distributed_measure(report)
    return [usual_latency(report)] if measure is None else [measure, usual_latency(report)]


def _distribution(found: Sequence[Histogram]) -> Distribution:
    first = found[0]
    highest = max(count for each in found for count in each.counts)
    timed = bool(first.unit)
    title = f"Latency, {first.quantity} searches ({first.unit})" if timed else with_words(first.quantity)
    runs = tuple(
        RunBars(each.run, sum(each.counts), each.undefined, bars(each.edges, each.counts, highest, each.unit)) for each in found
    )
    return Distribution(title, "searches" if timed else "cases", highest, _edge_ticks(first.edges), runs)


def _edge_ticks(edges: Sequence[float]) -> tuple[Tick, ...]:
    """Some of the edges, both ends among them."""
    bins = len(edges) - 1
    shown = sorted({round(bins * part / _TICK_EVERY) for part in range(_TICK_EVERY + 1)})
    return tuple(Tick(round(100 * edge / bins, 2), f"{edges[edge]:g}") for edge in shown)


@dataclass(frozen=True)
class ScatterPoint:
    """One run: where it is, where its label is, and what it says in full."""

    run: str
    x: float
    y: float
    low: float | None
    high: float | None
    on_frontier: bool
    label: Label
    title: str


@dataclass(frozen=True)
class Scatter:
    """Accuracy against latency; ``steps`` are the edge that no run goes beyond."""

    measure: str
    latency: str
    points: tuple[ScatterPoint, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    steps: tuple[Line, ...]


def scatter(report: Report) -> Scatter | None:
    """The drawing of the frontier; None where it has no point."""
    found = frontier(report)
    return None if found is None else scatter_of(found)


def scatter_of(found: Frontier) -> Scatter | None:
    """The same of a frontier that is known; None where it has no point."""
    if not found.points:
        return None
    across = time_scale([point.latency_ms for point in found.points])
    upwards = scale_of(end for point in found.points for end in (point.quality, point.low, point.high))
    if upwards is None:
        return None
    y_ticks = tuple(Tick(round(100 - tick.at, 2), tick.text) for tick in upwards.ticks)
    points = _points(found, across, upwards)
    groups = [[at for at, point in zip(points, found.points, strict=True) if point.group == group] for group in _groups(found)]
    steps = tuple(line for group in groups for line in _steps(group))
    return Scatter(found.measure, found.latency, points, across.ticks, y_ticks, steps)


def _groups(found: Frontier) -> list[int]:
    return list(dict.fromkeys(point.group for point in found.points))


def _points(found: Frontier, across: Scale, upwards: Scale) -> tuple[ScatterPoint, ...]:
    at = [(across.at(point.latency_ms), upwards.up(point.quality)) for point in found.points]
    beside = labels([(x, y, point.run) for (x, y), point in zip(at, found.points, strict=True)])
    made = []
    for point, (x, y), label in zip(found.points, at, beside, strict=True):
        title = (
            f"{point.run}: {found.measure} {Number(point.quality).text} ({Interval(point.low, point.high).text}), "
            f"{Milliseconds(point.latency_ms).text}"
        )
        made.append(
            ScatterPoint(
                run=point.run,
                x=x,
                y=y,
                low=_end(upwards, point.low),
                high=_end(upwards, point.high),
                on_frontier=point.on_frontier,
                label=label,
                title=title,
            )
        )
    return tuple(made)


def _end(scale: Scale, value: float | None) -> float | None:
    return None if value is None else scale.up(value)


def _steps(points: Sequence[ScatterPoint]) -> tuple[Line, ...]:
    """From one run on the frontier to the next slower one: nothing is better before that."""
    ordered = sorted((point.x, point.y) for point in points if point.on_frontier)
    corners = [corner for one, other in pairwise(ordered) for corner in (one, (other[0], one[1]))]
    return path_lines([*corners, *ordered[-1:]])


@dataclass(frozen=True)
class TrendDot:
    """One run of the past."""

    x: float
    y: float
    low: float | None
    high: float | None
    worse: bool
    title: str


@dataclass(frozen=True)
class TrendPicture:
    """One number over time, with the band inside which it is noise: its top and its height, where there is one."""

    title: str
    sentence: str | None
    worse: bool
    overall: bool
    points: tuple[TrendDot, ...]
    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    band: tuple[float, float] | None
    first: str
    last: str


def histories(report: Report) -> list[TrendPicture]:
    """All trends of the report that have more than one run."""
    return [_history(trend) for trend in report.trends if len(trend.points) > 1]


def _history(trend: Trend) -> TrendPicture:
    ends = [end for point in trend.points for end in (point.mean, point.low, point.high)]
    scale = scale_of([*ends, trend.low, trend.high]) or Scale(0.0, 1.0)
    across = Scale(0, len(trend.points) - 1)
    points = tuple(_trend_dot(point, across.at(number), scale) for number, point in enumerate(trend.points))
    where = "".join(f", {by} {value}" for by, value in trend.where.items())
    return TrendPicture(
        title=f"{trend.agent}: {trend.measure}{where}",
        sentence=trend.sentence,
        worse=trend.worse_since is not None,
        overall=not trend.where,
        points=points,
        lines=path_lines([(point.x, point.y) for point in points]),
        ticks=tuple(Tick(round(100 - tick.at, 2), tick.text) for tick in scale.ticks),
        band=_band(trend, scale),
        first=f"{trend.points[0].time:%Y-%m-%d}",
        last=f"{trend.points[-1].time:%Y-%m-%d}",
    )


def _trend_dot(point: TrendPoint, x: float, scale: Scale) -> TrendDot:
    title = f"{point.entry}, {point.time:%Y-%m-%d %H:%M}: {Number(point.mean).text}"
    return TrendDot(x, scale.up(point.mean), _end(scale, point.low), _end(scale, point.high), point.worse, title)


def _band(trend: Trend, scale: Scale) -> tuple[float, float] | None:
    if trend.low is None or trend.high is None:
        return None
    top, bottom = scale.up(trend.high), scale.up(trend.low)
    return top, round(max(0.5, bottom - top), 2)
