"""What a gate asks of numbers, as lines: met, met but too close to tell, missed, or unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from searchmark.analysis.scores import Summary
from searchmark.gates.rules import RuleResult
from searchmark.options.gate_options import NUMBER_BOUNDS, NumberBound
from searchmark.reports.report import Report

TargetState = Literal["met", "close", "missed", "unknown"]
MARKS: Mapping[TargetState, str] = {"met": "✅", "close": "⚠️", "missed": "❌", "unknown": "–"}


@dataclass(frozen=True)
class TargetLine:
    """A number that a rule of the gate is about, and what became of it.

    ``close`` is met, but ``expected`` lies within the interval of the mean: other cases of the same kind could miss it.
    ``words`` is what users call the number, ours beside it where that differs. ``run`` is the worst of several.
    """

    run: str | None
    subject: str
    words: str
    where: Mapping[str, str]
    value: float | None
    low: float | None
    high: float | None
    expected: float
    bound: NumberBound
    state: TargetState
    unit: str = ""

    @property
    def mark(self) -> str:
        return MARKS[self.state]

    @property
    def within_interval(self) -> bool:
        """Whether the interval of the mean leaves it open on which side of the bound other cases would be."""
        return self.low is not None and self.high is not None and self.low <= self.expected <= self.high


def targets(report: Report) -> tuple[TargetLine, ...]:
    """A line for every rule of the gate that is about a number, in the order of the rules."""
    return tuple(_lines(report))


def _lines(report: Report) -> Iterator[TargetLine]:
    for rule in report.gate.rules if report.gate else ():
        if rule.bound in NUMBER_BOUNDS and isinstance(rule.expected, float | int) and not isinstance(rule.actual, str):
            yield _line(report, rule, float(rule.expected), rule.actual)


def _line(report: Report, rule: RuleResult, expected: float, actual: float | None) -> TargetLine:
    subject = rule.subject.removeprefix(f"{rule.run}: ")
    summary = _summary(report, rule, subject)
    low, high = (None, None) if summary is None or actual is None else (summary.low, summary.high)
    bound = cast("NumberBound", rule.bound)
    state = _state(rule, bound, expected, low, high)
    return TargetLine(rule.run, subject, rule.words or subject, rule.where, actual, low, high, expected, bound, state, rule.unit)


def _summary(report: Report, rule: RuleResult, subject: str) -> Summary | None:
    """What the report knows of the number beside its value; None if it is not the mean of a measure."""
    agent = report.agents.get(rule.run or "")
    if agent is None:
        return None
    if not rule.where:
        return agent.measures.get(subject)
    ((by, value),) = rule.where.items()
    return agent.segments.get("tag" if by == "tags" else by, {}).get(value, {}).get(subject)


def _state(rule: RuleResult, bound: NumberBound, expected: float, low: float | None, high: float | None) -> TargetState:
    if rule.verdict != "passed":
        return "missed" if rule.verdict == "failed" else "unknown"
    if low is None or high is None:
        return "met"
    return "close" if (low < expected if bound in ("at_least", "above") else high > expected) else "met"
