"""Rules about cases that the suite does not have: no run can ever be held against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from searchmark.analysis.scores import segment_names, segment_rows
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.gates.bounds import NumberRule
from searchmark.gates.fixture_baseline import FixtureRule, UnknownMetricRule, row_of
from searchmark.gates.pins import KnownFailureRule, PinRule
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rule_findings import with_rules
from searchmark.gates.rules import Rule
from searchmark.gates.segments import CaseSegment, rows_of
from searchmark.records import Suite


def absent_cases(subject: Subject) -> list[Finding]:
    """What is found of rules whose segment, case, fixture or metric of fixtures there is not."""
    return with_rules((rule.name, _found(subject.suite, rule)) for rule in subject.rules)


def _found(suite: Suite, rule: Rule) -> Iterator[Finding]:
    reason = _lacks(suite, rule)
    if reason is not None:
        yield finding("rule-without-cases", reason)


def _lacks(suite: Suite, rule: Rule) -> str | None:
    if isinstance(rule, NumberRule | RelativeRule):
        return None if rows_of(suite, rule.segment) is not None else _no_segment(suite, rule.segment)
    if isinstance(rule, PinRule):
        return _no_case(suite, rule.pin.case)
    if isinstance(rule, KnownFailureRule):
        return _no_case(suite, rule.failure.case)
    if isinstance(rule, FixtureRule):
        missing = row_of(suite, rule.fixture) is None
        return f"the suite has no fixture {rule.fixture.name!r}{_near(rule.fixture.name, suite.table.ids)}" if missing else None
    return f"there is no metric {rule.metric!r} of fixtures" if isinstance(rule, UnknownMetricRule) else None


def _no_case(suite: Suite, case: str) -> str | None:
    return None if case in suite.table.index else f"the suite has no case {case!r}{_near(case, suite.table.ids)}"


def _no_segment(suite: Suite, segment: CaseSegment) -> str:
    by = segment.by or ""
    known = [*segment_names(suite), "tags"]
    values = list(segment_rows(suite, by)) if by in known else []
    return f"no case of the suite has {by} {segment.value!r}{_near(segment.value, values) if values else _near(by, known)}"


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
