"""Records as HTML cards in notebooks. All texts are escaped, and secrets left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, singledispatch
from typing import Any

import numpy as np
from jinja2 import PackageLoader, Template

from searchmark.gates.rules import Gate
from searchmark.io.secrets import environment_secrets, scrub
from searchmark.records.answers import STATUSES
from searchmark.records.run import Run
from searchmark.records.sentences import NotebookRecord, count_of, list_first
from searchmark.records.suite import Suite
from searchmark.reports import cells
from searchmark.reports.cells import Cell, Estimate, Table, table
from searchmark.reports.comparison_tables import gate_sentence, pair_table, rule_table
from searchmark.reports.page.document import page_of, safe_environment
from searchmark.reports.page.pictures import Scale, Whisker, by_attributes, whisker
from searchmark.reports.report import Report, SuiteSummary, outcome_of
from searchmark.reports.run_tables import MEANS, finding_counts, finding_sentence, measure_table, token_lines
from searchmark.scoring.comparison import Comparison, Pair
from searchmark.scoring.costs import host_times, latencies_of, usage_of
from searchmark.scoring.decisions import NOT_ENOUGH, NOTHING_DECIDED, Decision, RuleOutcome
from searchmark.scoring.scores import Scores, Summary

# Intervals as small pictures, as on the page.


@dataclass(frozen=True)
class DrawnCell:
    """A cell with its interval on a scale that the whole column shares."""

    text: str
    mark: Whisker | None = None
    zero: float | None = None  # where 0 is, if the scale goes to both sides of it


def drawn_rows(table: Table) -> list[tuple[DrawnCell, ...]]:
    """The rows of a table, with bars around 0 for differences, else from 0, or the lowest, to 1, or the highest."""
    return list(zip(*map(_drawn_column, zip(*table.rows, strict=True)), strict=True))


def _drawn_column(column: Sequence[Cell]) -> list[DrawnCell]:
    estimates = [cell.estimate for cell in column if cell.estimate is not None]
    ends = [end for each in estimates for end in (each.mean, each.low, each.high) if end is not None]
    widest = max(map(abs, ends), default=0.0) or 1.0
    signed = any(each.signed for each in estimates)
    scale = Scale(-widest, widest) if signed else Scale(min((0.0, *ends)), max((1.0, *ends)))
    zero = scale.at(0.0) if scale.low < 0 else None
    marks = (
        whisker(scale, each.mean, each.low, each.high) if (each := cell.estimate) and each.mean is not None else None
        for cell in column
    )
    return [DrawnCell(cell.text, mark, zero) for cell, mark in zip(column, marks, strict=True)]


# What a card says of each kind of record; numbers and sentences are those of reports.

ROWS_SHOWN = 5

RULES_SHOWN = 10

PAIRS_SHOWN = 3

NAMES_SHOWN = 6

HITS_SHOWN = 3


# Each is seen on white as well as on black.
GOOD_COLOUR, BAD_COLOUR, DOUBTFUL_COLOUR, NEUTRAL_COLOUR = "#2a8f5f", "#d0453d", "#a8760a", "#7a7f87"


_COLOUR_OF_OUTCOME = {
    "IMPROVED": GOOD_COLOUR, "REGRESSED": BAD_COLOUR, "INCONCLUSIVE": DOUBTFUL_COLOUR, "INVALID": DOUBTFUL_COLOUR,
    "passed": GOOD_COLOUR, "failed": BAD_COLOUR, "unresolvable": DOUBTFUL_COLOUR, "untrusted": DOUBTFUL_COLOUR,
    "nothing evaluated": DOUBTFUL_COLOUR,
}  # fmt: skip


_VERDICT_SENTENCES = {
    "IMPROVED": "{candidate} is better than {baseline}",
    "REGRESSED": "{candidate} is worse than {baseline}",
    "WITHIN NOISE": "{candidate} is as good as {baseline}",
    "INCONCLUSIVE": "not enough evidence that {candidate} differs from {baseline}",
    "INVALID": "{candidate} cannot be compared with {baseline}",
    "EXPLORATORY": "{candidate} against {baseline} is only explored",
}


@dataclass(frozen=True)
class NotebookCard:
    """All that a card says: what the record is, how it ended, and the evidence."""

    title: str
    headline: str | None = None
    parts: tuple[str | Table, ...] = ()  # sentences, and the tables that belong to them
    colour: str = NEUTRAL_COLOUR


@singledispatch
def build_card(record: Any) -> NotebookCard:
    """The card of a record."""
    raise TypeError(f"{type(record).__name__} has no card")


@build_card.register
def _suite_card(suite: Suite) -> NotebookCard:
    lines = [f"{count_of(len(suite), 'case')}, {count_of(len(suite.judgments), 'judgment')}"]
    if suite.table.categories is not None:
        categories = Counter(category or "none" for category in suite.table.categories).most_common()
        lines.append(f"by category: {list_first([f'{name} {count}' for name, count in categories], NAMES_SHOWN)}")
    first = suite.cases[:ROWS_SHOWN]
    rows = [(case.id, case.query or "", case.category or "", len(case.judgments)) for case in first]
    cases = table(("case", "query", "category", "judgments"), rows)
    return NotebookCard(f"Suite {suite.name}", suite.description, (*lines, cases, *_not_shown(len(suite) - len(first), "case")))


@build_card.register
def _run_card(run: Run) -> NotebookCard:
    counts = zip(STATUSES, np.bincount(run.status, minlength=len(STATUSES)).tolist(), strict=True)
    statuses = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts if count)
    lines = [f"{count_of(len(run), 'answer')} ({statuses or 'none'}), {count_of(len(run.scores), 'hit')}"]
    lines += [*_latency_lines(run)]
    lines += [*token_lines(usage_of(run))]
    first = [run.answer(row, HITS_SHOWN) for row in range(min(ROWS_SHOWN, len(run)))]
    rows = [(each.case, each.status, ", ".join(hit.id for hit in each.hits)) for each in first]
    answers = table(("case", "status", "first hits"), rows)
    return NotebookCard(f"Run {run.name}", None, (*lines, answers, *_not_shown(len(run) - len(first), "answer")))


def _latency_lines(run: Run) -> Iterator[str]:
    """The latencies of a run, or of each host where it was measured on several."""
    latencies_by_host = [("", latencies_of(run)), *((f" on {each.name}", each.latency_ms) for each in host_times(run))]
    for where, latencies in latencies_by_host:
        times = [f"{kind.replace('_', ' ')} {cells.median_and_tail(each.p50, each.p95).text}" for kind, each in latencies.items()]
        yield from [f"latency p50 / p95{where}: {', '.join(times)}"] if times else []


@build_card.register
def _scores_card(scores: Scores) -> NotebookCard:
    title = f"Scores of {scores.matched.run.name} on {scores.matched.suite.name}, {count_of(len(scores.values), 'case')}"
    headline = f"untrusted: {scores.why_untrusted}" if scores.distrust else None
    return NotebookCard(title, headline, (_means_table(scores.summaries()),), DOUBTFUL_COLOUR if headline else NEUTRAL_COLOUR)


@build_card.register
def _comparison_card(comparison: Comparison) -> NotebookCard:
    headline, parts = _pair_parts(comparison)
    title = f"Comparison of {count_of(len(comparison), 'pair')} of runs"
    return NotebookCard(title, headline, parts, _pair_colour(comparison))


@build_card.register
def _decision_card(decision: Decision) -> NotebookCard:
    readings = decision.readings[:RULES_SHOWN]
    rows = [(each.rule, each.answer, _gain(each)) for each in readings]
    rules = table(("rule", "holds", "gain over the baseline"), rows)
    rest = tuple(line for line in decision.evidence if line not in {each.sentence for each in readings})
    colour = DOUBTFUL_COLOUR if decision.decision in (NOT_ENOUGH, NOTHING_DECIDED) else NEUTRAL_COLOUR
    more = _not_shown(len(decision.readings) - len(readings), "reading")
    return NotebookCard("Decision", decision.sentence, (rules, *more, *rest, *decision.flips), colour)


@build_card.register
def _gate_card(gate: Gate) -> NotebookCard:
    # What is said of gates is written for reports: this one has nothing else.
    report = Report(SuiteSummary("", {}, 0), {}, gate=gate)
    return NotebookCard("Gate", gate_sentence(report), tuple(_rule_parts(report)), _COLOUR_OF_OUTCOME[gate.verdict])


@build_card.register
def _report_card(report: Report) -> NotebookCard:
    outcome = outcome_of(report)
    verdict, pairs = _pair_parts(report.pairs)
    headline = gate_sentence(report) or (verdict if outcome == "measured" else None) or page_of(report).headline
    doubts = [finding_sentence(finding) for finding in report.audit if finding.severity == "error"]
    others = finding_counts([finding for finding in report.audit if finding.severity != "error"])
    sentences = (
        verdict,
        *(decision.sentence for decision in report.decisions),
        *doubts,
        *([f"findings: {others}"] if others else []),
    )
    lines = (line for line in sentences if line and line != headline)
    runs = [] if report.pairs else list(report.agents.items())[:PAIRS_SHOWN]
    means = (part for name, agent in runs for part in (name, _means_table(agent.measures)))
    title = f"Report on {report.suite.name}, {count_of(report.suite.cases, 'case')}, {count_of(len(report.agents), 'run')}"
    colour = _pair_colour(report.pairs) if outcome == "measured" else _COLOUR_OF_OUTCOME[outcome]
    return NotebookCard(title, headline, (*lines, *_rule_parts(report), *pairs, *means), colour)


def _means_table(summaries: Mapping[str, Summary]) -> Table:
    means = measure_table(summaries).select(*MEANS)
    rows = ((*row, each.undefined) for row, each in zip(means.rows, summaries.values(), strict=True))
    return table((*means.columns, "undefined"), rows)


def _pair_parts(pairs: Sequence[Pair]) -> tuple[str | None, tuple[str | Table, ...]]:
    """The verdict on the only pair, or none; then every pair with its measures."""
    if len(pairs) == 1:
        return _verdict_sentence(pairs[0]), (pair_table(pairs[0]),)
    first = (part for pair in pairs[:PAIRS_SHOWN] for part in (_verdict_sentence(pair), pair_table(pair)))
    return None, (*first, *_not_shown(len(pairs) - PAIRS_SHOWN, "pair"))


def _pair_colour(pairs: Sequence[Pair]) -> str:
    """That of the verdict in which all pairs end."""
    verdicts = {pair.main.verdict for pair in pairs}
    return _COLOUR_OF_OUTCOME.get(verdicts.pop(), NEUTRAL_COLOUR) if len(verdicts) == 1 else NEUTRAL_COLOUR


def _verdict_sentence(pair: Pair) -> str:
    difference = pair.main
    words = _VERDICT_SENTENCES[difference.verdict].format(candidate=pair.candidate, baseline=pair.baseline)
    return f"{words} by {difference.measure}: {difference.verdict}, {difference.reason}"


def _gain(reading: RuleOutcome) -> Cell:
    return Cell(reading.low, reading.sentence, estimate=Estimate(reading.gain, reading.low, reading.high, signed=True))


def _rule_parts(report: Report) -> Iterator[str | Table]:
    if report.gate is not None:
        rules = rule_table(report)
        yield rules.select(*rules.columns, rows=RULES_SHOWN)
        yield from _not_shown(len(rules.rows) - RULES_SHOWN, "rule")


def _not_shown(count: int, noun: str) -> tuple[str, ...]:
    """How many are not shown, if any."""
    return (f"and {count:,} more {noun}{'' if count == 1 else 's'}",) if count > 0 else ()


LONGEST_TEXT = 300


def card(record: NotebookRecord) -> str:
    """A record in HTML, without secrets of the environment."""
    return _template().render(card=scrub(build_card(record), environment_secrets()))


@cache
def _template() -> Template:
    environment = safe_environment(PackageLoader("searchmark.reports", ""), LONGEST_TEXT, by_attributes)
    return environment.get_template("card.html", globals={"drawn_rows": drawn_rows})
