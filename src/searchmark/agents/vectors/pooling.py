"""From chunks to files: which chunks each file has, and the best files by the scores of their chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from searchmark.agents.vectors.embedder import Vectors
from searchmark.agents.vectors.index import Neighbours, ScoringIndex, SearchedIndex, VectorNumbers, VectorScores
from searchmark.records.columns import distinct, rows_from

# Which chunks each file has: every distinct chunk is one number, however many files hold it.
#
# An index knows nothing but these numbers. A number that no file holds any longer is given to another chunk.

NO_CHUNKS: VectorNumbers = np.empty(0, dtype=np.int64)

UNUSED_NUMBER = -1  # in place of a number


@dataclass(frozen=True, eq=False)
class ChunkLayout:
    """The files in the order of their names, and their chunks one after the other, as numbers."""

    names: list[str]
    numbers: VectorNumbers
    starts: VectorNumbers
    counts: VectorNumbers

    def locate(self, near: Neighbours) -> tuple[VectorNumbers, VectorScores]:
        """Where the chunks that were found are, in order, and their scores; one that many files hold occurs often."""
        # Marks by number, looked up for all chunks at once: an index from numbers to files would take longer to keep, since
        # most states of a corpus are asked once.
        is_near = np.zeros(int(self.numbers.max(initial=-1)) + 1, dtype=np.bool_)
        is_near[near.numbers] = True
        where = np.flatnonzero(is_near[self.numbers])
        order = np.argsort(near.numbers)
        return where, near.scores[order][np.searchsorted(near.numbers[order], self.numbers[where])]

    def files_at(self, where: VectorNumbers) -> VectorNumbers:
        """The file of each of these chunks."""
        return np.searchsorted(self.starts, where, "right") - 1

    def chunks_of(self, files: VectorNumbers) -> VectorNumbers:
        """Where the chunks of these files are."""
        return rows_from(self.starts[files], self.counts[files])[0]


class ChunkTable:
    """Files and the numbers of their chunks."""

    def __init__(self) -> None:
        self._number_of: dict[bytes, int] = {}
        self._key_of: list[bytes] = []
        self._holders = NO_CHUNKS
        self._unheld: dict[int, None] = {}  # in the order in which they were let go
        self._free: list[int] = []
        self._files: dict[str, VectorNumbers] = {}
        self._layout: ChunkLayout | None = None

    def __contains__(self, key: bytes) -> bool:
        return key in self._number_of

    def __len__(self) -> int:
        """How many distinct chunks there are."""
        return len(self._number_of)

    @property
    def files(self) -> Mapping[str, VectorNumbers]:
        """The numbers of the chunks of each file, in order."""
        return self._files

    def numbers_of(self, keys: Iterable[bytes]) -> list[int]:
        """The numbers of those of these chunks that are here."""
        return [self._number_of[key] for key in keys if key in self._number_of]

    def keys(self, numbers: VectorNumbers) -> list[bytes]:
        """The chunks that have these numbers."""
        return [self._key_of[number] for number in numbers.tolist()]

    def put(self, files: Mapping[str, Sequence[bytes]]) -> dict[bytes, int]:
        """Files, each with its chunks, none twice, in place of what they were; gives the numbers of chunks that are new."""
        numbers_by_name = {
            name: np.array([self._number_of.get(key, UNUSED_NUMBER) for key in keys], dtype=np.int64)
            for name, keys in files.items()
        }
        # What is here and will be held must not make room for what is new, so it is held before anything is let go.
        for numbers in numbers_by_name.values():
            self._hold(numbers[numbers != UNUSED_NUMBER])
        self.remove(files)
        new: dict[bytes, int] = {}
        for name, numbers in numbers_by_name.items():
            self._fill(numbers, files[name], new)
            if len(numbers):
                self._files[name] = numbers
        return new

    def remove(self, names: Iterable[str]) -> None:
        """Files that are gone."""
        for name in names:
            self._let_go(name)
        self._layout = None

    def collect(self) -> VectorNumbers:
        """Take their numbers from chunks that no file holds any longer; they are given out again from now on."""
        # Not as soon as the last file lets go: within one step a chunk often moves to another file, and need not be embedded
        # if its number was not needed meanwhile.
        numbers = list(self._unheld)
        for number in numbers:
            del self._number_of[self._key_of[number]]
        self._free += numbers
        self._unheld = {}
        return np.array(numbers, dtype=np.int64)

    def layout(self) -> ChunkLayout:
        """The present state for a search; made once per state."""
        if self._layout is None:
            names = sorted(self._files)
            counts = np.array([len(self._files[name]) for name in names], dtype=np.int64)
            numbers = np.concatenate([NO_CHUNKS, *(self._files[name] for name in names)])
            self._layout = ChunkLayout(names, numbers, np.cumsum(counts) - counts, counts)
        return self._layout

    def size(self) -> int:
        """Bytes of the lists that say whose a chunk is."""
        return sum(numbers.nbytes for numbers in self._files.values())

    def _hold(self, numbers: VectorNumbers) -> None:
        for number in numbers[self._holders[numbers] == 0].tolist():
            del self._unheld[number]
        self._holders[numbers] += 1

    def _fill(self, numbers: VectorNumbers, keys: Sequence[bytes], new: dict[bytes, int]) -> None:
        """Put numbers where they are missing; another file may have brought the same chunk meanwhile."""
        for place in np.flatnonzero(numbers == UNUSED_NUMBER).tolist():
            key = keys[place]
            if key not in self._number_of:
                self._number_of[key] = new[key] = self._next_number()
                self._key_of[new[key]] = key
            numbers[place] = self._number_of[key]
            self._holders[numbers[place]] += 1

    def _next_number(self) -> int:
        """Used numbers first, so that an index does not grow with what has changed."""
        if self._free:
            return self._free.pop()
        if self._unheld:
            number = next(iter(self._unheld))
            del self._unheld[number], self._number_of[self._key_of[number]]
            return number
        number = len(self._key_of)
        self._key_of.append(b"")
        if number == len(self._holders):  # as much again, so that growing chunk by chunk does not copy it each time
            self._holders = np.concatenate((self._holders, np.zeros(max(number, 1024), dtype=np.int64)))
        return number

    def _let_go(self, name: str) -> None:
        numbers = self._files.pop(name, NO_CHUNKS)
        self._holders[numbers] -= 1
        self._unheld.update(dict.fromkeys(numbers[self._holders[numbers] == 0].tolist()))


# From the scores of chunks to those of files, and from the nearest chunks to the best files.
#
# Exact whenever the index is, and without a look at every chunk, by the threshold algorithm (Fagin, Lotem and Naor, PODS
# 2001): chunks come nearest first, and a file that none of them belongs to scores less than the last of them. Once ``k`` files
# are above that, no other one matters. A sum knows no such bound, since many chunks that are far can be worth more than a
# near one: then, and where too few files are near, every chunk is estimated, and those that the estimate does not rule out
# are scored exactly.
#
# An approximate index knows no scores but those of what it finds, so its files are those of the nearest chunks, and nothing
# more.

PoolingKind = Literal["max", "mean", "sum"]

CHUNKS_PER_FILE = 8  # that are asked for at first: files that match have several chunks that do

SPARE_CHUNKS = 64  # beyond that, for the sake of small numbers of files


@dataclass(frozen=True)
class FileHit:
    """A file, its score, and which of its chunks is the best one, counted from 0."""

    name: str
    score: float
    chunk: int


@dataclass(frozen=True, eq=False)
class NearestFiles:
    """Files by the nearest chunks, and the ``near`` of those that were ``asked`` for at first."""

    hits: list[FileHit]
    near: Neighbours
    asked: int


@dataclass(frozen=True)
class Pooling:
    """What a file scores: as its best chunk (``max``), the ``mean`` of its best ``mean_of``, or the ``sum`` of all."""

    kind: PoolingKind = "max"
    mean_of: int = 3

    def pool(self, scores: VectorScores, starts: VectorNumbers, counts: VectorNumbers) -> VectorScores:
        """One score per file from those of its chunks, which are neighbours."""
        if self.kind == "max":
            best: VectorScores = np.maximum.reduceat(scores, starts)
            return best
        if self.kind == "sum":
            total: VectorScores = np.add.reduceat(scores, starts)
            return total
        # The best come first within each file and the rest counts as 0, so one pass adds up all files.
        files = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((-scores, files))
        rank = np.arange(len(scores)) - np.repeat(starts, counts)
        mean: VectorScores = np.add.reduceat(np.where(rank < self.mean_of, scores[order], 0.0), starts) / np.minimum(
            counts, self.mean_of
        )
        return mean


@dataclass(frozen=True, eq=False)
class _ScoredFiles:
    """Files, where those of their chunks that were scored are in the layout, and the scores of both."""

    files: VectorNumbers
    starts: VectorNumbers
    where: VectorNumbers
    chunk_scores: VectorScores
    scores: VectorScores

    def kth_score(self, k: int) -> float:
        """What the k-th best of them scores; less than anything if there are fewer."""
        return -np.inf if len(self.scores) < k else float(np.partition(self.scores, len(self.scores) - k)[len(self.scores) - k])

    def best(self, layout: ChunkLayout, k: int) -> list[FileHit]:
        ends = np.append(self.starts, len(self.where))
        hits = []
        for place in np.lexsort((self.files, -self.scores))[:k].tolist():  # the number of a file is in the order of names
            start, file = int(ends[place]), int(self.files[place])
            best = start + int(np.argmax(self.chunk_scores[start : ends[place + 1]]))
            hits.append(FileHit(layout.names[file], float(self.scores[place]), int(self.where[best] - layout.starts[file])))
        return hits


def nearest_files(index: ScoringIndex, layout: ChunkLayout, query: Vectors, k: int, pooling: Pooling) -> list[FileHit]:
    """The best ``k`` files, best first; equal scores are ordered by name. A query of zeros finds nothing."""
    if k < 1 or not layout.names or not query.any():
        return []
    every = pooling.kind == "sum" or k >= len(layout.names)
    scored_files = None if every else _files_from_nearest_chunks(index, layout, query, k, pooling)
    return (scored_files or _files_from_all_chunks(index, layout, query, k, pooling)).best(layout, k)


def files_of_nearest(
    index: SearchedIndex, layout: ChunkLayout, query: Vectors, k: int, candidates: int | None = None
) -> NearestFiles:
    """The best ``k`` files by their best chunk, among the nearest ``candidates`` chunks (``k`` unless told).

    While these are of fewer files, twice as many are asked for, until there are no more; every chunk is never looked at.
    """
    count = first_count = max(k if candidates is None else candidates, 1)
    near = first = index.search(query, count)
    while True:
        where, scores = layout.locate(near)
        scored_files = _pool_scores(layout, where, scores, Pooling("max"))
        if len(scored_files.files) >= k or len(near) < count:
            return NearestFiles(scored_files.best(layout, k), first, first_count)
        count *= 2
        near = index.search(query, count)


def _files_from_nearest_chunks(
    index: ScoringIndex, layout: ChunkLayout, query: Vectors, k: int, pooling: Pooling
) -> _ScoredFiles | None:
    """The files of the nearest chunks; None if others might be among the best ``k``."""
    count = CHUNKS_PER_FILE * k + SPARE_CHUNKS
    near = index.search(query, count)
    where, scores = layout.locate(near)
    if pooling.kind != "max":  # the best chunk of a file is among the nearest if any is; a mean needs the others too
        where = layout.chunks_of(distinct(layout.files_at(where)))
        scores = index.scores(query, layout.numbers[where])
    scored_files = _pool_scores(layout, where, scores, pooling)
    # What scores the same as the last one may have more of the kind behind it, and names decide between those.
    complete = len(near) < count or scored_files.kth_score(k) > near.scores[-1]
    return scored_files if complete else None


def _files_from_all_chunks(index: ScoringIndex, layout: ChunkLayout, query: Vectors, k: int, pooling: Pooling) -> _ScoredFiles:
    """The files that may be among the best ``k`` by an estimate of every chunk."""
    estimates = index.estimates(query, layout.numbers)
    file_scores = pooling.pool(estimates.scores.astype(np.float64), layout.starts, layout.counts)
    spread = estimates.error * (layout.counts if pooling.kind == "sum" else np.ones(len(layout.counts)))
    last = len(file_scores) - min(k, len(file_scores))
    files = np.flatnonzero(file_scores + spread >= np.partition(file_scores - spread, last)[last])
    where = layout.chunks_of(files)
    if pooling.kind == "max":  # the best chunk is among those that the estimate cannot tell from it
        floor = np.repeat(file_scores[files] - 2 * estimates.error, layout.counts[files])
        where = where[estimates.scores[where] >= floor]
    return _pool_scores(layout, where, index.scores(query, layout.numbers[where]), pooling)


def _pool_scores(layout: ChunkLayout, where: VectorNumbers, scores: VectorScores, pooling: Pooling) -> _ScoredFiles:
    files, starts, counts = np.unique(layout.files_at(where), return_index=True, return_counts=True)
    return _ScoredFiles(files, starts, where, scores, pooling.pool(scores, starts, counts))
