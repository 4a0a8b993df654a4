"""Exact nearest neighbours: float32 makes a shortlist, float64 decides the order.

Vectors lie in blocks in memory or in a mapped file.
"""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import Vectors
from searchmark.agents.vectors.index import Distance, Estimates, IndexSettings, Neighbours, VectorNumbers, VectorScores
from searchmark.config.permissions import WrittenFile
from searchmark.config.strict import Count, strict_record
from searchmark.errors import UsageError
from searchmark.io.folders import blame_temporary_folder, lock_file
from searchmark.io.paths import expand_paths

# Where vectors lie: in blocks, so that they grow without being copied, in memory or in a file that is mapped.

BLOCK_ROWS = 8192  # vectors

HEADER = b"searchmark vectors: float32, from byte 4096 on\n"

FIRST_BLOCK_OFFSET = 4096  # bytes before the first block, which begins at a page


@dataclass(eq=False)
class VectorBlock:
    """Vectors in rows; which of them are in use, which of those float32 can score, and what their distance keeps of each."""

    first: int
    vectors: Vectors
    live: NDArray[np.bool_]
    rough: NDArray[np.bool_]
    factors: Vectors


class VectorBlocks:
    """All vectors of an index. ``room``: gives the memory for one block more, by its shape."""

    def __init__(self, dimension: int, room: Callable[[int, int], Vectors]) -> None:
        self._dimension, self._room = dimension, room
        self._blocks: list[VectorBlock] = []
        self.rows = 0  # up to the last that was ever used

    def __iter__(self) -> Iterator[VectorBlock]:
        return iter(self._blocks)

    def parts(self, size: int) -> Iterator[tuple[VectorBlock, slice]]:
        """All rows up to the last that was ever used, at most so many at once."""
        for block in self._blocks:
            count = min(self.rows - block.first, BLOCK_ROWS)
            yield from ((block, slice(start, min(start + size, count))) for start in range(0, count, size))

    def grow(self, rows: int) -> None:
        while rows > len(self._blocks) * BLOCK_ROWS:
            live, rough = np.zeros((2, BLOCK_ROWS), dtype=np.bool_)
            vectors = self._room(BLOCK_ROWS, self._dimension)
            self._blocks.append(
                VectorBlock(len(self._blocks) * BLOCK_ROWS, vectors, live, rough, np.zeros(BLOCK_ROWS, dtype=np.float32))
            )
        self.rows = max(self.rows, rows)

    def of(self, numbers: VectorNumbers) -> Iterator[tuple[VectorBlock, VectorNumbers, VectorNumbers]]:
        """Every block that holds any of these vectors, their rows in it, and where among the numbers each is."""
        order = np.argsort(numbers, kind="stable")  # in the order of memory, and a no-op for numbers that are sorted
        borders = np.searchsorted(numbers[order], np.arange(len(self._blocks) + 1) * BLOCK_ROWS).tolist()
        for block, start, end in zip(self._blocks, borders, borders[1:], strict=False):
            if end > start:
                where = order[start:end]
                yield block, numbers[where] - block.first, where

    def size(self) -> int:
        """Bytes of all rows up to the last that was ever used; what a block reserves beyond holds no vector."""
        one = sum(each[:1].nbytes for block in self._blocks[:1] for each in (block.vectors, block.live, block.rough, block.factors))
        return self.rows * one


def allocate_in_memory(rows: int, dimension: int) -> Vectors:
    """Room that the process owns; what is never written takes no memory."""
    return np.zeros((rows, dimension), dtype=np.float32)


class MappedFile:
    """Room in a file: what does not fit into memory is read from there when it is needed, and the system decides what that is.

    The file without a name is gone when the process is, whatever it dies of; one with a name is the caller's, and stays.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file = _open_unnamed_file() if path is None else _open_named_file(path)
        self._end = FIRST_BLOCK_OFFSET
        weakref.finalize(self, os.close, self._file)

    def __call__(self, rows: int, dimension: int) -> Vectors:
        size = -(-rows * dimension * 4 // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._reserve(size)
        buffer = mmap.mmap(self._file, size, offset=self._end)
        self._end += size
        return np.frombuffer(buffer, dtype=np.float32, count=rows * dimension).reshape(rows, dimension)

    def _reserve(self, size: int) -> None:
        # Not by making the file longer alone: on a full disk, the first write to such a page would kill the process.
        try:
            os.posix_fallocate(self._file, self._end, size)
        except OSError as error:
            where = f"the temporary folder {tempfile.gettempdir()}" if self._path is None else self._path
            raise UsageError(f"{where} has no room for more vectors: {error.strerror}; free some, or use another folder") from error


class MemoryThenFileRoom:
    """Room in memory for so many bytes, and in a file without a name for the rest."""

    def __init__(self, memory: int) -> None:
        self._bytes_left = memory
        self._file: MappedFile | None = None

    def __call__(self, rows: int, dimension: int) -> Vectors:
        self._bytes_left -= rows * dimension * 4
        if self._bytes_left >= 0:
            return allocate_in_memory(rows, dimension)
        if self._file is None:
            self._file = MappedFile()
        return self._file(rows, dimension)


def _open_unnamed_file() -> int:
    with blame_temporary_folder(), tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def _open_named_file(path: Path) -> int:
    """A new file of this name, or the one that an index has made before; no other, no link, and not while another index has it."""
    try:
        file = _create_file(path) or _reopen_file(path)
    except BlockingIOError as error:
        raise UsageError(f"{path} is in use by another index; name another file") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if file is None:
        raise UsageError(f"{path} was replaced while it was opened; try again")
    return file


def _create_file(path: Path) -> int | None:
    try:
        file = lock_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileExistsError:
        return None
    if file is not None:
        os.pwrite(file, HEADER, 0)
    return file


def _reopen_file(path: Path) -> int | None:
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and vectors are written to none; name another file")
    file = lock_file(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if file is None:
        return None
    if not stat.S_ISREG(os.fstat(file).st_mode) or os.pread(file, len(HEADER), 0) != HEADER:
        os.close(file)
        raise UsageError(f"{path} is there and holds something else than vectors of an index; name another file")
    os.ftruncate(file, len(HEADER))
    return file


# The three distances, each twice: roughly, by one dot product in float32, and exactly, in float64.
#
# A rough score needs no more than the dot product of a stored vector and the query, and one number that is kept per vector. Its
# error has a bound, so a search knows which vectors float32 cannot order.

Float64Array = NDArray[np.float64]

FLOAT32_ROUNDING = 2.0**-24  # what float32 may be wrong by in one step

ERROR_SLACK = 1.01  # the usual bound of a sum leaves out what errors add to each other's

TINY = 2.0**-126  # what may be lost by each step whose result is too small for float32

MOST = 2.0**60  # lengths within these two fit into float32, and so do their squares and products

LEAST = 2.0**-60


class InnerProduct:
    """The larger the product, the nearer; also what every distance is asked. Rough scores are comparable for one query."""

    def fits(self, lengths: Float64Array) -> NDArray[np.bool_]:
        """Whether float32 can score a vector of this length."""
        return lengths <= MOST

    def factors(self, lengths: Float64Array) -> Vectors:
        """What is kept per vector, from its length."""
        return np.zeros(len(lengths), dtype=np.float32)

    def rough_query(self, query: Float64Array) -> Vectors | None:
        """What stored vectors are multiplied with; None if float32 is no help."""
        length = float(np.sqrt((query * query).sum()))
        return query.astype(np.float32) if LEAST <= length <= MOST else None

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        """Make rough scores of dot products, which they are already here; vectors are on the last axis."""

    def error(self, dimension: int, longest: float, length: float) -> float:
        """How far a rough score can be from what it would be without rounding."""
        return dimension * (ERROR_SLACK * FLOAT32_ROUNDING * longest * length + TINY)

    def estimates(self, rough: Vectors, error: float, length: float) -> tuple[Vectors, float]:  # noqa: ARG002  # the same for all distances
        """Scores from rough ones, and how far each can be from the exact one."""
        return rough, error

    def scores(self, rows: Float64Array, queries: Float64Array, squares: Float64Array | float) -> VectorScores:  # noqa: ARG002  # the same for all distances
        """The exact score of each row, with one query for all or one for each, and the sums of their squares."""
        # Row by row, so that equal vectors get equal scores wherever they lie; BLAS does not promise that.
        products: VectorScores = (rows * queries).sum(axis=1)
        return products


class Cosine(InnerProduct):
    """The inner product over both lengths; that of a vector of zeros is 0."""

    def fits(self, lengths: Float64Array) -> NDArray[np.bool_]:
        fitting: NDArray[np.bool_] = (lengths == 0) | ((lengths >= LEAST) & (lengths <= MOST))
        return fitting

    def factors(self, lengths: Float64Array) -> Vectors:
        inverse = np.zeros(len(lengths))
        np.divide(1.0, lengths, out=inverse, where=(lengths >= LEAST) & (lengths <= MOST))
        return inverse.astype(np.float32)

    def rough_query(self, query: Float64Array) -> Vectors | None:
        unit: Vectors = (query / np.sqrt((query * query).sum())).astype(np.float32)
        return unit

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        np.multiply(products, factors, out=products)

    def error(self, dimension: int, longest: float, length: float) -> float:  # noqa: ARG002  # the same for all distances
        return (dimension + 4) * (
            ERROR_SLACK * FLOAT32_ROUNDING + TINY / LEAST
        )  # rounded beside the sum: the query, the factor, the product

    def scores(self, rows: Float64Array, queries: Float64Array, squares: Float64Array | float) -> VectorScores:
        scores = super().scores(rows, queries, squares)
        lengths = np.sqrt((rows * rows).sum(axis=1) * squares)
        np.divide(scores, lengths, out=scores, where=lengths > 0)  # a row of zeros has scored 0 and keeps it
        return scores


class Euclidean(InnerProduct):
    """The negative distance. Roughly: ``q.v - v.v / 2``, which falls as ``|q - v|`` grows."""

    def factors(self, lengths: Float64Array) -> Vectors:
        return (-0.5 * np.minimum(lengths, MOST) ** 2).astype(np.float32)

    def rough_query(self, query: Float64Array) -> Vectors | None:
        return query.astype(np.float32) if not query.any() else super().rough_query(query)

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        np.add(products, factors, out=products)

    def error(self, dimension: int, longest: float, length: float) -> float:
        return (dimension + 4) * (ERROR_SLACK * FLOAT32_ROUNDING * longest * (length + longest) + TINY)

    def estimates(self, rough: Vectors, error: float, length: float) -> tuple[Vectors, float]:
        squares = np.maximum(length**2 - 2 * rough.astype(np.float64), 0)
        # Roots of two squares are never further apart than the root of what the squares are apart; the rest is float32's.
        return (-np.sqrt(squares)).astype(np.float32), float(
            np.sqrt(2 * error) + FLOAT32_ROUNDING * np.sqrt(squares.max(initial=0))
        )

    def scores(self, rows: Float64Array, queries: Float64Array, squares: Float64Array | float) -> VectorScores:  # noqa: ARG002  # the same for all distances
        apart = rows - queries
        scores: VectorScores = -np.sqrt((apart * apart).sum(axis=1))
        return scores


DISTANCE_MEASURES: dict[Distance, InnerProduct] = {"cosine": Cosine(), "ip": InnerProduct(), "l2": Euclidean()}


# The candidates of each of many queries, as rough scores arrive block by block.
#
# Most scores are compared with one number and never looked at again: a query's floor, which k vectors are known to reach, less
# what float32 may be wrong by.

GROUPS = 4  # for every vector that is wanted, in the search for the nearest

CROWD_FACTOR = 16  # times as many as are wanted: a query with more than that in question is better searched for alone

SMALL_CROWD = 512

TILE = 512  # scores of one query

ABSENT_SCORE = np.float32(-(2.0**126))  # less than every rough score, and more than what stands for "not here"


class Shortlist:
    """Pairs of a query and a vector. ``margins``: how far below the k-th best of each query a vector still may be better."""

    def __init__(self, k: int, margins: NDArray[np.float64]) -> None:
        self._k, self._margins = k, margins
        self._crowd = max(CROWD_FACTOR * k, SMALL_CROWD)
        self._floors = np.full(len(margins), ABSENT_SCORE, dtype=np.float32)
        self._queries: list[VectorNumbers] = []
        self._numbers: list[VectorNumbers] = []
        self._scores: list[Vectors] = []
        self._size = self._pending = 0
        self.crowded: NDArray[np.bool_] = np.zeros(len(margins), dtype=np.bool_)

    def offer(self, scores: Vectors, first: int) -> None:
        """Rough scores, a row per query, of vectors that are numbered one after the other."""
        if not self._pending:
            self._raise_floors(np.arange(len(scores)), _reached_floor(scores, self._k))
        tile = TILE if scores.shape[1] % TILE == 0 else scores.shape[1]
        tiles = scores.reshape(-1, tile)
        # To find the best of each tile is faster than to compare all, and few tiles have one that passes.
        promising = np.flatnonzero(tiles.max(axis=1).reshape(len(scores), -1) >= self._floors[:, np.newaxis])
        queries, starts = np.divmod(promising * tile, scores.shape[1])
        self._add(tiles[promising], queries, starts + first)
        if self._pending > 2 * self._size + self._crowd:
            self._tighten()

    def pairs(self) -> tuple[VectorNumbers, VectorNumbers]:
        """Queries and vectors whose exact scores decide; none for a query that is crowded."""
        self._tighten()
        return self._queries[0], self._numbers[0]

    def _add(self, tiles: Vectors, queries: VectorNumbers, firsts: VectorNumbers) -> None:
        """Those of some tiles that pass, by the query of each tile and its first vector."""
        passes = tiles >= self._floors[queries][:, np.newaxis]
        if np.count_nonzero(passes) > 4 * self._k * len(self._floors) + self._crowd:
            counts = np.bincount(queries, weights=np.count_nonzero(passes, axis=1), minlength=len(self._floors))
            self._leave_out(counts > self._crowd)
            passes[self.crowded[queries]] = False  # their pairs would be left out later too, but take memory until then
        tile, column = np.divmod(np.flatnonzero(passes), tiles.shape[1])
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
        passes = scores >= self._floors[queries]
        self._leave_out(np.bincount(queries[passes], minlength=len(self._floors)) > self._crowd)
        passes &= ~self.crowded[queries]
        self._queries, self._numbers, self._scores = [queries[passes]], [numbers[passes]], [scores[passes]]
        self._size = self._pending = len(self._queries[0])

    def _raise_floors(self, queries: VectorNumbers, floors: Vectors) -> None:
        self._floors[queries] = np.maximum(self._floors[queries], next_float32_below(floors - self._margins[queries]))

    def _leave_out(self, crowded: NDArray[np.bool_]) -> None:
        self.crowded |= crowded
        self._floors[crowded] = np.inf


def _reached_floor(scores: Vectors, k: int) -> Vectors:
    """A score that k vectors reach, for each query, and not much less than the k-th best: the k-th best of groups' best."""
    count = scores.shape[1]
    groups = min(count, CROWD_FACTOR * k)
    if groups < k:
        return np.full(len(scores), ABSENT_SCORE, dtype=np.float32)
    best = scores[:, : count - count % groups].reshape(len(scores), -1, groups).max(axis=1)
    floors: Vectors = np.partition(best, groups - k, axis=1)[:, groups - k]
    return floors


def next_float32_below(values: NDArray[np.float64] | float) -> Vectors:
    """What float32 has below these values, whichever way it rounds them; never what stands for "not here"."""
    floors: Vectors = np.nextafter(np.maximum(values, ABSENT_SCORE).astype(np.float32), np.float32(-np.inf))
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


# Exact search: every vector is looked at, and the order is that of float64.
#
# Float32 finds the candidates, float64 orders them: what float32 cannot order is scored again.

WIDE_ROWS = 256  # vectors that are widened to float64 at once: what is made of them stays in the processor's cache

QUERIES_AT_ONCE = 1024  # queries whose scores are made by one matmul; fewer if many neighbours are wanted

PAIRS_AT_ONCE = 1 << 15  # neighbours that are wanted of one matmul

COLUMNS = 2048  # vectors of one matmul: few enough for the cache, enough for BLAS

MEGABYTE = 1 << 20


@strict_record
class ExactSettings(IndexSettings):
    """Options of ``exact``, none of which changes what is found.

    ``file``: vectors lie in this file and not in memory; it is a new one, or one that an index has made before.
    ``memory_mb``: what is more than that lies in a temporary file.
    """

    file: WrittenFile | None = None
    memory_mb: Count | None = None

    def __post_init__(self) -> None:
        expand_paths(self, "file")
        if self.file is not None and self.memory_mb is not None:
            raise ValueError("file and memory_mb exclude each other; set one of them")

    def open(self, dimension: int, distance: Distance) -> ExactIndex:
        return ExactIndex(dimension, distance, self)


@dataclass(frozen=True, eq=False)
class _Float64Query:
    """A query in float64, the sum of its squares, and what float32 makes of it, if it can."""

    wide: Float64Array
    square: float
    rough: Vectors | None


class ExactIndex:
    """A `ScoringIndex` that finds exactly the nearest, by the true cosine, inner product or Euclidean distance."""

    exact = True

    def __init__(self, dimension: int, distance: Distance = "cosine", options: ExactSettings | None = None) -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self._options = options or ExactSettings()
        self._measure = DISTANCE_MEASURES[distance]
        self._longest = 0.0
        self._blocks = self._empty()

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        lengths = self._checked_lengths(numbers, vectors)
        self._blocks.grow(int(numbers.max(initial=-1)) + 1)
        rough, factors = self._measure.fits(lengths), self._measure.factors(lengths)
        for block, rows, where in self._blocks.of(numbers):
            for start in range(0, len(rows), WIDE_ROWS):  # in parts, since a block of them would be a copy
                part = slice(start, start + WIDE_ROWS)
                block.vectors[rows[part]] = vectors[where[part]]
            block.live[rows], block.rough[rows], block.factors[rows] = True, rough[where], factors[where]
        self._longest = max(self._longest, float(lengths[rough].max(initial=0)))

    def drop(self, numbers: VectorNumbers) -> None:
        # The vector stays in its row until another one needs it: to clear it would cost more than to pass over it.
        for block, rows, _ in self._blocks.of(numbers):
            block.live[rows] = block.rough[rows] = False

    def search(self, query: Vectors, k: int) -> Neighbours:
        return self._search(self._prepare(query), k)

    def search_many(self, queries: Vectors, k: int) -> list[Neighbours]:
        """The nearest of each query, the same to the last bit as `search` finds; faster for many queries at once."""
        wide_queries = [self._prepare(query) for query in np.asarray(queries, dtype=np.float32)]
        neighbours: list[Neighbours | None] = [None] * len(wide_queries)
        numbers = [number for number, query in enumerate(wide_queries) if query.rough is not None and self._is_near_to_any(query)]
        count = min(k, self._count())
        together = (
            min(QUERIES_AT_ONCE, max(PAIRS_AT_ONCE // max(count, 1), 1)) if len(self._beyond_float32()) <= QUERIES_AT_ONCE else 1
        )
        for start in range(0, len(numbers) if count > 0 and together > 1 else 0, together):
            part = numbers[start : start + together]
            for number, near in zip(part, self._search_together([wide_queries[each] for each in part], count), strict=True):
                neighbours[number] = near
        return [self._search(query, k) if near is None else near for query, near in zip(wide_queries, neighbours, strict=True)]

    def scores(self, query: Vectors, numbers: VectorNumbers) -> VectorScores:
        # A chunk may be part of many files, and is scored once.
        distinct, which = np.unique(numbers, return_inverse=True)
        exact: VectorScores = self._exact([self._prepare(query)], np.zeros(len(distinct), dtype=np.int64), distinct)[which]
        return exact

    def estimates(self, query: Vectors, numbers: VectorNumbers) -> Estimates:
        wide_query = self._prepare(query)
        if wide_query.rough is None or len(self._beyond_float32()):
            return Estimates(self.scores(query, numbers), 0.0)
        rough = self._rough_scores(wide_query.rough)[numbers]
        return Estimates(*self._measure.estimates(rough, self._error(wide_query), float(np.sqrt(wide_query.square))))

    def contents(self, numbers: VectorNumbers) -> Vectors:
        vectors = np.empty((len(numbers), self.dimension), dtype=np.float32)
        for block, rows, where in self._blocks.of(numbers):
            vectors[where] = block.vectors[rows]
        return vectors

    def build(self) -> None:
        """Nothing to do: every search looks at every vector."""

    def describe(self) -> Mapping[str, Any]:
        return {"name": "exact"}

    def close(self) -> None:
        self._blocks = VectorBlocks(self.dimension, allocate_in_memory)

    def size(self) -> int:
        return self._blocks.size()

    def _empty(self) -> VectorBlocks:
        if self._options.file is not None:
            return VectorBlocks(self.dimension, MappedFile(Path(self._options.file)))
        memory = self._options.memory_mb
        return VectorBlocks(self.dimension, allocate_in_memory if memory is None else MemoryThenFileRoom(memory * MEGABYTE))

    def _checked_lengths(self, numbers: VectorNumbers, vectors: Vectors) -> Float64Array:
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

    def _prepare(self, query: Vectors) -> _Float64Query:
        wide = np.asarray(query, dtype=np.float32).astype(np.float64)
        if wide.shape != (self.dimension,):
            raise UsageError(
                f"a query of {wide.shape[-1] if wide.ndim else 1} numbers cannot be searched for among vectors of {self.dimension}"
            )
        square = float((wide * wide).sum())
        if not np.isfinite(square):
            raise UsageError("a query holds NaN or infinity; an index takes finite numbers only")
        return _Float64Query(wide, square, self._measure.rough_query(wide) if square or self.distance == "l2" else None)

    def _is_near_to_any(self, query: _Float64Query) -> bool:
        """By distance alone, zeros are as good a query as any; they have no direction, though."""
        return query.square > 0 or self.distance == "l2"

    def _search(self, query: _Float64Query, k: int) -> Neighbours:
        k = min(k, self._count())
        if k < 1 or not self._is_near_to_any(query):
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        candidates = self._candidates(query, k)
        exact = self._exact([query], np.zeros(len(candidates), dtype=np.int64), candidates)
        best = np.lexsort((candidates, -exact))[:k]
        return Neighbours(candidates[best], exact[best])

    def _candidates(self, query: _Float64Query, k: int) -> VectorNumbers:
        """The vectors that may be among the nearest ``k``, in order."""
        if query.rough is None:
            return self._all(lambda block: block.live)
        rough = self._rough_scores(query.rough)
        # Two scores that are further apart than twice the error of one are in the right order already. One that is
        # closer than that to the k-th may belong before it, so it is scored again.
        least = next_float32_below(kth_largest(rough, k) - 2 * self._error(query))
        return np.append(np.flatnonzero(rough >= least), self._beyond_float32())

    def _search_together(self, queries: list[_Float64Query], k: int) -> list[Neighbours | None]:
        """The nearest ``k`` of each query; None for one with too many candidates."""
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
            uncrowded_queries = np.flatnonzero(~shortlist.crowded)
            owners = np.concatenate((owners, np.repeat(uncrowded_queries, len(beyond))))
            numbers = np.concatenate((numbers, np.tile(beyond, len(uncrowded_queries))))
        neighbours = _top_k_of_each(len(queries), owners, numbers, self._exact(queries, owners, numbers), k)
        return [None if crowded else near for crowded, near in zip(shortlist.crowded.tolist(), neighbours, strict=True)]

    def _exact(self, queries: list[_Float64Query], owners: VectorNumbers, numbers: VectorNumbers) -> VectorScores:
        """The exact score of each pair of a query, by its place in the list, and a vector."""
        wide, squares = np.stack([query.wide for query in queries]), np.array([query.square for query in queries])
        scores = np.empty(len(numbers))
        for block, rows, where in self._blocks.of(numbers):
            for start in range(0, len(rows), WIDE_ROWS):
                part = where[start : start + WIDE_ROWS]
                vectors, query_rows = block.vectors[rows[start : start + WIDE_ROWS]].astype(np.float64), owners[part]
                one = len(queries) == 1
                scores[part] = self._measure.scores(
                    vectors, wide[0] if one else wide[query_rows], squares[0] if one else squares[query_rows]
                )
        return scores

    def _rough_scores(self, query: Vectors) -> Vectors:
        scores = np.empty(self._blocks.rows, dtype=np.float32)
        for block, part in self._blocks.parts(BLOCK_ROWS):
            self._score_part(block, part, query, scores[block.first + part.start : block.first + part.stop])
        return scores

    def _score_part(self, block: VectorBlock, part: slice, queries: Vectors, scores: Vectors) -> None:
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

    def _error(self, query: _Float64Query) -> float:
        return self._measure.error(self.dimension, self._longest, float(np.sqrt(query.square)))

    def _count(self) -> int:
        return sum(int(np.count_nonzero(block.live)) for block in self._blocks)

    def _beyond_float32(self) -> VectorNumbers:
        """Vectors that only float64 can score: they are candidates of every query."""
        return self._all(lambda block: block.live & ~block.rough)

    def _all(self, mask_of: Callable[[VectorBlock], NDArray[np.bool_]]) -> VectorNumbers:
        return np.concatenate(
            [np.empty(0, dtype=np.int64), *(np.flatnonzero(mask_of(block)) + block.first for block in self._blocks)]
        )


def _top_k_of_each(queries: int, owners: VectorNumbers, numbers: VectorNumbers, scores: VectorScores, k: int) -> list[Neighbours]:
    order = np.lexsort((numbers, -scores, owners))
    numbers, scores = numbers[order], scores[order]
    starts = np.searchsorted(owners[order], np.arange(queries + 1)).tolist()
    ends = (min(start + k, end) for start, end in pairwise(starts))
    return [Neighbours(numbers[start:end], scores[start:end]) for start, end in zip(starts, ends, strict=False)]
