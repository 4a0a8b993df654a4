"""What a card says of each kind of record; numbers and sentences are those of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import islice
from typing import Any

import numpy as np

from searchmark.analysis.comparison import Comparison, Pair
from searchmark.analysis.decisions import NOT_ENOUGH, Decision, Reading
from searchmark.analysis.host_times import host_times
from searchmark.analysis.latencies import latencies_of
from searchmark.analysis.scores import Scores, Summary, untrusted_because
from searchmark.analysis.usage import usage_of
from searchmark.gates.rules import Gate
from searchmark.records import STATUSES, Run, Suite
from searchmark.records.shown import counted, listed
from searchmark.reports.cards.bars import Estimate, IntervalBar, bars
from searchmark.reports.cells import (
    Cell,
    Count,
    Interval,
    MedianAndTail,
    Number,
    PValue,
    Table,
    Text,
    Verdict,
    WinsTiesLosses,
    table,
)
from searchmark.reports.finding_layout import finding_counts, finding_sentence
from searchmark.reports.gate_layout import gate_sentence
from searchmark.reports.gate_rows import rule_table
from searchmark.reports.outcome import outcome_of
from searchmark.reports.page.sections import page_of
from searchmark.reports.report import Report, SuiteSummary
from searchmark.reports.usage_layout import token_lines

ROWS_SHOWN = 5
RULES_SHOWN = 10
PAIRS_SHOWN = 3
NAMES_SHOWN = 6
HITS_SHOWN = 3

# Each is seen on white as well as on black.
GOOD, BAD, DOUBTFUL, NEUTRAL = "#2a8f5f", "#d0453d", "#a8760a", "#7a7f87"
_COLOURS = {
    "IMPROVED": GOOD, "REGRESSED": BAD, "INCONCLUSIVE": DOUBTFUL, "INVALID": DOUBTFUL,
    "passed": GOOD, "failed": BAD, "unresolvable": DOUBTFUL, "untrusted": DOUBTFUL, "nothing evaluated": DOUBTFUL,
}  # fmt: skip
_WORDS = {
    "IMPROVED": "{candidate} is better than {baseline}",
    "REGRESSED": "{candidate} is worse than {baseline}",
    "WITHIN NOISE": "{candidate} is as good as {baseline}",
    "INCONCLUSIVE": "not enough evidence that {candidate} differs from {baseline}",
    "INVALID": "{candidate} cannot be compared with {baseline}",
    "EXPLORATORY": "{candidate} against {baseline} is only explored",
}


@dataclass(frozen=True)
class CardSection:
    """Some sentences, and the table that belongs to them."""

    lines: tuple[str, ...] = ()
    table: Table | None = None


@dataclass(frozen=True)
class NotebookCard:
    """All that a card says: what the record is, how it ended, and the evidence."""

    title: str
    headline: str | None = None
    sections: tuple[CardSection, ...] = ()
    colour: str = NEUTRAL


@singledispatch
def card_of(record: Any) -> NotebookCard:
    """The card of a record."""
    raise TypeError(f"{type(record).__name__} has no card")


@card_of.register
def _suite_card(suite: Suite) -> NotebookCard:
    lines = [f"{counted(len(suite), 'case')}, {counted(len(suite.judgments), 'judgment')}"]
    if suite.table.categories is not None:
        found = Counter(category or "none" for category in suite.table.categories).most_common()
        lines.append(f"by category: {listed([f'{name} {count}' for name, count in found], NAMES_SHOWN)}")
    first = suite.cases[:ROWS_SHOWN]
    rows = [(Text(case.id), Text(case.query or ""), Text(case.category or ""), Count(len(case.judgments))) for case in first]
    cases = CardSection(tuple(lines), table(("case", "query", "category", "judgments"), rows))
    return NotebookCard(f"Suite {suite.name}", suite.description, (cases, *_more(len(suite) - len(first), "case")))


@card_of.register
def _run_card(run: Run) -> NotebookCard:
    ended = zip(STATUSES, np.bincount(run.status, minlength=len(STATUSES)).tolist(), strict=True)
    statuses = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in ended if count)
    lines = [f"{counted(len(run), 'answer')} ({statuses or 'none'}), {counted(len(run.scores), 'hit')}"]
    lines += [*_latency_lines(run)]
    lines += [*token_lines(usage_of(run))]
    first = [run.answer(row, HITS_SHOWN) for row in range(min(ROWS_SHOWN, len(run)))]
    rows = [(Text(each.case), Text(each.status), Text(", ".join(hit.id for hit in each.hits))) for each in first]
    answers = CardSection(tuple(lines), table(("case", "status", "first hits"), rows))
    return NotebookCard(f"Run {run.name}", None, (answers, *_more(len(run) - len(first), "answer")))


def _latency_lines(run: Run) -> Iterator[str]:
    """The latencies of a run, or of each host where it was measured on several."""
    measured = [("", latencies_of(run)), *((f" on {each.name}", each.latency_ms) for each in host_times(run))]
    for where, latencies in measured:
        times = [f"{kind.replace('_', ' ')} {MedianAndTail(each.p50, each.p95).text}" for kind, each in latencies.items()]
        yield from [f"latency p50 / p95{where}: {', '.join(times)}"] if times else []


@card_of.register
def _scores_card(scores: Scores) -> NotebookCard:
    doubts = tuple(untrusted_because(scores))
    title = f"Scores of {scores.judged.run.name} on {scores.judged.suite.name}, {counted(len(scores.values), 'case')}"
    headline = f"untrusted: {'; '.join(doubts)}" if doubts else None
    return NotebookCard(title, headline, (_measures(scores.summaries()),), DOUBTFUL if doubts else NEUTRAL)


@card_of.register
def _comparison_card(comparison: Comparison) -> NotebookCard:
    headline, sections = _pairs(comparison)
    title = f"Comparison of {counted(len(comparison), 'pair')} of runs"
    return NotebookCard(title, headline, sections, _pair_colour(comparison))


@card_of.register
def _decision_card(decision: Decision) -> NotebookCard:
    shown = decision.readings[:RULES_SHOWN]
    rows = [(Text(each.rule), Text(each.answer), bar) for each, bar in zip(shown, _gain_bars(shown), strict=True)]
    rules = CardSection((), table(("rule", "holds", "gain over the baseline"), rows))
    rest = tuple(line for line in decision.evidence if line not in {each.sentence for each in shown})
    colour = DOUBTFUL if decision.decision == NOT_ENOUGH else NEUTRAL
    more = _more(len(decision.readings) - len(shown), "reading")
    return NotebookCard("Decision", decision.sentence, (rules, *more, CardSection((*rest, *decision.flips))), colour)


@card_of.register
def _gate_card(gate: Gate) -> NotebookCard:
    # What is said of gates is written for reports: this one has nothing else.
    report = Report(SuiteSummary("", {}, 0), {}, gate=gate)
    return NotebookCard("Gate", gate_sentence(report), tuple(_rules(report)), _COLOURS[gate.verdict])


@card_of.register
def _report_card(report: Report) -> NotebookCard:
    outcome = outcome_of(report)
    verdict, pairs = _pairs(report.pairs)
    headline = gate_sentence(report) or (verdict if outcome == "measured" else None) or page_of(report).headline
    doubts = [finding_sentence(found) for found in report.audit if found.severity == "error"]
    others = finding_counts([found for found in report.audit if found.severity != "error"])
    said = (verdict, *(decision.sentence for decision in report.decisions), *doubts, *([f"findings: {others}"] if others else []))
    lines = CardSection(tuple(line for line in said if line and line != headline))
    runs = () if report.pairs else tuple(islice(_runs(report), PAIRS_SHOWN))
    title = f"Report on {report.suite.name}, {counted(report.suite.cases, 'case')}, {counted(len(report.agents), 'run')}"
    colour = _pair_colour(report.pairs) if outcome == "measured" else _COLOURS[outcome]
    return NotebookCard(title, headline, (lines, *_rules(report), *pairs, *runs), colour)


def _runs(report: Report) -> Iterator[CardSection]:
    for name, agent in report.agents.items():
        yield _measures(agent.measures, name)


def _measures(summaries: Mapping[str, Summary], run: str | None = None) -> CardSection:
    found = list(summaries.values())
    drawn = bars(Estimate(each.mean, each.low, each.high, Interval(each.low, each.high).text) for each in found)
    rows = [
        (Text(name), Number(each.mean), bar, Count(each.cases), Count(each.undefined))
        for (name, each), bar in zip(summaries.items(), drawn, strict=True)
    ]
    return CardSection((run,) if run else (), table(("measure", "mean", "95 % interval", "cases", "undefined"), rows))


def _pairs(pairs: Sequence[Pair]) -> tuple[str | None, tuple[CardSection, ...]]:
    """The verdict on the only pair, or none; then every pair with its measures."""
    if len(pairs) == 1:
        return _verdict(pairs[0]), (CardSection((), _differences(pairs[0])),)
    sections = tuple(CardSection((_verdict(pair),), _differences(pair)) for pair in pairs[:PAIRS_SHOWN])
    return None, (*sections, *_more(len(pairs) - PAIRS_SHOWN, "pair"))


def _pair_colour(pairs: Sequence[Pair]) -> str:
    """That of the verdict in which all pairs end."""
    verdicts = {pair.main.verdict for pair in pairs}
    return _COLOURS.get(verdicts.pop(), NEUTRAL) if len(verdicts) == 1 else NEUTRAL


def _verdict(pair: Pair) -> str:
    found = pair.main
    words = _WORDS[found.verdict].format(candidate=pair.candidate, baseline=pair.baseline)
    return f"{words} by {found.measure}: {found.verdict}, {found.reason}"


def _differences(pair: Pair) -> Table:
    found = pair.differences
    drawn = bars(
        (Estimate(each.difference, each.low, each.high, Interval(each.low, each.high, signed=True).text) for each in found),
        signed=True,
    )
    rows: list[tuple[Cell, ...]] = [
        (
            Text(each.measure),
            Number(each.difference, signed=True),
            bar,
            PValue(each.p_holm),
            WinsTiesLosses(each.wins, each.ties, each.losses),
            Verdict(each.verdict),
        )
        for each, bar in zip(found, drawn, strict=True)
    ]
    return table(("measure", "difference", "95 % interval", "p (Holm)", "wins/ties/losses", "verdict"), rows)


def _gain_bars(readings: Sequence[Reading]) -> list[IntervalBar]:
    return bars((Estimate(each.gain, each.low, each.high, each.sentence) for each in readings), signed=True)


def _rules(report: Report) -> Iterator[CardSection]:
    if report.gate is not None:
        rules = rule_table(report)
        yield CardSection((), table(rules.columns, rules.rows[:RULES_SHOWN]))
        yield from _more(len(rules.rows) - RULES_SHOWN, "rule")


def _more(count: int, noun: str) -> tuple[CardSection, ...]:
    """How many are not shown, if any."""
    return (CardSection((f"and {count:,} more {noun}{'' if count == 1 else 's'}",)),) if count > 0 else ()
