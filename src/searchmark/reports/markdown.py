"""A report as Markdown, fit for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from searchmark.reports import layout
from searchmark.reports.quoting import markdown_text
from searchmark.reports.report import AgentSummary, Report


def to_markdown(report: Report) -> str:
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    verdict = layout.verdict(report)
    yield f"# {markdown_text(report.suite.name)}: search quality"
    yield ""
    if verdict:
        yield f"**{markdown_text(verdict)}**"
        yield ""
    for agent in report.agents.values():
        yield from _agent_lines(agent, report.suite.cases)
    if report.notes:
        yield "## Notes"
        yield ""
        yield from (f"- {markdown_text(note)}" for note in report.notes)


def _agent_lines(agent: AgentSummary, cases: int) -> Iterator[str]:
    yield f"## {markdown_text(agent.name)}"
    yield ""
    yield f"{layout.counted(agent, cases)}."
    yield ""
    yield from _table(layout.COLUMNS, layout.measure_rows(agent.measures))
    for segment in agent.segments:
        yield f"### By {markdown_text(segment)}"
        yield ""
        yield from _table(layout.segment_header(agent, segment), layout.segment_rows(agent, segment))
    if agent.worst:
        first = next(iter(agent.measures))
        yield f"### Lowest {markdown_text(first)}"
        yield ""
        yield from _table(("case", "query", first, "first hits"), layout.worst_rows(agent))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(header)
    yield "|" + " --- |" * len(header)
    yield from map(_row, rows)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_text(cell, 120) for cell in cells) + " |"
