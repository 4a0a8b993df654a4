"""An index with a clock: what its searches take, apart from whatever else an agent does for a query."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Estimates, Neighbours, Numbers, Scores, ScoringIndex, VectorIndex


class TimedIndex:
    """A `VectorIndex` that adds up in ``spent_ns`` what its searches take."""

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self.dimension, self.distance, self.exact = index.dimension, index.distance, index.exact
        self.spent_ns = 0

    def search(self, query: Vectors, k: int) -> Neighbours:
        start = perf_counter_ns()
        found = self._index.search(query, k)
        self.spent_ns += perf_counter_ns() - start
        return found

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        self._index.put(numbers, vectors)

    def drop(self, numbers: Numbers) -> None:
        self._index.drop(numbers)

    def build(self) -> None:
        self._index.build()

    def size(self) -> int | None:
        return self._index.size()

    def describe(self) -> Mapping[str, Any]:
        return self._index.describe()

    def close(self) -> None:
        self._index.close()


class TimedScoringIndex(TimedIndex):
    """A `ScoringIndex` whose scores and estimates count as search too, since files are found by them."""

    def __init__(self, index: ScoringIndex) -> None:
        super().__init__(index)
        self._scoring = index

    def scores(self, query: Vectors, numbers: Numbers) -> Scores:
        start = perf_counter_ns()
        found = self._scoring.scores(query, numbers)
        self.spent_ns += perf_counter_ns() - start
        return found

    def estimates(self, query: Vectors, numbers: Numbers) -> Estimates:
        start = perf_counter_ns()
        found = self._scoring.estimates(query, numbers)
        self.spent_ns += perf_counter_ns() - start
        return found

    def contents(self, numbers: Numbers) -> Vectors:
        return self._scoring.contents(numbers)
