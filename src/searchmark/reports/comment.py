"""A report as a comment on a pull request: the verdict, the rules, the cases that caused it, and what to run next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from searchmark.reports import comparison_layout, gate_layout, layout
from searchmark.reports.finding_layout import finding_counts, finding_sentence
from searchmark.reports.gate_rows import rule_table
from searchmark.reports.markdown import table_lines
from searchmark.reports.outcome import MEANINGS, Outcome, first_sentence, outcome_of
from searchmark.reports.quoting import markdown_line, markdown_text, visible, without_commands
from searchmark.reports.report import Report

LONGEST = 65_536  # characters that GitHub takes
MARK = "<!-- searchmark -->"  # by which a later build finds its comment, to change it instead of adding one
# Together with what is quoted (which may triple a sentence) well below the longest.
_TABLES, _CAUSES, _SENTENCE = 30_000, 15_000, 1_500
_MARKS: dict[Outcome, str] = {
    "measured": "ℹ️", "passed": "✅", "failed": "❌", "unresolvable": "⚠️", "untrusted": "⚠️", "nothing evaluated": "⚠️",
}  # fmt: skip


def to_comment(report: Report) -> str:
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    outcome = outcome_of(report)
    yield f"## {_MARKS[outcome]} Search quality: {MEANINGS[outcome]}"
    yield ""
    for sentence in filter(None, (first_sentence(report), gate_layout.gate_sentence(report))):
        yield f"**{markdown_text(sentence, _SENTENCE)}**"
        yield ""
    yield from _shortened(_tables(report), _TABLES)
    yield ""
    yield from _causes(report)
    yield f"Suite {markdown_text(report.suite.name, 100)}, {report.suite.cases} cases."
    yield ""
    yield from _next_step(report)
    yield MARK


def _tables(report: Report) -> Iterator[str]:
    if report.gate is not None:
        yield from table_lines(rule_table(report))
    elif report.pairs:
        yield from table_lines(comparison_layout.verdict_table(report))
    else:
        for agent in report.agents.values():
            yield from table_lines(layout.measure_table(agent))


def _causes(report: Report) -> Iterator[str]:
    """What else a gate has to say, and what makes numbers mean less than they seem to; of the rest how much there is."""
    doubts = [finding_sentence(found) for found in report.audit if found.severity != "note"]
    notes = finding_counts([found for found in report.audit if found.severity == "note"])
    said = (*gate_layout.gate_lines(report), *doubts, *([f"{notes} in the report"] if notes and doubts else []))
    lines = [f"- {markdown_line(line, _SENTENCE)}" for line in said]
    if lines:
        yield "<details><summary>Cases and findings</summary>"
        yield ""
        yield from _shortened(lines, _CAUSES)
        yield ""
        yield "</details>"
        yield ""


def _next_step(report: Report) -> Iterator[str]:
    """What shows more of a gate that is not passed; a command is code, between more backticks than it has itself."""
    if report.next_step is not None:
        step = without_commands(visible(report.next_step, _SENTENCE))
        fence = "`" * (3 + step.count("`"))
        yield from ("Next, to see every case:", "", f"{fence}sh", step, fence, "")
    elif report.gate is not None and report.gate.verdict != "passed":
        yield from ("Next: run the same command with `--save-run run.jsonl -o report.md` to see every case.", "")


def _shortened(lines: Iterable[str], longest: int) -> Iterator[str]:
    """As many lines as fit, and how many are left out."""
    left, given = 0, 0
    for line in lines:
        given += len(line) + 1
        if given > longest:
            left += 1
        else:
            yield line
    if left:
        yield ""
        yield f"{left} more lines are in the report."
