"""Gold against the agents."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.gold_and_agents.circularity import circularity
from searchmark.audit.gold_and_agents.first_hits import gold_within_first_hits
from searchmark.audit.gold_and_agents.model_families import model_families
from searchmark.audit.gold_and_agents.named_targets import naming_table, queries_name_targets
from searchmark.audit.gold_and_agents.pools import judged_table, pool_bias
from searchmark.audit.gold_and_agents.shifted_runs import shifted_runs
from searchmark.audit.gold_and_agents.word_bias import copied_queries, words_in_gold, words_table

CHECKS: tuple[Check, ...] = (
    Check(circularity, ("circular-gold", "answers-equal-gold"), short=True),
    Check(pool_bias, ("judged-unevenly", "hardly-judged"), short=True),
    Check(model_families, ("same-model-family", "checked-by-own-author"), short=True),
    Check(gold_within_first_hits, ("gold-within-first-hits",)),
    Check(shifted_runs, ("shifted-run", "shifted-judgments")),
    Check(words_in_gold, ("gold-by-words",)),
    Check(copied_queries, ("query-copied-from-target", "query-source-not-relevant")),
    Check(queries_name_targets, ("queries-name-targets",)),
)
TABLES: tuple[TableMaker, ...] = (judged_table, naming_table, words_table)
