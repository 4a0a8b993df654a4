"""What the numbers can be."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.numbers.alike import about_constant, about_identical
from searchmark.audit.numbers.limits import about_limits, about_runs_in_limits, measures_table

CHECKS: tuple[Check, ...] = (
    Check(about_limits, ("low-attainable", "random-is-high"), short=True),
    Check(about_runs_in_limits, ("above-attainable", "no-better-than-random"), short=True),
    Check(about_constant, ("constant-measure",), short=True),
    Check(about_identical, ("identical-measures",), short=True),
)
TABLES: tuple[TableMaker, ...] = (measures_table,)
