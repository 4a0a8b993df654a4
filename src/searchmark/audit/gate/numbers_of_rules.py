"""The numbers behind what is found of a gate, a row per rule."""

from __future__ import annotations

from searchmark.audit.gate.chances import gate_chances
from searchmark.audit.gate.means_of_rules import mean_of_rule
from searchmark.audit.gate.pass_share import PassShare
from searchmark.audit.gate.sight import RuleSight, rule_sights, wanted_loss
from searchmark.audit.result import AuditCell, AuditTable
from searchmark.audit.subject import Subject
from searchmark.gates.reach import Reach
from searchmark.gates.rules import Rule

WHOLE = "the whole gate"


def gate_table(subject: Subject) -> AuditTable | None:
    """What is the most that each rule could get, what a random ranking gets, and which share of all rankings pass.

    Fixtures and the gate as a whole are after the rules. A share of rankings that were drawn has its 95 % interval.
    """
    if not subject.rules:
        return None
    reach, chances = Reach(subject.expanded, subject.ids), gate_chances(subject)
    rows = [(rule.name, *_limits(rule, reach), *_share(chances.rules.get(number))) for number, rule in enumerate(subject.rules)]
    together = [*chances.fixtures.items(), *([(WHOLE, chances.all)] if chances.all is not None else [])]
    rows += [(name, None, None, *_share(share)) for name, share in together]
    columns = ("rule", "highest", "random", "rankings that pass", "at least", "at most")
    return AuditTable("gate", f"What the rules of the gate let pass{_without(chances.all)}", columns, tuple(rows))


def _without(share: PassShare | None) -> str:
    """Why there are no shares, and where drawn ones lie."""
    if share is None:
        return " (which rankings pass is known only with the documents: --corpus, or documents of the cases)"
    return " (at least, at most: the 95 % interval where rankings were drawn)"


def sight_table(subject: Subject) -> AuditTable | None:
    """What each rule about a mean sees: the smallest p, the smallest loss with 80 % power, and cases for the wanted one."""
    rows = tuple(map(_sight, rule_sights(subject)))
    columns = ("rule", "independent", "can lose", "smallest p", "loss seen", "based on", "more cases")
    goal = f"more cases: for a loss of {wanted_loss(subject):g}, and not only for a verdict"
    return AuditTable("gate_sight", f"What the rules of the gate see with 80 % power ({goal})", columns, rows) if rows else None


def _sight(found: RuleSight) -> tuple[AuditCell, ...]:
    return (found.name, found.independent, found.can_lose, found.smallest_p, found.loss, found.basis, found.more)


def _limits(rule: Rule, reach: Reach) -> tuple[AuditCell, AuditCell]:
    quantity, rows = mean_of_rule(rule, reach)
    return (None, None) if quantity is None or rows is None else (reach.highest(quantity, rows), reach.by_chance(quantity, rows))


def _share(found: PassShare | None) -> tuple[AuditCell, AuditCell, AuditCell]:
    return (None, None, None) if found is None else (found.share, *(found.interval or (None, None)))
