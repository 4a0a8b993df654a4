"""The leading measure over the runs of the archive, with the band inside which it is noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from searchmark.analysis.trends import Trend
from searchmark.reports.cells import Number
from searchmark.reports.charts.picture import Picture, joined, shown, style_of, whiskers
from searchmark.reports.measured import leading_measure
from searchmark.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 8
HEAD, PANEL, FOOT = 0.45, 1.4, 0.55  # inches
MOST_TICKS = 6
FEWEST = 2


def trend(report: Report) -> Picture | None:
    """One panel per agent that has been run before, of all its cases."""
    measure = leading_measure(report)
    found = [each for each in report.trends if each.measure == measure and not each.where and len(each.points) >= FEWEST]
    if measure is None or not found:
        return None
    kept = found[:MOST_PANELS]
    left_out = "" if kept == found else f" (the first {len(kept)} of {len(found)} agents)"
    alt = f"{measure} run by run, the oldest first. {joined(map(_words, found))}."
    height = HEAD + PANEL * len(kept) + FOOT
    return Picture(f"{measure} over time{left_out}", alt, height, lambda figure: _draw(figure, kept))


def _words(found: Trend) -> str:
    first, last = (Number(each.mean).text for each in (found.points[0], found.points[-1]))
    return (found.sentence or f"{found.agent}: from {first} to {last} in {len(found.points)} runs").rstrip(".")


def _draw(figure: Figure, trends: list[Trend]) -> None:
    every = figure.subplots(len(trends), squeeze=False)[:, 0]
    for row, (axes, found) in enumerate(zip(every, trends, strict=True)):
        _draw_trend(axes, found, row)
    every[-1].set_xlabel("run, the oldest first   (band: noise; whiskers: 95 % intervals; hollow: worse)")


def _draw_trend(axes: Axes, found: Trend, row: int) -> None:
    style = style_of(row)
    means = [each.mean for each in found.points]
    if found.low is not None and found.high is not None:
        axes.axhspan(found.low, found.high, facecolor="0.88", zorder=0)
    axes.plot(range(len(means)), means, color="black", linewidth=1)
    for position, each in enumerate(found.points):
        ends = whiskers(each.mean, each.low, each.high)
        axes.errorbar([position], [each.mean], yerr=ends, capsize=3, elinewidth=1, **style.mark(filled=not each.worse))
    step = -(-len(means) // MOST_TICKS)
    axes.set_xticks(range(0, len(means), step), [f"{each.time:%Y-%m-%d}" for each in found.points[::step]])
    axes.set_title(f"{shown(found.agent)}: {Number(means[-1]).text} in the last of n = {len(means)} runs", loc="left")
    axes.set_ylabel(shown(found.measure, 20))
