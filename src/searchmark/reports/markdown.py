"""A report as Markdown, fit for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby

from searchmark.errors import shortened
from searchmark.reports import comparison_tables, run_tables
from searchmark.reports.cells import Cell, Table
from searchmark.reports.comparison_tables import failed_table, more_failed, recommendation_sentences, target_table
from searchmark.reports.parts import (
    Folded,
    Found,
    Heading,
    Part,
    Point,
    Sentence,
    decision_parts,
    effect_parts,
    failure_parts,
    finding_parts,
    gate_parts,
    pair_parts,
    points,
    run_parts,
    warning_parts,
)
from searchmark.reports.quoting import LONGEST_SENTENCE, html_in_markdown, markdown_line, markdown_text, without_commands, xml_text
from searchmark.reports.report import Report, why_latencies_not_comparable
from searchmark.reports.run_tables import (
    beside_times,
    case_names,
    history_lines,
    perturbation_table,
    reason_and_remedy,
)

LONGEST_CELL = 120


def to_markdown(report: Report) -> str:
    return markdown_of(_report_parts(report))


def _report_parts(report: Report) -> Iterator[Part]:
    """In the order in which they are read."""
    yield from warning_parts(report)
    yield Heading(f"{report.suite.name}: search quality", 1)
    yield from (*gate_parts(report), *decision_parts(report))
    yield from _summary(report)
    yield perturbation_table(report)
    for effect in report.snapshot_effects:
        yield Heading(f"What {effect.other} gets wrong")
        yield from effect_parts(effect)
    for pair in report.pairs:
        yield from pair_parts(pair)
    for name in report.agents:
        yield from _parts_of_run(report, name)
    yield from _titled("Recommendations", points(recommendation_sentences(report)))
    yield from _titled("Since earlier runs", points(line.text for line in history_lines(report)))
    yield from _titled("Findings", finding_parts(report.audit))
    versions = run_tables.version_table(report.agents)
    yield from _titled("Versions", [versions] if versions.rows else [])


def _titled(title: str, parts: Iterable[Part]) -> Iterator[Part]:
    """The parts below their heading, which says nothing without them."""
    content = list(parts)
    yield from (Heading(title), *content) if content else ()


def _summary(report: Report) -> Iterator[Part]:
    """What a gate asked for with its marks; then the table that goes into papers, or the means of a single run."""
    yield Heading("Summary")
    yield target_table(report)
    if report.pairs:
        yield from (comparison_tables.standing_table(report), comparison_tables.speed_table(report))
        yield from points(filter(None, [why_latencies_not_comparable(report)]))
        yield from beside_times(report)
    else:
        for name in report.agents:
            yield from run_parts(report, name)


def _parts_of_run(report: Report, name: str) -> Iterator[Part]:
    """What failed in a run, or at least the lowest cases, and how it fared in parts of the suite; in a comparison its means."""
    agent = report.agents[name]
    yield from [Heading(name)] if len(report.agents) > 1 else []
    yield from run_parts(report, name) if report.pairs else ()
    failed = failed_table(report, name)
    yield failed if failed.rows else run_tables.worst_table(agent)
    yield from map(Sentence, filter(None, [more_failed(report, name, len(failed.rows))]))
    yield from failure_parts(agent)
    yield run_tables.best_table(agent)
    yield from (replace(each, title=f"{each.columns[0]} breakdown") for each in run_tables.segment_tables(agent))


# Parts as Markdown.


def markdown_of(parts: Iterable[Part]) -> str:
    """A document of these parts."""
    lines: list[str] = []
    for are_items, group in groupby(parts, key=lambda part: isinstance(part, Point | Found)):
        lines += chain.from_iterable(map(_lines, group))
        lines += [""] if are_items else []  # behind a list; all other parts end with an empty line of their own
    return "\n".join(lines).rstrip() + "\n"


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Table():
            yield from table_lines(part)
        case Heading():
            yield from (f"{'#' * part.level} {markdown_text(part.text, LONGEST_SENTENCE)}", "")
        case Sentence():
            is_bold = "bold" in part.style
            yield f"**{markdown_text(part.text, LONGEST_SENTENCE)}**" if is_bold else markdown_line(part.text, LONGEST_SENTENCE)
            yield ""
        case Point():
            yield f"- {markdown_line(part.text, LONGEST_SENTENCE)}"
        case Found(finding, is_first):
            message, code = markdown_text(finding.message, LONGEST_SENTENCE), markdown_text(finding.code, LONGEST_CELL)
            yield f"- {finding.severity}: {message} ({code})"
            below = [f"cases: {case_names(finding)}" if finding.cases else "", reason_and_remedy(finding) if is_first else ""]
            yield from (f"  - {markdown_line(line, LONGEST_SENTENCE)}" for line in below if line)
        case Folded():
            yield from _folded(part)


def _folded(part: Folded) -> Iterator[str]:
    """A sentence, with what else is known below a line that unfolds it."""
    if not part.lines:
        yield from (markdown_line(part.sentence, LONGEST_SENTENCE), "")
        return
    yield f"<details><summary>{html_in_markdown(shortened(part.sentence, LONGEST_SENTENCE))}</summary>"
    yield "<pre>"  # what is in it is no Markdown until a line is empty, or has blanks alone
    yield from (without_commands(xml_text(line)) if line.strip() else "&nbsp;" for line in part.lines)
    yield from ("</pre>", "</details>", "")


def table_lines(table: Table) -> Iterator[str]:
    """The table under its title; nothing if it has no row."""
    if not table.rows:
        return
    if table.title:
        yield f"### {markdown_text(table.title[0].upper() + table.title[1:], LONGEST_CELL)}"
        yield ""
    yield _row(markdown_text(column, LONGEST_CELL) for column in table.columns)
    yield "|" + " --- |" * len(table.columns)
    yield from (_row(map(_cell, row)) for row in table.rows)
    yield ""


def _row(texts: Iterator[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _cell(cell: Cell) -> str:
    if cell.raised:
        return f"{cell.text.partition(' ')[0]}<sup>{' '.join(cell.raised)}</sup>"
    return markdown_text(cell.text, LONGEST_CELL)
