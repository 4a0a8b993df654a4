"""Exact search: every vector is looked at, and the order is that of float64.

Float32 decides who comes into question, float64 who is first: whatever float32 cannot tell apart is scored again.
Vectors lie in blocks, so that an index grows without being copied, and each distinct one is there once, however many
files hold it. What no file holds any longer keeps its place until another vector needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Pooling = Literal["max", "mean", "sum"]

BLOCK = 8192  # vectors
UNIT = 2.0**-24  # what float32 may be wrong by in one step
LENGTH = 2e-6  # what two lengths that pass for one may be wrong by


@dataclass(frozen=True)
class Neighbour:
    """A file, its score in float64, and which of its vectors is the best one."""

    name: str
    score: float
    place: int


@dataclass(frozen=True)
class Layout:
    """The files in order, and where the vectors of each are."""

    names: list[str]
    slots: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


class ExactIndex:
    """Files and their vectors, each vector under a key that says what it was made from.

    For ``cosine`` every vector must have length one, or be zero; otherwise the score is the plain dot product.
    """

    def __init__(self, dimension: int, *, cosine: bool = True, pooling: Pooling = "max", mean_of: int = 3) -> None:
        self.dimension = dimension
        self._cosine = cosine
        self._pooling: Pooling = pooling
        self._mean_of = mean_of
        self._blocks: list[Vectors] = []
        self._slot_of: dict[bytes, int] = {}
        self._key_of: list[bytes] = []
        self._holders: list[int] = []
        self._unheld: dict[int, None] = {}  # in the order in which they were let go
        self._files: dict[str, NDArray[np.int64]] = {}
        self._layout: Layout | None = None
        self._longest = 1.0

    def __contains__(self, key: bytes) -> bool:
        return key in self._slot_of

    def put(self, files: Mapping[str, Sequence[bytes]], vectors: Mapping[bytes, Vectors]) -> None:
        """Files, each with the keys of its vectors, and the vectors that are not here yet."""
        self.drop(files)
        # What is here and will be held must not make room for what is new.
        for keys in files.values():
            for key in keys:
                self._unheld.pop(self._slot_of.get(key, -1), None)
        for key, vector in vectors.items():
            self._store(key, vector)
        for name, keys in files.items():
            self._hold(name, keys)

    def drop(self, names: Iterable[str]) -> None:
        """Files that are gone."""
        for name in names:
            for slot in self._files.pop(name, np.empty(0, dtype=np.int64)).tolist():
                self._holders[slot] -= 1
                if not self._holders[slot]:
                    self._unheld[slot] = None
        self._layout = None

    def search(self, query: Vectors, k: int) -> list[Neighbour]:
        """The best ``k`` files, best first; equal scores are ordered by name. A query of zeros has no neighbours."""
        layout = self._laid_out()
        if k < 1 or not layout.names or not query.any():
            return []
        held = self._scores(query)[layout.slots]
        pooled = self._pooled(held, layout.starts, layout.counts)
        uncertain = 2 * self._uncertainty(query) * (layout.counts if self._pooling == "sum" else 1)
        last = len(pooled) - min(k, len(pooled))
        candidates = np.flatnonzero(pooled + uncertain >= np.partition(pooled - uncertain, last)[last])
        found = self._exactly(layout, candidates, query)
        return sorted(found, key=lambda neighbour: (-neighbour.score, neighbour.name))[:k]

    def size(self) -> int:
        """Bytes: the vectors and the lists that say whose they are."""
        return sum(block.nbytes for block in self._blocks) + sum(slots.nbytes for slots in self._files.values())

    def contents(self) -> tuple[dict[bytes, Vectors], dict[str, list[bytes]]]:
        """All vectors that are held, by key, and the keys of each file: what `put` would be given."""
        keys = {name: [self._key_of[slot] for slot in slots.tolist()] for name, slots in self._files.items()}
        held = [slot for slot, holders in enumerate(self._holders) if holders]
        return {self._key_of[slot]: self._blocks[slot // BLOCK][slot % BLOCK] for slot in held}, keys

    def _store(self, key: bytes, vector: Vectors) -> None:
        slot = self._free_slot()
        self._slot_of[key] = slot
        self._key_of[slot] = key
        self._blocks[slot // BLOCK][slot % BLOCK] = vector
        if not self._cosine:
            self._longest = max(self._longest, float(np.linalg.norm(vector)))

    def _hold(self, name: str, keys: Sequence[bytes]) -> None:
        slots = [self._slot_of[key] for key in keys]
        for slot in slots:
            self._holders[slot] += 1
        if slots:
            self._files[name] = np.array(slots, dtype=np.int64)

    def _free_slot(self) -> int:
        if self._unheld:
            slot = next(iter(self._unheld))
            del self._unheld[slot], self._slot_of[self._key_of[slot]]
            return slot
        slot = len(self._key_of)
        if slot == len(self._blocks) * BLOCK:
            self._blocks.append(np.zeros((BLOCK, self.dimension), dtype=np.float32))
        self._key_of.append(b"")
        self._holders.append(0)
        return slot

    def _laid_out(self) -> Layout:
        if self._layout is None:
            names = sorted(self._files)
            counts = np.array([len(self._files[name]) for name in names], dtype=np.int64)
            slots = np.concatenate([self._files[name] for name in names]) if names else np.empty(0, dtype=np.int64)
            self._layout = Layout(names, slots, np.cumsum(counts) - counts, counts)
        return self._layout

    def _scores(self, query: Vectors) -> Vectors:
        scores = np.empty(len(self._blocks) * BLOCK, dtype=np.float32)
        for number, block in enumerate(self._blocks):
            np.dot(block, query, out=scores[number * BLOCK : (number + 1) * BLOCK])
        return scores

    def _uncertainty(self, query: Vectors) -> float:
        """How far a float32 score can be from the exact one, by the usual bound of a dot product."""
        length = float(np.linalg.norm(query))
        if self._cosine:
            return (self.dimension * UNIT + LENGTH) * length
        return self.dimension * UNIT * self._longest * length

    def _pooled(self, scores: NDArray[np.floating], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.floating]:
        """One score per file from those of its vectors."""
        if self._pooling == "max":
            best: NDArray[np.floating] = np.maximum.reduceat(scores, starts)
            return best
        wide = scores.astype(np.float64)
        if self._pooling == "mean":
            files = np.repeat(np.arange(len(counts)), counts)
            order = np.lexsort((-wide, files))
            rank = np.arange(len(wide)) - np.repeat(starts, counts)
            wide = np.where(rank < self._mean_of, wide[order], 0.0)
            return np.add.reduceat(wide, starts) / np.minimum(counts, self._mean_of)
        total: NDArray[np.floating] = np.add.reduceat(wide, starts)
        return total

    def _exactly(self, layout: Layout, candidates: NDArray[np.int64], query: Vectors) -> list[Neighbour]:
        counts = layout.counts[candidates]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        slots = layout.slots[np.repeat(layout.starts[candidates], counts) + places]
        scores = self._exact_scores(slots, query)
        pooled = self._pooled(scores, ends - counts, counts)
        return [
            Neighbour(layout.names[file], float(score), int(np.argmax(scores[end - count : end])))
            for file, score, end, count in zip(candidates.tolist(), pooled, ends, counts, strict=True)
        ]

    def _exact_scores(self, slots: NDArray[np.int64], query: Vectors) -> NDArray[np.float64]:
        """Row by row, so that equal vectors get equal scores wherever they lie; BLAS does not promise that."""
        distinct, which = np.unique(slots, return_inverse=True)
        wide = query.astype(np.float64)
        scores = np.empty(len(distinct))
        for number, block in enumerate(self._blocks):
            start, end = np.searchsorted(distinct, (number * BLOCK, (number + 1) * BLOCK)).tolist()
            if start < end:
                scores[start:end] = self._row_scores(block[distinct[start:end] - number * BLOCK].astype(np.float64), wide)
        exact: NDArray[np.float64] = scores[which]
        return exact

    def _row_scores(self, rows: NDArray[np.float64], query: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = (rows * query).sum(axis=1)
        if self._cosine:
            lengths = np.sqrt((rows * rows).sum(axis=1) * (query * query).sum())
            np.divide(scores, lengths, out=scores, where=lengths > 0)  # a row of zeros has scored 0 and keeps it
        return scores
