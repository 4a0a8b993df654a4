"""What a gate asks of numbers, as lines: met, met but not safely, missed, or unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from searchmark.analysis.scores import Summary
from searchmark.gates.pins import EVERY_CASE
from searchmark.gates.rules import GateVerdict, RuleResult
from searchmark.options.gate_options import NUMBER_BOUNDS, NumberBound
from searchmark.reports.measured import measure_named
from searchmark.reports.report import AgentSummary, Report

TargetState = Literal["met", "close", "few", "open", "missed", "unknown"]
MARKS: Mapping[TargetState, str] = {"met": "✅", "close": "⚠️", "few": "⚠️", "open": "⚠️", "missed": "❌", "unknown": "–"}

_NOT_PASSED: Mapping[GateVerdict, TargetState] = {"failed": "missed", "unresolvable": "unknown", "untrusted": "unknown"}


@dataclass(frozen=True)
class TargetLine:
    """A number that a rule of the gate is about, and what became of it.

    ``close`` is met, but ``expected`` lies within the interval of the mean: other cases of the same kind could miss it. So it is
    with a mean of too ``few`` cases for an interval, and ``open`` is a mean whose interval the report does not have. ``words``
    is what users call the number, ours beside it where that differs. ``run`` is the worst of several. What does not tell
    quality, such as how much was judged, has no mark.
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
    tells_quality: bool = True

    @property
    def mark(self) -> str:
        return MARKS[self.state] if self.tells_quality else ""


def targets(report: Report) -> tuple[TargetLine, ...]:
    """A line for every rule of the gate that is about a number, in the order of the rules."""
    return tuple(_lines(report))


def _lines(report: Report) -> Iterator[TargetLine]:
    for rule in report.gate.rules if report.gate else ():
        if rule.bound in NUMBER_BOUNDS and isinstance(rule.expected, float | int) and not isinstance(rule.actual, str):
            yield _line(report, rule, float(rule.expected), rule.actual)


def _line(report: Report, rule: RuleResult, expected: float, actual: float | None) -> TargetLine:
    subject = rule.subject.removeprefix(f"{rule.run}: ")
    agent = report.agents.get(rule.run or "")
    found = None if agent is None else _mean(agent, rule.where, subject)
    low, high = (None, None) if found is None or actual is None else (found.low, found.high)
    is_mean = agent is not None and subject in agent.measures
    measure = measure_named(report, subject.removesuffix(EVERY_CASE))
    bound = cast("NumberBound", rule.bound)
    return TargetLine(
        run=rule.run,
        subject=subject,
        words=rule.words or subject,
        where=rule.where,
        value=actual,
        low=low,
        high=high,
        expected=expected,
        bound=bound,
        state=_NOT_PASSED.get(rule.verdict) or (_state_of_mean(bound, expected, found) if is_mean else "met"),
        unit=rule.unit,
        tells_quality=measure is None or measure.tells_quality,
    )


def _mean(agent: AgentSummary, where: Mapping[str, str], subject: str) -> Summary | None:
    """What the report knows of a mean; None if the number is none, or is one of cases that the report does not split off."""
    if not where:
        return agent.measures.get(subject)
    ((by, value),) = where.items()
    return agent.segments.get("tag" if by == "tags" else by, {}).get(value, {}).get(subject)


def _state_of_mean(bound: NumberBound, expected: float, found: Summary | None) -> TargetState:
    """What becomes of a mean that meets its bound: the fewer cases, the less is that worth."""
    if found is None:
        return "open"
    if found.low is None or found.high is None:
        return "few"
    return "close" if (found.low < expected if bound in ("at_least", "above") else found.high > expected) else "met"
