"""The checks that take next to no time: they run with every report, and nothing else is loaded for them."""

from __future__ import annotations

from searchmark.audit.check import Check
from searchmark.audit.gate.decision_holes import decision_holes
from searchmark.audit.gold_alone.dominance import dominant_targets
from searchmark.audit.gold_alone.grade_scale import fractional_gains, grade_scale
from searchmark.audit.gold_alone.judged_cases import all_documents_relevant, without_judgments, without_target
from searchmark.audit.gold_alone.model_ranges import ranges_of_another_model
from searchmark.audit.gold_alone.reading_notes import reading_notes
from searchmark.audit.gold_alone.repeated_queries import contradictory_grades, duplicate_queries
from searchmark.audit.gold_alone.shared_targets import shared_targets
from searchmark.audit.gold_alone.small_categories import small_decided_categories
from searchmark.audit.gold_and_agents.circularity import circularity
from searchmark.audit.gold_and_agents.model_families import model_families
from searchmark.audit.gold_and_agents.pools import pool_bias
from searchmark.audit.gold_and_corpus.excluded import exclusion_findings
from searchmark.audit.gold_and_corpus.joins import partial_join
from searchmark.audit.gold_and_corpus.patterns import pattern_findings
from searchmark.audit.gold_and_corpus.unreachable import missing_targets
from searchmark.audit.next_pairs.chosen import chosen_judgments
from searchmark.audit.numbers.alike import about_constant, about_identical
from searchmark.audit.numbers.limits import about_limits, about_runs_in_limits
from searchmark.audit.numbers.short_answers import short_answers
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, by_severity

SHORT: tuple[Check, ...] = (
    Check(missing_targets, ("all-targets-missing", "most-targets-missing", "unreachable-targets")),
    Check(exclusion_findings, ("exclusions-not-applied", "exclusions-without-effect")),
    Check(partial_join, ("nothing-joined", "partial-join")),
    Check(pattern_findings, ("no-pattern-fits", "patterns-without-match", "patterns-in-other-case", "broad-patterns")),
    Check(contradictory_grades, ("contradictory-grades",)),
    Check(duplicate_queries, ("duplicate-queries",)),
    Check(shared_targets, ("shared-targets",)),
    Check(without_judgments, ("nothing-judged", "cases-without-judgments")),
    Check(without_target, ("cases-without-target",)),
    Check(all_documents_relevant, ("all-documents-relevant",)),
    Check(grade_scale, ("grades-outside-scale",)),
    Check(fractional_gains, ("fractional-gains",)),
    Check(dominant_targets, ("dominant-target",)),
    Check(small_decided_categories, ("small-decided-categories",)),
    Check(reading_notes, ("reading-note",)),
    Check(ranges_of_another_model, ("ranges-of-another-model",)),
    Check(circularity, ("circular-gold", "answers-equal-gold")),
    Check(pool_bias, ("judged-unevenly", "hardly-judged")),
    Check(model_families, ("same-model-family", "checked-by-own-author")),
    Check(about_limits, ("low-attainable", "random-is-high")),
    Check(about_runs_in_limits, ("above-attainable", "no-better-than-random")),
    Check(about_constant, ("constant-measure",)),
    Check(about_identical, ("identical-measures",)),
    Check(short_answers, ("short-answers",)),
    Check(decision_holes, ("decision-hole",)),
    Check(chosen_judgments, ("judgments-not-random",)),
)


def short_audit(subject: Subject) -> list[Finding]:
    """What every report says beside its numbers."""
    return by_severity(found for check in SHORT for found in check.look(subject))
