"""A report as Markdown, fit for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from searchmark.errors import shortened
from searchmark.records.finding import Finding
from searchmark.reports import comparison_tables, run_tables
from searchmark.reports.cells import Cell, Table
from searchmark.reports.comparison_tables import failed_table, more_failed, recommendation_sentences, target_table
from searchmark.reports.failed_cases import kind_lines, kind_sentence
from searchmark.reports.quoting import LONGEST_SENTENCE, html_in_markdown, markdown_line, markdown_text, without_commands, xml_text
from searchmark.reports.report import Report, first_sentence, why_latencies_not_comparable
from searchmark.reports.run_tables import (
    beside_times,
    case_names,
    history_lines,
    perturbation_table,
    reason_and_remedy,
    vector_lines,
    with_first_of_code,
)
from searchmark.scoring.comparison import Pair
from searchmark.scoring.trust import FailureKind

LONGEST_CELL = 120

Section = Callable[[Report], Iterator[str]]


def to_markdown(report: Report) -> str:
    return "\n".join(line for section in SECTIONS for line in section(report)).rstrip() + "\n"


def _verdict(report: Report) -> Iterator[str]:
    warning = first_sentence(report)
    yield from () if warning is None else (f"**{markdown_text(warning, LONGEST_SENTENCE)}**", "")
    yield f"# {markdown_text(report.suite.name, LONGEST_CELL)}: search quality"
    yield ""
    gate = comparison_tables.gate_sentence(report)
    if gate:
        yield f"**{markdown_text(gate, LONGEST_SENTENCE)}**"
        yield ""
        yield from _list(comparison_tables.gate_lines(report))
    for decision in report.decisions:
        yield f"**{markdown_text(decision.sentence, LONGEST_SENTENCE)}**"
        yield ""
        yield from _list((*decision.evidence, *decision.flips))


def _summary(report: Report) -> Iterator[str]:
    """What a gate asked for with its marks; then the table that goes into papers, or the means of a single run."""
    yield "## Summary"
    yield ""
    yield from table_lines(target_table(report))
    if report.pairs:
        yield from table_lines(comparison_tables.standing_table(report))
        yield from table_lines(comparison_tables.speed_table(report))
        yield from _list(filter(None, [why_latencies_not_comparable(report)]))
        for each in beside_times(report):
            yield from table_lines(each)
    else:
        for name in report.agents:
            yield from _means(report, name)


def _means(report: Report, name: str) -> Iterator[str]:
    agent = report.agents[name]
    yield f"{markdown_line(name, LONGEST_CELL)}, {run_tables.case_counts(agent, report.suite.cases)}."
    yield ""
    yield from table_lines(run_tables.measure_table(agent.measures))
    yield from table_lines(run_tables.latency_table(agent))
    for each in () if report.pairs else beside_times(agent):
        yield from table_lines(each)
    yield from _list(vector_lines(agent))
    preparation = run_tables.preparation(agent)
    if preparation:
        yield f"{markdown_line(preparation)}."
        yield ""


def _perturbations(report: Report) -> Iterator[str]:
    yield from table_lines(perturbation_table(report))


def _comparison(report: Report) -> Iterator[str]:
    for effect in report.snapshot_effects:
        yield f"## What {markdown_text(effect.other, LONGEST_CELL)} gets wrong"
        yield ""
        yield f"{markdown_line(effect.sentence, LONGEST_SENTENCE)}."
        yield ""
        yield from table_lines(comparison_tables.snapshot_table(effect))
    for pair in report.pairs:
        yield from _pair_lines(pair)


def _pair_lines(pair: Pair) -> Iterator[str]:
    yield f"## {markdown_text(pair.candidate, LONGEST_CELL)} against {markdown_text(pair.baseline, LONGEST_CELL)}"
    yield ""
    yield from table_lines(comparison_tables.pair_table(pair))
    yield from _list(comparison_tables.pair_sentences(pair))
    for segment in comparison_tables.pair_segment_tables(pair):
        yield from table_lines(segment)
    yield from table_lines(comparison_tables.moved_cases_table(pair))


def _runs(report: Report) -> Iterator[str]:
    """What failed in each run, and how it fared in parts of the suite; in a comparison its means as well."""
    for name, agent in report.agents.items():
        if len(report.agents) > 1:
            yield f"## {markdown_text(name, LONGEST_CELL)}"
            yield ""
        if report.pairs:
            yield from _means(report, name)
        yield from _failed(report, name)
        yield from table_lines(run_tables.best_table(agent))
        for segment in run_tables.segment_tables(agent):
            yield from table_lines(segment, f"{segment.columns[0]} breakdown")


def _failed(report: Report, name: str) -> Iterator[str]:
    """Every case that failed, up to a number, or at least the lowest ones."""
    failed = failed_table(report, name)
    yield from table_lines(failed) if failed.rows else table_lines(run_tables.worst_table(report.agents[name]))
    more = more_failed(report, name, len(failed.rows))
    yield from (more, "") if more else ()
    for kind in report.agents[name].failures:
        yield from _folded(kind)


def _folded(kind: FailureKind) -> Iterator[str]:
    """A kind of failure, with what is known of where it arose below a line that unfolds it."""
    lines = list(kind_lines(kind))
    summary = html_in_markdown(shortened(kind_sentence(kind), LONGEST_SENTENCE))
    if not lines:
        yield from (markdown_line(kind_sentence(kind), LONGEST_SENTENCE), "")
        return
    yield f"<details><summary>{summary}</summary>"
    yield "<pre>"  # what is in it is no Markdown until a line is empty, or has blanks alone
    yield from (without_commands(xml_text(line)) if line.strip() else "&nbsp;" for line in lines)
    yield from ("</pre>", "</details>", "")


def _versions(report: Report) -> Iterator[str]:
    lines = list(table_lines(run_tables.version_table(report.agents)))
    yield from ("## Versions", "", *lines) if lines else ()


def _recommendations(report: Report) -> Iterator[str]:
    yield from _titled_list("Recommendations", recommendation_sentences(report))


def _history(report: Report) -> Iterator[str]:
    yield from _titled_list("Since earlier runs", (line.text for line in history_lines(report)))


def _findings(report: Report) -> Iterator[str]:
    yield from ("## Findings", "", *finding_lines(report.audit)) if report.audit else ()


def finding_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Every finding; below it its cases, and below the first of each code why it matters and what to do."""
    for each, is_first in with_first_of_code(findings):
        yield f"- {each.severity}: {markdown_text(each.message, LONGEST_SENTENCE)} ({markdown_text(each.code, LONGEST_CELL)})"
        below = [f"cases: {case_names(each)}" if each.cases else "", reason_and_remedy(each) if is_first else ""]
        yield from (f"  - {markdown_line(line, LONGEST_SENTENCE)}" for line in below if line)
    yield ""


# In the order in which they are read; a section that has nothing to say gives no line.
SECTIONS: tuple[Section, ...] = (
    _verdict,
    _summary,
    _perturbations,
    _comparison,
    _runs,
    _recommendations,
    _history,
    _findings,
    _versions,
)


def _titled_list(title: str, sentences: Iterable[str]) -> Iterator[str]:
    lines = list(_list(sentences))
    yield from (f"## {title}", "", *lines) if lines else ()


def _list(sentences: Iterable[str]) -> Iterator[str]:
    lines = [f"- {markdown_line(sentence, LONGEST_SENTENCE)}" for sentence in sentences]
    yield from (*lines, "") if lines else ()


def table_lines(table: Table, title: str | None = None) -> Iterator[str]:
    """The table under its title, or under another one; nothing if it has no row."""
    if not table.rows:
        return
    title = title or table.title
    if title:
        yield f"### {markdown_text(title[0].upper() + title[1:], LONGEST_CELL)}"
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
