"""Cases that no search can win, and cases that none can lose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.names import DESCRIPTIONS
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import Suite

Marks = NDArray[np.bool_]


def without_judgments(subject: Subject) -> Iterator[Finding]:
    """Cases without any judgment, which are not said to be unanswerable. Where that is all there is, nothing is measured."""
    suite = subject.suite
    bare = _answerable(suite) & (np.diff(suite.judgments.starts) == 0)
    if len(suite) and bare.all():
        yield finding("nothing-judged", f"none of {counted(len(suite), 'case')} has a judgment", _ids(suite, bare))
    elif bare.any():
        message = f"cases without any judgment: {int(bare.sum())} of {len(suite)}"
        yield finding("cases-without-judgments", message, _ids(suite, bare))


def without_target(subject: Subject) -> Iterator[Finding]:
    """Cases whose judgments hold nothing relevant; lower grades still pay in measures that go by no lowest relevant grade."""
    suite = subject.expanded
    by_grade = _measures_from(subject, suite.defaults.rel)
    lowest = suite.defaults.rel if by_grade or not subject.scores else 1
    judged = np.diff(subject.suite.judgments.starts) > 0
    hollow = _answerable(suite) & judged & (_relevant(suite, lowest) == 0) & ~_described(suite)
    # Where patterns fit nothing, that is said of them; they may as well fit what is excluded, or graded 0 by another one.
    hollow &= (_relevant(subject.suite, lowest) == 0) | _patterns_fit(subject)
    if suite.table.order_only is not None:
        hollow &= ~suite.table.order_only  # such cases say nothing of what is relevant
    if hollow.any():
        lower_grades = _relevant(suite, 1)[hollow].any()
        names = ", ".join(by_grade) or "measures that count from this grade"
        zero = f", which can only score 0 in {names}" if lower_grades else ""
        message = f"cases without a target of grade {lowest} or higher{zero}: {int(hollow.sum())} of {len(suite)}"
        yield finding("cases-without-target", message, _ids(suite, hollow))


def _patterns_fit(subject: Subject) -> NDArray[np.bool_]:
    """Cases whose patterns mean any document, by judgments that expanding them has added."""
    judgments = subject.suite.judgments
    named = np.bincount(judgments.case[~judgments.described], minlength=len(subject.suite))
    return np.asarray(np.diff(subject.expanded.judgments.starts) > named)


def _measures_from(subject: Subject, grade: int) -> list[str]:
    """The measures of the runs in which no lower grade pays."""
    measures = {each.name: each for scores in subject.scores.values() for each in scores.measures}
    return [name for name, each in measures.items() if _counts_from(each, grade)]


def _counts_from(measure: AnyMeasure, grade: int) -> bool:
    """Whether no grade below this one pays."""
    return all(int(part.options.get("rel", 0)) >= grade for part in measure.parts)


def all_documents_relevant(subject: Subject) -> Iterator[Finding]:
    """Cases with documents of their own, all relevant and of one grade and rank: any ranking of them is perfect."""
    suite = subject.suite
    if suite.table.documents is None:
        return
    flat = np.zeros(len(suite), bool)
    for row, documents in enumerate(suite.table.documents):
        flat[row] = bool(documents) and _any_order_is_right(suite, row, {each.id for each in documents})
    if flat.any():
        with_own = sum(map(bool, suite.table.documents))
        message = f"{counted(int(flat.sum()), 'case')} of {with_own} with documents of their own: every document is relevant"
        yield finding("all-documents-relevant", message, _ids(suite, flat))


def _any_order_is_right(suite: Suite, row: int, documents: set[str]) -> bool:
    start, end = suite.judgments.starts[row : row + 2].tolist()
    judgments = list(suite.judgments.rows(start, end))
    found = [each for each in judgments if each.grade >= suite.defaults.rel and each.match in ("id", "path")]
    alike = len({(each.grade, each.rank) for each in found}) == 1
    return alike and documents <= {each.target for each in found}


def _answerable(suite: Suite) -> Marks:
    marked = suite.table.unanswerable
    return np.ones(len(suite), bool) if marked is None else ~marked


def _relevant(suite: Suite, lowest: int) -> NDArray[np.int64]:
    """How many judgments of each case have at least this grade."""
    return np.bincount(suite.judgments.case[suite.judgments.grades >= lowest], minlength=len(suite))


def _described(suite: Suite) -> Marks:
    """Cases with a pattern: what it matches is not known."""
    match = suite.judgments.match
    if match is None:
        return np.zeros(len(suite), bool)
    return np.bincount(suite.judgments.case[np.isin(match, DESCRIPTIONS)], minlength=len(suite)) > 0


def _ids(suite: Suite, marks: Marks) -> Iterator[str]:
    return (suite.table.ids[row] for row in np.flatnonzero(marks).tolist())
