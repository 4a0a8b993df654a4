"""Missing targets that the corpus has under another name, and targets that it says were replaced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.audit.gold_and_corpus.documents import document_facts
from searchmark.audit.gold_and_corpus.missing import SHOWN, MissingTargets
from searchmark.audit.gold_and_corpus.nearest import NearIds
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding


def renamed_targets(subject: Subject) -> Iterator[Finding]:
    """By a field that says so, or by a last part that one document alone has.

    Where one and the same change would make most targets fit, they were not renamed one by one, and that is said instead.
    """
    renamed = dict(_by_field(subject)) | dict(_by_last_part(subject))
    if not renamed:
        return
    judgments, ids = subject.expanded.judgments, subject.suite.table.ids
    rows = [row for row in np.flatnonzero(judgments.named).tolist() if judgments.targets[row] in renamed]
    cases = [ids[case] for case in np.unique(judgments.case[rows]).tolist()]
    shown = ", ".join(f"{old!r} is now {new!r}" for old, new in list(renamed.items())[:SHOWN])
    yield finding("renamed-targets", f"{len(renamed)} of {_distinct(subject)} targets seem to be renamed: {shown}", cases)


def _distinct(subject: Subject) -> int:
    judgments = subject.expanded.judgments
    return len({judgments.targets[row] for row in np.flatnonzero(judgments.named).tolist()})


def _by_last_part(subject: Subject) -> Iterator[tuple[str, str]]:
    missing = MissingTargets.of_subject(subject)
    if missing is None or subject.ids is None:
        return
    near = NearIds(subject.ids)
    remedy = missing.remedy(near)
    for target in dict.fromkeys(missing.targets):
        found = near.renamed(target) if remedy is None or target not in remedy.found else None
        if found is not None:
            yield target, found


def _by_field(subject: Subject) -> Iterator[tuple[str, str]]:
    facts = document_facts(subject)
    if facts is not None:
        yield from facts.renamed.items()
