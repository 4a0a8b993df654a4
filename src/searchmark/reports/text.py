"""A report for the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import rich.text
from rich.console import Console, RenderableType

from searchmark.analysis.comparison import Pair
from searchmark.findings.sentences import counted
from searchmark.reports import comparison_layout, gate_layout, layout
from searchmark.reports.advice_layout import recommendation_sentences
from searchmark.reports.cells import Table
from searchmark.reports.failure_kinds import CALLS_SHOWN, KINDS_SHOWN, PRINTED_SHOWN, kind_lines, kind_sentence
from searchmark.reports.finding_layout import finding_sentence, lines_below, more_notes, on_screen
from searchmark.reports.fitting import fitted, narrowest
from searchmark.reports.history_layout import history_lines
from searchmark.reports.hosts import latencies_not_compared
from searchmark.reports.outcome import first_sentence
from searchmark.reports.perturbation_layout import perturbation_table
from searchmark.reports.quoting import LONGEST_SENTENCE, visible, without_commands
from searchmark.reports.report import AgentSummary, Report
from searchmark.reports.usage_layout import usage_table, usages_table
from searchmark.reports.vector_layout import ann_table, anns_table, stabilities_table, stability_table, vector_lines

WIDTH = 120
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "note": ""}
# Blanks that fill a table up to its edge: they would make a line wider than a narrow terminal.
_LINE_END = re.compile(r" +((?:\x1b\[0m)?)$", re.MULTILINE)

Part = rich.text.Text | Table


def to_text(report: Report, *, brief: bool = False, colour: bool = False, width: int = WIDTH) -> str:
    """The report as text; colour and another width are for those who know that it will be seen on a terminal.

    A brief one has one table for all pairs, and neither segments, single cases nor advice.
    """
    return printed(_parts(report, brief), colour=colour, width=width)


def printed(found: Iterable[Part], *, colour: bool = False, width: int = WIDTH) -> str:
    """Lines and tables as text, each table laid out for the width."""
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=colour, no_color=not colour, width=width, highlight=False, emoji=False)
    parts = list(_laid_out(found, console))
    # A number that is broken over two lines is no number: rather let the line be longer than the terminal.
    console.width = max(width, *(narrowest(part, console) for part in parts))
    for part in parts:
        console.print(part)
    return without_commands(_LINE_END.sub(r"\1", buffer.getvalue()))


def _laid_out(found: Iterable[Part], console: Console) -> Iterator[RenderableType]:
    for part in found:
        yield from fitted(part, console) if isinstance(part, Table) else (part,)


def _parts(report: Report, brief: bool) -> Iterator[Part]:
    untrusted = first_sentence(report)
    if untrusted is not None:
        yield _line(untrusted, "bold red")
    if report.pairs:
        yield from _comparison_parts(report, brief)
    else:
        for name, agent in report.agents.items():
            yield from _agent_parts(name, agent, report)
        yield from _tables(perturbation_table(report))
    for decision in report.decisions:
        yield _line(decision.sentence, "bold")
        for line in (*decision.evidence, *decision.flips):
            yield _line(f"  {line}")
    if not brief:
        yield from (_line(f"recommended: {sentence}") for sentence in recommendation_sentences(report))
        yield from (_line(line.text, "yellow") for line in history_lines(report))
    yield from _finding_parts(report, brief)
    gate = gate_layout.gate_sentence(report)
    if gate:
        yield _line(gate, "bold green" if report.gate and report.gate.verdict == "passed" else "bold red")
        yield from map(_line, gate_layout.gate_lines(report))


def _finding_parts(report: Report, brief: bool) -> Iterator[Part]:
    """What must not be missed; what is below a finding is left out of notes, and of a brief report."""
    for found, new in on_screen(report.audit):
        yield _line(finding_sentence(found), SEVERITY_STYLES[found.severity])
        if found.severity != "note" and not brief:
            yield from map(_line, lines_below(found, reasons=new))
    yield from map(_line, more_notes(report.audit))


def _comparison_parts(report: Report, brief: bool) -> Iterator[Part]:
    yield from _tables(
        _with_suite(comparison_layout.standing_table(report), report.suite.name),
        comparison_layout.speed_table(report),
        comparison_layout.other_latencies(report),
        usages_table(report),
        anns_table(report.agents),
        stabilities_table(report.agents),
        perturbation_table(report),
    )
    yield from map(_line, filter(None, [latencies_not_compared(report)]))
    for effect in report.snapshot_effects:
        yield _line(effect.sentence, "bold")
        if not brief:
            yield from _tables(comparison_layout.snapshot_table(effect))
    if brief:
        yield from _tables(comparison_layout.verdict_table(report))
        return
    for name, agent in report.agents.items():
        yield from _failure_parts(agent, f"{name}: ")
    for pair in report.pairs:
        yield from _pair_parts(pair)


def _with_suite(standing: Table, suite: str) -> Table:
    """The standing is the first thing on the screen, so that it says of what it is."""
    letter, run, *measures = standing.columns
    return replace(standing, columns=(letter, f"{run} on {suite}", *measures))


def _agent_parts(name: str, agent: AgentSummary, report: Report) -> Iterator[Part]:
    yield _line(f"{name} on {report.suite.name}", "bold")
    yield _line(layout.case_counts(agent, report.suite.cases))
    yield from _tables(layout.measure_table(agent), *layout.segment_tables(agent), layout.latency_table(agent))
    yield from _tables(usage_table(agent), ann_table(agent), stability_table(agent))
    yield from map(_line, vector_lines(agent))
    preparation = layout.preparation(agent)
    if preparation:
        yield _line(preparation)
    yield from _tables(layout.worst_table(agent))
    yield from _failure_parts(agent)


def _failure_parts(agent: AgentSummary, of_run: str = "") -> Iterator[Part]:
    """The kinds of failures, each with the innermost calls that led to it."""
    for kind in agent.failures[:KINDS_SHOWN]:
        yield _line(f"{of_run}{kind_sentence(kind)}", "red")
        yield from (_line(f"  {line}") for line in kind_lines(kind, CALLS_SHOWN, PRINTED_SHOWN))
    more = len(agent.failures) - KINDS_SHOWN
    if more > 0:
        yield _line(f"{of_run}{counted(more, 'more kind')} of failures, in the Markdown, HTML and JSON report")


def _pair_parts(pair: Pair) -> Iterator[Part]:
    yield _line(f"{pair.candidate} against {pair.baseline}", "bold")
    yield from _tables(comparison_layout.pair_table(pair))
    for sentence in comparison_layout.pair_sentences(pair):
        yield _line(sentence)
    yield from _tables(*comparison_layout.pair_segment_tables(pair), comparison_layout.telling_table(pair))


def _line(text: str, style: str = "") -> rich.text.Text:
    return rich.text.Text(visible(text, LONGEST_SENTENCE), style=style)


def _tables(*tables: Table) -> Iterator[Table]:
    """The tables that have rows."""
    return (table for table in tables if table.rows)
