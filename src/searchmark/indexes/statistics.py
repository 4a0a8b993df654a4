"""What stored vectors are like, kept up as they come and go: sixteen bytes for each, and no second copy of any.

They are looked at when they are put, block by block, and never in the time of a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors, row_lengths
from searchmark.indexes.index import Numbers
from searchmark.records import VectorStatistics

BLOCK = 4096  # vectors that are looked at together
GONE = -1.0  # in place of a length


class VectorLedger:
    """The length of every vector, and a hash that equal vectors share."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._lengths: NDArray[np.float64] = np.empty(0)
        self._hashes: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        """Vectors that have come, in place of what was under their numbers."""
        self._grow(int(numbers.max(initial=-1)) + 1)
        for start in range(0, len(numbers), BLOCK):
            some, block = numbers[start : start + BLOCK], vectors[start : start + BLOCK]
            self._lengths[some] = row_lengths(block)
            self._hashes[some] = _row_hashes(block)

    def drop(self, numbers: Numbers) -> None:
        """Vectors that are gone."""
        self._lengths[numbers] = GONE

    def statistics(self, *, normalized: bool | None = None, names: Sequence[int] = ()) -> VectorStatistics:
        """Of those that are here. ``normalized``: whether they were meant to have length one.

        ``names`` are numbers of vectors that are of no text but of the id of a document, of which many may be alike.
        """
        here = self._lengths != GONE
        finite = here & np.isfinite(self._lengths)
        sound = finite & (self._lengths != 0)
        texts = sound.copy()
        texts[np.asarray(names, dtype=np.int64)] = False
        lengths, others = self._lengths[finite], self._lengths[sound]
        return VectorStatistics(
            count=int(here.sum()),
            dimension=self._dimension,
            normalized=normalized,
            norm_mean=float(lengths.mean()) if len(lengths) else None,
            norm_std=float(lengths.std()) if len(lengths) else None,
            norm_min=float(lengths.min()) if len(lengths) else None,
            norm_min_nonzero=float(others.min()) if len(others) else None,
            norm_max=float(lengths.max()) if len(lengths) else None,
            zero=len(lengths) - len(others),
            duplicates=int(texts.sum()) - len(np.unique(self._hashes[texts])),
            not_finite=int((here & ~np.isfinite(self._lengths)).sum()),
        )

    def _grow(self, rows: int) -> None:
        if rows > len(self._lengths):
            more = max(rows, 2 * len(self._lengths)) - len(self._lengths)  # growing bit by bit does not copy it each time
            self._lengths = np.concatenate((self._lengths, np.full(more, GONE)))
            self._hashes = np.concatenate((self._hashes, np.zeros(more, dtype=np.int64)))


def statistics_of(blocks: Iterable[Vectors], dimension: int, *, normalized: bool | None = None) -> VectorStatistics:
    """Of vectors that come in blocks, from wherever they are kept."""
    ledger, count = VectorLedger(dimension), 0
    for block in blocks:
        ledger.put(np.arange(count, count + len(block)), block)
        count += len(block)
    return ledger.statistics(normalized=normalized)


def _row_hashes(vectors: Vectors) -> NDArray[np.int64]:
    """Python's hash of bytes, which is 64 bits of SipHash; adding zero makes -0.0 the same as 0.0."""
    return np.fromiter((hash(row.tobytes()) for row in vectors + np.float32(0)), np.int64, len(vectors))
