"""How likely an unjudged document is relevant, by its rank and by how many runs return it, as judged ones are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.audit.next_pairs.pooling import PooledDocument
from searchmark.measures.formulas import Floats

_LAST_RANKS = (1, 2, 3, 5, 10, 20, 50)  # of groups of ranks that are taken together
WEIGHT = 4  # of the overall share, in documents: what a group of few is drawn to
SURE = 0.99  # no document is known before it is judged


@dataclass(frozen=True)
class RelevancePrior:
    """The shares of relevant documents by group, and the grade that a relevant one usually has."""

    shares: dict[tuple[int, bool], float]
    overall: float
    grade: int

    def chances(self, unjudged: Sequence[PooledDocument]) -> Floats:
        found = [self.shares.get(_group(each), self.overall) for each in unjudged]
        return np.clip(np.array(found, np.float64), 1 - SURE, SURE)


def relevance_prior(pool: Sequence[PooledDocument], lowest: int, grades: Sequence[int]) -> RelevancePrior:
    """From the judged documents of a pool; from all of them where none is judged to be not relevant, unjudged ones counting so."""
    judged = [each for each in pool if each.grade is not None and each.grade >= 0]
    only_relevant = all((each.grade or 0) >= lowest for each in judged)
    counted = [each for each in pool if each.grade is None or each.grade >= 0] if only_relevant else judged
    relevant = sum((each.grade or 0) >= lowest for each in counted)
    overall = relevant / len(counted) if counted else 0.5
    groups: dict[tuple[int, bool], list[bool]] = {}
    for each in counted:
        groups.setdefault(_group(each), []).append((each.grade or 0) >= lowest)
    shares = {group: (sum(found) + WEIGHT * overall) / (len(found) + WEIGHT) for group, found in groups.items()}
    return RelevancePrior(shares, overall, _usual_grade(lowest, grades))


def _group(document: PooledDocument) -> tuple[int, bool]:
    return bisect_left(_LAST_RANKS, document.best_rank), document.in_both


def _usual_grade(lowest: int, grades: Sequence[int]) -> int:
    """The commonest grade of what is relevant, the lower of two."""
    values, counts = np.unique([grade for grade in grades if grade >= lowest], return_counts=True)
    return int(values[np.argmax(counts)]) if len(values) else lowest
