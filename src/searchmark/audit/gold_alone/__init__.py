"""Gold against itself."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.gold_alone.dominance import dominant_categories, dominant_targets
from searchmark.audit.gold_alone.grade_scale import grade_scale
from searchmark.audit.gold_alone.judged_cases import all_documents_relevant, without_judgments, without_target
from searchmark.audit.gold_alone.model_ranges import ranges_of_another_model
from searchmark.audit.gold_alone.near_queries import near_duplicate_queries
from searchmark.audit.gold_alone.repeated_queries import contradictory_grades, duplicate_queries
from searchmark.audit.gold_alone.shared_targets import shared_targets
from searchmark.audit.gold_alone.small_categories import small_decided_categories
from searchmark.audit.gold_alone.twins import near_duplicate_targets

CHECKS: tuple[Check, ...] = (
    Check(contradictory_grades, ("contradictory-grades",), short=True),
    Check(duplicate_queries, ("duplicate-queries",), short=True),
    Check(near_duplicate_queries, ("near-duplicate-queries",)),
    Check(shared_targets, ("shared-targets",), short=True),
    Check(without_judgments, ("nothing-judged", "cases-without-judgments"), short=True),
    Check(without_target, ("cases-without-target",), short=True),
    Check(all_documents_relevant, ("all-documents-relevant",), short=True),
    Check(near_duplicate_targets, ("near-duplicate-targets",)),
    Check(grade_scale, ("grades-outside-scale",), short=True),
    Check(dominant_targets, ("dominant-target",), short=True),
    Check(dominant_categories, ("dominant-category",)),
    Check(small_decided_categories, ("small-decided-categories",), short=True),
    Check(ranges_of_another_model, ("ranges-of-another-model",), short=True),
)
TABLES: tuple[TableMaker, ...] = ()
