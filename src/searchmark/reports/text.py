"""A report for the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import rich.table
import rich.text
from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement

from searchmark.analysis.comparison import Pair
from searchmark.reports import layout
from searchmark.reports.cells import Table
from searchmark.reports.quoting import visible, without_commands
from searchmark.reports.report import AgentSummary, Report

WIDTH = 120
LONGEST_CELL = 90


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
    return without_commands(buffer.getvalue())


def _parts(report: Report, brief: bool) -> Iterator[RenderableType]:
    if report.pairs:
        yield from _comparison_parts(report, brief)
    else:
        for name, agent in report.agents.items():
            yield from _agent_parts(name, agent, report)
    for decision in report.decisions:
        yield _line(decision.sentence, "bold")
        for line in (*decision.evidence, *decision.flips):
            yield _line(f"  {line}")
    for note in report.notes:
        yield _line(f"note: {note.message}", "yellow")
    gate = layout.gate_sentence(report)
    if gate:
        yield _line(gate, "bold green" if report.gate and report.gate.verdict == "passed" else "bold red")
        yield from map(_line, layout.gate_lines(report))


def _comparison_parts(report: Report, brief: bool) -> Iterator[RenderableType]:
    yield from _tables(_with_suite(layout.standing_table(report), report.suite.name), layout.speed_table(report))
    for effect in report.snapshot_effects:
        yield _line(effect.sentence, "bold")
        if not brief:
            yield from _tables(layout.snapshot_table(effect))
    if brief:
        yield from _tables(layout.verdict_table(report))
        return
    for pair in report.pairs:
        yield from _pair_parts(pair)


def _with_suite(standing: Table, suite: str) -> Table:
    """The standing is the first thing on the screen, so that it says of what it is."""
    letter, run, *measures = standing.columns
    return replace(standing, columns=(letter, f"{run} on {suite}", *measures))


def _agent_parts(name: str, agent: AgentSummary, report: Report) -> Iterator[RenderableType]:
    yield _line(f"{name} on {report.suite.name}", "bold")
    yield _line(layout.case_counts(agent, report.suite.cases))
    yield from _tables(layout.measure_table(agent), *layout.segment_tables(agent), layout.latency_table(agent))
    preparation = layout.preparation(agent)
    if preparation:
        yield _line(preparation)
    yield from _tables(layout.worst_table(agent))


def _pair_parts(pair: Pair) -> Iterator[RenderableType]:
    yield _line(f"{pair.candidate} against {pair.baseline}", "bold")
    yield from _tables(layout.pair_table(pair))
    for sentence in layout.pair_sentences(pair):
        yield _line(sentence)
    yield from _tables(*layout.pair_segment_tables(pair), layout.telling_table(pair))


def _line(text: str, style: str = "") -> rich.text.Text:
    return rich.text.Text(visible(text), style=style)


def _cell(text: str) -> rich.text.Text:
    return rich.text.Text(visible(text, LONGEST_CELL))


def _tables(*tables: Table) -> Iterator[rich.table.Table]:
    """The tables that have rows. A title is written above the first column, and numbers are never broken."""
    for table in tables:
        if not table.rows:
            continue
        shown = rich.table.Table(box=box.SIMPLE_HEAD, pad_edge=False)
        headers = map(_cell, (table.title or table.columns[0], *table.columns[1:]))
        for header, column in zip(headers, zip(*table.rows, strict=True), strict=True):
            if column[0].breaks:
                shown.add_column(header, overflow="fold")
            else:
                widest = max(text.cell_len for text in (header, *(_cell(cell.text) for cell in column)))
                shown.add_column(header, justify="right", no_wrap=True, min_width=widest)
        for row in table.rows:
            shown.add_row(*(_cell(cell.text) for cell in row))
        yield shown
