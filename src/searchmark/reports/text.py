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

from searchmark.reports import layout
from searchmark.reports.quoting import visible
from searchmark.reports.report import AgentSummary, Report

WIDTH = 120
LONGEST_CELL = 90
# What CI systems take for commands: at the beginning of a line, or anywhere in it.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))", re.MULTILINE)


def to_text(report: Report, *, colour: bool = False, width: int = WIDTH) -> str:
    """The report as text; colour and another width are for those who know that it will be seen on a terminal."""
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=colour, no_color=not colour, width=width, highlight=False, emoji=False)
    parts = list(_parts(report))
    # A number that is broken over two lines is no number: rather let the line be longer than the terminal.
    console.width = max(width, *(Measurement.get(console, console.options, part).minimum for part in parts))
    for part in parts:
        console.print(part)
    return _COMMAND.sub(lambda found: found[0] + "\u200b", buffer.getvalue())


def _parts(report: Report) -> Iterator[RenderableType]:
    for agent in report.agents.values():
        yield _plain(f"{agent.name} on {report.suite.name}", "bold")
        yield _plain(layout.counted(agent, report.suite.cases))
        yield _table(layout.COLUMNS, layout.measure_rows(agent.measures))
        for segment in agent.segments:
            yield _table(layout.segment_header(agent, segment), layout.segment_rows(agent, segment))
        if agent.worst:
            yield _worst(agent)
    for note in report.notes:
        yield _plain(f"note: {note}", "yellow")
    verdict = layout.verdict(report)
    if verdict:
        yield _plain(verdict, "bold green" if report.gate and report.gate.verdict == "passed" else "bold red")


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
