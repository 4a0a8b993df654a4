"""What a gate has to say: the one line, the rules that are not met, and the cases that caused it."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.findings.sentences import counted
from searchmark.gates.quantities import MOST_CASES
from searchmark.gates.rules import RuleResult
from searchmark.reports.case_records import CaseSummary
from searchmark.reports.layout import listed
from searchmark.reports.report import Report

CAUSES_SHOWN = 3


def gate_sentence(report: Report) -> str | None:
    """The one line that says how a gate ended: what is wrong, or that all is well."""
    if report.gate is None:
        return None
    rules, verdict = report.gate.rules, report.gate.verdict
    if verdict == "passed":
        return f"gate passed: {rules[0].message}" if len(rules) == 1 else f"gate passed: all {len(rules)} rules are met"
    bad = [rule for rule in rules if rule.verdict != "passed"]
    return f"gate {verdict}: {_first_line(bad[0]) if len(bad) == 1 else _how_many(bad)}"


def _how_many(rules: list[RuleResult]) -> str:
    failed = sum(rule.verdict == "failed" for rule in rules)
    counts = ((failed, "not met"), (len(rules) - failed, "that cannot be checked"))
    return " and ".join(f"{counted(count, 'rule')} {what}" for count, what in counts if count)


def gate_lines(report: Report) -> Iterator[str]:
    """What else is to be said of a gate: each rule that is not met and the cases that caused it."""
    bad = [rule for rule in (report.gate.rules if report.gate else ()) if rule.verdict != "passed"]
    for rule in bad:
        if len(bad) > 1:
            yield f"{rule.verdict}: {_first_line(rule)}"
        yield from (f"  {line}" for line in rule.message.split("\n")[1:])
        yield from (f"  {line}" for line in cause_lines(report, rule))


def _first_line(rule: RuleResult) -> str:
    return rule.message.split("\n", 1)[0]


def cause_lines(report: Report, rule: RuleResult) -> Iterator[str]:
    """The cases that caused it: what was asked, and what it took; or what was expected, and what came."""
    agent = report.agents.get(rule.run or "")
    known = [] if agent is None else [(case, agent.cases[case]) for case in rule.cases if case in agent.cases]
    amounts = dict(zip(rule.cases, rule.amounts, strict=False))  # most rules have none
    for case, found in known[:CAUSES_SHOWN]:
        query = f" {found.query!r}" if found.query else ""
        yield f"{case}{query}: {amounts.get(case) or _missed(found)}"
    if len(known) > CAUSES_SHOWN:
        kept = "" if len(rule.cases) < MOST_CASES else "at least "  # there may be more
        yield f"and {kept}{counted(len(known) - CAUSES_SHOWN, 'more case')}"


def _missed(found: CaseSummary) -> str:
    expected = listed([each.target for each in found.expected])
    return f"expected {expected}; got {listed([hit.id for hit in found.hits])}"
