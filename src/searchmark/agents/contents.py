"""Contents of documents as counted chunks: each distinct chunk is tokenised once, however many documents hold it.

A document is the list of its chunks. A version of it that shares most chunks with another one costs what is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.vocabulary import Counts, Growing, Ints, Vocabulary, ranges
from searchmark.corpora.chunks import chunks
from searchmark.records import Document

Rows = NDArray[np.int64]
BATCH = 1 << 21  # characters that are counted at once: enough for arrays to pay, small enough for caches


class Contents:
    """Distinct chunks, one row each. ``chunks_tokenised`` is how many texts were ever taken apart."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.chunks_tokenised = 0
        self._row: dict[bytes, int] = {}
        self._starts, self._lengths = Growing(np.int64), Growing(np.int64)
        self._terms, self._counts = Growing(np.int32), Growing(np.int32)
        self._starts.extend([0])

    @property
    def nbytes(self) -> int:
        return sum(column.values.nbytes for column in (self._starts, self._lengths, self._terms, self._counts))

    def rows(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Rows]]:
        """Every document and the rows of its chunks."""
        for batch in _batches(documents):
            texts = [chunks(document.text) for document in batch]
            found = self._rows([text for parts in texts for text in parts])
            ends = np.cumsum([len(parts) for parts in texts])
            yield from zip(batch, np.split(found, ends[:-1]), strict=True)

    def _rows(self, texts: Sequence[str]) -> Rows:
        digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._row}
        self.chunks_tokenised += len(new)
        self._append(list(new), self.vocabulary.count(new.values()))
        return np.fromiter(map(self._row.__getitem__, digests), np.int64, len(digests))

    def _append(self, digests: Sequence[bytes], counts: Counts) -> None:
        first, base = len(self._row), int(self._starts.values[-1])
        self._row.update(zip(digests, range(first, first + len(digests)), strict=True))
        self._starts.extend(base + counts.starts[1:])
        self._lengths.extend(counts.lengths)
        self._terms.extend(counts.terms)
        self._counts.extend(counts.counts)

    def counts(self, rows: Ints) -> Counts:
        """The counts of some chunks, one after the other."""
        starts = self._starts.values
        sizes = starts[rows + 1] - starts[rows]
        places = ranges(starts[rows], sizes)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return Counts(ends, self._terms.values[places], self._counts.values[places], self._lengths.values[rows])


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
