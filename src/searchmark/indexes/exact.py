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
MISSING = -1  # in place of a slot
NONE: NDArray[np.int64] = np.empty(0, dtype=np.int64)
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
        self._holders = NONE
        self._unheld: dict[int, None] = {}  # in the order in which they were let go
        self._files: dict[str, NDArray[np.int64]] = {}
        self._layout: Layout | None = None
        self._longest = 1.0

    def __contains__(self, key: bytes) -> bool:
        return key in self._slot_of

    def put(self, files: Mapping[str, Sequence[bytes]], vectors: Mapping[bytes, Vectors]) -> None:
        """Files, each with the keys of its vectors, none twice, and the vectors that are not here yet."""
        known = {name: np.array([self._slot_of.get(key, MISSING) for key in keys], dtype=np.int64) for name, keys in files.items()}
        # What is here and will be held must not make room for what is new, so it is held before anything is let go.
        for slots in known.values():
            self._hold(slots[slots != MISSING])
        self.drop(files)
        for name, slots in known.items():
            self._fill(slots, files[name], vectors)
            if len(slots):
                self._files[name] = slots

    def drop(self, names: Iterable[str]) -> None:
        """Files that are gone."""
        for name in names:
            slots = self._files.pop(name, NONE)
            self._holders[slots] -= 1
            self._unheld.update(dict.fromkeys(slots[self._holders[slots] == 0].tolist()))
        self._layout = None

    def search(self, query: Vectors, k: int) -> list[Neighbour]:
        """The best ``k`` files, best first; equal scores are ordered by name. A query of zeros has no neighbours."""
        layout = self._laid_out()
        if k < 1 or not layout.names or not query.any():
            return []
        held = self._scores(query)[layout.slots]
        pooled = self._pooled(held, layout.starts, layout.counts)
        unsure = self._uncertainty(query)
        spread = unsure * (layout.counts if self._pooling == "sum" else 1)
        last = len(pooled) - min(k, len(pooled))
        candidates = np.flatnonzero(pooled + spread >= np.partition(pooled - spread, last)[last])
        # The best vector of a file is among those that float32 cannot tell from it; mean and sum need all of them.
        floor = pooled[candidates] - 2 * unsure if self._pooling == "max" else np.full(len(candidates), -np.inf)
        found = self._exactly(layout, candidates, held, floor, query)
        return sorted(found, key=lambda neighbour: (-neighbour.score, neighbour.name))[:k]

    def size(self) -> int:
        """Bytes: the vectors and the lists that say whose they are."""
        return sum(block.nbytes for block in self._blocks) + sum(slots.nbytes for slots in self._files.values())

    def contents(self) -> tuple[dict[bytes, Vectors], dict[str, list[bytes]]]:
        """All vectors that are held, by key, and the keys of each file: what `put` would be given."""
        keys = {name: [self._key_of[slot] for slot in slots.tolist()] for name, slots in self._files.items()}
        held = np.flatnonzero(self._holders).tolist()
        return {self._key_of[slot]: self._blocks[slot // BLOCK][slot % BLOCK] for slot in held}, keys

    def _hold(self, slots: NDArray[np.int64]) -> None:
        for slot in slots[self._holders[slots] == 0].tolist():
            del self._unheld[slot]
        self._holders[slots] += 1

    def _fill(self, slots: NDArray[np.int64], keys: Sequence[bytes], vectors: Mapping[bytes, Vectors]) -> None:
        """Find places for what was missing; another file may have brought it meanwhile."""
        for place in np.flatnonzero(slots == MISSING).tolist():
            slot = self._slot_of.get(keys[place])
            if slot is None:
                slot = self._store(keys[place], vectors[keys[place]])
            slots[place] = slot
            self._holders[slot] += 1

    def _store(self, key: bytes, vector: Vectors) -> int:
        slot = self._free_slot()
        self._slot_of[key] = slot
        self._key_of[slot] = key
        self._blocks[slot // BLOCK][slot % BLOCK] = vector
        if not self._cosine:
            self._longest = max(self._longest, float(np.linalg.norm(vector)))
        return slot

    def _free_slot(self) -> int:
        if self._unheld:
            slot = next(iter(self._unheld))
            del self._unheld[slot], self._slot_of[self._key_of[slot]]
            return slot
        slot = len(self._key_of)
        if slot == len(self._blocks) * BLOCK:
            self._blocks.append(np.zeros((BLOCK, self.dimension), dtype=np.float32))
            self._holders = np.concatenate((self._holders, np.zeros(BLOCK, dtype=np.int64)))
        self._key_of.append(b"")
        return slot

    def _laid_out(self) -> Layout:
        if self._layout is None:
            names = sorted(self._files)
            counts = np.array([len(self._files[name]) for name in names], dtype=np.int64)
            slots = np.concatenate([NONE, *(self._files[name] for name in names)])
            self._layout = Layout(names, slots, np.cumsum(counts) - counts, counts)
        return self._layout

    def _scores(self, query: Vectors) -> Vectors:
        scores = np.empty(len(self._key_of), dtype=np.float32)
        for number, block in enumerate(self._blocks):
            part = scores[number * BLOCK : (number + 1) * BLOCK]
            np.dot(block[: len(part)], query, out=part)
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

    def _exactly(
        self, layout: Layout, files: NDArray[np.int64], held: Vectors, floor: NDArray[np.floating], query: Vectors
    ) -> list[Neighbour]:
        """The files with their scores in float64, from their vectors with at least the score of the floor."""
        counts = layout.counts[files]
        places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        where = np.repeat(layout.starts[files], counts) + places
        wanted = held[where] >= np.repeat(floor, counts)
        scores = self._exact_scores(layout.slots[where[wanted]], query)
        owners, places = np.repeat(np.arange(len(files)), counts)[wanted], places[wanted]
        kept = np.bincount(owners, minlength=len(files))
        starts = np.cumsum(kept) - kept
        pooled = self._pooled(scores, starts, kept)
        best = [start + int(np.argmax(scores[start : start + count])) for start, count in zip(starts, kept, strict=True)]
        return [
            Neighbour(layout.names[file], float(score), int(places[place]))
            for file, score, place in zip(files.tolist(), pooled, best, strict=True)
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
