"""What a report means in one word: to a script by its exit code, to CI by its colour."""

from __future__ import annotations

from typing import Literal

from searchmark.findings import spoils
from searchmark.findings.sentences import counted
from searchmark.reports.report import Report

Outcome = Literal["measured", "passed", "failed", "unresolvable", "untrusted", "nothing evaluated"]
MEANINGS: dict[Outcome, str] = {
    "measured": "measured, and no gate checks it",
    "passed": "the gate passed",
    "failed": "the gate failed",
    "unresolvable": "the gate could never fail, so nothing is known",
    "untrusted": "untrusted, so nothing is known",
    "nothing evaluated": "nothing was evaluated",
}


def outcome_of(report: Report) -> Outcome:
    """How it ended; ``measured`` is a result that can be trusted and that no gate asked anything of."""
    if not any(summary.cases for agent in report.agents.values() for summary in agent.measures.values()):
        return "nothing evaluated"
    if any(map(spoils, report.audit)):
        return "untrusted"
    return "measured" if report.gate is None else report.gate.verdict


def first_sentence(report: Report) -> str | None:
    """Why nothing is known: what every output begins with; None for a result that can be trusted."""
    if outcome_of(report) == "nothing evaluated":
        return "nothing was evaluated: not a single case has a value"
    reasons = [found.message for found in report.audit if spoils(found)]
    if not reasons:
        return None
    more = f" (and {counted(len(reasons) - 1, 'more reason')}, see below)" if len(reasons) > 1 else ""
    return f"untrusted: {reasons[0].replace('untrusted: ', '', 1)}{more}"
