"""Distances as pgvector has them: operators, operator classes, and the scores that follow from what the operators give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Distance, Neighbours, Numbers, Scores


@dataclass(frozen=True)
class PgDistance:
    """``operator`` gives a number that is the smaller, the nearer a vector is; ``opclass`` is what an index of it is made with."""

    operator: str
    opclass: str
    offset: float  # of a score, from which the number is taken

    def scores(self, distances: Scores) -> Scores:
        """What is nearer scores more; the cosine to a vector of zeros, which pgvector does not know, is 0."""
        found: Scores = np.nan_to_num(self.offset - distances, nan=0.0)
        return found


DISTANCES: dict[Distance, PgDistance] = {
    "cosine": PgDistance("<=>", "cosine_ops", 1.0),
    "ip": PgDistance("<#>", "ip_ops", 0.0),
    "l2": PgDistance("<->", "l2_ops", 0.0),
}


def vector_text(query: Vectors) -> str:
    """A query as pgvector reads it; every digit of a float32 arrives."""
    return str(query.tolist())


def exact_scores(rows: NDArray[np.float64], query: NDArray[np.float64], distance: Distance) -> Scores:
    """The scores of vectors in float64, row by row, so that equal vectors get equal scores."""
    if distance == "l2":
        return np.asarray(-np.sqrt(((rows - query) ** 2).sum(axis=1)))
    scores: Scores = (rows * query).sum(axis=1)
    if distance == "cosine":
        lengths = np.sqrt((rows * rows).sum(axis=1) * (query * query).sum())
        np.divide(scores, lengths, out=scores, where=lengths > 0)
    return scores


def in_order(numbers: Numbers, scores: Scores, k: int) -> Neighbours:
    """The best ``k``; equal scores are ordered by number."""
    best = np.lexsort((numbers, -scores))[:k]
    return Neighbours(numbers[best], scores[best])
