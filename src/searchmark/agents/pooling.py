"""From the scores of chunks to those of files, and from the nearest chunks to the best files.

Exact whenever the index is, and without a look at every chunk, by the threshold algorithm (Fagin, Lotem and Naor, PODS
2001): chunks come nearest first, and a file that none of them belongs to scores less than the last of them. Once ``k`` files
are above that, no other one matters. A sum knows no such bound, since many chunks that are far can be worth more than a
near one: then, and where too few files are near, every chunk is estimated, and those that the estimate does not rule out
are scored exactly.

An approximate index knows no scores but those of what it finds, so its files are those of the nearest chunks, and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from searchmark.agents.chunk_table import ChunkLayout
from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Neighbours, Numbers, Scores, ScoringIndex, VectorIndex

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
class FoundFiles:
    """Files by the nearest chunks, and the ``near`` of those that were ``asked`` for at first."""

    hits: list[FileHit]
    near: Neighbours
    asked: int


@dataclass(frozen=True)
class Pooling:
    """What a file scores: as its best chunk (``max``), the ``mean`` of its best ``mean_of``, or the ``sum`` of all."""

    kind: PoolingKind = "max"
    mean_of: int = 3

    def pooled(self, scores: Scores, starts: Numbers, counts: Numbers) -> Scores:
        """One score per file from those of its chunks, which are neighbours."""
        if self.kind == "max":
            best: Scores = np.maximum.reduceat(scores, starts)
            return best
        if self.kind == "sum":
            total: Scores = np.add.reduceat(scores, starts)
            return total
        # The best come first within each file and the rest counts as 0, so one pass adds up all files.
        files = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((-scores, files))
        rank = np.arange(len(scores)) - np.repeat(starts, counts)
        mean: Scores = np.add.reduceat(np.where(rank < self.mean_of, scores[order], 0.0), starts) / np.minimum(counts, self.mean_of)
        return mean


@dataclass(frozen=True, eq=False)
class _ScoredFiles:
    """Files, where those of their chunks that were scored are in the layout, and the scores of both."""

    files: Numbers
    starts: Numbers
    where: Numbers
    chunk_scores: Scores
    scores: Scores

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
    scored = None if every else _from_the_nearest(index, layout, query, k, pooling)
    return (scored or _from_all(index, layout, query, k, pooling)).best(layout, k)


def files_of_nearest(index: VectorIndex, layout: ChunkLayout, query: Vectors, k: int, candidates: int | None = None) -> FoundFiles:
    """The best ``k`` files by their best chunk, among the nearest ``candidates`` chunks (``k`` unless told).

    While these are of fewer files, twice as many are asked for, until there are no more; every chunk is never looked at.
    """
    asked = first_asked = max(k if candidates is None else candidates, 1)
    near = first = index.search(query, asked)
    while True:
        where, scores = layout.found(near)
        scored = _scored(layout, where, scores, Pooling("max"))
        if len(scored.files) >= k or len(near) < asked:
            return FoundFiles(scored.best(layout, k), first, first_asked)
        asked *= 2
        near = index.search(query, asked)


def _from_the_nearest(index: ScoringIndex, layout: ChunkLayout, query: Vectors, k: int, pooling: Pooling) -> _ScoredFiles | None:
    """The files of the nearest chunks; None if others might be among the best ``k``."""
    wanted = CHUNKS_PER_FILE * k + SPARE_CHUNKS
    near = index.search(query, wanted)
    where, scores = layout.found(near)
    if pooling.kind != "max":  # the best chunk of a file is among the nearest if any is; a mean needs the others too
        where = layout.chunks_of(np.unique(layout.files_at(where)))
        scores = index.scores(query, layout.numbers[where])
    scored = _scored(layout, where, scores, pooling)
    # What scores the same as the last one may have more of the kind behind it, and names decide between those.
    complete = len(near) < wanted or scored.kth_score(k) > near.scores[-1]
    return scored if complete else None


def _from_all(index: ScoringIndex, layout: ChunkLayout, query: Vectors, k: int, pooling: Pooling) -> _ScoredFiles:
    """The files that may be among the best ``k`` by an estimate of every chunk."""
    estimates = index.estimates(query, layout.numbers)
    pooled = pooling.pooled(estimates.scores.astype(np.float64), layout.starts, layout.counts)
    spread = estimates.error * (layout.counts if pooling.kind == "sum" else np.ones(len(layout.counts)))
    last = len(pooled) - min(k, len(pooled))
    files = np.flatnonzero(pooled + spread >= np.partition(pooled - spread, last)[last])
    where = layout.chunks_of(files)
    if pooling.kind == "max":  # the best chunk is among those that the estimate cannot tell from it
        floor = np.repeat(pooled[files] - 2 * estimates.error, layout.counts[files])
        where = where[estimates.scores[where] >= floor]
    return _scored(layout, where, index.scores(query, layout.numbers[where]), pooling)


def _scored(layout: ChunkLayout, where: Numbers, scores: Scores, pooling: Pooling) -> _ScoredFiles:
    files, starts, counts = np.unique(layout.files_at(where), return_index=True, return_counts=True)
    return _ScoredFiles(files, starts, where, scores, pooling.pooled(scores, starts, counts))
