"""Score ranges of another model than that of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.score_ranges import model_of, no_range_because, ranged_rows


def ranges_of_another_model(subject: Subject) -> Iterator[Finding]:
    """For each run that says which model it searched with: the cases whose ranges are for others only."""
    for name, scores in subject.scores.items() if subject.suite.judgments.has_ranges else ():
        if model_of(scores.judged.run) is not None:
            yield from _of_run(name, scores)


def _of_run(name: str, scores: Scores) -> Iterator[Finding]:
    suite, run = scores.judged.suite, scores.judged.run
    ranged = np.unique(suite.judgments.case[ranged_rows(suite.judgments)]).tolist()
    reasons = {row: reason for row in ranged if (reason := no_range_because(suite, run, row))}
    if reasons:
        message = f"{name}: {next(iter(reasons.values()))}, in {len(reasons)} of {len(ranged)} cases with ranges"
        yield finding("ranges-of-another-model", message, (suite.table.ids[row] for row in reasons))
