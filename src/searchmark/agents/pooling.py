"""From the scores of chunks to those of files, and from the nearest chunks to the best files.

Exact whenever the index is, and without a score for every chunk, by the threshold algorithm (Fagin, Lotem and Naor,
PODS 2001): chunks come nearest first, and a file that none of them belongs to can score no more than the last of them
allows. Once ``k`` files are above that, no other one matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from searchmark.agents.chunk_table import ChunkLayout
from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Numbers, Scores, VectorIndex

PoolingKind = Literal["max", "mean", "sum"]

CHUNKS_PER_FILE = 8  # that are asked for at first: files that match have several chunks that do
SPARE_CHUNKS = 64  # beyond that, for the sake of small numbers of files


@dataclass(frozen=True)
class FileHit:
    """A file, its score, and which of its chunks is the best one, counted from 0."""

    name: str
    score: float
    chunk: int


@dataclass(frozen=True)
class Pooling:
    """What a file scores: as its best chunk (``max``), the ``mean`` of its best ``mean_of``, or the ``sum`` of all."""

    kind: PoolingKind = "max"
    mean_of: int = 3

    def pooled(self, scores: Scores, starts: Numbers, counts: Numbers) -> Scores:
        """One score per file from those of its chunks, which stand together."""
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

    def ceiling(self, score: float, counts: Numbers) -> Scores:
        """The most that files with so many chunks can score if none of these scores more than ``score``."""
        if self.kind == "sum":
            return np.multiply(counts, max(score, 0.0), dtype=np.float64)
        return np.full(len(counts), score, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _ScoredFiles:
    """Files, where those of their chunks that were looked at stand in the layout, and the scores of both."""

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


def nearest_files(index: VectorIndex, layout: ChunkLayout, query: Vectors, k: int, pooling: Pooling) -> list[FileHit]:
    """The best ``k`` files, best first; equal scores are ordered by name. A query of zeros finds nothing."""
    wanted = CHUNKS_PER_FILE * k + SPARE_CHUNKS
    near = index.search(query, wanted) if k > 0 else None
    if near is None or not len(near):
        return []
    where, scores = layout.found(near)
    if pooling.kind == "max":  # the best chunk of a file that was found is among those that were found
        scored = _scored(layout, where, scores, pooling)
    else:
        scored = _scored_in_full(index, layout, query, np.unique(layout.files_at(where)), pooling)
    if len(near) == wanted:
        within_reach = pooling.ceiling(float(near.scores[-1]), layout.counts) >= scored.kth_score(k)
        if within_reach.any():  # among them those with the same score, since names decide between these
            files = np.union1d(scored.files, np.flatnonzero(within_reach))
            scored = _scored_in_full(index, layout, query, files, pooling)
    return scored.best(layout, k)


def _scored_in_full(index: VectorIndex, layout: ChunkLayout, query: Vectors, files: Numbers, pooling: Pooling) -> _ScoredFiles:
    where = layout.chunks_of(files)
    return _scored(layout, where, index.scores(query, layout.numbers[where]), pooling)


def _scored(layout: ChunkLayout, where: Numbers, scores: Scores, pooling: Pooling) -> _ScoredFiles:
    files, starts, counts = np.unique(layout.files_at(where), return_index=True, return_counts=True)
    return _ScoredFiles(files, starts, where, scores, pooling.pooled(scores, starts, counts))
