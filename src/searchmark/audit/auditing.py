"""All checks and the tables behind them: what an audit looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from searchmark.audit.about_runs import said_once
from searchmark.audit.check import Check, TableMaker
from searchmark.audit.gate.absent_cases import absent_cases
from searchmark.audit.gate.blindness import blindness
from searchmark.audit.gate.bounds_worth import bounds_worth
from searchmark.audit.gate.chances import passed_by_chance
from searchmark.audit.gate.flapping import flapping
from searchmark.audit.gate.numbers_of_rules import gate_table, sight_table
from searchmark.audit.gold_alone.dominance import dominant_categories
from searchmark.audit.gold_alone.near_queries import near_duplicate_queries
from searchmark.audit.gold_alone.twins import near_duplicate_targets
from searchmark.audit.gold_and_agents.first_hits import gold_within_first_hits
from searchmark.audit.gold_and_agents.named_targets import naming_table, queries_name_targets
from searchmark.audit.gold_and_agents.pools import judged_table
from searchmark.audit.gold_and_agents.shifted_runs import shifted_runs
from searchmark.audit.gold_and_agents.word_bias import copied_queries, words_in_gold, words_table
from searchmark.audit.gold_and_corpus.own_files import ignored_folders
from searchmark.audit.gold_and_corpus.own_queries import judgments_of_other_queries
from searchmark.audit.gold_and_corpus.patterns import symbols_outside_patterns
from searchmark.audit.gold_and_corpus.renamed import renamed_targets
from searchmark.audit.gold_and_corpus.states import corpus_of_another_state
from searchmark.audit.gold_and_corpus.targets import (
    ambiguous_targets,
    deprecated_targets,
    duplicated_targets,
    suite_among_documents,
)
from searchmark.audit.numbers.bounds import about_flips, bounds_table, flips_table
from searchmark.audit.numbers.limits import measures_table
from searchmark.audit.numbers.ranks import about_ranks, ranks_table
from searchmark.audit.numbers.ties import about_ties, ties_table
from searchmark.audit.result import Audit, AuditTable
from searchmark.audit.short_form import SHORT
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, by_severity

CHECKS: tuple[Check, ...] = (
    *SHORT,
    Check(corpus_of_another_state, ("corpus-of-another-state",)),
    Check(renamed_targets, ("renamed-targets",)),
    Check(duplicated_targets, ("duplicated-targets",)),
    Check(ambiguous_targets, ("ambiguous-targets",)),
    Check(deprecated_targets, ("deprecated-targets",)),
    Check(symbols_outside_patterns, ("symbols-outside-patterns",)),
    Check(judgments_of_other_queries, ("shifted-judgments", "judgments-at-chance")),
    Check(suite_among_documents, ("suite-among-documents",)),
    Check(ignored_folders, ("ignored-folders-among-documents",)),
    Check(near_duplicate_queries, ("near-duplicate-queries",)),
    Check(near_duplicate_targets, ("near-duplicate-targets",)),
    Check(dominant_categories, ("dominant-category",)),
    Check(gold_within_first_hits, ("gold-within-first-hits",)),
    Check(shifted_runs, ("shifted-run", "shifted-judgments")),
    Check(words_in_gold, ("gold-by-words",)),
    Check(copied_queries, ("query-copied-from-target", "query-source-not-relevant")),
    Check(queries_name_targets, ("queries-name-targets",)),
    Check(about_flips, ("order-could-flip",)),
    Check(about_ranks, ("ranks-not-apart",)),
    Check(about_ties, ("ties-decide",)),
    Check(bounds_worth, ("unattainable-threshold", "threshold-always-met", "threshold-below-random", "pin-outside-corpus")),
    Check(absent_cases, ("rule-without-cases",)),
    Check(passed_by_chance, ("gate-passed-by-chance", "fixture-passed-by-chance")),
    Check(blindness, ("unresolvable-rule", "large-loss-unseen", "wanted-loss-unseen")),
    Check(flapping, ("flapping-rule",)),
)
TABLES: tuple[TableMaker, ...] = (
    judged_table,
    naming_table,
    words_table,
    measures_table,
    bounds_table,
    flips_table,
    ranks_table,
    ties_table,
    gate_table,
    sight_table,
)


def full_audit(
    subject: Subject, beside: Iterable[Finding] = (), on_progress: Callable[[int, int], None] = lambda _, __: None
) -> Audit:
    """What all checks find, the worst first, with what is known ``beside`` them."""
    findings, tables = list[Finding](), list[AuditTable | None]()
    steps = len(CHECKS) + len(TABLES)
    for number, check in enumerate(CHECKS, 1):
        findings += check.look(subject)
        on_progress(number, steps)
    for number, table in enumerate(TABLES, len(CHECKS) + 1):
        tables.append(table(subject))
        on_progress(number, steps)
    suite = subject.suite
    return Audit(suite.name, len(suite), tuple(by_severity(said_once(beside, findings))), suite.hashes, tuple(filter(None, tables)))
