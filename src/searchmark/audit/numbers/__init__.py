"""What the numbers can be."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.numbers.alike import about_constant, about_identical
from searchmark.audit.numbers.bounds import about_flips, bounds_table, flips_table
from searchmark.audit.numbers.limits import about_limits, about_runs_in_limits, measures_table
from searchmark.audit.numbers.ranks import about_ranks, ranks_table
from searchmark.audit.numbers.short_answers import short_answers
from searchmark.audit.numbers.ties import about_ties, ties_table

CHECKS: tuple[Check, ...] = (
    Check(about_limits, ("low-attainable", "random-is-high"), short=True),
    Check(about_runs_in_limits, ("above-attainable", "no-better-than-random"), short=True),
    Check(about_constant, ("constant-measure",), short=True),
    Check(about_identical, ("identical-measures",), short=True),
    Check(short_answers, ("short-answers",), short=True),
    Check(about_flips, ("order-could-flip",)),
    Check(about_ranks, ("ranks-not-apart",)),
    Check(about_ties, ("ties-decide",)),
)
TABLES: tuple[TableMaker, ...] = (measures_table, bounds_table, flips_table, ranks_table, ties_table)
