"""What an agent answered, under the names that the corpus has for it."""

from __future__ import annotations

from dataclasses import replace

from searchmark.measures.line_tokens import TOKENIZER
from searchmark.records import query_digest
from searchmark.running.corpus_inspector import CaseExistence
from searchmark.running.journal_lines import JournalEntry
from searchmark.running.line_counts import counted_lines
from searchmark.running.plan import Step
from searchmark.running.session import Outcome
from searchmark.services.redaction import scrubbed


def settled(step: Step, outcome: Outcome, existence: CaseExistence, hidden: frozenset[str]) -> JournalEntry:
    """The outcome with its hits under the names of the corpus, the targets that it lacks, and what the lines of hits cost.

    Where it is not known what exists, as at a service, hits stay as they are and nothing is said about them.
    """
    asked = query_digest(step.query, step.request)
    details = replace(scrubbed(outcome.details, hidden), asked=asked, unreachable=tuple(existence.unreachable or ()))
    if existence.existing is None:
        return JournalEntry(Outcome(outcome.status, scrubbed(outcome.ids, hidden), outcome.scores, outcome.lines, details), None)
    known = [existence.existing.settled(hit) for hit in outcome.ids]
    # An agent may return anything, its own key included; what is in the corpus is no secret, and must stay what it is.
    ids = tuple(hit if exists else scrubbed(hit, hidden) for hit, exists in known)
    if existence.texts is not None:
        counted = counted_lines(ids, outcome.lines, existence.texts)
        details = replace(details, line_tokens=counted, line_tokens_by=TOKENIZER)
    named = Outcome(outcome.status, ids, outcome.scores, outcome.lines, details)
    return JournalEntry(named, tuple(exists for _, exists in known))
