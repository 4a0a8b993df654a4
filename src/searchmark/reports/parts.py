"""What reports, audits and sweeps say, part by part: the terminal and Markdown each lay the same parts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from searchmark.errors import shortened
from searchmark.records.finding import Finding
from searchmark.records.sentences import plain_count
from searchmark.reports.cells import Table
from searchmark.reports.comparison_tables import (
    gate_lines,
    gate_sentence,
    moved_cases_table,
    pair_segment_tables,
    pair_sentences,
    pair_table,
    snapshot_table,
)
from searchmark.reports.failed_cases import kind_lines, kind_sentence
from searchmark.reports.report import AgentSummary, Report, SnapshotEffect, first_sentence, outcome_of
from searchmark.reports.run_tables import (
    beside_times,
    case_counts,
    latency_table,
    measure_table,
    preparation,
    vector_lines,
    with_first_of_code,
)
from searchmark.scoring.comparison import Pair

LONGEST_NAME = 120


@dataclass(frozen=True)
class Heading:
    """What the parts below it are about; the title of a file has level 1, which a terminal does not need."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Sentence:
    """A paragraph; ``style`` is one of Rich's, of which Markdown has bold."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Point:
    """An item of a list."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Folded:
    """A sentence, and lines that only some readers want to see."""

    sentence: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A finding with its cases; the first of its code also says why it matters and what to do."""

    finding: Finding
    is_first: bool
    in_full: bool = True


Part = Heading | Sentence | Point | Folded | Found | Table


def points(lines: Iterable[str], style: str = "") -> Iterator[Part]:
    return (Point(line, style) for line in lines)


def warning_parts(report: Report) -> Iterator[Part]:
    """Why nothing is known, before anything else."""
    warning = first_sentence(report)
    if warning is not None:
        yield Sentence(warning, "yellow" if outcome_of(report) in ("measured", "passed") else "bold red")


def gate_parts(report: Report) -> Iterator[Part]:
    sentence = gate_sentence(report)
    if sentence:
        yield Sentence(sentence, "bold green" if report.gate and report.gate.verdict == "passed" else "bold red")
        yield from points(gate_lines(report))


def decision_parts(report: Report) -> Iterator[Part]:
    for decision in report.decisions:
        yield Sentence(decision.sentence, "bold")
        yield from points(f"  {line}" for line in (*decision.evidence, *decision.flips))


def effect_parts(effect: SnapshotEffect) -> Iterator[Part]:
    yield Sentence(effect.sentence, "bold")
    yield snapshot_table(effect)


def pair_parts(pair: Pair) -> Iterator[Part]:
    yield Heading(f"{pair.candidate} against {pair.baseline}")
    yield pair_table(pair)
    yield from points(pair_sentences(pair))
    yield from pair_segment_tables(pair)
    yield moved_cases_table(pair)


def failure_parts(agent: AgentSummary, of_run: str = "", kinds: int | None = None, *shown: int) -> Iterator[Part]:
    """The kinds of failures, or the first, each with the calls that led to it; ``shown`` is how many of these."""
    for kind in agent.failures[:kinds]:
        yield Folded(f"{of_run}{kind_sentence(kind)}", tuple(kind_lines(kind, *shown)))
    more = len(agent.failures) - len(agent.failures[:kinds])
    if more:
        yield Sentence(f"{of_run}{plain_count(more, 'more kind')} of failures, in the Markdown, HTML and JSON report")


def finding_parts(findings: Iterable[Finding]) -> Iterator[Part]:
    return (Found(*each) for each in with_first_of_code(findings))


def run_parts(report: Report, name: str) -> Iterator[Part]:
    """The numbers of one run: how its cases ended, its means, its times, and what it took to get ready."""
    agent = report.agents[name]
    yield Sentence(f"{shortened(name, LONGEST_NAME)}, {case_counts(agent, report.suite.cases)}.")
    yield from (measure_table(agent.measures), latency_table(agent))
    yield from () if report.pairs else beside_times(agent)  # a comparison has those of all runs in one table
    yield from points(filter(None, [*vector_lines(agent), preparation(agent)]))
