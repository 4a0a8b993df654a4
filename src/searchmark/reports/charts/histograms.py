"""Distributions: one panel per run, one below the other, with the same bins and the same scale."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from searchmark.reports.cells import Milliseconds
from searchmark.reports.charts.picture import Picture, joined, mean_text, run_text, shown, style_of, whiskers
from searchmark.reports.distributions import Histogram, histogram, usual_latency
from searchmark.reports.measured import distributed_measure
from searchmark.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
HEAD, PANEL, FOOT = 0.45, 1.05, 0.55  # inches
ROOM_ABOVE = 1.45  # for the mean
MOST_TICKS = 14


def f1_distribution(report: Report) -> Picture | None:
    """F1 or F1@k case by case; the leading measure where there is none."""
    measure = distributed_measure(report)
    found = histogram(report, measure) if measure else ()
    if measure is None or not found:
        return None

    def panel(axes: Axes, each: Histogram) -> None:
        summary = report.agents[each.run].measures[measure]
        axes.set_title(f"{run_text(report, each.run)}: mean {mean_text(summary)}, {_size(each, 'case')}", loc="left")
        if summary.mean is not None:
            ends, above = whiskers(summary.mean, summary.low, summary.high), axes.get_xaxis_transform()
            axes.errorbar([summary.mean], [0.87], xerr=ends, transform=above, color="black", marker="D", markersize=4, capsize=3)

    label = f"{shown(measure)} of a case   (◆ mean with its 95 % interval)"
    best = max(found, key=lambda each: report.agents[each.run].measures[measure].mean or 0).run
    highest = f"{run_text(report, best)} has the highest mean. " if len(found) > 1 else ""
    alt = f"Distribution of {measure} over the cases. {highest}{joined(_spread_words(report, measure, each) for each in found)}."
    return _stacked(f"Distribution of {measure}", report, found, panel, label, "cases", alt)


def _spread_words(report: Report, measure: str, found: Histogram) -> str:
    mean = mean_text(report.agents[found.run].measures[measure])
    lowest, highest = (f"{count / found.total:.0%}" if found.total else "none" for count in (found.counts[0], found.counts[-1]))
    return (
        f"{run_text(report, found.run)}: mean {mean}, {lowest} of {found.total} cases below {found.edges[1]:g}, "
        f"{highest} from {found.edges[-2]:g} on"
    )


def latency_distribution(report: Report) -> Picture | None:
    """The time of every search, on a logarithmic scale; warm searches where there are any."""
    kind = usual_latency(report)
    found = histogram(report, kind)
    if not found:
        return None

    def panel(axes: Axes, each: Histogram) -> None:
        taken = report.agents[each.run].latency_ms[kind]
        axes.set_xscale("log")
        axes.set_title(f"{run_text(report, each.run)}: {_times(report, kind, each.run)}, {_size(each, 'search')}", loc="left")
        for time, style in ((taken.p50, "solid"), (taken.p95, "dashed")):
            axes.axvline(max(time, each.edges[0]), color="black", linestyle=style, linewidth=1.3)

    label = f"{kind} latency of a search in ms, log scale   (solid line p50, dashed line p95)"
    fastest = min(found, key=lambda each: report.agents[each.run].latency_ms[kind].p50).run
    lowest = f"{run_text(report, fastest)} has the lowest median. " if len(found) > 1 else ""
    times = joined(f"{run_text(report, each.run)}: {_times(report, kind, each.run)}, {_size(each, 'search')}" for each in found)
    alt = f"Distribution of the {kind} latency. {lowest}{times}."
    return _stacked(f"Distribution of the {kind} latency", report, found, panel, label, "searches", alt)


def _times(report: Report, kind: str, run: str) -> str:
    taken = report.agents[run].latency_ms[kind]
    return f"p50 {Milliseconds(taken.p50).text}, p95 {Milliseconds(taken.p95).text}"


def _size(found: Histogram, noun: str) -> str:
    many = {"case": "cases", "search": "searches"}[noun]
    undefined = f", {found.undefined} undefined" if found.undefined and noun == "case" else ""
    return f"n = {found.total} {noun if found.total == 1 else many}{undefined}"


def _stacked(
    title: str,
    report: Report,
    found: tuple[Histogram, ...],
    panel: Callable[[Axes, Histogram], None],
    label: str,
    counted: str,
    alt: str,
) -> Picture:
    """A panel per run over one axis; of very many runs the first."""
    kept = found[:MOST_PANELS]
    rows = {name: row for row, name in enumerate(report.agents)}

    def draw(figure: Figure) -> None:
        every = figure.subplots(len(kept), sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, each in zip(every, kept, strict=True):
            _bars(axes, each, rows[each.run])
            panel(axes, each)
        _scale(every[-1], kept, label)
        figure.supylabel(counted, fontsize="medium")

    left_out = "" if kept == found else f" (the first {len(kept)} of {len(found)} runs)"
    return Picture(f"{title}{left_out}", alt, HEAD + PANEL * len(kept) + FOOT, draw)


def _bars(axes: Axes, found: Histogram, row: int) -> None:
    style = style_of(row)
    widths = [right - left for left, right in pairwise(found.edges)]
    axes.bar(found.edges[:-1], found.counts, widths, align="edge", **style.bar)


def _scale(axes: Axes, found: tuple[Histogram, ...], label: str) -> None:
    edges, most = found[0].edges, max(max(each.counts) for each in found)
    step = -(-len(edges) // MOST_TICKS)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, max(most, 1) * ROOM_ABOVE)
    axes.set_xticks(edges[::step], [f"{edge:g}" for edge in edges[::step]])
    axes.set_xticks([], minor=True)
    axes.locator_params(axis="y", integer=True, nbins=3)
    axes.set_xlabel(label)
