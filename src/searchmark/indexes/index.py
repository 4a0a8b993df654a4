"""What an index is: vectors under numbers, and the nearest of them to a query.

Whose vectors they are is for others to know. An index never hears of files, so two of them can be compared by the
vectors that they find: the recall of an approximate one is what it finds of what an exact one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.options.strict import strict_record

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]
Distance = Literal["cosine", "ip", "l2"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Numbers of vectors and their scores, best first; equal scores are ordered by number."""

    numbers: Numbers
    scores: Scores

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Scores of some vectors, and how far each of them may be from the exact one."""

    scores: Vectors | Scores
    error: float


@strict_record
class IndexOptions:
    """What every index takes: nothing. Each kind adds its own."""

    def open(self, dimension: int, distance: Distance) -> VectorIndex:
        """An empty index."""
        raise NotImplementedError


class VectorIndex(Protocol):
    """Vectors, each under a number that the caller has chosen and may use again for another one.

    Numbers count from 0 without large gaps, so an index may use them as rows. A score is the cosine, the inner product, or the
    negative Euclidean distance: what is nearer scores more, by any distance. ``exact``: whether the nearest are found for sure.
    """

    dimension: int
    distance: Distance
    exact: bool

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        """Store one vector per number, in place of what was there."""

    def drop(self, numbers: Numbers) -> None:
        """Forget vectors, all of which are here."""

    def build(self) -> None:
        """Get ready to be searched; called when vectors were put or dropped and before the next search."""

    def search(self, query: Vectors, k: int) -> Neighbours:
        """The nearest ``k`` vectors, or all if there are fewer. Zeros have no direction, so by
        ``cosine`` and ``ip`` a query of zeros is near to nothing."""

    def size(self) -> int | None:
        """Bytes that the index takes, in memory and on disk; None if that is not known."""

    def describe(self) -> Mapping[str, Any]:
        """Its name and all parameters that decide on what it finds, defaults included, as short plain data."""

    def close(self) -> None:
        """Let go of files, connections and tables that were made for it."""


class ScoringIndex(VectorIndex, Protocol):
    """An index that can say what any vector scores, and not only find the nearest."""

    def scores(self, query: Vectors, numbers: Numbers) -> Scores:
        """The exact score of each of these vectors, in float64, whatever the search goes by."""

    def estimates(self, query: Vectors, numbers: Numbers) -> Estimates:
        """The score of each of these vectors, as exact as it is cheap: for those who have to look at very many."""

    def contents(self, numbers: Numbers) -> Vectors:
        """The vectors under these numbers, row by row, as they were put."""
