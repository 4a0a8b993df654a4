"""A report as CSV: one row per agent and case, for those who go on in a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from searchmark.reports.quoting import csv_text
from searchmark.reports.report import AgentSummary, Report

COLUMNS = ("agent", "case", "status", "query", "cold_ms", "warm_ms", "first_hits")
HITS_SHOWN = 3


def to_csv(report: Report) -> str:
    """Values in full; an undefined one is an empty cell. ``warm_ms`` is the median of the repeats."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    measures = list(dict.fromkeys(name for agent in report.agents.values() for name in agent.measures))
    writer.writerow((*COLUMNS, *measures))
    for agent in report.agents.values():
        writer.writerows(_rows(agent, measures))
    return buffer.getvalue()


def _rows(agent: AgentSummary, measures: list[str]) -> Iterator[list[object]]:
    for case_id, case in agent.cases.items():
        cold, warm = case.details.cold_ms or (None,), sorted(case.details.warm_ms)
        hits = " ".join(hit.id for hit in case.hits[:HITS_SHOWN])
        texts = [csv_text(text) for text in (agent.name, case_id, case.status, case.query or "")]
        times = [cold[0], warm[(len(warm) - 1) // 2] if warm else None]
        yield [*texts, *times, csv_text(hits), *(case.measures.get(name) for name in measures)]
