"""Rules of a gate that are about a mean: which one it is, of which cases, and whether a ranking can meet it."""

from __future__ import annotations

import numpy as np

from searchmark.gates.bounds import NumberRule
from searchmark.gates.fixture_baseline import FixtureRule, row_of
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.reach import Reach
from searchmark.gates.rules import Rule
from searchmark.gates.segments import Rows, rows_of
from searchmark.gates.sentences import within


def mean_of_rule(rule: Rule, reach: Reach) -> tuple[MeanOf | AtOwnK | None, Rows | None]:
    """The mean that a rule is about, and of which cases."""
    if isinstance(rule, FixtureRule):
        row = row_of(reach.suite, rule.fixture)
        return AtOwnK(rule.metric, (rule.fixture,)), None if row is None else np.array([row], np.intp)
    if isinstance(rule, NumberRule) and isinstance(rule.quantity, MeanOf | AtOwnK):
        return rule.quantity, rows_of(reach.suite, rule.segment)
    return None, None


def highest_of_rule(rule: Rule, reach: Reach) -> float | None:
    """The highest possible value of the mean that a rule is about; None if it is about none, or if that is not known."""
    quantity, rows = mean_of_rule(rule, reach)
    return None if quantity is None or rows is None else reach.highest(quantity, rows)


def out_of_reach(rule: Rule, reach: Reach) -> bool:
    """Whether it is known that no ranking meets the lowest mean that a rule asks for."""
    if isinstance(rule, FixtureRule):
        best = highest_of_rule(rule, reach)
        return best is not None and not within("at_least", best, rule.threshold)
    if not isinstance(rule, NumberRule) or rule.bound not in ("at_least", "above"):
        return False
    best = highest_of_rule(rule, reach)
    return best is not None and not within(rule.bound, best, rule.expected)
