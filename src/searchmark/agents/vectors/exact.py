"""Exact search: every vector is looked at, and the order is that of float64.

Float32 decides who comes into question, float64 who is first: whatever float32 cannot tell apart is scored again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.errors import UsageError
from searchmark.indexes.blocks import BLOCK, Block, Blocks, MappedFile, MemoryThenFile, in_memory
from searchmark.indexes.distances import MEASURES, Wide
from searchmark.indexes.index import Distance, Estimates, IndexOptions, Neighbours, Numbers, Scores
from searchmark.indexes.shortlist import Shortlist, floor_below, kth_largest
from searchmark.options.sensitive import WrittenFile
from searchmark.options.strict import strict_record
from searchmark.options.user_paths import expand_paths

WIDE_ROWS = 256  # vectors that are widened to float64 at once: what is made of them stays in the processor's cache
TOGETHER = 1024  # queries whose scores are made by one matmul; fewer if many neighbours are wanted
WANTED = 1 << 15  # neighbours that are wanted of one matmul
COLUMNS = 2048  # vectors of one matmul: few enough for the cache, enough for BLAS
MEGABYTE = 1 << 20


@strict_record
class ExactOptions(IndexOptions):
    """Options of ``exact``, none of which changes what is found.

    ``file``: vectors lie in this file and not in memory; it is a new one, or one that an index has made before.
    ``memory_mb``: what is more than that lies in a temporary file.
    """

    file: WrittenFile | None = None
    memory_mb: Annotated[int, Ge(0)] | None = None

    def __post_init__(self) -> None:
        expand_paths(self, "file")
        if self.file is not None and self.memory_mb is not None:
            raise ValueError("file and memory_mb exclude each other; set one of them")

    def open(self, dimension: int, distance: Distance) -> ExactIndex:
        return ExactIndex(dimension, distance, self)


@dataclass(frozen=True, eq=False)
class _WideQuery:
    """A query in float64, the sum of its squares, and what float32 makes of it, if it can."""

    wide: Wide
    square: float
    rough: Vectors | None


class ExactIndex:
    """A `ScoringIndex` that finds exactly the nearest, by the true cosine, inner product or Euclidean distance."""

    exact = True

    def __init__(self, dimension: int, distance: Distance = "cosine", options: ExactOptions | None = None) -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self._options = options or ExactOptions()
        self._measure = MEASURES[distance]
        self._longest = 0.0
        self._blocks = self._empty()

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        lengths = self._checked_lengths(numbers, vectors)
        self._blocks.grow(int(numbers.max(initial=-1)) + 1)
        rough, factors = self._measure.fits(lengths), self._measure.factors(lengths)
        for block, rows, where in self._blocks.of(numbers):
            for start in range(0, len(rows), WIDE_ROWS):  # in parts, since a block of them would be a copy
                part = slice(start, start + WIDE_ROWS)
                block.vectors[rows[part]] = vectors[where[part]]
            block.live[rows], block.rough[rows], block.factors[rows] = True, rough[where], factors[where]
        self._longest = max(self._longest, float(lengths[rough].max(initial=0)))

    def drop(self, numbers: Numbers) -> None:
        # The vector stays in its row until another one needs it: to clear it would cost more than to pass over it.
        for block, rows, _ in self._blocks.of(numbers):
            block.live[rows] = block.rough[rows] = False

    def search(self, query: Vectors, k: int) -> Neighbours:
        return self._search(self._prepared(query), k)

    def search_many(self, queries: Vectors, k: int) -> list[Neighbours]:
        """The nearest of each query, the same to the last bit as `search` finds; faster for many queries at once."""
        prepared = [self._prepared(query) for query in np.asarray(queries, dtype=np.float32)]
        found: list[Neighbours | None] = [None] * len(prepared)
        asked = [number for number, query in enumerate(prepared) if query.rough is not None and self._is_near_to_any(query)]
        wanted = min(k, self._count())
        together = min(TOGETHER, max(WANTED // max(wanted, 1), 1)) if len(self._beyond_float32()) <= TOGETHER else 1
        for start in range(0, len(asked) if wanted > 0 and together > 1 else 0, together):
            part = asked[start : start + together]
            for number, near in zip(part, self._search_together([prepared[each] for each in part], wanted), strict=True):
                found[number] = near
        return [self._search(query, k) if near is None else near for query, near in zip(prepared, found, strict=True)]

    def scores(self, query: Vectors, numbers: Numbers) -> Scores:
        # A chunk may be part of many files, and is scored once.
        distinct, which = np.unique(numbers, return_inverse=True)
        exact: Scores = self._exact([self._prepared(query)], np.zeros(len(distinct), dtype=np.int64), distinct)[which]
        return exact

    def estimates(self, query: Vectors, numbers: Numbers) -> Estimates:
        prepared = self._prepared(query)
        if prepared.rough is None or len(self._beyond_float32()):
            return Estimates(self.scores(query, numbers), 0.0)
        rough = self._rough_scores(prepared.rough)[numbers]
        return Estimates(*self._measure.estimates(rough, self._error(prepared), float(np.sqrt(prepared.square))))

    def contents(self, numbers: Numbers) -> Vectors:
        vectors = np.empty((len(numbers), self.dimension), dtype=np.float32)
        for block, rows, where in self._blocks.of(numbers):
            vectors[where] = block.vectors[rows]
        return vectors

    def build(self) -> None:
        """Nothing to do: every search looks at every vector."""

    def describe(self) -> Mapping[str, Any]:
        return {"name": "exact"}

    def close(self) -> None:
        self._blocks = Blocks(self.dimension, in_memory)

    def size(self) -> int:
        return self._blocks.size()

    def _empty(self) -> Blocks:
        if self._options.file is not None:
            return Blocks(self.dimension, MappedFile(Path(self._options.file)))
        memory = self._options.memory_mb
        return Blocks(self.dimension, in_memory if memory is None else MemoryThenFile(memory * MEGABYTE))

    def _checked_lengths(self, numbers: Numbers, vectors: Vectors) -> Wide:
        if vectors.shape[1:] != (self.dimension,):
            raise UsageError(f"vectors of {vectors.shape[-1]} numbers cannot be put into an index of {self.dimension}")
        if len(numbers) != len(vectors) or int(numbers.min(initial=0)) < 0:
            raise UsageError(f"{len(vectors)} vectors need as many numbers, counted from 0")
        lengths = np.empty(len(vectors))
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 or not a number is refused below
            for start in range(0, len(vectors), WIDE_ROWS):
                wide = vectors[start : start + WIDE_ROWS].astype(np.float32, copy=False).astype(np.float64)
                lengths[start : start + WIDE_ROWS] = np.sqrt((wide * wide).sum(axis=1))
        wrong = np.flatnonzero(~np.isfinite(lengths))
        if len(wrong):
            raise UsageError(f"vector {numbers[wrong[0]]} holds NaN or infinity; an index takes finite numbers only")
        return lengths

    def _prepared(self, query: Vectors) -> _WideQuery:
        wide = np.asarray(query, dtype=np.float32).astype(np.float64)
        if wide.shape != (self.dimension,):
            raise UsageError(
                f"a query of {wide.shape[-1] if wide.ndim else 1} numbers cannot be searched for among vectors of {self.dimension}"
            )
        square = float((wide * wide).sum())
        if not np.isfinite(square):
            raise UsageError("a query holds NaN or infinity; an index takes finite numbers only")
        return _WideQuery(wide, square, self._measure.rough_query(wide) if square or self.distance == "l2" else None)

    def _is_near_to_any(self, query: _WideQuery) -> bool:
        """By distance alone, zeros are as good a query as any; they have no direction, though."""
        return query.square > 0 or self.distance == "l2"

    def _search(self, query: _WideQuery, k: int) -> Neighbours:
        k = min(k, self._count())
        if k < 1 or not self._is_near_to_any(query):
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        candidates = self._candidates(query, k)
        exact = self._exact([query], np.zeros(len(candidates), dtype=np.int64), candidates)
        best = np.lexsort((candidates, -exact))[:k]
        return Neighbours(candidates[best], exact[best])

    def _candidates(self, query: _WideQuery, k: int) -> Numbers:
        """Who may be among the nearest ``k``, in order."""
        if query.rough is None:
            return self._all(lambda block: block.live)
        rough = self._rough_scores(query.rough)
        # Two scores that are further apart than twice the error of one are in the right order already. Whoever is closer
        # than that to the k-th may belong before it, so it is scored again.
        least = floor_below(kth_largest(rough, k) - 2 * self._error(query))
        return np.append(np.flatnonzero(rough >= least), self._beyond_float32())

    def _search_together(self, queries: list[_WideQuery], k: int) -> list[Neighbours | None]:
        """The nearest ``k`` of each query; None for one that too many vectors come into question for."""
        shortlist = Shortlist(k, np.array([2 * self._error(query) for query in queries]))
        rough = np.stack([query.rough for query in queries if query.rough is not None])
        room = np.empty(len(rough) * COLUMNS, dtype=np.float32)
        for block, part in self._blocks.parts(COLUMNS):
            scores = room[: len(rough) * (part.stop - part.start)].reshape(len(rough), -1)
            self._score_part(block, part, rough, scores)
            shortlist.offer(scores, block.first + part.start)
        owners, numbers = shortlist.pairs()
        beyond = self._beyond_float32()
        if len(beyond):
            asked = np.flatnonzero(~shortlist.crowded)
            owners = np.concatenate((owners, np.repeat(asked, len(beyond))))
            numbers = np.concatenate((numbers, np.tile(beyond, len(asked))))
        found = _best_of_each(len(queries), owners, numbers, self._exact(queries, owners, numbers), k)
        return [None if crowded else near for crowded, near in zip(shortlist.crowded.tolist(), found, strict=True)]

    def _exact(self, queries: list[_WideQuery], owners: Numbers, numbers: Numbers) -> Scores:
        """The exact score of each pair of a query, by its place in the list, and a vector."""
        wide, squares = np.stack([query.wide for query in queries]), np.array([query.square for query in queries])
        found = np.empty(len(numbers))
        for block, rows, where in self._blocks.of(numbers):
            for start in range(0, len(rows), WIDE_ROWS):
                part = where[start : start + WIDE_ROWS]
                vectors, asked = block.vectors[rows[start : start + WIDE_ROWS]].astype(np.float64), owners[part]
                one = len(queries) == 1
                found[part] = self._measure.scores(vectors, wide[0] if one else wide[asked], squares[0] if one else squares[asked])
        return found

    def _rough_scores(self, query: Vectors) -> Vectors:
        scores = np.empty(self._blocks.rows, dtype=np.float32)
        for block, part in self._blocks.parts(BLOCK):
            self._score_part(block, part, query, scores[block.first + part.start : block.first + part.stop])
        return scores

    def _score_part(self, block: Block, part: slice, queries: Vectors, scores: Vectors) -> None:
        """Rough scores of some vectors of a block with one query or many; less than any for those that have none."""
        with np.errstate(over="ignore", invalid="ignore"):  # vectors beyond float32 get no rough score
            if queries.ndim == 1:
                # Not by a product with the matrix: BLAS would give that to all cores, which wait for each other. One query alone is
                # bound by memory and gains little, and on a busy machine it would take thirty times as long.
                np.vecdot(block.vectors[part], queries, out=scores)
            else:
                np.matmul(queries, block.vectors[part].T, out=scores)
            self._measure.adjust(scores, block.factors[part])
        if not block.rough[part].all():
            scores[..., np.flatnonzero(~block.rough[part])] = -np.inf

    def _error(self, query: _WideQuery) -> float:
        return self._measure.error(self.dimension, self._longest, float(np.sqrt(query.square)))

    def _count(self) -> int:
        return sum(int(np.count_nonzero(block.live)) for block in self._blocks)

    def _beyond_float32(self) -> Numbers:
        """Vectors that only float64 can score: they come into question for every query."""
        return self._all(lambda block: block.live & ~block.rough)

    def _all(self, chosen: Callable[[Block], NDArray[np.bool_]]) -> Numbers:
        return np.concatenate(
            [np.empty(0, dtype=np.int64), *(np.flatnonzero(chosen(block)) + block.first for block in self._blocks)]
        )


def _best_of_each(queries: int, owners: Numbers, numbers: Numbers, scores: Scores, k: int) -> list[Neighbours]:
    order = np.lexsort((numbers, -scores, owners))
    numbers, scores = numbers[order], scores[order]
    starts = np.searchsorted(owners[order], np.arange(queries + 1)).tolist()
    ends = (min(start + k, end) for start, end in pairwise(starts))
    return [Neighbours(numbers[start:end], scores[start:end]) for start, end in zip(starts, ends, strict=False)]
