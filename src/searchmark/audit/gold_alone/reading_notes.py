"""What the reader of a suite has to say: how it understood a metric, ratings or columns."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding


def reading_notes(subject: Subject) -> Iterator[Finding]:
    """Each note of the reader as it is written."""
    yield from (finding("reading-note", note) for note in subject.suite.notes)
