"""A report as Markdown, fit for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from searchmark.analysis.comparison import Pair
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
    for decision in report.decisions:
        yield f"**{markdown_text(decision.sentence)}**"
        yield ""
        yield from (f"- {markdown_text(line)}" for line in (*decision.evidence, *decision.flips))
        yield ""
    if report.pairs:
        yield from _standing_lines(report)
        for travel in report.travels:
            yield f"## What {markdown_text(travel.there)} gets wrong"
            yield ""
            yield f"{markdown_text(travel.sentence)}."
            yield ""
            yield from _table(layout.TRAVEL_COLUMNS, layout.travel_rows(travel))
        for pair in report.pairs:
            yield from _pair_lines(pair)
    for agent in report.agents.values():
        yield from _agent_lines(agent, report.suite.cases)
    if report.notes:
        yield "## Notes"
        yield ""
        yield from (f"- {markdown_text(note)}" for note in report.notes)


def _standing_lines(report: Report) -> Iterator[str]:
    """The table that goes into papers: means, and in superscript the runs that each one beats with evidence."""
    measures = list(next(iter(report.agents.values())).measures)
    yield "## Standing"
    yield ""
    yield _row(("", "run", *measures))
    yield "|" + " --- |" * (len(measures) + 2)
    for letter, name, values in layout.standing_rows(report):
        cells = [f"{mean}<sup>{beaten}</sup>" if beaten else mean for mean, beaten in values]
        yield f"| {letter} | {markdown_text(name, 120)} | {' | '.join(cells)} |"
    yield ""
    speeds = list(layout.speed_rows(report))
    if speeds:
        yield from _table(layout.SPEED_COLUMNS, speeds)


def _pair_lines(pair: Pair) -> Iterator[str]:
    yield f"## {markdown_text(pair.candidate)} against {markdown_text(pair.baseline)}"
    yield ""
    yield from _table(layout.PAIR_COLUMNS, layout.pair_rows(pair))
    yield from (f"- {markdown_text(sentence)}" for sentence in layout.pair_sentences(pair))
    yield ""
    for segment in pair.segments:
        yield f"### By {markdown_text(segment)}"
        yield ""
        yield from _table((segment, *layout.PAIR_SEGMENT_COLUMNS), layout.pair_segment_rows(pair, segment))
    if pair.telling:
        yield "### Most telling cases"
        yield ""
        yield from _table(("case", "query", "before", "after", "moves"), layout.telling_rows(pair))


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
    if agent.latency_ms:
        yield from _table(layout.LATENCY_COLUMNS, layout.latency_rows(agent))
    conduct = layout.conduct(agent)
    if conduct:
        yield f"{markdown_text(conduct)}."
        yield ""
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
