"""Queries to files by the vectors of an index: what the index took, and what it has found of the true neighbours.

The truth is that of an exact index over the same vectors, which is asked after the search and never in its time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from searchmark.agents.agent import NO_USAGE, Usage
from searchmark.agents.chunk_table import NONE, ChunkTable
from searchmark.agents.pooling import FileHit, Pooling, files_of_nearest, nearest_files
from searchmark.agents.stored_vectors import StoredVectors
from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Neighbours
from searchmark.indexes.recall import neighbour_recall
from searchmark.indexes.timed import TimedIndex, TimedScoringIndex

Embed = Callable[[str], Vectors]
NOTHING = Neighbours(NONE, np.empty(0))


@dataclass(frozen=True)
class SearchOptions:
    """How files are found: ``candidates`` chunks are asked for at first; ``remembered`` queries, with their ``answers`` or not."""

    pooling: Pooling
    candidates: int | None
    remembered: int
    answers: bool


@dataclass(frozen=True, eq=False)
class VectorAnswer:
    """The files of a query and its vector, the ``near`` chunks of those that were asked for at first, and the time in the index.

    ``index_ms`` is None if the index was not asked. ``near`` is empty where an index scores files by all of their chunks.
    """

    query: Vectors
    hits: list[FileHit] = field(default_factory=list)
    near: Neighbours = NOTHING
    asked: int = 0
    index_ms: float | None = None


class VectorSearch:
    """Queries to files, by one index; the least recently used of what is remembered goes first."""

    def __init__(self, stored: StoredVectors, table: ChunkTable, embed: Embed, options: SearchOptions) -> None:
        # Caches over what is searched and not over methods: an agent with a cache of its own method would be part of a
        # cycle, and its vectors would stay in memory until a garbage collection.
        vector = lru_cache(options.remembered)(embed)

        @lru_cache(options.remembered if options.answers else 0)
        def answer(query: str, k: int) -> VectorAnswer:
            return answered(stored, table, vector(query), k, options)

        self.vector, self.answer = vector, answer

    @property
    def remembered(self) -> int:
        """How often the memory has helped since it was last emptied."""
        return self.vector.cache_info().hits + self.answers_remembered

    @property
    def answers_remembered(self) -> int:
        """How often a whole answer was remembered, and no index was asked."""
        return self.answer.cache_info().hits

    def forget(self) -> None:
        """Forget everything, as if no query had been asked yet."""
        self.vector.cache_clear()
        self.answer.cache_clear()


def answered(stored: StoredVectors, table: ChunkTable, query: Vectors, k: int, options: SearchOptions) -> VectorAnswer:
    """The best ``k`` files for a vector; one of zeros is near to nothing, and no index is asked for it."""
    layout = table.layout()
    if k < 1 or not layout.names or not query.any():
        return VectorAnswer(query)
    if stored.scoring is not None:
        scoring = TimedScoringIndex(stored.scoring)
        hits = nearest_files(scoring, layout, query, k, options.pooling)
        return VectorAnswer(query, hits, NOTHING, k, scoring.spent_ns / 1e6)
    searched = TimedIndex(stored.searched)
    found = files_of_nearest(searched, layout, query, k, options.candidates)
    # Where files were too few, more chunks were asked for than a user of the index would have; recall is that of the first.
    return VectorAnswer(query, found.hits, found.near, found.asked, searched.spent_ns / 1e6)


def measured_recall(stored: StoredVectors, chunks: int, last: VectorAnswer, recall_k: int) -> Usage:
    """What the index has found of the true nearest vectors, before files were made of them; an exact one finds all."""
    k = min(recall_k, last.asked, chunks)
    if k < 1:
        return NO_USAGE
    if stored.searched.exact:
        return Usage(ann_k=k, ann_recall=1.0, ann_overlap=1.0)
    measured = None if stored.truth is None else neighbour_recall(stored.truth, last.query, last.near.numbers, k)
    return NO_USAGE if measured is None else Usage(ann_k=measured.k, ann_recall=measured.recall, ann_overlap=measured.overlap)
