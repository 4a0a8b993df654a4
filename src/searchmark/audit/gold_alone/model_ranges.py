"""Score ranges of another model than that of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.score_ranges import model_of, no_range_because, ranged_rows
from searchmark.records import Run


def ranges_of_another_model(subject: Subject) -> Iterator[Finding]:
    """For each run that says what it searched with: the cases whose ranges are for another model."""
    for name, scores in subject.scores.items() if subject.suite.judgments.has_ranges else ():
        if model_of(scores.judged.run) is not None:
            yield from _of_other_models(name, scores)
        elif _describes_itself(scores.judged.run):
            yield from _of_no_model(name, scores)


def _describes_itself(run: Run) -> bool:
    """Whether it is known what the agent is made of: where nothing is, a model may be behind it."""
    return run.provenance.agent is not None and bool(run.provenance.agent.description)


def _of_other_models(name: str, scores: Scores) -> Iterator[Finding]:
    suite, run = scores.judged.suite, scores.judged.run
    ranged = np.unique(suite.judgments.case[ranged_rows(suite.judgments)]).tolist()
    reasons = {row: reason for row in ranged if (reason := no_range_because(suite, run, row))}
    if reasons:
        message = f"{name}: {next(iter(reasons.values()))}, in {len(reasons)} of {len(ranged)} cases with ranges"
        yield finding("ranges-of-another-model", message, (suite.table.ids[row] for row in reasons))


def _of_no_model(name: str, scores: Scores) -> Iterator[Finding]:
    """An agent without any model is held to the ranges of the suite all the same."""
    suite = scores.judged.suite
    if suite.model is None or suite.judgments.ranges is None:
        return
    ranged = np.unique(suite.judgments.case[~np.isnan(suite.judgments.ranges[:, 0])]).tolist()
    message = f"{name}: score ranges of {counted(len(ranged), 'case')} are for {suite.model}, and the agent names no model"
    yield finding("ranges-of-another-model", message, (suite.table.ids[row] for row in ranged))
