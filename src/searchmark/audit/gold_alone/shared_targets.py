"""Many queries with the same targets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.intervals import observations
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted, three_digits
from searchmark.records.clusters import rows_by_key, shared_rows
from searchmark.records.shown import listed, quoted

SHOWN = 3


def shared_targets(subject: Subject) -> Iterator[Finding]:
    """Cases that are one observation because they have the same targets, and what is left of their number."""
    suite = subject.suite
    shared = shared_rows(suite.target_keys, suite.table.origins)
    groups = sorted(rows_by_key(suite.target_keys, shared), key=len, reverse=True)
    if not groups:
        return
    cases = sorted(row for group in groups for row in group)
    worth = observations(np.zeros((len(suite), 1)), suite.clusters).worth
    largest = listed([quoted(suite.table.ids[row]) for row in groups[0]], SHOWN)
    common = f"{len(cases)} of {len(suite)} cases share their relevant targets with another, in {counted(len(groups), 'group')}"
    message = f"{common}, the largest of {len(groups[0])} cases ({largest}); all cases are worth {three_digits(worth)} observations"
    yield finding("shared-targets", message, (suite.table.ids[row] for row in cases))
