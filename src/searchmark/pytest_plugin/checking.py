"""Scores and a gate become the outcome of every case and every rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from searchmark.analysis.scores import Scores
from searchmark.errors import shortened
from searchmark.gates.pins import SHOWN, EachCaseRule, KnownFailureRule, PinRule, value_of
from searchmark.gates.rules import Gate, Rule, RuleResult
from searchmark.gates.sentences import expectation, within
from searchmark.measures.words import named
from searchmark.pytest_plugin.outcomes import CaseOutcome, RuleOutcome, SuiteOutcome
from searchmark.records import ERROR, NOT_RUN, STATUSES, TIMEOUT, Case, Suite
from searchmark.testing.sentences import LONGEST, expected_answers, explained

_NO_ANSWER = (ERROR, TIMEOUT, NOT_RUN)


def outcome_of(scores: Scores, rules: Sequence[Rule], gate: Gate | None, command: str) -> SuiteOutcome:
    """All that items need to know; ``command`` is what to run next."""
    suite = scores.judged.suite
    cases = {case.id: _case_outcome(scores, case, rules, command) for case in suite.cases}
    results = () if gate is None else gate.rules
    told = tuple(_rule_outcome(result, suite, command) for result in results)
    return SuiteOutcome(cases, told)


def _rule_outcome(result: RuleResult, suite: Suite, command: str) -> RuleOutcome:
    passed = result.verdict == "passed"
    return RuleOutcome(passed, explained(result, suite) + ("" if passed else _next(command)))


def _case_outcome(scores: Scores, case: Case, rules: Sequence[Rule], command: str) -> CaseOutcome:
    status = scores.judged.status[scores.judged.suite.table.index[case.id]]
    if status in _NO_ANSWER:
        return CaseOutcome("error", f"{_why_no_answer(scores, case.id)}{_next(command)}")
    known = next((rule for rule in rules if isinstance(rule, KnownFailureRule) and rule.failure.case == case.id), None)
    if known is not None and known.check_run(scores).verdict == "passed":
        return CaseOutcome("known_failure", known.failure.reason or "a known failure")
    failures = list(_failures(scores, case.id, rules))
    if not failures:
        return CaseOutcome("passed")
    return CaseOutcome("failed", "\n".join([*failures, *_about(scores, case)]) + _next(command))


def _failures(scores: Scores, case: str, rules: Sequence[Rule]) -> Iterator[str]:
    """What the gate says against one case."""
    for rule in rules:
        if (isinstance(rule, PinRule) and rule.pin.case == case) or (
            isinstance(rule, KnownFailureRule) and rule.failure.case == case
        ):
            result = rule.check_run(scores)
            if result.verdict != "passed":
                yield result.message
        elif isinstance(rule, EachCaseRule) and case not in rule.spared:
            value = value_of(scores, rule.measure, case)
            if value is not None and not within("at_least", value, rule.expected):
                name = named(rule.asked, scores.known_as(rule.measure) or rule.measure.name)
                yield expectation(f"{name} of case {case}", "at_least", rule.expected, value, met=False)


def _is_about(rule: Rule, case: str) -> TypeGuard[PinRule | KnownFailureRule]:
    named_by = rule.pin if isinstance(rule, PinRule) else rule.failure if isinstance(rule, KnownFailureRule) else None
    return named_by is not None and named_by.case == case


def _about(scores: Scores, case: Case) -> Iterator[str]:
    """What was asked, expected and returned."""
    run = scores.judged.run
    hits = run.ids_of(run.index[case.id])[:SHOWN] if case.id in run.index else []
    if case.query is not None:
        yield f"  query: {shortened(case.query, LONGEST)}"
    yield f"  expected: {expected_answers(case)}"
    yield f"  got: {shortened(', '.join(hits), LONGEST) or 'nothing'}"


def _why_no_answer(scores: Scores, case: str) -> str:
    run, row = scores.judged.run, scores.judged.suite.table.index[case]
    status = STATUSES[scores.judged.status[row]].replace("_", " ")
    details = None if run.details is None or case not in run.index else run.details[run.index[case]]
    reason = (details.failure if details is not None else None) or run.provenance.failure
    return f"case {case} ended with {status}" + (f": {reason}" if reason else "")


def _next(command: str) -> str:
    return f"\nnext: {command}"
