"""Contents of documents as counted chunks: each distinct chunk is tokenised once, however many documents hold it.

A document is the list of its chunks. A version of it that shares most chunks with another one costs what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from searchmark.agents.lexical.vocabulary import Counts, Growing, Ints, Vocabulary
from searchmark.agents.recut import cut_again
from searchmark.corpora.chunks import chunks
from searchmark.records import Document

DIGEST_BYTES = 16
BATCH = 1 << 21  # characters that are counted at once: enough for arrays to pay, small enough for caches


NO_ROWS: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class CountedVersion:
    """The chunks of a text and their rows."""

    chunks: list[str]
    rows: Ints

    def followed_by(self, cut: Iterable[slice | list[str]], new: Ints) -> CountedVersion:
        """The next version, given how it is cut beside this one and the rows of the chunks that are new in it."""
        texts: list[str] = []
        rows, taken = [NO_ROWS], 0
        for part in cut:
            texts += self.chunks[part] if isinstance(part, slice) else part
            rows.append(self.rows[part] if isinstance(part, slice) else new[taken : taken + len(part)])
            taken += 0 if isinstance(part, slice) else len(part)
        return CountedVersion(texts, np.concatenate(rows))


class Contents:
    """Distinct chunks, one row each. ``chunks_tokenised`` is how many texts were ever taken apart."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.chunks_tokenised = 0
        self._row: dict[bytes, int] = {}
        self._starts, self._lengths = Growing(np.int64), Growing(np.int64)
        self._terms, self._counts = Growing(np.int32), Growing(np.int32)
        self._starts.extend([0])
        self._last: dict[str, CountedVersion] = {}

    @property
    def nbytes(self) -> int:
        return sum(column.values.nbytes for column in (self._starts, self._lengths, self._terms, self._counts))

    def rows(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Ints]]:
        """Every document and the rows of its chunks."""
        for batch in batches(documents):
            yield from zip(batch, self._rows_of_each([chunks(document.text) for document in batch]), strict=True)

    def rows_of_versions(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Ints]]:
        """The same for documents that are likely to come again with a few changes: their chunks are remembered for that."""
        for batch in batches(documents):
            formers = [self._last.get(document.id, CountedVersion([], NO_ROWS)) for document in batch]
            cuts = [cut_again(document.text, former.chunks) for document, former in zip(batch, formers, strict=True)]
            # All new chunks of a batch are looked up at once: one call that counts many texts takes less than many calls.
            new = [[text for part in cut if isinstance(part, list) for text in part] for cut in cuts]
            for document, former, cut, rows in zip(batch, formers, cuts, self._rows_of_each(new), strict=True):
                self._last[document.id] = former.followed_by(cut, rows)
                yield document, self._last[document.id].rows

    def forget(self, ids: Iterable[str]) -> None:
        """Let go of the texts of documents that will not come again."""
        for document in ids:
            self._last.pop(document, None)

    def _rows_of_each(self, texts: Sequence[Sequence[str]]) -> list[Ints]:
        ends = np.cumsum([len(own) for own in texts])
        return np.split(self._rows([text for own in texts for text in own]), ends[:-1])

    def _rows(self, texts: Sequence[str]) -> Ints:
        digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest() for text in texts]
        rows = list(map(self._row.get, digests))
        missing = [place for place, row in enumerate(rows) if row is None]
        new = {digests[place]: texts[place] for place in missing}  # a duplicate among the texts is counted once
        self.chunks_tokenised += len(new)
        self._append(list(new), self.vocabulary.count(new.values()))
        for place in missing:
            rows[place] = self._row[digests[place]]
        return np.array(rows, np.int64)

    def _append(self, digests: Sequence[bytes], counts: Counts) -> None:
        # Rows are only ever added: a chunk that no document holds any longer may come back later in a history.
        first, base = len(self._row), int(self._starts.values[-1])
        self._row.update(zip(digests, range(first, first + len(digests)), strict=True))
        self._starts.extend(base + counts.starts[1:])
        self._lengths.extend(counts.lengths)
        self._terms.extend(counts.terms)
        self._counts.extend(counts.counts)

    def counts(self, rows: Ints) -> Counts:
        """The counts of some chunks, one after the other."""
        return Counts(self._starts.values, self._terms.values, self._counts.values, self._lengths.values).at(rows)

    def part(self, rows: Ints) -> tuple[list[bytes], Counts]:
        """Some chunks with their digests, for somebody to keep."""
        digests = list(self._row)  # in the order of their rows
        return [digests[row] for row in rows.tolist()], self.counts(rows)

    def take(self, digests: Sequence[bytes], counts: Counts) -> Ints:
        """Chunks from the cache, as rows; those that are here already are not taken again."""
        new = [place for place, digest in enumerate(digests) if digest not in self._row]
        if len(new) < len(digests):  # otherwise a copy of everything would be made for nothing
            counts = counts.at(np.array(new, np.int64))
        self._append([digests[place] for place in new], counts)
        return np.fromiter(map(self._row.__getitem__, digests), np.int64, len(digests))


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in groups of a size that pays."""
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
