"""A report on one screen: the means in common words, by category, what was asked for, and what it means."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice

from rich.console import Console

from searchmark.findings.sentences import counted
from searchmark.measures.words import with_words
from searchmark.reports.advice_layout import STATES, GatedValue, asked, recommendation_sentences, target_subject
from searchmark.reports.cells import Cell, Count, Interval, Number, Table, Text, table
from searchmark.reports.finding_layout import finding_counts, finding_sentence
from searchmark.reports.fitting import fitted
from searchmark.reports.gate_layout import gate_sentence
from searchmark.reports.history_layout import history_lines
from searchmark.reports.layout import Row, case_counts, listed
from searchmark.reports.outcome import MEANINGS, outcome_of
from searchmark.reports.quoting import LONGEST_SENTENCE, visible, without_commands
from searchmark.reports.report import AgentSummary, Report
from searchmark.reports.targets import TargetLine, targets
from searchmark.reports.usage_layout import token_lines
from searchmark.reports.vector_layout import ann_lines

WIDTH = 80
LONGEST_NAME = 24
# How much of each part is shown; all of them together are about sixty lines.
RUNS, MEASURES, CATEGORIES, COLUMNS, LINES = 4, 10, 8, 4, 6
BY = "category"


def to_summary(report: Report) -> str:
    """At most about sixty lines of text, eighty columns wide, whatever the size of the suite."""
    parts = (_head(report), _means(report), _segments(report), _targets(report), _meaning(report))
    lines = (line for part in parts for line in part)
    return without_commands("\n".join(visible(line, LONGEST_SENTENCE) for line in lines).rstrip() + "\n")


def _head(report: Report) -> Iterator[str]:
    yield f"{visible(report.suite.name, WIDTH)}: search quality"
    for name, agent in islice(report.agents.items(), RUNS):
        yield f"{visible(name, WIDTH)}, {case_counts(agent, report.suite.cases)}"
    yield from _left_out(len(report.agents) - RUNS, "more run")


def _left_out(count: int, noun: str, plural: str | None = None) -> Iterator[str]:
    yield from (f"and {counted(count, noun, plural)}",) if count > 0 else ()


def _means(report: Report) -> Iterator[str]:
    """The means of all runs side by side; with their intervals if there is one run."""
    agents = dict(islice(report.agents.items(), RUNS))
    first = next(iter(agents.values()))
    shown = list(islice(first.measures, MEASURES))
    if len(agents) == 1:
        yield from _lines(table(("measure", "mean", "95 % interval", "cases"), (_single_row(first, name) for name in shown)))
    else:
        yield from _lines(table(("measure", *map(_short, agents)), (_row_of(name, agents.values()) for name in shown)))
    yield from _left_out(len(first.measures) - MEASURES, "more measure")
    for name, agent in agents.items():
        yield from (f"{_short(name)}, {sentence}" for sentence in (*token_lines(agent.usage), *ann_lines(agent)))
    unseen = list(islice(report.agents, RUNS, None))
    yield from (f"not shown: the means of {listed(unseen)}",) if unseen else ()


def _short(name: str) -> str:
    return visible(name, LONGEST_NAME)


def _single_row(agent: AgentSummary, name: str) -> Row:
    found = agent.measures[name]
    return (Text(with_words(name)), Number(found.mean), Interval(found.low, found.high), Count(found.cases))


def _row_of(name: str, agents: Iterable[AgentSummary]) -> Row:
    """One measure of every run; a run that does not have it has no number."""
    means = (agent.measures[name].mean if name in agent.measures else None for agent in agents)
    return (Text(with_words(name)), *map(Number, means))


def _segments(report: Report) -> Iterator[str]:
    """By category: the first measures of one run, or the first measure of every run."""
    agents = dict(islice(report.agents.items(), RUNS))
    first = next(iter(agents.values()))
    values = list(first.segments.get(BY, {}))
    measures = list(islice(first.measures, COLUMNS))
    if not values or not measures:
        return
    shown = values[:CATEGORIES]
    if len(agents) == 1:
        rows = (_category_row(first, value, measures) for value in shown)
        yield from _lines(table((BY, *measures), rows, f"by {BY}"))
    else:
        rows = ((Text(value), *(_category_mean(agent, value, measures[0]) for agent in agents.values())) for value in shown)
        yield from _lines(table((BY, *map(_short, agents)), rows, f"{measures[0]} by {BY}"))
    yield from _left_out(len(values) - len(shown), "more category", "more categories")


def _category_row(agent: AgentSummary, value: str, measures: Iterable[str]) -> tuple[Cell, ...]:
    return (Text(value), *(_category_mean(agent, value, measure) for measure in measures))


def _category_mean(agent: AgentSummary, value: str, measure: str) -> Number:
    found = agent.segments.get(BY, {}).get(value, {}).get(measure)
    return Number(None if found is None else found.mean)


def _targets(report: Report) -> Iterator[str]:
    lines = targets(report)
    yield from ("", "targets:") if lines else ()
    yield from map(_target_line, lines[: 2 * LINES])
    yield from _left_out(len(lines) - 2 * LINES, "more target")


def _target_line(line: TargetLine) -> str:
    value = GatedValue(line.value, line.expected, line.unit).text
    return f"  {line.mark} {target_subject(line)} is {value}, asked for {asked(line)}: {STATES[line.state]}"


def _meaning(report: Report) -> Iterator[str]:
    """What follows from it: the gate, decisions, the verdict of every pair, advice, and what has drifted."""
    yield ""
    yield gate_sentence(report) or MEANINGS[outcome_of(report)]
    yield from _first([decision.sentence for decision in report.decisions], "more decision")
    yield from _first(list(_pair_verdicts(report)), "more pair of runs", "more pairs of runs")
    yield from _first([f"recommended: {sentence}" for sentence in recommendation_sentences(report)], "more recommendation")
    yield from _first(
        [line.text for line in history_lines(report)], "more line about earlier runs", "more lines about earlier runs"
    )
    yield from (finding_sentence(found) for found in report.audit if found.severity == "error")  # all of them
    others = finding_counts([found for found in report.audit if found.severity != "error"])
    yield from (f"more to know, in the other reports: {others}",) if others else ()


def _first(sentences: list[str], noun: str, plural: str | None = None) -> Iterator[str]:
    yield from sentences[:LINES]
    yield from _left_out(len(sentences) - LINES, noun, plural)


def _pair_verdicts(report: Report) -> Iterator[str]:
    for pair in report.pairs:
        found = pair.main
        change = Number(found.difference, signed=True).text
        yield f"{pair.candidate} against {pair.baseline}: {with_words(pair.primary)} {change}, {found.verdict}"


def _lines(table: Table) -> Iterator[str]:
    """A table as lines, no number broken."""
    console = Console(file=io.StringIO(), width=WIDTH, no_color=True, highlight=False, emoji=False, force_terminal=False)
    with console.capture() as captured:
        for part in fitted(table, console):
            console.print(part, soft_wrap=False)
    yield from (line.rstrip() for line in captured.get().rstrip().split("\n"))
