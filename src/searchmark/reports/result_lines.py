"""A report in the fewest lines: the means, who is better, what follows, what is doubtful about it, and how the gate ended."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.analysis.comparison import Pair
from searchmark.reports.finding_layout import finding_sentence
from searchmark.reports.gate_layout import gate_sentence
from searchmark.reports.quoting import LONGEST_SENTENCE, visible, without_commands
from searchmark.reports.report import AgentSummary, Report


def result_lines(report: Report) -> str:
    """A line for each run, each pair, each decision, each error and warning, and the gate."""
    return without_commands("".join(f"{visible(line, LONGEST_SENTENCE)}\n" for line in _lines(report)))


def _lines(report: Report) -> Iterator[str]:
    for name, agent in report.agents.items():
        yield f"{name}: {', '.join(_means(agent))}"
    yield from map(_verdict, report.pairs)
    yield from (decision.sentence for decision in report.decisions)
    yield from (finding_sentence(found) for found in report.audit if found.severity != "note")
    sentence = gate_sentence(report)
    if sentence is not None:
        yield sentence


def _means(agent: AgentSummary) -> Iterator[str]:
    for measure, summary in agent.measures.items():
        yield f"{measure} {'undefined' if summary.mean is None else f'{summary.mean:.4f}'}"


def _verdict(pair: Pair) -> str:
    found = pair.main
    change = "" if found.difference is None else f" {found.difference:+.4f}"
    interval = "" if found.low is None or found.high is None else f" ({found.low:+.4f} to {found.high:+.4f})"
    return f"{pair.candidate} against {pair.baseline}: {pair.primary}{change}{interval} {found.verdict}"
