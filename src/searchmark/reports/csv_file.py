"""A report as CSV, and the values of every case as `trec_eval -q` prints them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from searchmark.records.answers import AnswerDetails
from searchmark.records.columns import original_bytes
from searchmark.reports import cells
from searchmark.reports.cases import CaseColumns, CaseFacts, CaseRow, CaseSummary, case_rows, in_batches
from searchmark.reports.quoting import csv_text, json_cell, visible, without_commands
from searchmark.reports.report import AgentSummary, Report, Summaries
from searchmark.reports.run_tables import norm_name, reduced_latencies, score_spreads, stated_numbers
from searchmark.scoring.costs import Latency, UsageSummary

# To continue in a spreadsheet or a data frame: a row per run and case, or a row per mean. Values are in full; an undefined one
# is an empty cell. A list is a JSON array in one cell.

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

_OF_MEANS = ("mean", "low", "high", "median", "std", "cases", "undefined", "answered_mean")

CsvRow = Iterable[object]

SummaryCells = Mapping[str, object]  # by the name of their column


def to_csv(report: Report) -> Iterator[str]:
    """One row per run and case, piece by piece."""
    measures = list(dict.fromkeys(name for agent in report.agents.values() for name in agent.measures))
    yield _csv_lines([(*CASE_COLUMNS, *map(csv_text, measures))])
    for name, agent in report.agents.items():
        run, places = csv_text(name), _places(list(agent.measures), measures)
        for batch in case_rows(agent.cases, list(agent.measures)):
            yield _csv_lines(_case_row(run, row, report.cases, places) for row in batch)


def _places(names: Sequence[str], measures: Sequence[str]) -> list[int | None]:
    """For every measure of the report its position among those of one run, None if the run does not have it."""
    return [names.index(name) if name in names else None for name in measures]


def _case_row(run: str, row: CaseRow, facts: Mapping[str, CaseFacts], places: Sequence[int | None]) -> CsvRow:
    category = facts.get(row.case, _NO_FACTS).category
    values = (None if place is None else _defined(row.values[place]) for place in places)
    first_cells = (run, csv_text(row.case), row.status, csv_text(row.query or ""), csv_text(category or ""))
    return (
        *first_cells,
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


def _usage(details: AnswerDetails) -> CsvRow:
    tokens = (details.tokens, csv_text(details.tokens_by or ""))
    return (details.first_hit_ms, *tokens, details.retries, details.waited_ms, details.start_ms)


def _index(details: AnswerDetails) -> CsvRow:
    """What the index alone took, of the repeats the median, and what it found of the true nearest vectors."""
    ann = (details.ann_k, details.ann_recall, details.ann_overlap)
    return (details.index_cold_ms, _median(details.index_warm_ms), *ann)


def _median(times: Sequence[float]) -> float | None:
    return median(times) if times else None


def to_summary_csv(report: Report) -> Iterator[str]:
    """One row per run, segment and measure, one per kind of latency, and one for all that is stated of searches or vectors."""
    yield _csv_lines([SUMMARY_COLUMNS])
    rows = ({"run": csv_text(name), **row} for name, agent in report.agents.items() for row in _summary_rows(agent))
    yield from (_csv_lines([row.get(name) for name in SUMMARY_COLUMNS] for row in batch) for batch in in_batches(rows))


def _summary_rows(agent: AgentSummary) -> Iterator[SummaryCells]:
    yield from _mean_rows("", "", agent.measures)
    for segment, values in agent.segments.items():
        for value, summaries in values.items():
            yield from _mean_rows(segment, value, summaries)
    yield from _time_rows("", "", agent.latency_ms, agent.usage)
    for each in agent.hosts:
        yield from _time_rows("host", each.name, each.latency_ms, each.usage)
    for name, numbers in _vector_cells(agent):
        yield {**_subject("", "", name), **numbers}


def _subject(segment: str, value: str, measure: str, unit: str = "") -> SummaryCells:
    """What a row is about."""
    return {"segment": csv_text(segment), "value": csv_text(value), "measure": csv_text(measure), "unit": unit}


def _mean_rows(segment: str, value: str, summaries: Summaries) -> Iterator[SummaryCells]:
    for name, summary in summaries.items():
        yield {**_subject(segment, value, name), **{each: getattr(summary, each) for each in _OF_MEANS}}


def _time_rows(segment: str, value: str, latencies: Mapping[str, Latency], usage: UsageSummary) -> Iterator[SummaryCells]:
    """Latencies, and what is stated of searches; where a run was measured on several hosts, each of them is a segment."""
    for name, each in (*latencies.items(), *reduced_latencies(usage)):
        spread = {"median": each.p50, "p90": each.p90, "p95": each.p95, "p99": each.p99}
        yield {**_subject(segment, value, f"latency {name}", "ms"), **spread, "searches": each.samples, "failed": each.failures}
    for name, numbers, cell, _ in stated_numbers(usage):
        spread = {"mean": numbers.mean, "median": numbers.p50, "p95": numbers.p95}
        counts = {"cases": numbers.searches, "undefined": numbers.of - numbers.searches, "searches": numbers.of}
        yield {
            **_subject(segment, value, name, "ms" if cell is cells.milliseconds else ""),
            **spread,
            **counts,
            "total": numbers.total,
        }


def _vector_cells(agent: AgentSummary) -> Iterator[tuple[str, SummaryCells]]:
    """What an index found of the true nearest vectors, the scores of the first hits, and the lengths of vectors."""
    for ann in agent.ann.values():
        for name, mean in (("ANN recall", ann.recall), ("ANN overlap", ann.overlap)):
            yield f"{name}@{ann.k}", {"mean": mean, "cases": ann.searches, "undefined": ann.of - ann.searches}
    for name, spread in score_spreads(agent):
        yield name, {"mean": spread.mean, "std": spread.std, "cases": spread.answers}
    for each in agent.vectors:
        yield norm_name(each), {"mean": each.norm_mean, "std": each.norm_std, "cases": each.finite}


def _csv_lines(rows: Iterable[CsvRow]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


# The value of every measure for every case of a run, laid out as ``trec_eval -q`` prints it.

ALL = "all"

Values = Mapping[str, float | None]


def to_per_case(report: Report) -> Iterator[str]:
    """``measure<TAB>case<TAB>value``, names padded to 22 and values with four digits; the means come last, as the case ``all``.

    Cases are in the order of their ids, as bytes. An undefined value has no line.
    """
    for agent in report.agents.values():
        for case, values in sorted(_values(agent.cases), key=lambda entry: original_bytes(entry[0])):
            yield from _per_case_lines(case, values)
        yield from _per_case_lines(ALL, {name: summary.mean for name, summary in agent.measures.items()})


def undefined_values(report: Report) -> int:
    """How many values have no line."""
    return sum(value is None for agent in report.agents.values() for _, values in _values(agent.cases) for value in values.values())


def _values(cases: Mapping[str, CaseSummary]) -> Iterator[tuple[str, Values]]:
    """The values of every case; of columns without making a record of each."""
    if not isinstance(cases, CaseColumns):
        yield from ((case, summary.measures) for case, summary in cases.items())
        return
    scores = cases.scores
    for case, row in zip(cases, scores.values.tolist(), strict=True):
        yield case, {name: None if math.isnan(value) else value for name, value in zip(scores.names, row, strict=True)}


def _per_case_lines(case: str, values: Values) -> Iterator[str]:
    name_of_case = without_commands(visible(case))
    return (f"{visible(name):<22}\t{name_of_case}\t{value:6.4f}\n" for name, value in values.items() if value is not None)
