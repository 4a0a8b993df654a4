"""That judgments of a suite were chosen because of what they would change, and not drawn at random."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.records.chosen_judgments import chosen_pairs


def chosen_judgments(subject: Subject) -> Iterator[Finding]:
    """What a suite remembers of pairs that were chosen."""
    chosen = chosen_pairs(subject.suite)
    if chosen:
        count, cases = sum(map(len, chosen.values())), [case for case in subject.suite.table.ids if case in chosen]
        total = len(subject.suite.judgments)
        message = f"{count} of {total} judgments, in {len(cases)} of {len(subject.suite)} cases, were chosen to settle a comparison"
        yield finding("judgments-not-random", message, cases)
