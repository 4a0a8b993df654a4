"""Gold against the agents."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker

CHECKS: tuple[Check, ...] = ()
TABLES: tuple[TableMaker, ...] = ()
