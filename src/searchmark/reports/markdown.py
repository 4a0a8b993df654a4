"""A report as Markdown, fit for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.analysis.comparison import Pair
from searchmark.reports import layout
from searchmark.reports.cells import Cell, RankedMean, Table
from searchmark.reports.quoting import markdown_text
from searchmark.reports.report import AgentSummary, Report

LONGEST_CELL = 120


def to_markdown(report: Report) -> str:
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    gate = layout.gate_sentence(report)
    yield f"# {markdown_text(report.suite.name)}: search quality"
    yield ""
    if gate:
        yield f"**{markdown_text(gate)}**"
        yield ""
        lines = [f"- {markdown_text(line.strip())}" for line in layout.gate_lines(report)]
        yield from (*lines, "") if lines else ()
    for decision in report.decisions:
        yield f"**{markdown_text(decision.sentence)}**"
        yield ""
        yield from (f"- {markdown_text(line)}" for line in (*decision.evidence, *decision.flips))
        yield ""
    if report.pairs:
        yield from _comparison_lines(report)
    for name, agent in report.agents.items():
        yield from _agent_lines(name, agent, report.suite.cases)
    if report.notes:
        yield "## Notes"
        yield ""
        yield from (f"- {markdown_text(note.message)}" for note in report.notes)


def _comparison_lines(report: Report) -> Iterator[str]:
    """First the table that goes into papers: means, and in superscript the runs that each one beats with evidence."""
    yield "## Standing"
    yield ""
    yield from table_lines(layout.standing_table(report))
    yield from table_lines(layout.speed_table(report))
    for effect in report.snapshot_effects:
        yield f"## What {markdown_text(effect.other)} gets wrong"
        yield ""
        yield f"{markdown_text(effect.sentence)}."
        yield ""
        yield from table_lines(layout.snapshot_table(effect))
    for pair in report.pairs:
        yield from _pair_lines(pair)


def _pair_lines(pair: Pair) -> Iterator[str]:
    yield f"## {markdown_text(pair.candidate)} against {markdown_text(pair.baseline)}"
    yield ""
    yield from table_lines(layout.pair_table(pair))
    yield from (f"- {markdown_text(sentence)}" for sentence in layout.pair_sentences(pair))
    yield ""
    for segment in layout.pair_segment_tables(pair):
        yield from table_lines(segment)
    yield from table_lines(layout.telling_table(pair))


def _agent_lines(name: str, agent: AgentSummary, cases: int) -> Iterator[str]:
    yield f"## {markdown_text(name)}"
    yield ""
    yield f"{layout.case_counts(agent, cases)}."
    yield ""
    yield from table_lines(layout.measure_table(agent))
    for segment in layout.segment_tables(agent):
        yield from table_lines(segment)
    yield from table_lines(layout.latency_table(agent))
    preparation = layout.preparation(agent)
    if preparation:
        yield f"{markdown_text(preparation)}."
        yield ""
    yield from table_lines(layout.worst_table(agent))


def table_lines(table: Table) -> Iterator[str]:
    """The table under its title; nothing if it has no row."""
    if not table.rows:
        return
    if table.title:
        yield f"### {markdown_text(table.title[0].upper() + table.title[1:])}"
        yield ""
    yield _row(markdown_text(column, LONGEST_CELL) for column in table.columns)
    yield "|" + " --- |" * len(table.columns)
    yield from (_row(map(_cell, row)) for row in table.rows)
    yield ""


def _row(texts: Iterator[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, RankedMean) and cell.beats:
        return f"{cell.mean.text}<sup>{' '.join(cell.beats)}</sup>"
    return markdown_text(cell.text, LONGEST_CELL)
