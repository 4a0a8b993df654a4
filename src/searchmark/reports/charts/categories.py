"""Means by category: a group of bars per category, a bar per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from searchmark.analysis.scores import Summary
from searchmark.reports.charts.picture import Picture, joined, mean_text, run_text, shown, style_of, whiskers
from searchmark.reports.measured import leading_measure
from searchmark.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GROUPS, MOST_RUNS = 20, 8
HEAD, BAR, GAP, LINE = 1.1, 0.15, 0.12, 0.2  # inches

# By run, then by category.
Means = dict[str, dict[str, Summary]]


def category_bars(report: Report) -> Picture | None:
    """The leading measure by category, or by what else the report is split by."""
    measure, field = leading_measure(report), _field(report)
    means = _means(report, field, measure) if field and measure else {}
    groups = _groups(means)
    if measure is None or field is None or not groups:
        return None
    kept = groups[:MOST_GROUPS]
    left_out = "" if kept == groups else f" (the {len(kept)} with most cases of {len(groups)})"
    alt = (
        f"Mean {measure} by {field}. {joined(_range_words(run_text(report, run), found) for run, found in means.items() if found)}."
    )
    height = HEAD + (BAR * len(means) + GAP) * len(kept) + LINE * len(means)
    return Picture(f"{measure} by {field}{left_out}", alt, height, lambda figure: _draw(figure, report, measure, means, kept))


def _field(report: Report) -> str | None:
    fields = list(dict.fromkeys(name for agent in report.agents.values() for name in agent.segments))
    return "category" if "category" in fields else next(iter(fields), None)


def _means(report: Report, field: str, measure: str) -> Means:
    """What is defined, of the first runs."""
    found: Means = {}
    for run, agent in list(report.agents.items())[:MOST_RUNS]:
        values = {value: summaries.get(measure) for value, summaries in agent.segments.get(field, {}).items()}
        found[run] = {value: each for value, each in values.items() if each is not None and each.mean is not None}
    return found


def _groups(means: Means) -> list[str]:
    """All categories, that with most cases first."""
    sizes: dict[str, int] = {}
    for found in means.values():
        for value, each in found.items():
            sizes[value] = max(sizes.get(value, 0), each.cases)
    return sorted(sizes, key=lambda value: (-sizes[value], value))


def _range_words(run: str, found: dict[str, Summary]) -> str:
    ordered = sorted(found, key=lambda value: (found[value].mean or 0, value))
    lowest, highest = (f"{shown(value)} {mean_text(found[value])}, n = {found[value].cases}" for value in (ordered[0], ordered[-1]))
    return f"{run}: lowest {lowest}" + (f", highest {highest}" if len(ordered) > 1 else "")


def _draw(figure: Figure, report: Report, measure: str, means: Means, groups: list[str]) -> None:
    axes = figure.subplots()
    thickness = BAR / (BAR * len(means) + GAP)
    rows = {name: row for row, name in enumerate(report.agents)}
    for number, (run, found) in enumerate(means.items()):
        offset = (number - (len(means) - 1) / 2) * thickness
        positions = {value: row + offset for row, value in enumerate(groups) if value in found}
        _draw_run(axes, run_text(report, run), rows[run], {positions[value]: found[value] for value in positions}, thickness)
    axes.set_yticks(range(len(groups)), [f"{shown(value, 30)}  ({_size(means, value)})" for value in groups])
    axes.set_ylim(len(groups) - 0.45, -0.55)  # the first on top
    axes.set_xlabel(f"mean {shown(measure)}   (whiskers: 95 % intervals, where there are enough cases)")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower left", frameon=False)


def _draw_run(axes: Axes, name: str, row: int, bars: dict[float, Summary], thickness: float) -> None:
    style = style_of(row)
    axes.barh(list(bars), [each.mean or 0 for each in bars.values()], thickness, label=name, **style.bar)
    for position, each in bars.items():
        ends = None if each.mean is None else whiskers(each.mean, each.low, each.high)
        if ends is not None:
            for colour, width in (("white", 3), ("black", 1)):  # a light rim, so that it is seen on any hatch
                axes.errorbar([each.mean or 0], [position], xerr=ends, color=colour, capsize=2, linewidth=width, capthick=width)


def _size(means: Means, value: str) -> str:
    sizes = sorted({found[value].cases for found in means.values() if value in found})
    return f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
