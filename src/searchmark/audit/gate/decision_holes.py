"""Gains for which a decision table has no rule."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.options.compare_options import DecisionTable

_OTHERWISE = next(field.default for field in DecisionTable.__dataclass_fields__.values() if field.name == "otherwise")


def decision_holes(subject: Subject) -> Iterator[Finding]:
    """Gains between two lines of a table that no rule speaks about; one with an 'otherwise' of its own has a rule for all."""
    for table in subject.decisions:
        if table.otherwise == _OTHERWISE:
            told = [f"{low:.4g} to {high:.4g}" for low, high in holes(table)]
            if told:
                pair = f"{table.candidate} against {table.baseline}"
                yield finding(
                    "decision-hole", f"{pair}: no rule is about gains from {', '.join(told)}: {table.otherwise!r} is decided"
                )


def holes(table: DecisionTable) -> Iterator[tuple[float, float]]:
    """Between the lowest line and the highest, whatever cases a rule looks at."""
    reached = -inf
    spans = sorted((-inf if rule.above is None else rule.above, inf if rule.below is None else rule.below) for rule in table.rules)
    for low, high in spans:
        if -inf < reached < low:
            yield reached, low
        reached = max(reached, high)
