"""The vectors of a corpus: in the index that is searched and, beside an approximate one, in an exact one that knows the truth."""

from __future__ import annotations

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.exact import ExactIndex
from searchmark.indexes.index import Distance, IndexOptions, Numbers, VectorIndex
from searchmark.indexes.statistics import VectorLedger


class StoredVectors:
    """What is put or dropped is so in both indexes. ``truth``: the exact index, also if it is the one that is searched."""

    def __init__(self, options: IndexOptions, dimension: int, distance: Distance, *, with_truth: bool) -> None:
        self.searched: VectorIndex = options.open(dimension, distance)
        self.ledger = VectorLedger(dimension)
        self.truth = self.scoring
        if self.truth is None and with_truth:
            self.truth = ExactIndex(dimension, distance)

    @property
    def scoring(self) -> ExactIndex | None:
        """The searched index, if it can score whatever it is asked for."""
        return self.searched if isinstance(self.searched, ExactIndex) else None

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        for index in self._indexes():
            index.put(numbers, vectors)
        self.ledger.put(numbers, vectors)

    def drop(self, numbers: Numbers) -> None:
        for index in self._indexes():
            index.drop(numbers)
        self.ledger.drop(numbers)

    def build(self) -> None:
        """To be called before the next search."""
        for index in self._indexes():
            index.build()

    def contents(self, numbers: Numbers) -> Vectors:
        """The vectors under these numbers; only asked where the truth is kept."""
        assert self.truth is not None  # noqa: S101  # whoever wants contents has asked for it
        return self.truth.contents(numbers)

    def forget_truth(self) -> None:
        """Keep the searched index alone."""
        if self.scoring is None and self.truth is not None:
            self.truth.close()
            self.truth = None

    def close(self) -> None:
        for index in self._indexes():
            index.close()

    def _indexes(self) -> list[VectorIndex]:
        return [self.searched] if self.truth is None or self.scoring is not None else [self.searched, self.truth]
