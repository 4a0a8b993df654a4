"""Exact search: every vector is looked at, and the order is that of float64.

Float32 decides who comes into question, float64 who is first: whatever float32 cannot tell apart is scored again.
Vectors lie in blocks, so that an index grows without being copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Distance, Estimates, IndexOptions, Neighbours, Numbers, Scores
from searchmark.options.strict import strict_record

BLOCK = 8192  # vectors
WIDE_ROWS = 256  # vectors that are widened to float64 at once: what is made of them stays in the processor's cache
GROUPS = 4  # for every vector that is wanted, in the search for the nearest
UNIT = 2.0**-24  # what float32 may be wrong by in one step
LENGTH = 2e-6  # what two lengths that pass for one may be wrong by


@strict_record
class ExactOptions(IndexOptions):
    """Options of ``exact``: none, since it looks at every vector."""

    def open(self, dimension: int, distance: Distance) -> ExactIndex:
        return ExactIndex(dimension, distance)


class ExactIndex:
    """A `ScoringIndex` that finds exactly the nearest.

    For ``cosine`` every vector must have length one, or be zero.
    """

    exact = True

    def __init__(self, dimension: int, distance: Distance = "cosine") -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self._cosine = distance == "cosine"
        self._blocks: list[Vectors] = []
        self._live: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)  # one entry per row up to the last that was ever used
        self._longest = 1.0

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        self._grow(int(numbers.max(initial=-1)) + 1)
        for block, rows, where in self._by_block(numbers):
            block[rows] = vectors[where]
        self._live[numbers] = True
        if not self._cosine and len(vectors):
            self._longest = max(self._longest, float(np.linalg.norm(vectors, axis=1).max()))

    def drop(self, numbers: Numbers) -> None:
        # The vector stays in its row until another one needs it: to clear it would cost more than to pass over it.
        self._live[numbers] = False

    def search(self, query: Vectors, k: int) -> Neighbours:
        k = min(k, int(np.count_nonzero(self._live)))
        if k < 1 or not query.any():
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        rough = self._rough_scores(query)
        # Two scores that are further apart than twice the error of one are in the right order already. Whoever is closer
        # than that to the k-th may belong before it, so it is scored again.
        least = np.float32(_kth_largest(rough, k) - 2 * self._uncertainty(query))
        candidates = np.flatnonzero(rough >= np.nextafter(least, np.float32(-np.inf)))  # whichever way that was rounded
        exact = self.scores(query, candidates)
        best = np.lexsort((candidates, -exact))[:k]
        return Neighbours(candidates[best], exact[best])

    def scores(self, query: Vectors, numbers: Numbers) -> Scores:
        # A chunk may be part of many files, and is scored once.
        distinct, which = np.unique(numbers, return_inverse=True)
        wide = query.astype(np.float64)
        found = np.empty(len(distinct))
        for block, rows, where in self._by_block(distinct):
            for start in range(0, len(rows), WIDE_ROWS):
                part = slice(start, start + WIDE_ROWS)
                found[where[part]] = self._row_scores(block[rows[part]].astype(np.float64), wide)
        exact: Scores = found[which]
        return exact

    def estimates(self, query: Vectors, numbers: Numbers) -> Estimates:
        return Estimates(self._rough_scores(query)[numbers], self._uncertainty(query))

    def contents(self, numbers: Numbers) -> Vectors:
        vectors = np.empty((len(numbers), self.dimension), dtype=np.float32)
        for block, rows, where in self._by_block(numbers):
            vectors[where] = block[rows]
        return vectors

    def build(self) -> None:
        """Nothing to do: every search looks at every vector."""

    def describe(self) -> Mapping[str, Any]:
        return {"name": "exact"}

    def close(self) -> None:
        self._blocks = []
        self._live = np.zeros(0, dtype=np.bool_)

    def size(self) -> int:
        """The blocks, whether or not every row of them is in use."""
        return sum(block.nbytes for block in self._blocks)

    def _grow(self, rows: int) -> None:
        while rows > len(self._blocks) * BLOCK:
            self._blocks.append(np.zeros((BLOCK, self.dimension), dtype=np.float32))
        if rows > len(self._live):
            self._live = np.concatenate((self._live, np.zeros(rows - len(self._live), dtype=np.bool_)))

    def _by_block(self, numbers: Numbers) -> Iterator[tuple[Vectors, Numbers, Numbers]]:
        """Every block that holds any of these vectors, their rows in it, and where among the numbers each is."""
        order = np.argsort(numbers, kind="stable")  # in the order of memory, and a no-op for numbers that are sorted
        borders = np.searchsorted(numbers[order], np.arange(len(self._blocks) + 1) * BLOCK).tolist()
        for place, block in enumerate(self._blocks):
            where = order[borders[place] : borders[place + 1]]
            if len(where):
                yield block, numbers[where] - place * BLOCK, where

    def _rough_scores(self, query: Vectors) -> Vectors:
        scores = np.empty(len(self._live), dtype=np.float32)
        for number, block in enumerate(self._blocks):
            part = scores[number * BLOCK : (number + 1) * BLOCK]
            np.dot(block[: len(part)], query, out=part)
        np.copyto(scores, -np.inf, where=~self._live)
        return scores

    def _uncertainty(self, query: Vectors) -> float:
        """How far a float32 score can be from the exact one, by the usual bound of a dot product."""
        length = float(np.linalg.norm(query))
        if self._cosine:
            return (self.dimension * UNIT + LENGTH) * length
        return self.dimension * UNIT * self._longest * length

    def _row_scores(self, rows: NDArray[np.float64], query: NDArray[np.float64]) -> Scores:
        # Row by row, so that equal vectors get equal scores wherever they lie; BLAS does not promise that.
        scores: Scores = (rows * query).sum(axis=1)
        if self._cosine:
            lengths = np.sqrt((rows * rows).sum(axis=1) * (query * query).sum())
            np.divide(scores, lengths, out=scores, where=lengths > 0)  # a row of zeros has scored 0 and keeps it
        return scores


def _kth_largest(values: Vectors, k: int) -> float:
    """The k-th largest of many values.

    A value that the largest of k groups reach is reached by k values, so most of them need no more than a comparison.
    """
    size = max(len(values) // (GROUPS * k), 1)
    whole = len(values) - len(values) % size
    largest = values[:whole].reshape(-1, size).max(axis=1)
    if len(largest) > k:
        values = values[values >= np.partition(largest, len(largest) - k)[len(largest) - k]]
    return float(np.partition(values, len(values) - k)[len(values) - k])
