"""The numbers behind what is found of a gate, a row per rule."""

from __future__ import annotations

import numpy as np

from searchmark.audit.gate.chances import gate_chances
from searchmark.audit.gate.pass_share import PassShare
from searchmark.audit.gate.sight import rule_sights, wanted_loss
from searchmark.audit.result import AuditCell, AuditTable
from searchmark.audit.subject import Subject
from searchmark.gates.bounds import NumberRule
from searchmark.gates.fixture_baseline import FixtureRule, row_of
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.reach import Reach
from searchmark.gates.rules import Rule
from searchmark.gates.segments import Rows, rows_of

WHOLE = "the whole gate"


def gate_table(subject: Subject) -> AuditTable | None:
    """What is the most that each rule could get, what a random ranking gets, and which share of all rankings pass.

    Fixtures and the gate as a whole are after the rules.
    """
    if not subject.rules:
        return None
    reach, chances = Reach(subject.suite, subject.ids), gate_chances(subject)
    rows = [(rule.name, *_limits(rule, reach), *_share(chances.rules.get(number))) for number, rule in enumerate(subject.rules)]
    together = [*chances.fixtures.items(), *([(WHOLE, chances.all)] if chances.all is not None else [])]
    rows += [(name, None, None, *_share(share)) for name, share in together]
    columns = ("rule", "highest", "random", "rankings that pass", "standard error")
    return AuditTable("gate", "What the rules of the gate let pass", columns, tuple(rows))


def sight_table(subject: Subject) -> AuditTable | None:
    """What each rule about a mean sees: the smallest p, the smallest loss with 80 % power, and cases for the wanted one."""
    rows = tuple((each.name, each.independent, each.smallest_p, each.loss, each.basis, each.more) for each in rule_sights(subject))
    columns = ("rule", "independent cases", "smallest p", "loss seen", "by", "more cases")
    title = f"What the rules of the gate see; more cases: to see a loss of {wanted_loss(subject):g}"
    return AuditTable("gate_sight", title, columns, rows) if rows else None


def _limits(rule: Rule, reach: Reach) -> tuple[AuditCell, AuditCell]:
    quantity, rows = _mean(rule, reach)
    return (None, None) if quantity is None or rows is None else (reach.highest(quantity, rows), reach.by_chance(quantity, rows))


def _mean(rule: Rule, reach: Reach) -> tuple[MeanOf | AtOwnK | None, Rows | None]:
    """The mean that a rule is about, and of which cases."""
    if isinstance(rule, FixtureRule):
        row = row_of(reach.suite, rule.fixture)
        return AtOwnK(rule.metric, (rule.fixture,)), None if row is None else np.array([row], np.intp)
    if isinstance(rule, NumberRule) and isinstance(rule.quantity, MeanOf | AtOwnK):
        return rule.quantity, rows_of(reach.suite, rule.segment)
    return None, None


def _share(found: PassShare | None) -> tuple[AuditCell, AuditCell]:
    return (None, None) if found is None else (found.share, found.error)
