"""A report for the terminal: in full, as a summary, or in a few lines; also the self-test of a gate."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING

import rich.table
import rich.text
from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement

from searchmark.measures.catalogue import with_words
from searchmark.records.sentences import plain_count
from searchmark.reports import cells, comparison_tables, run_tables
from searchmark.reports.cells import Cell, Row, Table, table
from searchmark.reports.comparison_tables import (
    STATES,
    TargetLine,
    bound_text,
    gate_sentence,
    gated_value,
    recommendation_sentences,
    target_lines,
    target_subject,
)
from searchmark.reports.failed_cases import CALLS_SHOWN, KINDS_SHOWN, PRINTED_SHOWN
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
    gate_parts,
    pair_parts,
    points,
    warning_parts,
)
from searchmark.reports.quoting import LONGEST_SENTENCE, visible, without_commands
from searchmark.reports.report import MEANINGS, AgentSummary, Report, first_sentence, outcome_of, why_latencies_not_comparable
from searchmark.reports.run_tables import (
    ann_lines,
    beside_times,
    case_counts,
    finding_counts,
    finding_sentence,
    findings_on_screen,
    history_lines,
    lines_below,
    list_names,
    more_notes,
    perturbation_table,
    token_lines,
    vector_lines,
)
from searchmark.scoring.comparison import Pair

if TYPE_CHECKING:
    from searchmark.gates.self_test import DetectionPoint, FalseAlarmRate, SelfTest

# Tables for a terminal of some width: no number is broken, and no text is squeezed until nobody can read it.

LONGEST_CELL = 90


# The width down to which a text may be squeezed before its table is laid out in another way.
READABLE = 20

UNLIMITED = 10_000


def fit_table(table: Table, console: Console) -> Iterator[RenderableType]:
    """The table as it is, without what is secondary, in several parts below each other, or row by row as a list."""
    for column in ("", *table.secondary):
        table = table.without(column) if column else table
        grid = _draw_table(table)
        if narrowest(grid, console) <= console.width:
            yield grid
            return
    if _is_prose(table):
        yield from _as_list(table)
    else:
        yield from map(_draw_table, _column_groups(table, console))


def _fits(table: Table, console: Console) -> bool:
    return narrowest(_draw_table(table), console) <= console.width


def narrowest(part: RenderableType, console: Console) -> int:
    """The width that something needs at least; Rich itself never says more than there is."""
    return Measurement.get(console, console.options.update(width=UNLIMITED), part).minimum


def _is_prose(table: Table) -> bool:
    """Whether two columns or more, beside what a row is about, are words."""
    return sum(cell.breaks for cell in table.rows[0][table.keys :]) > 1


def _column_groups(table: Table, console: Console) -> Iterator[Table]:
    """As many columns as fit, then the next ones, each time behind the columns that say what a row is about."""
    keys = list(range(table.keys))
    columns: list[int] = []
    for column in range(table.keys, len(table.columns)):
        if columns and not _fits(table.only([*keys, *columns, column]), console):
            yield table.only([*keys, *columns])
            columns = []
        columns.append(column)
    yield table.only([*keys, *columns])


def _draw_table(table: Table) -> rich.table.Table:
    """A title is written above the first column, and numbers are never broken."""
    grid = rich.table.Table(box=box.SIMPLE_HEAD, pad_edge=False)
    headers = map(_cell, (table.title or table.columns[0], *table.columns[1:]))
    for header, column in zip(headers, zip(*table.rows, strict=True), strict=True):
        widest = max(text.cell_len for text in (header, *(_cell(cell.text) for cell in column)))
        if column[0].breaks:
            grid.add_column(header, overflow="fold", min_width=min(widest, READABLE))
        else:
            grid.add_column(header, justify="right", no_wrap=True, min_width=widest)
    for row in table.rows:
        grid.add_row(*(_cell(cell.text) for cell in row))
    return grid


def _as_list(table: Table) -> Iterator[RenderableType]:
    """Every row as a paragraph: what it is about, then a line for each of its other cells."""
    yield _cell(f"{table.title or table.columns[0]}:")
    for row in table.rows:
        yield _cell(" ".join(cell.text for cell in row[: table.keys]))
        yield _paragraph(table.columns[table.keys :], row[table.keys :])


def _paragraph(columns: tuple[str, ...], cells: Sequence[Cell]) -> rich.table.Table:
    grid = rich.table.Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for column, cell in zip(columns, cells, strict=True):
        grid.add_row(_cell(f"  {column}"), _cell(cell.text))
    return grid


def _cell(text: str) -> rich.text.Text:
    return rich.text.Text(visible(text, LONGEST_CELL))


# A report in the fewest lines: the means, who is better, what follows, what is doubtful about it, and how the gate ended.


def result_lines(report: Report) -> str:
    """A line for each run, each pair, each decision, each error and warning, and the gate."""
    return without_commands("".join(f"{visible(line, LONGEST_SENTENCE)}\n" for line in _result_parts(report)))


def _result_parts(report: Report) -> Iterator[str]:
    yield from filter(None, [first_sentence(report)])
    for name, agent in report.agents.items():
        yield f"{name}: {', '.join(_mean_texts(agent))}"
    yield from map(_verdict, report.pairs)
    yield from (decision.sentence for decision in report.decisions)
    yield from (finding_sentence(finding) for finding in report.audit if finding.severity != "note")
    sentence = gate_sentence(report)
    if sentence is not None:
        yield sentence


def _mean_texts(agent: AgentSummary) -> Iterator[str]:
    for measure, summary in agent.measures.items():
        yield f"{measure} {'undefined' if summary.mean is None else f'{summary.mean:.4f}'}"


def _verdict(pair: Pair) -> str:
    difference = pair.main
    if pair.why_untrusted is not None:
        return f"{pair.candidate} against {pair.baseline}: {difference.verdict}, {difference.reason}"
    change = "" if difference.difference is None else f" {difference.difference:+.4f}"
    interval = "" if difference.low is None or difference.high is None else f" ({difference.low:+.4f} to {difference.high:+.4f})"
    return f"{pair.candidate} against {pair.baseline}: {pair.primary}{change}{interval} {difference.verdict}"


# What a gate can see, as text and as JSON.


def self_test_text(result: SelfTest) -> str:
    """One line per mutation: from which size on it is caught, or why it is not; none where the run itself is not passed."""
    lines = [
        f"the gate on the run as it is: {result.verdict}",
        *(_tried_lines(result) if result.verdict == "passed" else _not_tried_lines(result)),
    ]
    return "".join(f"{visible(line)}\n" for line in lines)


def _not_tried_lines(result: SelfTest) -> list[str]:
    reasons = (reason.split("\n", 1)[0] for reason in result.reasons)
    return [
        *(f"  {reason}" for reason in reasons),
        "nothing was tried: only what a run passes can be seen to fail; give it a run that passes",
    ]


def _tried_lines(result: SelfTest) -> list[str]:
    from searchmark.gates.self_test import MOST_CATEGORIES

    width = max((len(each.mutation) for each in result.caught), default=0)
    lines = [f"  {each.mutation.ljust(width)}  {_sentence(each)}" for each in result.caught]
    if result.left_out:
        lines.append(f"only the {MOST_CATEGORIES} largest of {MOST_CATEGORIES + result.left_out} categories were tried")
    return [*lines, *_chance(result.chance)]


def _chance(rate: FalseAlarmRate | None) -> list[str]:
    if rate is None:
        return ["false alarms: not tried, since no rule compares with a baseline"]
    pairs = f"of {rate.trials:,} pairs that differ by chance alone"
    alarms = [] if rate.red is None else [f"false alarms: {rate.red:,} {pairs} are red"]
    return [*alarms, *([] if rate.not_shown is None else [f"non-inferior: not shown for {rate.not_shown:,} {pairs}"])]


def _sentence(point: DetectionPoint) -> str:
    if point.share is None:
        return f"not visible to this gate: {point.reason}"
    return f"caught from {point.share:.0%} on ({point.cases} of {point.possible} cases)"


def self_test_json(result: SelfTest) -> str:
    return json.dumps(asdict(result), indent=2) + "\n"


# A report on one screen: the means in common words, by category, what was asked for, and what it means.

SUMMARY_WIDTH = 80

LONGEST_NAME = 24


# How much of each part is shown; all of them together are about sixty lines.
RUNS, MEASURES, CATEGORIES, COLUMNS, LINES = 4, 10, 8, 4, 6

BY = "category"


def to_summary(report: Report) -> str:
    """At most about sixty lines of text, eighty columns wide, whatever the size of the suite."""
    parts = (_head(report), _mean_table_lines(report), _segments(report), _targets(report), _meaning(report))
    lines = (line for part in parts for line in part)
    return without_commands("\n".join(visible(line, LONGEST_SENTENCE) for line in lines).rstrip() + "\n")


def _head(report: Report) -> Iterator[str]:
    yield from filter(None, [first_sentence(report)])
    yield f"{visible(report.suite.name, SUMMARY_WIDTH)}: search quality"
    for name, agent in islice(report.agents.items(), RUNS):
        yield f"{visible(name, SUMMARY_WIDTH)}, {case_counts(agent, report.suite.cases)}"
    yield from _left_out(len(report.agents) - RUNS, "more run")


def _left_out(count: int, noun: str, plural: str | None = None) -> Iterator[str]:
    yield from (f"and {plain_count(count, noun, plural)}",) if count > 0 else ()


def _mean_table_lines(report: Report) -> Iterator[str]:
    """The means of all runs side by side; with their intervals if there is one run."""
    agents = dict(islice(report.agents.items(), RUNS))
    first = next(iter(agents.values()))
    measures = list(islice(first.measures, MEASURES))
    if len(agents) == 1:
        yield from _table_lines(run_tables.measure_table(first.measures).select(*run_tables.MEANS, rows=MEASURES))
    else:
        yield from _table_lines(table(("measure", *map(_short, agents)), (_row_of(name, agents.values()) for name in measures)))
    yield from _left_out(len(first.measures) - MEASURES, "more measure")
    for name, agent in agents.items():
        yield from (f"{_short(name)}, {sentence}" for sentence in (*token_lines(agent.usage), *ann_lines(agent)))
    hidden_names = list(islice(report.agents, RUNS, None))
    yield from (f"not shown: the means of {list_names(hidden_names)}",) if hidden_names else ()


def _short(name: str) -> str:
    return visible(name, LONGEST_NAME)


def _row_of(name: str, agents: Iterable[AgentSummary]) -> Row:
    """One measure of every run; a run that does not have it has no number."""
    means = (agent.measures[name].mean if name in agent.measures else None for agent in agents)
    return (with_words(name), *map(cells.number, means))


def _segments(report: Report) -> Iterator[str]:
    """By category: the first measures of one run, or the first measure of every run."""
    agents = dict(islice(report.agents.items(), RUNS))
    first = next(iter(agents.values()))
    values = list(first.segments.get(BY, {}))
    measures = list(islice(first.measures, COLUMNS))
    if not values or not measures:
        return
    first_values = values[:CATEGORIES]
    if len(agents) == 1:
        rows = (_category_row(first, value, measures) for value in first_values)
        yield from _table_lines(table((BY, *measures), rows, f"by {BY}"))
    else:
        rows = ((value, *(_category_mean(agent, value, measures[0]) for agent in agents.values())) for value in first_values)
        yield from _table_lines(table((BY, *map(_short, agents)), rows, f"{measures[0]} by {BY}"))
    yield from _left_out(len(values) - len(first_values), "more category", "more categories")


def _category_row(agent: AgentSummary, value: str, measures: Iterable[str]) -> Row:
    return (value, *(_category_mean(agent, value, measure) for measure in measures))


def _category_mean(agent: AgentSummary, value: str, measure: str) -> Cell:
    summary = agent.segments.get(BY, {}).get(value, {}).get(measure)
    return cells.number(None if summary is None else summary.mean)


def _targets(report: Report) -> Iterator[str]:
    lines = target_lines(report)
    yield from ("", "targets:") if lines else ()
    yield from map(_target_line, lines[: 2 * LINES])
    yield from _left_out(len(lines) - 2 * LINES, "more target")


def _target_line(line: TargetLine) -> str:
    value = gated_value(line).text
    return f"  {line.mark} {target_subject(line)} is {value}, asked for {bound_text(line)}: {STATES[line.state]}"


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
    yield from (finding_sentence(finding) for finding in report.audit if finding.severity == "error")  # all of them
    others = finding_counts([finding for finding in report.audit if finding.severity != "error"])
    yield from (f"more to know, in the other reports: {others}",) if others else ()


def _first(sentences: list[str], noun: str, plural: str | None = None) -> Iterator[str]:
    yield from sentences[:LINES]
    yield from _left_out(len(sentences) - LINES, noun, plural)


def _pair_verdicts(report: Report) -> Iterator[str]:
    for pair in report.pairs:
        difference = pair.main
        if pair.why_untrusted is not None:
            yield _verdict(pair)
            continue
        change = cells.number(difference.difference, signed=True).text
        yield f"{pair.candidate} against {pair.baseline}: {with_words(pair.primary)} {change}, {difference.verdict}"


def _table_lines(table: Table) -> Iterator[str]:
    """A table as lines, no number broken."""
    console = Console(file=io.StringIO(), width=SUMMARY_WIDTH, no_color=True, highlight=False, emoji=False, force_terminal=False)
    with console.capture() as capture:
        for part in fit_table(table, console):
            console.print(part, soft_wrap=False)
    yield from (line.rstrip() for line in capture.get().rstrip().split("\n"))


# A report in full.

WIDTH = 120

_FAILURES_SHOWN = KINDS_SHOWN, CALLS_SHOWN, PRINTED_SHOWN

SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "note": ""}


# Blanks that fill a table up to its edge: they would make a line wider than a narrow terminal.
_LINE_END = re.compile(r" +((?:\x1b\[0m)?)$", re.MULTILINE)


def to_text(report: Report, *, brief: bool = False, colour: bool = False, width: int = WIDTH) -> str:
    """The report as text; colour and another width are for those who know that it will be seen on a terminal.

    A brief one has one table for all pairs, and neither segments, single cases nor advice.
    """
    return layout_text(_report_parts(report, brief), colour=colour, width=width)


def layout_text(content: Iterable[Part], *, colour: bool = False, width: int = WIDTH) -> str:
    """All parts as text, each table laid out for the width."""
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=colour, no_color=not colour, width=width, highlight=False, emoji=False)
    parts = [each for part in content for each in _lay_out(part, console)]
    # A number that is broken over two lines is no number: rather let the line be longer than the terminal.
    console.width = max(width, *(narrowest(part, console) for part in parts))
    for part in parts:
        console.print(part)
    return without_commands(_LINE_END.sub(r"\1", buffer.getvalue()))


def _lay_out(part: Part, console: Console) -> Iterator[RenderableType]:
    match part:
        case Table():
            yield from fit_table(part, console) if part.rows else ()
        case Heading():
            yield from () if part.level == 1 else (_line(part.text, "bold"),)
        case Folded():
            yield _line(part.sentence, "red")
            yield from (_line(f"  {line}") for line in part.lines)
        case Found(finding):
            yield _line(finding_sentence(finding), SEVERITY_STYLES[finding.severity])
            yield from map(_line, lines_below(finding, reasons=part.is_first) if part.in_full else ())
        case Sentence() | Point():
            yield _line(part.text, part.style)


def _report_parts(report: Report, brief: bool) -> Iterator[Part]:
    yield from warning_parts(report)
    if report.pairs:
        yield from _comparison_parts(report, brief)
    else:
        for name, agent in report.agents.items():
            yield from _agent_parts(name, agent, report)
        yield perturbation_table(report)
    yield from decision_parts(report)
    if not brief:
        yield from (Sentence(f"recommended: {sentence}") for sentence in recommendation_sentences(report))
        yield from (Sentence(line.text, "yellow") for line in history_lines(report))
    # What must not be missed; what is below a finding is left out of notes, and of a brief report.
    for finding, is_first in findings_on_screen(report.audit):
        yield Found(finding, is_first, in_full=finding.severity != "note" and not brief)
    yield from points(more_notes(report.audit))
    yield from gate_parts(report)


def _comparison_parts(report: Report, brief: bool) -> Iterator[Part]:
    letter, run, *measures = (standing := comparison_tables.standing_table(report)).columns
    # The standing is the first thing on the screen, so that it says of what it is.
    yield replace(standing, columns=(letter, f"{run} on {report.suite.name}", *measures))
    yield from (comparison_tables.speed_table(report), comparison_tables.other_latencies(report), *beside_times(report))
    yield perturbation_table(report)
    yield from points(filter(None, [why_latencies_not_comparable(report)]))
    for effect in report.snapshot_effects:
        yield from islice(effect_parts(effect), 1 if brief else None)
    if brief:
        yield comparison_tables.verdict_table(report)
        return
    for name, agent in report.agents.items():
        yield from failure_parts(agent, f"{name}: ", *_FAILURES_SHOWN)
    for pair in report.pairs:
        yield from pair_parts(pair)


def _agent_parts(name: str, agent: AgentSummary, report: Report) -> Iterator[Part]:
    yield Heading(f"{name} on {report.suite.name}")
    yield Sentence(run_tables.case_counts(agent, report.suite.cases))
    yield run_tables.measure_table(agent.measures)
    yield from run_tables.segment_tables(agent)
    yield run_tables.latency_table(agent)
    yield from beside_times(agent)
    yield from points(filter(None, [*vector_lines(agent), run_tables.preparation(agent)]))
    yield run_tables.worst_table(agent)
    yield from failure_parts(agent, "", *_FAILURES_SHOWN)


def _line(text: str, style: str = "") -> rich.text.Text:
    """A line of text that may be a stranger's."""
    return rich.text.Text(visible(text, LONGEST_SENTENCE), style=style)
