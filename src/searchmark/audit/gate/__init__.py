"""What the gate can see."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.gate.absent_cases import absent_cases
from searchmark.audit.gate.blindness import blindness
from searchmark.audit.gate.bounds_worth import bounds_worth
from searchmark.audit.gate.chances import passed_by_chance
from searchmark.audit.gate.decision_holes import decision_holes
from searchmark.audit.gate.flapping import flapping
from searchmark.audit.gate.numbers_of_rules import gate_table, sight_table

CHECKS: tuple[Check, ...] = (
    # With a report the gate says it itself.
    Check(bounds_worth, ("unattainable-threshold", "threshold-always-met", "threshold-below-random", "pin-outside-corpus")),
    Check(absent_cases, ("rule-without-cases",)),
    Check(passed_by_chance, ("gate-passed-by-chance", "fixture-passed-by-chance")),
    Check(blindness, ("unresolvable-rule", "large-loss-unseen", "wanted-loss-unseen")),
    Check(flapping, ("flapping-rule",)),
    Check(decision_holes, ("decision-hole",), short=True),
)
TABLES: tuple[TableMaker, ...] = (gate_table, sight_table)
