"""Targets that are not in the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from searchmark.audit.subject import Subject
from searchmark.judging.existence import Existing
from searchmark.judging.matching import path_of_lines
from searchmark.judging.near_ids import NearIds, Remedy
from searchmark.records import MATCHES, Suite

SHOWN = 3
FEWEST_ALIKE = 3
MOST = 0.5  # of the relevant targets: the mean then tells more of what is missing than of the search
LINES = MATCHES.index("lines")


@dataclass(frozen=True, eq=False)
class MissingTargets:
    """Relevant targets that are not in the corpus, each with its case, of so many relevant ones; and what is near to them."""

    targets: tuple[str, ...]
    cases: tuple[str, ...]
    of: int

    near: NearIds

    @property
    def is_all(self) -> bool:
        return len(self.targets) == self.of

    @property
    def is_most(self) -> bool:
        return len(self.targets) > MOST * self.of

    @cached_property
    def remedy(self) -> Remedy | None:
        """One change that makes them fit; of some targets among others that fit as they are, few can be alike by accident."""
        return self.near.remedy(1 if self.is_all else FEWEST_ALIKE)

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
            if not existing.has_target(name):
                rows.append(row)
                targets.append(name)
        cases = tuple(suite.table.ids[case] for case in judgments.case[rows].tolist()) if rows else ()
        return cls(tuple(targets), cases, int(relevant.sum()), NearIds(subject.survey.ids, targets)) if rows else None


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
