"""Targets that are not in the corpus: all of them, or some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from searchmark.audit.gold_and_corpus.nearest import NearIds, Remedy
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.existence import Existing
from searchmark.judging.matching import path_of_lines
from searchmark.records import MATCHES, Suite

SHOWN = 3
FEWEST_ALIKE = 3
LINES = MATCHES.index("lines")


@dataclass(frozen=True)
class MissingTargets:
    """Relevant targets that are not in the corpus, with their cases, of so many relevant ones."""

    targets: tuple[str, ...]
    cases: tuple[str, ...]
    of: int

    @property
    def is_all(self) -> bool:
        return len(self.targets) == self.of

    def remedy(self, near: NearIds) -> Remedy | None:
        """One change that makes them fit; of some targets among others that fit as they are, few can be alike by accident."""
        return near.remedy(self.targets, 1 if self.is_all else FEWEST_ALIKE)

    @classmethod
    def of_subject(cls, subject: Subject) -> MissingTargets | None:
        """None where nothing is missing, or that is not known."""
        if subject.survey is None or _none_missing(subject):
            return None
        suite = _expanded(subject)
        judgments = suite.judgments
        relevant = judgments.grades > 0
        about_lines = np.zeros(len(judgments), bool) if judgments.match is None else (judgments.match == LINES) & relevant
        existing = Existing(subject.survey.ids, subject.survey.folder)
        rows, targets = list[int](), list[str]()
        for row in np.flatnonzero(judgments.named | about_lines).tolist():
            target = judgments.targets[row]
            name = path_of_lines(target) if about_lines[row] else target
            if name not in subject.survey.ids and name not in existing:
                rows.append(row)
                targets.append(name)
        cases = tuple(suite.table.ids[case] for case in np.unique(judgments.case[rows]).tolist()) if rows else ()
        return cls(tuple(targets), cases, int(relevant.sum())) if rows else None


def missing_targets(subject: Subject) -> Iterator[Finding]:
    """All targets missing is another thing than some: then nothing was measured."""
    missing = MissingTargets.of_subject(subject)
    if missing is None or subject.ids is None:
        return
    near = NearIds(subject.ids)
    remedy = missing.remedy(near)
    if missing.is_all:
        none = f"none of the {missing.of} relevant targets is in the corpus" if missing.of > 1 else "its target is not there"
        yield finding("all-targets-missing", f"{none}: {_examples(missing, near, remedy)}", missing.cases)
    else:
        message = f"{len(missing.targets)} of {missing.of} relevant targets are not in the corpus"
        yield finding("unreachable-targets", f"{message}: {_examples(missing, near, remedy)}", missing.cases)


def _examples(missing: MissingTargets, near: NearIds, remedy: Remedy | None) -> str:
    """What is looked for and what is there, and what would make them fit."""
    distinct = list(dict.fromkeys(missing.targets))
    if remedy is None:
        shown = [_beside(target, near.nearest(target)) for target in distinct[:SHOWN]]
        return ", ".join(shown) + _more(len(distinct) - SHOWN)
    target = next(iter(remedy.found))
    fitting = sum(each in remedy.found for each in missing.targets)
    return f"{_beside(target, remedy.found[target])}; {remedy.words}, {fitting} of them would be found"


def _beside(target: str, nearest: str | None) -> str:
    return repr(target) if nearest is None else f"{target!r} (the corpus has {nearest!r})"


def _more(rest: int) -> str:
    return f" and {rest} others" if rest > 0 else ""


def _none_missing(subject: Subject) -> bool:
    """Whether judging a run has shown already that no target is missing; it does not look at targets with lines."""
    match = subject.suite.judgments.match
    if match is not None and (match == LINES).any():
        return False
    return any(each.judged.dropped.get("unreachable_targets") == 0 for each in subject.scores.values())


def _expanded(subject: Subject) -> Suite:
    """As runs on this corpus were judged by it, if there are any: expanding takes time."""
    judged = next((each.judged.suite for each in subject.scores.values()), None)
    is_expanded = judged is not None and judged.table.ids == subject.suite.table.ids and not judged.judgments.described.any()
    return judged if judged is not None and is_expanded else subject.expanded
