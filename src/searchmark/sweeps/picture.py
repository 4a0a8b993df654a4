"""Recall and quality against p95, one above the other on one axis, with the frontier of each; drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from searchmark.reports.charts.drawing import drawn
from searchmark.reports.charts.picture import Picture, shown, whiskers
from searchmark.reports.frontier import Frontier
from searchmark.reports.page.figures import WHOLE, labels, time_scale
from searchmark.sweeps.layout import pictures
from searchmark.sweeps.result import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, LINE, MARGIN = 2.8, 0.17, 0.8  # inches
LONGEST_KEY = 100
SHORTEST_MS = 1e-4


def drawn_sweep(sweep: Sweep, format: str) -> bytes:  # noqa: A002  # the word that users know
    """The picture as a file of this format."""
    panels = pictures(sweep)
    height = PANEL * max(1, len(panels)) + LINE * len(sweep.rows) + MARGIN
    picture = Picture(
        f"Sweep of {sweep.agent}", sweep.sentence, height, lambda figure: _draw(figure, sweep, [found for found, _ in panels])
    )
    return drawn(picture, sweep.suite.name, (format,))[format]


def _draw(figure: Figure, sweep: Sweep, panels: list[Frontier]) -> None:
    every = figure.subplots(max(1, len(panels)), 1, sharex=True, squeeze=False)[:, 0]
    for axes, found in zip(every, panels, strict=False):
        _draw_panel(axes, found)
    _plain_ticks(every[-1], [each.latency_ms for found in panels for each in found.points])
    every[-1].set_xlabel(f"p95 in ms, {sweep.decided_by}, log scale   (left is faster)")
    for number, row in enumerate(sweep.rows, 1):
        every[0].plot([], [], linestyle="none", label=shown(f"{number}: {row.name}", LONGEST_KEY))
    figure.legend(loc="outside lower left", frameon=False, handlelength=0, handletextpad=0, fontsize=7.5)


def _plain_ticks(axes: Axes, times: list[float]) -> None:
    """Round numbers, written out."""
    if times:
        values = [float(tick.text) for tick in time_scale(times).ticks]
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xticks([], minor=True)


def _draw_panel(axes: Axes, found: Frontier) -> None:
    axes.set_xscale("log")
    axes.set_ylabel(f"{shown(found.measure)}   (up is better)")
    kept = sorted({(max(each.latency_ms, SHORTEST_MS), each.quality) for each in found.points if each.on_frontier})
    axes.step([x for x, _ in kept], [y for _, y in kept], where="post", color="0.45", linestyle="dashed", linewidth=1.2, zorder=1)
    for each in found.points:
        x = max(each.latency_ms, SHORTEST_MS)
        axes.errorbar(
            [x], [each.quality], whiskers(each.quality, each.low, each.high), marker="o", markersize=7, capsize=3, elinewidth=0.8,
            color="#0072B2", markeredgecolor="black", markerfacecolor="#0072B2" if each.on_frontier else "white", ecolor="0.6",
        )  # fmt: skip
    _write_labels(axes, found)


def _write_labels(axes: Axes, found: Frontier) -> None:
    """Beside each point, where neither a point nor another label is, as on the page."""
    at = [axes.transData.transform((max(each.latency_ms, SHORTEST_MS), each.quality)) for each in found.points]
    inside = axes.transAxes.inverted().transform(at) * WHOLE
    beside = labels([(x, WHOLE - y, each.run) for (x, y), each in zip(inside.tolist(), found.points, strict=True)])
    for each, label in zip(found.points, beside, strict=True):
        where, side = (label.x / WHOLE, 1 - label.y / WHOLE), "right" if label.anchor == "end" else "left"
        axes.annotate(each.run, where, xycoords="axes fraction", ha=side, va="center", fontsize=8)
