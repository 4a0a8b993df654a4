"""A report as Markdown, fit for a pull request: the summary first, then what failed, then everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from searchmark.analysis.comparison import Pair
from searchmark.analysis.failure_kinds import FailureKind
from searchmark.errors import shortened
from searchmark.findings import Finding
from searchmark.reports import comparison_layout, gate_layout, layout
from searchmark.reports.advice_layout import failed_table, more_failed, recommendation_sentences, target_table
from searchmark.reports.cells import Cell, RankedMean, Table
from searchmark.reports.failure_kinds import kind_lines, kind_sentence
from searchmark.reports.finding_layout import case_names, reason_and_remedy
from searchmark.reports.history_layout import history_lines
from searchmark.reports.hosts import latencies_not_compared
from searchmark.reports.outcome import first_sentence
from searchmark.reports.perturbation_layout import perturbation_table
from searchmark.reports.quoting import LONGEST_SENTENCE, html_in_markdown, markdown_line, markdown_text, without_commands, xml_text
from searchmark.reports.report import Report
from searchmark.reports.usage_layout import usage_table, usages_table
from searchmark.reports.vector_layout import ann_table, anns_table, stabilities_table, stability_table, vector_lines

LONGEST_CELL = 120

Section = Callable[[Report], Iterator[str]]


def to_markdown(report: Report) -> str:
    return "\n".join(line for section in SECTIONS for line in section(report)).rstrip() + "\n"


def _verdict(report: Report) -> Iterator[str]:
    untrusted = first_sentence(report)
    yield from () if untrusted is None else (f"**{markdown_text(untrusted, LONGEST_SENTENCE)}**", "")
    yield f"# {markdown_text(report.suite.name, LONGEST_CELL)}: search quality"
    yield ""
    gate = gate_layout.gate_sentence(report)
    if gate:
        yield f"**{markdown_text(gate, LONGEST_SENTENCE)}**"
        yield ""
        yield from _list(gate_layout.gate_lines(report))
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
        yield from table_lines(comparison_layout.standing_table(report))
        yield from table_lines(comparison_layout.speed_table(report))
        yield from _list(filter(None, [latencies_not_compared(report)]))
        yield from table_lines(usages_table(report))
        yield from table_lines(anns_table(report.agents))
        yield from table_lines(stabilities_table(report.agents))
    else:
        for name in report.agents:
            yield from _means(report, name)


def _means(report: Report, name: str) -> Iterator[str]:
    agent = report.agents[name]
    yield f"{markdown_line(name, LONGEST_CELL)}, {layout.case_counts(agent, report.suite.cases)}."
    yield ""
    yield from table_lines(layout.measure_table(agent))
    yield from table_lines(layout.latency_table(agent))
    for own in () if report.pairs else (usage_table(agent), ann_table(agent), stability_table(agent)):
        yield from table_lines(own)
    yield from _list(vector_lines(agent))
    preparation = layout.preparation(agent)
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
        yield from table_lines(comparison_layout.snapshot_table(effect))
    for pair in report.pairs:
        yield from _pair_lines(pair)


def _pair_lines(pair: Pair) -> Iterator[str]:
    yield f"## {markdown_text(pair.candidate, LONGEST_CELL)} against {markdown_text(pair.baseline, LONGEST_CELL)}"
    yield ""
    yield from table_lines(comparison_layout.pair_table(pair))
    yield from _list(comparison_layout.pair_sentences(pair))
    for segment in comparison_layout.pair_segment_tables(pair):
        yield from table_lines(segment)
    yield from table_lines(comparison_layout.telling_table(pair))


def _runs(report: Report) -> Iterator[str]:
    """What failed in each run, and how it fared in parts of the suite; in a comparison its means as well."""
    for name, agent in report.agents.items():
        if len(report.agents) > 1:
            yield f"## {markdown_text(name, LONGEST_CELL)}"
            yield ""
        if report.pairs:
            yield from _means(report, name)
        yield from _failed(report, name)
        yield from table_lines(layout.best_table(agent))
        for segment in layout.segment_tables(agent):
            yield from table_lines(segment, f"{segment.columns[0]} breakdown")


def _failed(report: Report, name: str) -> Iterator[str]:
    """Every case that failed, up to a number, or at least the lowest ones."""
    failed = failed_table(report, name)
    yield from table_lines(failed) if failed.rows else table_lines(layout.worst_table(report.agents[name]))
    more = more_failed(report, name, len(failed.rows))
    yield from (more, "") if more else ()
    for kind in report.agents[name].failures:
        yield from _folded(kind)


def _folded(kind: FailureKind) -> Iterator[str]:
    """A kind of failure, with what is known of where it arose below a line that unfolds it."""
    lines = list(kind_lines(kind))
    said = html_in_markdown(shortened(kind_sentence(kind), LONGEST_SENTENCE))
    if not lines:
        yield from (markdown_line(kind_sentence(kind), LONGEST_SENTENCE), "")
        return
    yield f"<details><summary>{said}</summary>"
    yield "<pre>"  # what is in it is no Markdown until a line is empty, or has blanks alone
    yield from (without_commands(xml_text(line)) if line.strip() else "&nbsp;" for line in lines)
    yield from ("</pre>", "</details>", "")


def _versions(report: Report) -> Iterator[str]:
    lines = list(table_lines(layout.version_table(report.agents)))
    yield from ("## Versions", "", *lines) if lines else ()


def _recommendations(report: Report) -> Iterator[str]:
    yield from _titled_list("Recommendations", recommendation_sentences(report))


def _history(report: Report) -> Iterator[str]:
    yield from _titled_list("Since earlier runs", (line.text for line in history_lines(report)))


def _findings(report: Report) -> Iterator[str]:
    yield from ("## Findings", "", *finding_lines(report.audit)) if report.audit else ()


def finding_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """Every finding; below it its cases, and below the first of each code why it matters and what to do."""
    told = set[str]()
    for each in findings:
        yield f"- {each.severity}: {markdown_text(each.message, LONGEST_SENTENCE)} ({markdown_text(each.code, LONGEST_CELL)})"
        yield from (f"  - {markdown_line(line, LONGEST_SENTENCE)}" for line in _below(each, each.code not in told))
        told.add(each.code)
    yield ""


def _below(found: Finding, reasons: bool) -> Iterator[str]:
    if found.cases:
        yield f"cases: {case_names(found)}"
    if reasons:
        yield from filter(None, (reason_and_remedy(found),))


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
    if isinstance(cell, RankedMean) and cell.beats:
        return f"{cell.mean.text}<sup>{' '.join(cell.beats)}</sup>"
    return markdown_text(cell.text, LONGEST_CELL)
