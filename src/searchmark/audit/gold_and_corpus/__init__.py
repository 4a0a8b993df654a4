"""Gold against its corpus."""

from __future__ import annotations

from searchmark.audit.check import Check, TableMaker
from searchmark.audit.gold_and_corpus.excluded import exclusion_findings
from searchmark.audit.gold_and_corpus.joins import partial_join
from searchmark.audit.gold_and_corpus.own_files import ignored_folders
from searchmark.audit.gold_and_corpus.own_queries import judgments_of_other_queries
from searchmark.audit.gold_and_corpus.patterns import pattern_findings, symbols_outside_patterns
from searchmark.audit.gold_and_corpus.renamed import renamed_targets
from searchmark.audit.gold_and_corpus.states import corpus_of_another_state
from searchmark.audit.gold_and_corpus.targets import (
    ambiguous_targets,
    deprecated_targets,
    duplicated_targets,
    suite_among_documents,
)
from searchmark.audit.gold_and_corpus.unreachable import missing_targets

CHECKS: tuple[Check, ...] = (
    Check(missing_targets, ("all-targets-missing", "most-targets-missing", "unreachable-targets"), short=True),
    Check(exclusion_findings, ("exclusions-not-applied", "exclusions-without-effect"), short=True),
    Check(partial_join, ("nothing-joined", "partial-join"), short=True),
    Check(corpus_of_another_state, ("corpus-of-another-state",)),
    Check(renamed_targets, ("renamed-targets",)),
    Check(duplicated_targets, ("duplicated-targets",)),
    Check(ambiguous_targets, ("ambiguous-targets",)),
    Check(deprecated_targets, ("deprecated-targets",)),
    Check(pattern_findings, ("patterns-without-match", "patterns-in-other-case", "broad-patterns"), short=True),
    Check(symbols_outside_patterns, ("symbols-outside-patterns",)),
    Check(judgments_of_other_queries, ("shifted-judgments", "judgments-at-chance")),
    Check(suite_among_documents, ("suite-among-documents",)),
    Check(ignored_folders, ("ignored-folders-among-documents",)),
)
TABLES: tuple[TableMaker, ...] = ()
