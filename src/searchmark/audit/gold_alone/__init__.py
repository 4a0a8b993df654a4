"""Gold against itself."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker

CHECKS: tuple[Check, ...] = ()
TABLES: tuple[TableMaker, ...] = ()
