"""How likely an unjudged document is relevant, by its rank and by how many runs return it, as judged ones are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.next_pairs.pooling import PooledDocument
from searchmark.measures.formulas import Floats

_LAST_RANKS = (1, 2, 3, 5, 10, 20, 50)  # of groups of ranks that are taken together
WEIGHT = 4  # of the overall share, in documents: what a group of few is drawn to
SURE = 0.99  # no document is known before it is judged

_Group = tuple[int, bool, bool]


@dataclass(frozen=True)
class RelevancePrior:
    """By group, how many documents are relevant and how many are not, and the grade that a relevant one usually has.

    ``known`` is False where the judgments do not come from a pool: then unjudged documents count as not relevant, and chances
    are too low.
    """

    groups: dict[_Group, tuple[int, int]]
    overall: float
    grade: int
    known: bool

    def chances(self, unjudged: Sequence[PooledDocument]) -> Floats:
        return np.array([self._share(_group(each)) for each in unjudged], np.float64)

    def draw(self, unjudged: Sequence[PooledDocument], chance: np.random.Generator) -> NDArray[np.bool_]:
        """Which documents are relevant in a world that the judgments allow.

        What only one run returns has a share of its own there, since one run may be better; the fewer of it are judged, the
        more uncertain that is.
        """
        shares = {group: chance.beta(*self._weights(group)) for group in sorted({_group(each) for each in unjudged})}
        return chance.random(len(unjudged)) < np.array([shares[_group(each)] for each in unjudged])

    def _share(self, group: _Group) -> float:
        """Of both runs together: what one of them returns, whichever it is, or what both do."""
        rank, first, second = group
        counts = [self.groups.get(each, (0, 0)) for each in {group, (rank, second, first)}]
        relevant, other = map(sum, zip(*counts, strict=True))
        share = (relevant + WEIGHT * self.overall) / (relevant + other + WEIGHT)
        return min(max(share, 1 - SURE), SURE)

    def _weights(self, group: _Group) -> tuple[float, float]:
        relevant, other = self.groups.get(group, (0, 0))
        share = self._share(group)
        return relevant + WEIGHT * share, other + WEIGHT * (1 - share)


def relevance_prior(pool: Sequence[PooledDocument], lowest: int, grades: Sequence[int], *, known: bool) -> RelevancePrior:
    """From the judged documents of a pool; if the judgments are none, from all that was returned, unjudged ones counting as 0."""
    counted = [each for each in pool if (each.grade is None and not known) or (each.grade is not None and each.grade >= 0)]
    groups: dict[_Group, tuple[int, int]] = {}
    for each in counted:
        relevant, other = groups.get(_group(each), (0, 0))
        groups[_group(each)] = (relevant + 1, other) if (each.grade or 0) >= lowest else (relevant, other + 1)
    total = sum(relevant for relevant, _ in groups.values())
    overall = total / len(counted) if counted else 0.5
    return RelevancePrior(groups, overall, _usual_grade(lowest, grades), known)


def _group(document: PooledDocument) -> _Group:
    first, second = (rank is not None for rank in document.ranks)
    return bisect_left(_LAST_RANKS, document.best_rank), first, second


def _usual_grade(lowest: int, grades: Sequence[int]) -> int:
    """The commonest grade of what is relevant, the lower of two."""
    values, counts = np.unique([grade for grade in grades if grade >= lowest], return_counts=True)
    return int(values[np.argmax(counts)]) if len(values) else lowest
