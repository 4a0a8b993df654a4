"""A report as JUnit's XML, which every CI system shows: one test per rule of the gate, and one per case.

A failure is what a rule found, an error whatever kept a rule or a case from being checked, and a known failure is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Literal, NamedTuple

from searchmark.findings import spoils
from searchmark.gates.pins import EVERY_CASE
from searchmark.gates.rules import RuleResult
from searchmark.gates.sentences import SIGNS, told_apart, within
from searchmark.reports.case_records import CaseSummary
from searchmark.reports.gate_layout import cause_lines
from searchmark.reports.gate_rows import rule_name
from searchmark.reports.layout import listed
from searchmark.reports.outcome import outcome_of
from searchmark.reports.quoting import xml_text
from searchmark.reports.report import AgentSummary, Report

GATE = "gate"
_ANSWERED = ("ok", "empty")
_OF_ONE_CASE = ("must_be_first", "must_contain", "must_not_contain", "before", "known_failure")


class _TestResult(NamedTuple):
    """What a test found: its first line, and what else there is to say."""

    element: Literal["failure", "error", "skipped"]
    kind: str
    message: str
    lines: tuple[str, ...] = ()


class _JunitTest(NamedTuple):
    """One test; nothing found is a pass."""

    name: str
    found: _TestResult | None = None
    seconds: float | None = None


def to_junit(report: Report) -> Iterator[str]:
    """The pieces of the file."""
    suites = [_JunitSuite(f"{report.suite.name}.{GATE}", tuple(_gate_tests(report)))]
    at_cases = _AtCases.of(report)
    for name, agent in report.agents.items():
        tests = (_case_test(case_id, case, at_cases.found(name, case_id, case)) for case_id, case in agent.cases.items())
        suites.append(_JunitSuite(f"{report.suite.name}.{name}", tuple(tests), _timestamp(agent)))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    counts = _counts(test for suite in suites for test in suite.tests)
    counts.pop("skipped")  # the schema has it for each suite, and not for all of them
    yield f"<testsuites{_attributes(name='searchmark', **counts)}>\n"
    for suite in suites:
        yield from suite.pieces()
    yield "</testsuites>\n"


def _gate_tests(report: Report) -> Iterator[_JunitTest]:
    """A test per rule, and one for everything else that takes the trust from the result."""
    for rule in report.gate.rules if report.gate else ():
        yield _JunitTest(rule_name(rule), _rule_found(report, rule))
    for found in report.audit:
        if spoils(found):
            lines = tuple(text for text in (found.why, found.fix) if text)
            yield _JunitTest(f"trusted: {found.code}", _TestResult("error", found.code, found.message, lines))
    if outcome_of(report) == "nothing evaluated":
        yield _JunitTest("something was evaluated", _TestResult("error", "nothing evaluated", "not a single case has a value"))


def _rule_found(report: Report, rule: RuleResult) -> _TestResult | None:
    if rule.verdict == "passed":
        return _TestResult("skipped", rule.bound, rule.message) if rule.bound == "known_failure" else None
    return _TestResult(
        "failure" if rule.verdict == "failed" else "error", rule.verdict, rule.message, tuple(cause_lines(report, rule))
    )


@dataclass(frozen=True)
class _AtCases:
    """What rules have to say about single cases: by run and case, and those about each case."""

    single: dict[tuple[str, str], list[RuleResult]]
    each: Sequence[RuleResult]
    spared: frozenset[str]

    @classmethod
    def of(cls, report: Report) -> _AtCases:
        rules = report.gate.rules if report.gate else ()
        single: dict[tuple[str, str], list[RuleResult]] = {}
        for rule in rules:
            if rule.bound in _OF_ONE_CASE and rule.run is not None:
                single.setdefault((rule.run, rule.cases[0]), []).append(rule)
        each = [rule for rule in rules if rule.subject.endswith(EVERY_CASE) and rule.verdict == "failed"]
        return cls(single, each, frozenset(rule.cases[0] for rule in rules if rule.bound == "known_failure"))

    def found(self, run: str, case_id: str, case: CaseSummary) -> _TestResult | None:
        """What there is to say about a case, the worst first."""
        if case.status not in _ANSWERED:
            what = f"{case_id} ended with {case.status}"
            return _TestResult(
                "error", case.status, f"{what}: {case.details.failure}" if case.details.failure else what, _story(case)
            )
        about = self.single.get((run, case_id), [])
        failed = [rule.message for rule in about if rule.verdict == "failed"]
        failed += [] if case_id in self.spared else [text for rule in self.each if (text := _too_low(rule, run, case_id, case))]
        if failed:
            return _TestResult("failure", "failed", failed[0], (*failed[1:], *_story(case)))
        known = [rule.message for rule in about if rule.bound == "known_failure" and rule.verdict == "passed"]
        return _TestResult("skipped", "known_failure", known[0]) if known else None


def _too_low(rule: RuleResult, run: str, case_id: str, case: CaseSummary) -> str | None:
    """What a rule about each case says of this one, if it says anything."""
    measure = rule.subject.removesuffix(EVERY_CASE)
    value, expected = case.measures.get(measure), rule.expected
    if rule.run != run or value is None or not isinstance(expected, float | int) or within("at_least", value, expected):
        return None
    return f"{case_id}: expected {measure} {SIGNS['at_least']} {expected:g}, but got {told_apart(value, expected)}"


def _story(case: CaseSummary) -> tuple[str, ...]:
    """What was asked, what was expected, and what came."""
    asked = [] if case.query is None else [f"query: {case.query}"]
    expected, got = ([each.target for each in case.expected], [hit.id for hit in case.hits])
    return (*asked, f"expected: {listed(expected)}", f"got: {listed(got)}")


def _case_test(case_id: str, case: CaseSummary, found: _TestResult | None) -> _JunitTest:
    cold = case.details.cold_ms
    return _JunitTest(case_id, found, cold[0] / 1e3 if cold else None)


def _timestamp(agent: AgentSummary) -> str | None:
    started = agent.run.started
    return None if started is None else started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True)
class _JunitSuite:
    name: str
    tests: tuple[_JunitTest, ...]
    timestamp: str | None = None

    def pieces(self) -> Iterator[str]:
        yield f"  <testsuite{_attributes(name=self.name, **_counts(self.tests), timestamp=self.timestamp)}>\n"
        yield from (_test_piece(self.name, test) for test in self.tests)
        yield "  </testsuite>\n"


def _test_piece(suite: str, test: _JunitTest) -> str:
    start = f"    <testcase{_attributes(classname=suite, name=test.name, time=_seconds(test.seconds))}"
    if test.found is None:
        return f"{start}/>\n"
    return f"{start}>\n      {_found_piece(test.found)}\n    </testcase>\n"


def _found_piece(found: _TestResult) -> str:
    if found.element == "skipped":
        return f"<skipped{_attributes(message=found.message)}/>"
    text = "\n".join(map(xml_text, (found.message, *found.lines)))
    return f"<{found.element}{_attributes(message=found.message, type=found.kind)}>{text}</{found.element}>"


def _counts(tests: Iterable[_JunitTest]) -> dict[str, str]:
    known = list(tests)
    ends: list[str] = [test.found.element for test in known if test.found is not None]
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    numbers = {"tests": len(known)} | {name: ends.count(element) for name, element in counted.items()}
    return {name: str(count) for name, count in numbers.items()} | {"time": f"{sum(test.seconds or 0.0 for test in known):.6f}"}


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.6f}"


def _attributes(**values: str | None) -> str:
    return "".join(f' {name}="{xml_text(value)}"' for name, value in values.items() if value is not None)
