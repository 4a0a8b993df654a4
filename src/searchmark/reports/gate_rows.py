"""The rules of a gate as rows: what each is about, what it expects, what it got."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.gates.rules import RuleResult
from searchmark.gates.sentences import SIGNS, told_apart
from searchmark.options.gate_options import POLICIES
from searchmark.reports.cells import UNDEFINED, Table, Text, table
from searchmark.reports.report import Report

_DIGITS = 12
_SIGNS: dict[str, str] = {str(bound): sign for bound, sign in SIGNS.items()}


def rule_table(report: Report) -> Table:
    """Every rule, those that are not met first."""
    rules = sorted(report.gate.rules if report.gate else (), key=lambda rule: rule.verdict == "passed")
    return table(("rule", "expected", "actual", "verdict"), map(_row, rules))


def _row(rule: RuleResult) -> tuple[Text, ...]:
    return Text(rule_subject(rule)), Text(expected_text(rule)), Text(actual_text(rule)), Text(rule.verdict)


def rule_subject(rule: RuleResult) -> str:
    """What a rule is about, and of which cases; a metric of a fixture is named after it."""
    return "".join([rule.subject, *(f" in {by} {value}" for by, value in rule.where.items() if by != "fixture")])


def rule_name(rule: RuleResult) -> str:
    """A rule as it was written."""
    return f"{rule_subject(rule)} {expected_text(rule)}"


def expected_text(rule: RuleResult) -> str:
    """The bound and its value."""
    expected = f"{rule.expected:.{_DIGITS}g}" if isinstance(rule.expected, float | int) else rule.expected
    if rule.bound in POLICIES:
        return f"{rule.bound}, above {expected}" if rule.bound == "non-inferior" else rule.bound
    return f"{_SIGNS.get(rule.bound, rule.bound.replace('_', ' '))} {expected}"


def actual_text(rule: RuleResult) -> str:
    """What came instead, with as many digits as tell it from what was expected."""
    if rule.actual is None:
        return UNDEFINED
    if isinstance(rule.actual, str):
        return rule.actual
    if rule.bound in POLICIES:
        return f"{rule.actual:+.4f}"
    return told_apart(rule.actual, rule.expected) if isinstance(rule.expected, float | int) else f"{rule.actual:.4g}"


def rule_notes(report: Report) -> Iterator[str]:
    """What the rules of a gate are worth: each note with the rule that it is about, unless it starts with its subject."""
    about: dict[str, list[RuleResult]] = {}
    for rule in report.gate.rules if report.gate else ():
        for note in rule.notes:
            about.setdefault(note, []).append(rule)
    for note, rules in about.items():
        others = "" if len(rules) == 1 else f" and {len(rules) - 1} more {'rule' if len(rules) == 2 else 'rules'}"  # noqa: PLR2004
        yield note if note.startswith(rules[0].subject) else f"{rule_name(rules[0])}{others}: {note}"
