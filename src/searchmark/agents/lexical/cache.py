"""Counted chunks in memory and on disk. A chunk is tokenised once, however many documents, commits and runs contain it."""

from __future__ import annotations

import os
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.chunks import content_chunks
from searchmark.agents.lexical.analyser import Tokeniser
from searchmark.agents.lexical.postings import GrowingArray, Ints, TermCounts, Vocabulary
from searchmark.errors import UsageError
from searchmark.io.cache_keys import cache_key, seal
from searchmark.io.folders import cache_folder
from searchmark.io.guard import change_time, guard_start
from searchmark.io.store import atomic_write
from searchmark.records.columns import rows_from
from searchmark.records.document import Document

# Contents of documents as counted chunks: each distinct chunk is tokenised once, however many documents hold it.
#
# A document is the list of its chunks. A version of it that shares most chunks with another one costs what is new.

DIGEST_BYTES = 16

BATCH = 1 << 21  # characters that are counted at once: enough for arrays to pay, small enough for caches


class ChunkStore:
    """Distinct chunks, one row each. ``chunks_tokenised`` is how many texts were ever taken apart."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.chunks_tokenised = 0
        self._row: dict[bytes, int] = {}
        self._starts, self._lengths = GrowingArray(np.int64), GrowingArray(np.int64)
        self._terms, self._counts = GrowingArray(np.int32), GrowingArray(np.int32)
        self._starts.extend([0])

    @property
    def nbytes(self) -> int:
        return sum(column.values.nbytes for column in (self._starts, self._lengths, self._terms, self._counts))

    def rows(self, documents: Iterable[Document]) -> Iterator[tuple[Document, Ints]]:
        """Every document and the rows of its chunks."""
        for batch in batch_documents(documents):
            chunks = [content_chunks(document.text) for document in batch]
            # All chunks of a batch are looked up at once: one call that counts many texts takes less than many calls.
            rows = self._rows(list(chain.from_iterable(chunks)))
            yield from zip(batch, np.split(rows, np.cumsum(list(map(len, chunks)))[:-1]), strict=True)

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

    def _append(self, digests: Sequence[bytes], counts: TermCounts) -> None:
        # Rows are only ever added: a chunk that no document holds any longer may come back later in a history.
        first, base = len(self._row), int(self._starts.values[-1])
        self._row.update(zip(digests, range(first, first + len(digests)), strict=True))
        self._starts.extend(base + counts.starts[1:])
        self._lengths.extend(counts.lengths)
        self._terms.extend(counts.terms)
        self._counts.extend(counts.counts)

    def counts(self, rows: Ints) -> TermCounts:
        """The counts of some chunks, one after the other."""
        return TermCounts(self._starts.values, self._terms.values, self._counts.values, self._lengths.values).at(rows)

    def part(self, rows: Ints) -> tuple[list[bytes], TermCounts]:
        """Some chunks with their digests, for somebody to keep."""
        digests = list(self._row)  # in the order of their rows
        return [digests[row] for row in rows.tolist()], self.counts(rows)

    def take(self, digests: Sequence[bytes], counts: TermCounts) -> Ints:
        """Chunks from the cache, as rows; those that are here already are not taken again."""
        new = [place for place, digest in enumerate(digests) if digest not in self._row]
        if len(new) < len(digests):  # otherwise a copy of everything would be made for nothing
            counts = counts.at(np.array(new, np.int64))
        self._append([digests[place] for place in new], counts)
        return np.fromiter(map(self._row.__getitem__, digests), np.int64, len(digests))


def batch_documents(documents: Iterable[Document]) -> Iterator[list[Document]]:
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


# Counted chunks that outlive a run: files in a cache folder, found again by the names of contents.
#
# A file holds some documents, by the name of their content, and every chunk of theirs, so it is complete in itself. It is
# written whole or not at all, never changed, and may go at any time: an agent that cannot read one counts again. Two
# processes that write the same file write the same bytes. While code of others runs beside us, only files that are older
# than its start are read, and none is written.

LAYOUT = 3  # of a file; a change makes another folder

MAX_CACHE_BYTES = 2_000_000_000  # what was not used for longest goes first

MAX_CACHE_FILES = 64  # every run with anything new writes one

STALE_SECONDS = 24 * 3600  # seconds after which what an interrupted writer left behind is removed

NO_TEXT = -1


# Only the digest of a content names it everywhere: "v1" may be something else in another corpus.
_IS_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}").fullmatch

_DAMAGED = (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile)

RowsByContent = dict[str, Ints | None]


def chunk_cache_folder(tokeniser: Tokeniser) -> Path:
    """Where the files of this tokeniser and layout are.

    Stop words and stems are taken off after the counting, so one file serves every language.
    """
    return cache_folder() / "bm25" / f"{tokeniser.name}-{LAYOUT}"


class ChunkCache:
    """The files of a folder. Of each, only what is asked for is taken over, when it is asked for."""

    def __init__(self, contents: ChunkStore, folder: Path | None = None) -> None:
        self._contents = contents
        self._folder = folder or chunk_cache_folder(contents.vocabulary.tokeniser)
        # Names are read at once and columns when they are needed: most files have nothing of what a run asks for.
        self._places = {path: places for path in sorted(self._folder.glob("*.npz")) if (places := _read_places(path))}
        self._files: dict[Path, _CacheFile] = {}

    def find(self, names: Iterable[str]) -> RowsByContent:
        """The chunks of those of these documents that are cached; None where there is no text."""
        missing, rows = {name.encode() for name in names}, RowsByContent()
        for path in list(self._places):
            here = missing & self._places[path].keys()
            if here:
                rows |= self._take(path, sorted(here))
                missing -= {name.encode() for name in rows}
        return rows

    def _take(self, path: Path, names: list[bytes]) -> RowsByContent:
        places = [self._places[path][name] for name in names]
        try:
            if path not in self._files:
                self._files[path] = _CacheFile(path)
            rows = self._files[path].take(places, self._contents)
        except _DAMAGED:
            del self._places[path]
            _remove_damaged(path)
            return {}
        return dict(zip((name.decode() for name in names), rows, strict=True))

    def save(self, new: RowsByContent) -> None:
        """Keep new documents. A cache is a help and not a duty: where it cannot be written, nothing happens."""
        documents = {name: rows for name, rows in new.items() if _IS_DIGEST(name)}
        if not documents or guard_start() is not None:
            return
        with suppress(UsageError, OSError):
            content = BytesIO()
            np.savez(content, **_pack_columns(documents, self._contents))  # type: ignore[arg-type]  # none is called allow_pickle
            # Named by its seal: two processes that save the same at the same time write one file and not two.
            name = seal(cache_key(cache_folder()), content.getbuffer()).hex()
            with atomic_write(self._folder / f"{name}.npz", private=True) as file:
                file.write(content.getbuffer())
            _prune_cache(self._folder)


def _read_places(path: Path) -> dict[bytes, int]:
    """The documents of a file and their positions in it; none if it is damaged."""
    try:
        names = _columns(path, "names")["names"].tolist()
    except _DAMAGED:
        _remove_damaged(path)
        return {}
    return {name: place for place, name in enumerate(names)}


def _remove_damaged(path: Path) -> None:
    if guard_start() is None:  # else it may be whole, and too young
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _columns(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Columns of a file, all unless some are named; one that others may have changed is as good as damaged."""
    since = guard_start()
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        columns = {name: file[name] for name in names or file.files}
        if since is not None and change_time(stream.fileno()) >= since:  # asked after it was read: it may change meanwhile
            raise ValueError(f"{path} is younger than the code that runs beside us")
    return columns


def remove_unsealed_since(moment: int, key: bytes) -> None:
    """Remove the files, of whatever tokeniser, that were written or touched since then, and by no code of ours."""
    for path in (cache_folder() / "bm25").glob("*/*.npz"):
        with suppress(OSError):
            if path.lstat().st_ctime_ns >= moment and seal(key, path.read_bytes()).hex() != path.stem:
                path.unlink()


class _CacheFile:
    """The columns of a file, as they are on disk."""

    def __init__(self, path: Path) -> None:
        columns = _columns(path)
        if guard_start() is None:  # which would make it too young
            with suppress(OSError):  # somebody else's, or on a disk that cannot be written: good to read all the same
                os.utime(path)
        self._sizes, self._chunks = columns["sizes"], columns["chunks"]
        # NO_TEXT is below zero, and has no chunks.
        self._starts = np.cumsum(np.maximum(self._sizes, 0)) - np.maximum(self._sizes, 0)
        self._counts = TermCounts(columns["starts"], columns["terms"], columns["counts"], columns["lengths"].astype(np.int64))
        self._digests = columns["digests"].tobytes()
        self._vocabulary = columns["vocabulary"].tobytes().decode("utf-8", "surrogatepass").split("\n")
        # What each term of the file is called here; asked for one by one, since a vocabulary holds far more than a run needs.
        self._numbers = np.full(len(self._vocabulary), -1, np.int32)

    def take(self, places: list[int], contents: ChunkStore) -> list[Ints | None]:
        """Take over the chunks of some documents; gives their rows."""
        sizes = self._sizes[places]
        lengths = np.maximum(sizes, 0).astype(np.int64)
        chunks, numbers = _renumber(self._chunks[rows_from(self._starts[places], lengths)[0]])
        counts = self._counts.at(chunks)
        here = replace(counts, terms=self._numbered(counts.terms, contents))
        rows = contents.take([self._digests[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES] for at in chunks.tolist()], here)
        parts = np.split(rows[numbers], np.cumsum(lengths)[:-1])
        return [None if size == NO_TEXT else part for size, part in zip(sizes.tolist(), parts, strict=True)]

    def _numbered(self, terms: NDArray[np.int32], contents: ChunkStore) -> NDArray[np.int32]:
        """The numbers that terms have here and now, given to those that were not met before."""
        unknown = np.flatnonzero(_occurrence_flags(len(self._numbers), terms) & (self._numbers < 0))
        self._numbers[unknown] = [contents.vocabulary.number(self._vocabulary[term]) for term in unknown.tolist()]
        return self._numbers[terms]


def _occurrence_flags(size: int, places: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which of so many positions occur."""
    flags = np.zeros(size, bool)
    flags[places] = True
    return flags


def _renumber(places: NDArray[np.integer]) -> tuple[Ints, NDArray[np.int32]]:
    """The positions that occur, in order, and for each of the given ones its number among them: np.unique without sorting."""
    flags = _occurrence_flags(int(places.max(initial=-1)) + 1, places)
    return np.flatnonzero(flags), (np.cumsum(flags, dtype=np.int32) - 1)[places]


def _pack_columns(documents: Mapping[str, Ints | None], contents: ChunkStore) -> dict[str, NDArray[Any]]:
    """Documents as lists of chunks, chunks as counts of terms, terms as text: each numbered from 0."""
    names = sorted(documents)
    rows = [documents[name] for name in names]
    all_rows = np.concatenate([np.empty(0, np.int64), *(r for r in rows if r is not None)])
    chunks, places = _renumber(all_rows)
    digests, counts = contents.part(chunks)
    terms, numbers = _renumber(counts.terms)
    every = list(contents.vocabulary.numbers)  # a dict in the order of its numbers
    return {
        "names": np.array([name.encode() for name in names]),
        "sizes": np.array([NO_TEXT if r is None else len(r) for r in rows], np.int32),
        "chunks": places,
        "digests": np.frombuffer(b"".join(digests), np.uint8),
        "starts": counts.starts,
        "lengths": counts.lengths.astype(np.int32),
        "terms": numbers,
        "counts": counts.counts,
        "vocabulary": np.frombuffer("\n".join(every[term] for term in terms).encode("utf-8", "surrogatepass"), np.uint8),
    }


def _prune_cache(folder: Path) -> None:
    """Hold the folder within its bounds; another process may do the same at the same time."""
    # The time of a file is that of its last use, see _File.
    entries = sorted(((path.stat(), path) for path in folder.iterdir()), key=lambda entry: -entry[0].st_mtime)
    total = files = 0
    for status, path in entries:
        if path.suffix == ".npz":
            total, files = total + status.st_size, files + 1
            if total > MAX_CACHE_BYTES or files > MAX_CACHE_FILES:
                path.unlink(missing_ok=True)
        elif path.suffix == ".tmp" and status.st_mtime < time.time() - STALE_SECONDS:
            path.unlink(missing_ok=True)
