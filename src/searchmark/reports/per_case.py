"""The value of every measure for every case of a run, laid out as ``trec_eval -q`` prints it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from searchmark.records.id_columns import in_bytes
from searchmark.reports.case_columns import CaseColumns
from searchmark.reports.case_records import CaseSummary
from searchmark.reports.quoting import visible, without_commands
from searchmark.reports.report import Report

ALL = "all"

Values = Mapping[str, float | None]


def to_per_case(report: Report) -> Iterator[str]:
    """``measure<TAB>case<TAB>value``, names padded to 22 and values with four digits; the means come last, as the case ``all``.

    Cases are in the order of their ids, as bytes. An undefined value has no line.
    """
    for agent in report.agents.values():
        for case, values in sorted(_values(agent.cases), key=lambda entry: in_bytes(entry[0])):
            yield from _lines(case, values)
        yield from _lines(ALL, {name: summary.mean for name, summary in agent.measures.items()})


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


def _lines(case: str, values: Values) -> Iterator[str]:
    shown = without_commands(visible(case))
    return (f"{visible(name):<22}\t{shown}\t{value:6.4f}\n" for name, value in values.items() if value is not None)
