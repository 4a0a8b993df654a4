"""What to judge next: unjudged pairs whose grades would settle a comparison soonest."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.next_pairs.chosen import chosen_judgments

CHECKS: tuple[Check, ...] = (Check(chosen_judgments, ("judgments-not-random",), short=True),)
TABLES: tuple[TableMaker, ...] = ()
