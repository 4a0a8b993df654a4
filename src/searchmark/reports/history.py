"""What earlier entries of the archive tell of a report (trends and drifts), and the history as tables, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from searchmark.audit.conditions import earlier_runs_differ
from searchmark.config.gates import DRIFT_LIMIT
from searchmark.io.data import plain_json
from searchmark.records.sentences import count_of
from searchmark.reports import cells
from searchmark.reports.archive import Archive, EntrySelection, HistoryRow, Warn, entry_summaries, new_entry
from searchmark.reports.build import past_runs
from searchmark.reports.cells import Row, Table, table
from searchmark.reports.quoting import csv_text, visible
from searchmark.reports.render import without_known_secrets
from searchmark.reports.report import Report
from searchmark.scoring.drift import drifts_of, why_no_latency_compared, why_not_compared
from searchmark.scoring.scores import Summary
from searchmark.scoring.trends import PastRun, Trend, TrendPoint, is_same_run, trends_of

RUNS_IN_REPORT = 30  # of each agent that were asked the same; 'searchmark history trend' shows all of them


def with_history(
    report: Report, archive: Archive, now: datetime, warn: Warn = lambda _: None, limit: float = DRIFT_LIMIT
) -> Report:
    """The report with its trends and drifts, seen from earlier entries on the same suite that were asked the same queries.

    Judgments and corpus may be others than today's: trends say where they changed, and drifts that this may be the cause. ``now``
    is when the report will be archived, so that its own entry is named as the others are; without a zone it is local time.
    """
    now, report = now.astimezone(UTC), without_known_secrets(report)  # earlier entries have its names without them
    current = past_runs(new_entry(report, now).id, now, report)
    past = list(_earlier(current, archive, report, now, warn))
    series = list(_first_of_series(zip(report.agents, current, strict=True)))
    checks = (why_not_compared, why_no_latency_compared)
    apart = (sentence for name, run in series for check in checks if (sentence := check(name, run, past)) is not None)
    return replace(
        report,
        trends=tuple(_continued_trends(current, past)),
        drifts=tuple(drift for name, run in series for drift in drifts_of(name, run, [*past, *current], limit)),
        audit=(*report.audit, *earlier_runs_differ(apart)),
    )


def _first_of_series(named_runs: Iterable[tuple[str, PastRun]]) -> Iterator[tuple[str, PastRun]]:
    """The first of the repeats of a run that can be trusted, else the first."""
    series: dict[tuple[object, ...], tuple[str, PastRun]] = {}
    for name, run in named_runs:
        if run.series not in series or (run.trusted and not series[run.series][1].trusted):
            series[run.series] = name, run
    yield from series.values()


def _earlier(current: Sequence[PastRun], archive: Archive, report: Report, now: datetime, warn: Warn) -> Iterator[PastRun]:
    """Earlier runs of the same agents, and those that were asked other queries; entries of other suites are not read."""
    series = {run.series for run in current}
    missing = dict.fromkeys(map(_question_key, current), RUNS_IN_REPORT)
    summaries = entry_summaries(archive, EntrySelection(suite=report.suite.name, until=now), warn)
    while any(missing.values()) and (pair := next(summaries, None)) is not None:
        entry, each = pair
        runs = [run for run in past_runs(entry.id, entry.time, each) if run.series in series and missing.get(_question_key(run), 1)]
        yield from runs
        missing |= {key: missing[key] - 1 for key in {*map(_question_key, runs)} & missing.keys()}


def _question_key(run: PastRun) -> tuple[object, ...]:
    return *run.series, run.fingerprints.queries


def _continued_trends(current: Sequence[PastRun], past: Sequence[PastRun]) -> Iterator[Trend]:
    """The trends that lead up to this report; what is measured for the first time, or no longer, has none.

    A run that was archived before counts under its first entry.
    """
    again = {run.entry for now in current for run in past if run.series == now.series and is_same_run(run, now)}
    entries = again | {run.entry for run in current}
    return (trend for trend in trends_of([*past, *current]) if len(trend.points) > 1 and trend.points[-1].entry in entries)


def archived_trends(archive: Archive, selection: EntrySelection, warn: Warn = lambda _: None) -> list[Trend]:
    """Every measure of the chosen runs over all entries that are chosen; of runs that all cannot be trusted there is none."""
    reports = (past_runs(entry.id, entry.time, report) for entry, report in entry_summaries(archive, selection, warn))
    past = [run for runs in reports for run in runs if _is_chosen(run, selection)]
    trusted_series = {run.series for run in past if run.trusted}
    untrusted_runs = Counter((run.suite, run.name) for run in past if run.series not in trusted_series)
    for (suite, name), runs in untrusted_runs.items():
        warn(f"{count_of(runs, 'run')} of {name} on {suite} cannot be trusted and {'is' if runs == 1 else 'are'} left out")
    return trends_of(past)


def _is_chosen(run: PastRun, selection: EntrySelection) -> bool:
    return selection.takes_run((run.agent, run.identity), run.snapshot, max(run.repeat, run.number))


# The history as tables, JSON and CSV.

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
    return table(("entry", "time (UTC)", "suite", "run", "verdict", "measures"), map(_history_row, rows))


def _history_row(row: HistoryRow) -> Row:
    leading = "  ".join(_measure(name, summary) for name, summary in list(row.measures.items())[:LEADING])
    return row.entry, f"{row.time:{_TIME}}", row.suite, row.run, row.ended, leading


def _measure(name: str, summary: Summary) -> str:
    interval = "" if summary.low is None else f" ({cells.interval(summary.low, summary.high).text})"
    return f"{name} {cells.number(summary.mean).text}{interval}"


def align_table(table: Table) -> str:
    """A table as text: columns side by side, texts of strangers made harmless."""
    from rich.cells import cell_len

    lines = [list(table.columns), *([visible(cell.text, _LONGEST_CELL) for cell in row] for row in table.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    padded_lines = ([text + " " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)] for line in lines)
    return "".join("  ".join(line).rstrip() + "\n" for line in padded_lines)


def history_json(rows: Iterable[HistoryRow]) -> str:
    """Every row with all its measures."""
    return json.dumps({"schema_version": 1, "record": "history", "runs": [_row_data(row) for row in rows]}, indent=1) + "\n"


def _row_data(row: HistoryRow) -> dict[str, Any]:
    measures = {name: {"mean": summary.mean, "low": summary.low, "high": summary.high} for name, summary in row.measures.items()}
    return vars(row) | {"time": row.time.isoformat(), "measures": measures}


def history_csv(rows: Iterable[HistoryRow]) -> str:
    """One line per run and measure."""
    lines = (
        (
            row.entry,
            row.time.isoformat(),
            row.suite,
            row.run,
            row.verdict,
            name,
            summary.mean,
            summary.low,
            summary.high,
            summary.cases,
        )
        for row in rows
        for name, summary in row.measures.items()
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
    sentences_of_trends = (sentence for trend in trends for sentence in (trend.sentence, _left_out_text(trend)) if sentence)
    sentences = dict.fromkeys((*sentences_of_trends, *_question_notes(trends)))
    return "".join([align_table(table(columns, map(_trend_row, trends))), *(f"{visible(each)}\n" for each in sentences)])


def _question_notes(trends: Iterable[Trend]) -> Iterator[str]:
    """Why an agent has several lines of one measure."""
    queries: dict[tuple[str | None, str], set[str | None]] = {}
    for trend in trends:
        queries.setdefault((trend.suite, _agent(trend)), set()).add(trend.queries)
    for (suite, agent), fingerprints in queries.items():
        if len(fingerprints) > 1:
            yield f"runs of {agent} on {suite} that were asked other queries, such as a part of the suite, have lines of their own"


def _left_out_text(trend: Trend) -> str | None:
    runs = trend.left_out_since
    if not runs:
        return None
    are = "is" if runs == 1 else "are"
    return f"{count_of(runs, 'later run')} of {_agent(trend)} cannot be trusted and {are} left out"


def _trend_row(trend: Trend) -> Row:
    first, last = trend.points[0], trend.points[-1]
    suite, agent, where, measure = _trend_words(trend)
    whole = (suite, agent, where or "all", measure, str(trend.cases), str(len(trend.points)), str(trend.left_out or ""))
    band = "" if trend.low is None else cells.interval(trend.low, trend.high).text
    return *whole, cells.number(first.mean).text, cells.number(last.mean).text, band, trend.worse_since or ""


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
