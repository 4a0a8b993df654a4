"""Approximate nearest neighbours by an HNSW graph, through usearch. The same vectors always give the same graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import Vectors, normalize_rows
from searchmark.agents.vectors.index import (
    Distance,
    IndexSettings,
    Neighbours,
    VectorNumbers,
    VectorScores,
    has_no_direction,
    refuse_nonfinite_query,
    refuse_nonfinite_vectors,
    scale_to_unit,
    settings_for_search,
)
from searchmark.config.strict import STRICT, strict_record
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from usearch.index import Index


ScalarType = Literal["f32", "f16", "i8"]

METRICS = {"cosine": "cos", "ip": "ip", "l2": "l2sq"}  # as usearch calls them

BYTES = {"f32": 4, "f16": 2, "i8": 1}

MAX_CONNECTIVITY = 512  # of a vector in the graph, which reserves room for all of them

LARGEST_EF = 100_000

MOST_THREADS = 256

LARGEST_F16 = 65504.0

STEPS = 127  # of i8, from zero to one

UNIT_LENGTH = 0.01  # how far from one a length may be that i8, with steps of 1/127, cannot tell from it


@strict_record
class HnswSettings(IndexSettings):
    """Options of ``hnsw``.

    ``m``: neighbours of each vector in the graph. ``ef_construction`` and ``ef_search``: how many candidates are kept while the
    graph is built and while it is searched. ``scalar``: what numbers are stored as. ``threads``: that build the graph; with more
    than one, two builds of the same vectors may find different ones.
    """

    AT_SEARCH: ClassVar[frozenset[str]] = frozenset({"ef_search"})

    m: Annotated[int, Ge(2), Le(MAX_CONNECTIVITY), STRICT] = 16
    ef_construction: Annotated[int, Ge(1), Le(LARGEST_EF), STRICT] = 128
    ef_search: Annotated[int, Ge(1), Le(LARGEST_EF), STRICT] = 64
    scalar: ScalarType = "f32"
    threads: Annotated[int, Ge(1), Le(MOST_THREADS), STRICT] = 1

    def least_candidates(self, k: int) -> int:
        return k

    def open(self, dimension: int, distance: Distance) -> HnswIndex:
        return HnswIndex(dimension, distance, self)


class HnswIndex:
    """A `TunableIndex` by usearch; of vectors that score the same, it may find any."""

    exact = False

    def __init__(self, dimension: int, distance: Distance = "cosine", options: HnswSettings | None = None) -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self._options = options or HnswSettings()
        self._graph = self._empty()
        self._waiting: dict[int, Vectors | NDArray[np.int8]] = {}  # for the graph, by number

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        refuse_nonfinite_vectors(numbers, vectors)
        rows = self._storable(vectors)
        self.drop(numbers)
        self._waiting.update(zip(numbers.tolist(), rows, strict=True))

    def drop(self, numbers: VectorNumbers) -> None:
        for number in numbers.tolist():
            self._waiting.pop(number, None)
        if len(numbers):
            self._graph.remove(numbers, threads=1)  # those that are there

    def build(self) -> None:
        if self._waiting:
            numbers = sorted(self._waiting)
            vectors = np.stack([self._waiting[number] for number in numbers])
            self._graph.add(np.array(numbers, dtype=np.int64), vectors, threads=self._options.threads)
            self._waiting = {}

    def search(self, query: Vectors, k: int) -> Neighbours:
        refuse_nonfinite_query(query)
        self.build()
        k = min(k, len(self._graph))
        if k < 1 or has_no_direction(query, self.distance):
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        matches = self._graph.search(self._prepare_query(query), k, threads=1)
        numbers, scores = matches.keys.astype(np.int64), self._scores(matches.distances.astype(np.float64))
        order = np.lexsort((numbers, -scores))
        return Neighbours(numbers[order], scores[order])

    def searching_with(self, options: IndexSettings) -> None:
        self._options = settings_for_search(self._options, options)
        self._graph.expansion_search = self._options.ef_search  # type: ignore[misc]  # its setter follows that of another property

    def size(self) -> int:
        """The graph and its vectors, as a saved index has them.

        Rows of dropped vectors count until they are used again. What usearch has reserved beyond that (``memory_usage``), 20 MB
        for even one vector, does not.
        """
        stats = self._graph.stats
        return int(stats.allocated_bytes + stats.nodes * self.dimension * BYTES[self._options.scalar])

    def describe(self) -> Mapping[str, Any]:
        return {"name": "hnsw", **asdict(self._options)}

    def close(self) -> None:
        self._graph, self._waiting = self._empty(), {}

    def _empty(self) -> Index:
        from usearch.index import Index

        options = self._options
        return Index(
            ndim=self.dimension,
            metric=METRICS[self.distance],
            dtype=options.scalar,
            connectivity=options.m,
            expansion_add=options.ef_construction,
            expansion_search=options.ef_search,
        )

    def _storable(self, vectors: Vectors) -> Vectors | NDArray[np.int8]:
        """Vectors as they are given to usearch."""
        if self.distance == "cosine":  # very long and very short ones would be out of what f16 can hold
            vectors = normalize_rows(vectors)
        else:
            self._check_lengths(vectors)
        return _quantize_i8(vectors) if self._options.scalar == "i8" else vectors

    def _prepare_query(self, query: Vectors) -> Vectors | NDArray[np.int8]:
        """A query as it is given to usearch: unchanged, unless it would not survive that."""
        if self.distance == "cosine":
            return scale_to_unit(query)
        self._check_lengths(query[np.newaxis])
        return query if self._options.scalar != "i8" or query.any() else _quantize_i8(query[np.newaxis]).reshape(-1)

    def _check_lengths(self, vectors: Vectors) -> None:
        """Refuse what the scalar cannot hold."""
        if self._options.scalar == "f16" and np.abs(vectors).max(initial=0.0) > LARGEST_F16:
            raise UsageError(
                f"index hnsw with scalar f16 holds numbers up to {LARGEST_F16:g}, and a vector has a larger one; set scalar to f32"
            )
        if self._options.scalar == "i8":
            lengths = np.linalg.norm(vectors, axis=1)
            wrong = lengths[(lengths > 0) & (np.abs(lengths - 1) > UNIT_LENGTH)]
            if len(wrong):
                raise UsageError(
                    f"index hnsw with scalar i8 keeps no lengths, and a vector has length {wrong[0]:.3g} instead of 1; "
                    "normalise the vectors, or set scalar to f16 or distance to cosine"
                )

    def _scores(self, distances: VectorScores) -> VectorScores:
        """From what usearch measures to what is more for what is nearer."""
        unit = STEPS if self._options.scalar == "i8" else 1
        if self.distance == "l2":
            return -np.sqrt(np.maximum(distances, 0.0)) / unit
        return 1.0 - distances if self.distance == "cosine" else (1.0 - distances) / unit**2


def _quantize_i8(vectors: Vectors) -> NDArray[np.int8]:
    """As usearch does it, cut towards zero; but it divides zeros by their length, and what comes out is near to anything."""
    return (normalize_rows(vectors) * STEPS).astype(np.int8)
