"""The rules of a gate as rows: what each is about, what it expects, what it got."""

from __future__ import annotations

from searchmark.gates import sentences
from searchmark.gates.rules import RuleResult
from searchmark.options.gate_options import POLICIES
from searchmark.reports.cells import UNDEFINED, Table, Text, table
from searchmark.reports.report import Report


def rule_table(report: Report) -> Table:
    """Every rule, those that are not met first."""
    rules = sorted(report.gate.rules if report.gate else (), key=lambda rule: rule.verdict == "passed")
    return table(("rule", "expected", "actual", "verdict"), map(_row, rules))


def _row(rule: RuleResult) -> tuple[Text, ...]:
    subject, expected = sentences.rule_subject(rule.subject, rule.where), sentences.expected_text(rule.bound, rule.expected)
    return Text(subject), Text(expected), Text(actual_text(rule)), Text(rule.verdict)


def rule_name(rule: RuleResult) -> str:
    """A rule as it was written."""
    return sentences.rule_name(rule.subject, rule.where, rule.bound, rule.expected)


def actual_text(rule: RuleResult) -> str:
    """What came instead, with as many digits as tell it from what was expected."""
    if rule.actual is None:
        return UNDEFINED
    if isinstance(rule.actual, str):
        return rule.actual
    if rule.bound in POLICIES:
        return f"{rule.actual:+.4f}"
    return sentences.told_apart(rule.actual, rule.expected) if isinstance(rule.expected, float | int) else f"{rule.actual:.4g}"
