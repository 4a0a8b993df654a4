"""A report for the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from searchmark.analysis.comparison import Pair
from searchmark.reports import layout
from searchmark.reports.quoting import visible
from searchmark.reports.report import AgentSummary, Report

WIDTH = 120
LONGEST_CELL = 90
# What CI systems take for commands: at the beginning of a line, or anywhere in it.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))", re.MULTILINE)


def to_text(report: Report, *, brief: bool = False, colour: bool = False, width: int = WIDTH) -> str:
    """The report as text; colour and another width are for those who know that it will be seen on a terminal.

    A brief one has one table for all pairs, and neither segments nor single cases.
    """
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=colour, no_color=not colour, width=width, highlight=False, emoji=False)
    parts = list(_parts(report, brief))
    # A number that is broken over two lines is no number: rather let the line be longer than the terminal.
    console.width = max(width, *(Measurement.get(console, console.options, part).minimum for part in parts))
    for part in parts:
        console.print(part)
    return _COMMAND.sub(lambda found: found[0] + "\u200b", buffer.getvalue())


def _parts(report: Report, brief: bool) -> Iterator[RenderableType]:
    if report.pairs:
        yield from _comparison_parts(report, brief)
    for agent in report.agents.values() if not report.pairs else ():
        yield from _agent_parts(agent, report)
    for decision in report.decisions:
        yield _plain(decision.sentence, "bold")
        for line in (*decision.evidence, *decision.flips):
            yield _plain(f"  {line}")
    for note in report.notes:
        yield _plain(f"note: {note}", "yellow")
    verdict = layout.verdict(report)
    if verdict:
        yield _plain(verdict, "bold green" if report.gate and report.gate.verdict == "passed" else "bold red")


def _comparison_parts(report: Report, brief: bool) -> Iterator[RenderableType]:
    yield _standing(report)
    speeds = list(layout.speed_rows(report))
    if speeds:
        yield _table(layout.SPEED_COLUMNS, speeds)
    for travel in report.travels:
        yield _plain(travel.sentence, "bold")
        if not brief and (travel.lower or travel.higher):
            yield _table(layout.TRAVEL_COLUMNS, layout.travel_rows(travel), numbers_from=2, numbers_to=4)
    if brief:
        yield _table(layout.VERDICT_COLUMNS, layout.verdict_rows(report), numbers_from=3)
        return
    for pair in report.pairs:
        yield from _pair_parts(pair)


def _agent_parts(agent: AgentSummary, report: Report) -> Iterator[RenderableType]:
    yield _plain(f"{agent.name} on {report.suite.name}", "bold")
    yield _plain(layout.counted(agent, report.suite.cases))
    yield _table(layout.COLUMNS, layout.measure_rows(agent.measures))
    for segment in agent.segments:
        yield _table(layout.segment_header(agent, segment), layout.segment_rows(agent, segment))
    if agent.latency_ms:
        yield _table(layout.LATENCY_COLUMNS, layout.latency_rows(agent))
    conduct = layout.conduct(agent)
    if conduct:
        yield _plain(conduct)
    if agent.worst:
        yield _worst(agent)


def _standing(report: Report) -> Table:
    measures = list(next(iter(report.agents.values())).measures)
    rows = [
        (letter, name, *(f"{mean} {beaten}".rstrip() for mean, beaten in values))
        for letter, name, values in layout.standing_rows(report)
    ]
    return _table(("", f"run on {report.suite.name}", *measures), rows, numbers_from=2)


def _pair_parts(pair: Pair) -> Iterator[RenderableType]:
    yield _plain(f"{pair.candidate} against {pair.baseline}", "bold")
    yield _table(layout.PAIR_COLUMNS, layout.pair_rows(pair))
    for sentence in layout.pair_sentences(pair):
        yield _plain(sentence)
    for segment in pair.segments:
        yield _table((segment, *layout.PAIR_SEGMENT_COLUMNS), layout.pair_segment_rows(pair, segment))
    if pair.telling:
        columns = ("most telling cases", "query", "before", "after", "moves")
        yield _table(columns, layout.telling_rows(pair), numbers_from=2, numbers_to=4)


def _worst(agent: AgentSummary) -> Table:
    first = next(iter(agent.measures))
    return _table(("lowest cases", "query", first, "first hits"), layout.worst_rows(agent), numbers_from=2, numbers_to=3)


def _plain(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style)


def _cell(text: str) -> Text:
    return Text(visible(text, LONGEST_CELL))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int = 1, numbers_to: int = 99) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [list(map(_cell, row)) for row in rows]
    for column, title in enumerate(map(_cell, header)):
        if numbers_from <= column < numbers_to:
            widest = max(text.cell_len for text in (title, *(row[column] for row in cells)))
            table.add_column(title, justify="right", no_wrap=True, min_width=widest)
        else:
            table.add_column(title, overflow="fold")
    for row in cells:
        table.add_row(*row)
    return table
