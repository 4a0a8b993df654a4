"""Heat maps: what each segment of the cases got, by run or by measure, as a number on a shade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from searchmark.analysis.scores import Summary
from searchmark.measures.words import with_words
from searchmark.reports.cells import UNDEFINED, Interval, Number
from searchmark.reports.measured import leading_measure
from searchmark.reports.page.case_data import LEAK
from searchmark.reports.page.figures import scale_of
from searchmark.reports.report import Report

SHADES = 9
MOST_ROWS = 60


@dataclass(frozen=True)
class HeatCell:
    """A number, its interval and its shade, 0 to ``SHADES`` - 1; no shade where there is no number."""

    text: str
    interval: str
    shade: int | None


@dataclass(frozen=True)
class HeatRow:
    """One segment, and the cases that are in it."""

    value: str
    cases: int
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatMap:
    """The segments by one field; ``left_out`` of them are too small to be shown among so many."""

    title: str
    segment: str
    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    left_out: int = 0


# For every segment the summaries in the order of the columns.
_Rows = Mapping[str, tuple[Summary | None, ...]]


def heat_maps(report: Report) -> list[HeatMap]:
    """By every field that the report is split by, what queries give away left out."""
    return list(_maps(report, leaks=False))


def leakage_maps(report: Report) -> list[HeatMap]:
    """By what the queries give away of their answers."""
    return list(_maps(report, leaks=True))


def _maps(report: Report, *, leaks: bool) -> Iterator[HeatMap]:
    for segment in dict.fromkeys(name for agent in report.agents.values() for name in agent.segments):
        values = dict.fromkeys(value for agent in report.agents.values() for value in agent.segments.get(segment, ()))
        wanted = [value for value in values if value.startswith(LEAK) == leaks]
        if wanted:
            yield _map(report, segment, wanted)


def _map(report: Report, segment: str, values: list[str]) -> HeatMap:
    if len(report.agents) == 1:
        (agent,) = report.agents.values()
        columns, title = tuple(agent.measures), f"All measures by {segment}"
        rows = {value: tuple(agent.segments[segment][value].get(name) for name in columns) for value in values}
    else:
        measure = leading_measure(report) or ""
        columns, title = tuple(report.agents), f"{with_words(measure)} by {segment}"
        rows = {value: tuple(_summary(report, run, segment, value, measure) for run in columns) for value in values}
    return _drawn(title, segment, columns, rows)


def _summary(report: Report, run: str, segment: str, value: str, measure: str) -> Summary | None:
    return report.agents[run].segments.get(segment, {}).get(value, {}).get(measure)


def _drawn(title: str, segment: str, columns: tuple[str, ...], rows: _Rows) -> HeatMap:
    sizes = {value: max((each.cases for each in found if each), default=0) for value, found in rows.items()}
    largest = set(sorted(sizes, key=lambda value: -sizes[value])[:MOST_ROWS])
    low, high = _range([each.mean for found in rows.values() for each in found if each])
    made = tuple(
        HeatRow(value, sizes[value], tuple(_cell(each, low, high) for each in found))
        for value, found in rows.items()
        if value in largest
    )
    return HeatMap(title, segment, columns, made, len(rows) - len(made))


def _range(means: list[float | None]) -> tuple[float, float]:
    """From 0 to 1 for what lies there, so that a shade means the same in every map."""
    scale = scale_of(means)
    if scale is None or (scale.low >= 0 and scale.high <= 1):
        return 0.0, 1.0
    return scale.low, scale.high


def _cell(found: Summary | None, low: float, high: float) -> HeatCell:
    if found is None or found.mean is None:
        return HeatCell(UNDEFINED, "", None)
    shade = min(SHADES - 1, max(0, int((found.mean - low) / (high - low) * SHADES)))
    interval = "" if found.low is None else Interval(found.low, found.high, digits=2).text
    return HeatCell(Number(found.mean).text, interval, shade)
