"""Who comes into question for each of many queries, as rough scores arrive block by block.

Most scores are compared with one number and never looked at again: a query's floor, which k vectors are known to reach, less
what float32 may be wrong by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Numbers

GROUPS = 4  # for every vector that is wanted, in the search for the nearest
CROWD = 16  # times as many as are wanted: a query with more than that in question is better searched for alone
SMALL_CROWD = 512
TILE = 512  # scores of one query
LOWEST = np.float32(-(2.0**126))  # less than every rough score, and more than what stands for "not here"


class Shortlist:
    """Pairs of a query and a vector. ``margins``: how far below the k-th best of each query a vector still may be better."""

    def __init__(self, k: int, margins: NDArray[np.float64]) -> None:
        self._k, self._margins = k, margins
        self._crowd = max(CROWD * k, SMALL_CROWD)
        self._floors = np.full(len(margins), LOWEST, dtype=np.float32)
        self._queries: list[Numbers] = []
        self._numbers: list[Numbers] = []
        self._scores: list[Vectors] = []
        self._kept = self._pending = 0
        self.crowded: NDArray[np.bool_] = np.zeros(len(margins), dtype=np.bool_)

    def offer(self, scores: Vectors, first: int) -> None:
        """Rough scores, a row per query, of vectors that are numbered one after the other."""
        if not self._pending:
            self._raise_floors(np.arange(len(scores)), _reached(scores, self._k))
        tile = TILE if scores.shape[1] % TILE == 0 else scores.shape[1]
        tiles = scores.reshape(-1, tile)
        # To find the best of each tile is faster than to compare all, and few tiles have anyone who passes.
        chosen = np.flatnonzero(tiles.max(axis=1).reshape(len(scores), -1) >= self._floors[:, np.newaxis])
        queries, starts = np.divmod(chosen * tile, scores.shape[1])
        self._add(tiles[chosen], queries, starts + first)
        if self._pending > 2 * self._kept + self._crowd:
            self._tighten()

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Queries and vectors whose exact scores decide; none for a query that is crowded."""
        self._tighten()
        return self._queries[0], self._numbers[0]

    def _add(self, tiles: Vectors, queries: Numbers, firsts: Numbers) -> None:
        """Those of some tiles who pass, by the query of each tile and its first vector."""
        passed = tiles >= self._floors[queries][:, np.newaxis]
        if np.count_nonzero(passed) > 4 * self._k * len(self._floors) + self._crowd:
            passing = np.bincount(queries, weights=np.count_nonzero(passed, axis=1), minlength=len(self._floors))
            self._leave_out(passing > self._crowd)
            passed[self.crowded[queries]] = False  # their pairs would be left out later too, but take memory until then
        tile, column = np.divmod(np.flatnonzero(passed), tiles.shape[1])
        self._queries.append(queries[tile])
        self._numbers.append(firsts[tile] + column)
        self._scores.append(tiles[tile, column])
        self._pending += len(tile)

    def _tighten(self) -> None:
        """Raise each floor to what is known by now, and forget what is below."""
        queries, scores = np.concatenate(self._queries), np.concatenate(self._scores)
        order = np.lexsort((-scores, queries))
        queries, scores, numbers = queries[order], scores[order], np.concatenate(self._numbers)[order]
        starts = np.searchsorted(queries, np.arange(len(self._floors) + 1))
        full = np.flatnonzero(np.diff(starts) >= self._k)
        self._raise_floors(full, scores[starts[full] + self._k - 1])
        kept = scores >= self._floors[queries]
        self._leave_out(np.bincount(queries[kept], minlength=len(self._floors)) > self._crowd)
        kept &= ~self.crowded[queries]
        self._queries, self._numbers, self._scores = [queries[kept]], [numbers[kept]], [scores[kept]]
        self._kept = self._pending = len(self._queries[0])

    def _raise_floors(self, queries: Numbers, reached: Vectors) -> None:
        self._floors[queries] = np.maximum(self._floors[queries], floor_below(reached - self._margins[queries]))

    def _leave_out(self, crowded: NDArray[np.bool_]) -> None:
        self.crowded |= crowded
        self._floors[crowded] = np.inf


def _reached(scores: Vectors, k: int) -> Vectors:
    """A score that k vectors reach, for each query, and not much less than the k-th best: the k-th best of groups' best."""
    count = scores.shape[1]
    groups = min(count, CROWD * k)
    if groups < k:
        return np.full(len(scores), LOWEST, dtype=np.float32)
    best = scores[:, : count - count % groups].reshape(len(scores), -1, groups).max(axis=1)
    reached: Vectors = np.partition(best, groups - k, axis=1)[:, groups - k]
    return reached


def floor_below(values: NDArray[np.float64] | float) -> Vectors:
    """What float32 has below these values, whichever way it rounds them; never what stands for "not here"."""
    floors: Vectors = np.nextafter(np.maximum(values, LOWEST).astype(np.float32), np.float32(-np.inf))
    return floors


def kth_largest(values: Vectors, k: int) -> float:
    """The k-th largest of many values.

    A value that the largest of k groups reach is reached by k values, so most of them need no more than a comparison.
    """
    size = max(len(values) // (GROUPS * k), 1)
    whole = len(values) - len(values) % size
    largest = values[:whole].reshape(-1, size).max(axis=1)
    if len(largest) > k:
        values = values[values >= np.partition(largest, len(largest) - k)[len(largest) - k]]
    return float(np.partition(values, len(values) - k)[len(values) - k])
