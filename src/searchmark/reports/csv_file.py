"""A report as CSV, to continue in a spreadsheet or a data frame: a row per run and case, or a row per mean.

Values are in full; an undefined one is an empty cell. A list is a JSON array in one cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.analysis.usage import Stated, UsageSummary
from searchmark.records import AnswerDetails
from searchmark.reports.case_records import CaseFacts
from searchmark.reports.case_rows import CaseRow, case_rows, in_batches
from searchmark.reports.cells import Milliseconds
from searchmark.reports.quoting import csv_text, json_cell
from searchmark.reports.report import AgentSummary, Report, Summaries
from searchmark.reports.usage_layout import reduced_latencies, stated_rows
from searchmark.reports.vector_layout import norm_name, score_spreads

CASE_COLUMNS = (
    "run", "test_case_id", "status", "query", "category", "retrieved_files", "ground_truth_files",
    "latency_ms", "cold_ms", "warm_ms", "first_hit_ms", "tokens", "tokens_by", "retries", "waited_ms", "start_ms",
    "index_cold_ms", "index_warm_ms", "ann_k", "ann_recall", "ann_overlap",
)  # fmt: skip
SUMMARY_COLUMNS = (
    "run", "segment", "value", "measure", "unit", "mean", "low", "high", "median", "std", "cases", "undefined", "answered_mean",
    "p90", "p95", "p99", "searches", "failed", "total",
)  # fmt: skip
_NO_FACTS = CaseFacts()

Row = Iterable[object]


def to_csv(report: Report) -> Iterator[str]:
    """One row per run and case, piece by piece."""
    measures = list(dict.fromkeys(name for agent in report.agents.values() for name in agent.measures))
    yield _lines([(*CASE_COLUMNS, *map(csv_text, measures))])
    for name, agent in report.agents.items():
        run, places = csv_text(name), _places(list(agent.measures), measures)
        for batch in case_rows(agent.cases, list(agent.measures)):
            yield _lines(_case_row(run, row, report.cases, places) for row in batch)


def _places(own: Sequence[str], measures: Sequence[str]) -> list[int | None]:
    """For every measure of the report its position among those of one run, None if the run does not have it."""
    return [own.index(name) if name in own else None for name in measures]


def _case_row(run: str, row: CaseRow, facts: Mapping[str, CaseFacts], places: Sequence[int | None]) -> Row:
    category = facts.get(row.case, _NO_FACTS).category
    values = (None if place is None else _defined(row.values[place]) for place in places)
    known = (run, csv_text(row.case), row.status, csv_text(row.query or ""), csv_text(category or ""))
    return (
        *known,
        json_cell(row.hits),
        json_cell(row.targets),
        *_times(row.details),
        *_usage(row.details),
        *_index(row.details),
        *values,
    )


def _defined(value: float | None) -> float | None:
    return value if value == value else None  # noqa: PLR0124  # NaN is not itself


def _times(details: AnswerDetails) -> tuple[float | None, float | None, float | None]:
    """The median of all searches of a case, its cold search, and the median of the repeats."""
    cold, warm = details.cold_ms, details.warm_ms
    return _median((*cold, *warm)), cold[0] if cold else None, _median(warm)


def _usage(details: AnswerDetails) -> Row:
    tokens = (details.tokens, csv_text(details.tokens_by or ""))
    return (details.first_hit_ms, *tokens, details.retries, details.waited_ms, details.start_ms)


def _index(details: AnswerDetails) -> Row:
    """What the index alone took, of the repeats the median, and what it found of the true nearest vectors."""
    found = (details.ann_k, details.ann_recall, details.ann_overlap)
    return (details.index_cold_ms, _median(details.index_warm_ms), *found)


def _median(times: Sequence[float]) -> float | None:
    return median(times) if times else None


def to_summary_csv(report: Report) -> Iterator[str]:
    """One row per run, segment and measure, one per kind of latency, and one for all that is stated of searches or vectors."""
    yield _lines([SUMMARY_COLUMNS])
    rows = (row for name, agent in report.agents.items() for row in _summary_rows(csv_text(name), agent))
    yield from map(_lines, in_batches(rows))


def _summary_rows(run: str, agent: AgentSummary) -> Iterator[Row]:
    yield from _mean_rows((run, "", ""), agent.measures)
    for segment, values in agent.segments.items():
        for value, summaries in values.items():
            yield from _mean_rows((run, csv_text(segment), csv_text(value)), summaries)
    yield from _time_rows((run, "", ""), agent.latency_ms, agent.usage)
    for each in agent.hosts:
        yield from _time_rows((run, "host", csv_text(each.name)), each.latency_ms, each.usage)
    yield from ((run, "", "", csv_text(name), "", *cells) for name, cells in _vector_rows(agent))


def _time_rows(where: tuple[str, str, str], latencies: Mapping[str, Latency], usage: UsageSummary) -> Iterator[Row]:
    """Latencies, and what is stated of searches; where a run was measured on several hosts, each of them is a segment."""
    kinds = ((f"latency {kind}", found) for kind, found in latencies.items())
    reduced = ((f"latency {name}", found) for name, found in reduced_latencies(usage))
    yield from ((*where, name, "ms", *_latency_cells(found)) for name, found in (*kinds, *reduced))
    for name, stated, kind, _ in stated_rows(usage):
        yield (*where, csv_text(name), "ms" if kind is Milliseconds else "", *_stated_cells(stated))


def _vector_rows(agent: AgentSummary) -> Iterator[tuple[str, Row]]:
    """What an index found of the true nearest vectors, the scores of the first hits, and the lengths of vectors."""
    for found in agent.ann.values():
        for name, mean in (("ANN recall", found.recall), ("ANN overlap", found.overlap)):
            yield f"{name}@{found.k}", _spread_cells(mean, None, found.searches, found.of - found.searches)
    for name, spread in score_spreads(agent):
        yield name, _spread_cells(spread.mean, spread.std, spread.answers)
    for each in agent.vectors:
        yield norm_name(each), _spread_cells(each.norm_mean, each.norm_std, each.finite)


def _spread_cells(mean: float | None, std: float | None, count: int, unknown: int | None = None) -> Row:
    return (mean, None, None, None, std, count, unknown, *[None] * 7)


def _mean_rows(where: tuple[str, str, str], summaries: Summaries) -> Iterator[Row]:
    return ((*where, csv_text(name), "", *_mean_cells(found)) for name, found in summaries.items())


def _mean_cells(found: Summary) -> Row:
    spread = (found.mean, found.low, found.high, found.median, found.std)
    return (*spread, found.cases, found.undefined, found.answered_mean, *[None] * 6)


def _latency_cells(found: Latency) -> Row:
    return (*[None] * 3, found.p50, *[None] * 4, found.p90, found.p95, found.p99, found.samples, found.failures, None)


def _stated_cells(found: Stated) -> Row:
    spread = (found.mean, None, None, found.p50, None)
    return (*spread, found.searches, found.of - found.searches, *[None] * 2, found.p95, None, found.of, None, found.total)


def _lines(rows: Iterable[Row]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
