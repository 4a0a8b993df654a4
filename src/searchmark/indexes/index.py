"""What an index is: vectors under numbers, and the nearest of them to a query.

Whose vectors they are is for others to know. An index never hears of files, so two of them can be compared by the
vectors that they find: the recall of an approximate one is what it finds of what an exact one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


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

    scores: Vectors
    error: float


class VectorIndex(Protocol):
    """Vectors, each under a number that the caller has chosen and may use again for another one.

    Numbers count from 0 without large gaps, so an index may use them as rows.
    """

    dimension: int

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        """Store one vector per number, in place of what was there."""

    def drop(self, numbers: Numbers) -> None:
        """Forget vectors, all of which are here."""

    def search(self, query: Vectors, k: int) -> Neighbours:
        """The nearest ``k`` vectors, or all if there are fewer. A query of zeros is near to nothing."""

    def scores(self, query: Vectors, numbers: Numbers) -> Scores:
        """The exact score of each of these vectors, in float64, whatever the search goes by."""

    def estimates(self, query: Vectors, numbers: Numbers) -> Estimates:
        """The score of each of these vectors, as exact as it is cheap: for those who have to look at very many."""

    def contents(self, numbers: Numbers) -> Vectors:
        """The vectors under these numbers, row by row, as they were put."""

    def size(self) -> int:
        """Bytes that the index takes."""
