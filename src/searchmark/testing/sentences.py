"""What a test says about a gate."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.errors import shortened
from searchmark.gates.rules import RuleResult
from searchmark.records import Case, Suite

MOST_CASES, MOST_TARGETS, LONGEST = 10, 5, 120


def explained(result: RuleResult, suite: Suite) -> str:
    """The message of a rule, the cases that caused it with what they expect, and what the rule itself is worth."""
    return "\n".join(_lines(result, suite))


def expected_answers(case: Case) -> str:
    """What a case expects, the best first."""
    wanted = sorted((each for each in case.judgments if each.grade > 0), key=lambda each: (-each.grade, each.rank or 0))
    names = [each.target for each in wanted]
    if not names:
        return "no hit"
    more = f" and {len(names) - MOST_TARGETS} more" if len(names) > MOST_TARGETS else ""
    return shortened(", ".join(names[:MOST_TARGETS]), LONGEST) + more


def _lines(result: RuleResult, suite: Suite) -> Iterator[str]:
    yield result.message if result.verdict in ("passed", "failed") else f"{result.verdict}: {result.message}"
    rows = suite.table.index
    named = [case for case in result.cases if case in rows] if result.verdict == "failed" else []
    for case in named[:MOST_CASES]:
        found = suite.cases[rows[case]]
        query = "" if found.query is None else f" {shortened(found.query, LONGEST)!r}"
        yield f"  case {case}{query}: expected {expected_answers(found)}"
    if len(named) > MOST_CASES:
        yield f"  and {len(named) - MOST_CASES} more cases"
    yield from (f"  {found.severity} {found.code}: {found.message}" for found in result.findings)
