"""What the gate can see."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.gate import bounds_worth

CHECKS: tuple[Check, ...] = (Check(bounds_worth.bounds_worth, bounds_worth.CODES),)
TABLES: tuple[TableMaker, ...] = ()
