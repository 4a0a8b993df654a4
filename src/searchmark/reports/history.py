"""The history as tables, JSON and CSV: pure functions of its rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from searchmark.analysis.scores import Summary
from searchmark.analysis.trends import Trend, TrendPoint
from searchmark.archive.listing import HistoryRow
from searchmark.files.store import plain_json
from searchmark.records.shown import counted
from searchmark.reports.cells import Cell, Interval, Number, Table, Text, table
from searchmark.reports.quoting import csv_text, visible

LEADING = 2  # measures of each run in the table; files have all of them
_LONGEST_CELL = 90
_OF_POINT = ("entry", "time", "mean", "low", "high", "band_low", "band_high", "worse", "begins", "changed")
_TREND_COLUMNS = (
    *("suite", "agent", "where", "measure"),
    *_OF_POINT,
    *("cases", "queries", "left_out", "left_out_since", "sentence"),
)
_TIME = "%Y-%m-%d %H:%M"


def history_table(rows: Sequence[HistoryRow]) -> Table:
    """One line per run: the leading measures with their intervals, how it ended, and the id of its entry."""
    return table(("entry", "time (UTC)", "suite", "run", "verdict", "measures"), map(_line, rows))


def _line(row: HistoryRow) -> tuple[Cell, ...]:
    leading = "  ".join(_measure(name, found) for name, found in list(row.measures.items())[:LEADING])
    words = (row.entry, f"{row.time:{_TIME}}", row.suite, row.run, row.ended, leading)
    return tuple(map(Text, words))


def _measure(name: str, found: Summary) -> str:
    interval = "" if found.low is None else f" ({Interval(found.low, found.high).text})"
    return f"{name} {Number(found.mean).text}{interval}"


def aligned(shown: Table) -> str:
    """A table as text: columns side by side, texts of strangers made harmless."""
    from rich.cells import cell_len

    lines = [list(shown.columns), *([visible(cell.text, _LONGEST_CELL) for cell in row] for row in shown.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    padded = ([text + " " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)] for line in lines)
    return "".join("  ".join(line).rstrip() + "\n" for line in padded)


def history_json(rows: Iterable[HistoryRow]) -> str:
    """Every row with all its measures."""
    return json.dumps({"schema_version": 1, "record": "history", "runs": [_data(row) for row in rows]}, indent=1) + "\n"


def _data(row: HistoryRow) -> dict[str, Any]:
    measures = {name: {"mean": found.mean, "low": found.low, "high": found.high} for name, found in row.measures.items()}
    return vars(row) | {"time": row.time.isoformat(), "measures": measures}


def history_csv(rows: Iterable[HistoryRow]) -> str:
    """One line per run and measure."""
    lines = (
        (row.entry, row.time.isoformat(), row.suite, row.run, row.verdict, name, found.mean, found.low, found.high, found.cases)
        for row in rows
        for name, found in row.measures.items()
    )
    return csv_lines(("entry", "time", "suite", "run", "verdict", "measure", "mean", "low", "high", "cases"), lines)


def csv_lines(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Lines for a spreadsheet, which computes no text of strangers."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([csv_text(value) if isinstance(value, str) else value for value in line] for line in lines)
    return buffer.getvalue()


def trends_text(trends: Sequence[Trend]) -> str:
    """A table with a line per measure and segment, then the sentences that there are."""
    columns = ("suite", "agent", "where", "measure", "cases", "runs", "left out", "first", "last", "noise band", "worse since")
    told = (sentence for trend in trends for sentence in (trend.sentence, _left_out(trend)) if sentence)
    sentences = dict.fromkeys((*told, *_asked_otherwise(trends)))
    return "".join([aligned(table(columns, map(_trend_line, trends))), *(f"{visible(each)}\n" for each in sentences)])


def _asked_otherwise(trends: Iterable[Trend]) -> Iterator[str]:
    """Why an agent has several lines of one measure."""
    queries: dict[tuple[str | None, str], set[str | None]] = {}
    for trend in trends:
        queries.setdefault((trend.suite, _agent(trend)), set()).add(trend.queries)
    for (suite, agent), asked in queries.items():
        if len(asked) > 1:
            yield f"runs of {agent} on {suite} that were asked other queries, such as a part of the suite, have lines of their own"


def _left_out(trend: Trend) -> str | None:
    runs = trend.left_out_since
    if not runs:
        return None
    are = "is" if runs == 1 else "are"
    return f"{counted(runs, 'later run')} of {_agent(trend)} cannot be trusted and {are} left out"


def _trend_line(trend: Trend) -> tuple[Cell, ...]:
    first, last = trend.points[0], trend.points[-1]
    suite, agent, where, measure = _trend_words(trend)
    whole = (suite, agent, where or "all", measure, str(trend.cases), str(len(trend.points)), str(trend.left_out or ""))
    band = "" if trend.low is None else Interval(trend.low, trend.high).text
    return tuple(map(Text, (*whole, Number(first.mean).text, Number(last.mean).text, band, trend.worse_since or "")))


def _agent(trend: Trend) -> str:
    return f"{trend.agent}@{trend.snapshot}" if trend.snapshot else trend.agent


def _where(trend: Trend) -> str:
    return ", ".join(f"{name} {value}" for name, value in trend.where.items())


def trends_json(trends: Iterable[Trend]) -> str:
    """Every trend with all its points."""
    return json.dumps({"schema_version": 1, "record": "trends", "trends": [plain_json(each) for each in trends]}, indent=1) + "\n"


def trends_csv(trends: Iterable[Trend]) -> str:
    """One line per point."""
    lines = ((*_trend_words(trend), *_point_values(trend, point)) for trend in trends for point in trend.points)
    return csv_lines(_TREND_COLUMNS, lines)


def _point_values(trend: Trend, point: TrendPoint) -> tuple[object, ...]:
    judged = point.mean, point.low, point.high, trend.low, trend.high, int(point.worse), int(point.begins)
    whole = trend.cases, trend.queries, trend.left_out, trend.left_out_since, trend.sentence
    return point.entry, point.time.isoformat(), *judged, "; ".join(point.changed), *whole


def _trend_words(trend: Trend) -> tuple[str, ...]:
    return (trend.suite or "", _agent(trend), _where(trend), trend.measure)
