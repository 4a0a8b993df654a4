"""What an approximate index has found of the true nearest vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Numbers, ScoringIndex


@dataclass(frozen=True)
class NeighbourRecall:
    """Of the nearest ``k`` vectors: the share that was found, ties being as good (``recall``) or not (``overlap``)."""

    k: int
    recall: float
    overlap: float


def neighbour_recall(truth: ScoringIndex, query: Vectors, found: Numbers, k: int) -> NeighbourRecall | None:
    """How many of the first ``k`` that were found, best first, are among the true nearest; None if nothing is near.

    ``recall``: a vector counts if its exact score is that of the k-th true neighbour or more, as in ann-benchmarks.
    ``overlap``: it counts if it is one of the true ``k``, of which equal scores are ordered by number. If there are fewer
    vectors than ``k``, the result is for as many as there are.
    """
    true = truth.search(query, k).numbers
    if not len(true):
        return None
    first = np.unique(found[: len(true)])  # the same vector twice would be found once
    # All by one call, so that equal vectors are equal, whatever the scores of a search were rounded to.
    scores = truth.scores(query, np.concatenate((true, first)))
    as_near = np.count_nonzero(scores[len(true) :] >= scores[: len(true)].min())
    same = len(np.intersect1d(first, true))
    return NeighbourRecall(len(true), int(as_near) / len(true), same / len(true))
