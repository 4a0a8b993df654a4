"""Missing targets that the corpus has under another name, and targets that it says were replaced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.audit.gold_and_corpus.documents import document_facts
from searchmark.audit.gold_and_corpus.missing import SHOWN, MissingTargets
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding


def renamed_targets(subject: Subject) -> Iterator[Finding]:
    """By a field that says so, or by a last part that one document near it alone has.

    Where most targets are missing, that is said instead.
    """
    missing = MissingTargets.of_subject(subject)
    renamed = _by_field(subject)
    if missing is not None and missing.is_most:
        renamed = {old: new for old, new in renamed.items() if old not in missing.targets}
    elif missing is not None:
        renamed |= new_names_of(subject, missing)
    if not renamed:
        return
    judgments, ids = subject.expanded.judgments, subject.suite.table.ids
    rows = [row for row in np.flatnonzero(judgments.named).tolist() if judgments.targets[row] in renamed]
    cases = [ids[case] for case in np.unique(judgments.case[rows]).tolist()]
    shown = ", ".join(f"{old!r} is now {new!r}" for old, new in list(renamed.items())[:SHOWN])
    yield finding("renamed-targets", f"{len(renamed)} of {_distinct(subject)} targets seem to be renamed: {shown}", cases)


def new_names_of(subject: Subject, missing: MissingTargets) -> dict[str, str]:
    """What missing targets are called now; only a full audit, which has the documents, looks for it.

    Where one and the same change would make most targets fit, they were not renamed one by one.
    """
    if subject.corpus is None:
        return {}
    alike = {} if missing.remedy is None else missing.remedy.found
    by_name = {each: missing.near.renamed(each) for each in dict.fromkeys(missing.targets) if each not in alike}
    by_field = {old: new for old, new in _by_field(subject).items() if old in by_name}
    return by_field | {old: new for old, new in by_name.items() if new is not None}


def _distinct(subject: Subject) -> int:
    judgments = subject.expanded.judgments
    return len({judgments.targets[row] for row in np.flatnonzero(judgments.named).tolist()})


def _by_field(subject: Subject) -> dict[str, str]:
    facts = document_facts(subject)
    return {} if facts is None else dict(facts.renamed)
