"""Accuracy against latency: a point per run, and the frontier of those that none beats in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from searchmark.reports.cells import Interval, Milliseconds, Number
from searchmark.reports.charts.picture import Picture, joined, run_text, shown, style_of, whiskers
from searchmark.reports.distributions import time_edges
from searchmark.reports.frontier import Frontier, FrontierPoint, frontier
from searchmark.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOT, LINE = 3.6, 0.2  # inches
MOST_TICKS = 14


def accuracy_vs_latency(report: Report) -> Picture | None:
    """The leading measure against the median latency; nothing where fewer than two runs have both."""
    found = frontier(report)
    if found is None:
        return None
    title = f"{found.measure} against {found.latency.removesuffix(' ms')} latency"
    return Picture(title, _alt(report, found), PLOT + LINE * len(found.points), lambda figure: _draw(figure, report, found))


def _alt(report: Report, found: Frontier) -> str:
    best = max(found.points, key=lambda each: each.quality)
    fastest = min(found.points, key=lambda each: each.latency_ms)
    first, second = (f"{run_text(report, each.run)}, {_numbers(each)}" for each in (best, fastest))
    kept, beaten = (joined(run_text(report, each.run) for each in found.points if each.on_frontier is on) for on in (True, False))
    others = f"; beaten in both: {beaten}" if beaten else ""
    return (
        f"{found.measure} against the {found.latency.removesuffix(' ms')} latency of {len(found.points)} runs. "
        f"Best: {first}. Fastest: {second}. On the frontier: {kept}{others}."
    )


def _numbers(point: FrontierPoint) -> str:
    known = point.low is not None and point.high is not None
    interval = f" ({Interval(point.low, point.high).text})" if known else ""
    return f"{Number(point.quality).text}{interval} at {Milliseconds(point.latency_ms).text}"


def _draw(figure: Figure, report: Report, found: Frontier) -> None:
    axes = figure.subplots()
    axes.set_xscale("log")
    rows = {name: row for row, name in enumerate(report.agents)}
    _draw_frontier(axes, found)
    for point in found.points:
        _draw_point(
            axes, point, run_text(report, point.run), rows[point.run], report.agents[point.run].measures[found.measure].cases
        )
    axes.set_xlabel(f"{found.latency.removesuffix(' ms')} latency in ms, log scale   (left is faster)")
    axes.set_ylabel(f"mean {shown(found.measure)}   (up is better)")
    _round_ticks(axes, found)
    figure.legend(loc="outside lower left", frameon=False, numpoints=1)


def _draw_frontier(axes: Axes, found: Frontier) -> None:
    """A staircase: until the next run is affordable, the one before it is the best that is known."""
    kept = sorted({(each.latency_ms, each.quality) for each in found.points if each.on_frontier})
    axes.step(
        [time for time, _ in kept], [quality for _, quality in kept], where="post", color="0.45", linestyle="dashed", linewidth=1.2,
        zorder=1, label="frontier: no run is better and faster (filled marks); whiskers: 95 % intervals",
    )  # fmt: skip


def _draw_point(axes: Axes, point: FrontierPoint, name: str, row: int, cases: int) -> None:
    """Filled on the frontier, hollow below it."""
    style = style_of(row)
    axes.errorbar(
        [max(point.latency_ms, time_edges([point.latency_ms])[0])], [point.quality], whiskers(point.quality, point.low, point.high),
        markersize=9, capsize=4, elinewidth=1, label=f"{name}: {_numbers(point)}, n = {cases}",
        **style.mark(filled=point.on_frontier),
    )  # fmt: skip


def _round_ticks(axes: Axes, found: Frontier) -> None:
    edges = time_edges([each.latency_ms for each in found.points])
    low, high = edges[0], edges[-1]
    axes.set_xlim(low * (low / high) ** 0.05, high * (high / low) ** 0.05)
    step = -(-len(edges) // MOST_TICKS)
    axes.set_xticks(edges[::step], [f"{edge:g}" for edge in edges[::step]])
    axes.set_xticks([], minor=True)
