"""Counted chunks that outlive a run: files in a cache folder, found again by the names of contents.

A file holds some documents, by the name of their content, and every chunk of theirs, so it is complete in itself. It is
written whole or not at all, never changed, and may go at any time: an agent that cannot read one counts again. Two
processes that write the same file write the same bytes. While code of others runs beside us, only files that are older
than its start are read, and none is written.
"""

from __future__ import annotations

import os
import re
import time
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.chunk_store import DIGEST_BYTES, Contents
from searchmark.agents.lexical.tokens import Tokeniser
from searchmark.agents.lexical.vocabulary import Counts, Ints, ranges
from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.files.guarded import changed_at, guarded_since
from searchmark.files.store import atomic_write

LAYOUT = 2  # of a file; a change makes another folder
MOST_BYTES = 2_000_000_000  # what was not used for longest goes first
MOST_FILES = 64  # every run with anything new writes one
STALE = 24 * 3600  # seconds after which what an interrupted writer left behind is removed
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

    def __init__(self, contents: Contents, folder: Path | None = None) -> None:
        self._contents = contents
        self._folder = folder or chunk_cache_folder(contents.vocabulary.tokeniser)
        # Names are read at once and columns when they are needed: most files have nothing of what a run asks for.
        self._places = {path: places for path in sorted(self._folder.glob("*.npz")) if (places := _places(path))}
        self._files: dict[Path, _File] = {}

    def find(self, names: Iterable[str]) -> RowsByContent:
        """The chunks of those of these documents that are cached; None where there is no text."""
        wanted, known = {name.encode() for name in names}, RowsByContent()
        for path in list(self._places):
            here = wanted & self._places[path].keys()
            if here:
                known |= self._take(path, sorted(here))
                wanted -= {name.encode() for name in known}
        return known

    def _take(self, path: Path, names: list[bytes]) -> RowsByContent:
        places = [self._places[path][name] for name in names]
        try:
            if path not in self._files:
                self._files[path] = _File(path)
            rows = self._files[path].take(places, self._contents)
        except _DAMAGED:
            del self._places[path]
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return {}
        return dict(zip((name.decode() for name in names), rows, strict=True))

    def save(self, new: RowsByContent) -> None:
        """Keep new documents. A cache is a help and not a duty: where it cannot be written, nothing happens."""
        documents = {name: rows for name, rows in new.items() if _IS_DIGEST(name)}
        if not documents or guarded_since() is not None:  # nobody could tell it from a file of theirs afterwards
            return
        with suppress(UsageError, OSError):
            # Named by what it holds: two processes that save the same at the same time write one file and not two.
            name = blake2b("\n".join(sorted(documents)).encode(), digest_size=20).hexdigest()
            with atomic_write(self._folder / f"{name}.npz", private=True) as file:
                np.savez(file, **_packed(documents, self._contents))  # type: ignore[arg-type]  # none is called allow_pickle
            _prune(self._folder)


def _places(path: Path) -> dict[bytes, int]:
    """The documents of a file and their positions in it; none if it is damaged."""
    try:
        names = _columns(path, "names")["names"].tolist()
    except _DAMAGED:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return {}
    return {name: place for place, name in enumerate(names)}


def _columns(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Columns of a file, all unless some are named; one that others may have changed is as good as damaged."""
    since = guarded_since()
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        columns = {name: file[name] for name in names or file.files}
        if since is not None and changed_at(stream.fileno()) >= since:  # asked after it was read: it may change meanwhile
            raise ValueError(f"{path} is younger than the code that runs beside us")
    return columns


def remove_files_since(moment: int) -> None:
    """Remove the files, of whatever tokeniser, that were written or touched since then."""
    for path in (cache_folder() / "bm25").glob("*/*.npz"):
        with suppress(OSError):
            if path.lstat().st_ctime_ns >= moment:
                path.unlink()


class _File:
    """The columns of a file, as they are on disk."""

    def __init__(self, path: Path) -> None:
        columns = _columns(path)
        if guarded_since() is None:  # which would make it too young
            with suppress(OSError):  # somebody else's, or on a disk that cannot be written: good to read all the same
                os.utime(path)
        self._sizes, self._chunks = columns["sizes"], columns["chunks"]
        # NO_TEXT is below zero, and has no chunks.
        self._starts = np.cumsum(np.maximum(self._sizes, 0)) - np.maximum(self._sizes, 0)
        self._counts = Counts(columns["starts"], columns["terms"], columns["counts"], columns["lengths"].astype(np.int64))
        self._digests = columns["digests"].tobytes()
        self._vocabulary = columns["vocabulary"].tobytes().decode("utf-8", "surrogatepass").split("\n")
        # What each term of the file is called here; asked for one by one, since a vocabulary holds far more than a run needs.
        self._numbers = np.full(len(self._vocabulary), -1, np.int32)

    def take(self, places: list[int], contents: Contents) -> list[Ints | None]:
        """Take over the chunks of some documents; gives their rows."""
        sizes = self._sizes[places]
        lengths = np.maximum(sizes, 0).astype(np.int64)
        chunks, numbers = _renumbered(self._chunks[ranges(self._starts[places], lengths)])
        counts = self._counts.at(chunks)
        here = replace(counts, terms=self._numbered(counts.terms, contents))
        rows = contents.take([self._digests[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES] for at in chunks.tolist()], here)
        parts = np.split(rows[numbers], np.cumsum(lengths)[:-1])
        return [None if size == NO_TEXT else part for size, part in zip(sizes.tolist(), parts, strict=True)]

    def _numbered(self, terms: NDArray[np.int32], contents: Contents) -> NDArray[np.int32]:
        """The numbers that terms have here and now, given to those that were not met before."""
        unknown = np.flatnonzero(_flags(len(self._numbers), terms) & (self._numbers < 0))
        self._numbers[unknown] = [contents.vocabulary.number(self._vocabulary[term]) for term in unknown.tolist()]
        return self._numbers[terms]


def _flags(size: int, places: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which of so many positions occur."""
    flags = np.zeros(size, bool)
    flags[places] = True
    return flags


def _renumbered(places: NDArray[np.integer]) -> tuple[Ints, NDArray[np.int32]]:
    """The positions that occur, in order, and for each of the given ones its number among them: np.unique without sorting."""
    flags = _flags(int(places.max(initial=-1)) + 1, places)
    return np.flatnonzero(flags), (np.cumsum(flags, dtype=np.int32) - 1)[places]


def _packed(documents: Mapping[str, Ints | None], contents: Contents) -> dict[str, NDArray[Any]]:
    """Documents as lists of chunks, chunks as counts of terms, terms as text: each numbered from 0."""
    names = sorted(documents)
    rows = [documents[name] for name in names]
    asked = np.concatenate([np.empty(0, np.int64), *(r for r in rows if r is not None)])
    chunks, places = _renumbered(asked)
    digests, counts = contents.part(chunks)
    terms, numbers = _renumbered(counts.terms)
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


def _prune(folder: Path) -> None:
    """Hold the folder within its bounds; another process may do the same at the same time."""
    # The time of a file is that of its last use, see _File.
    found = sorted(((path.stat(), path) for path in folder.iterdir()), key=lambda entry: -entry[0].st_mtime)
    total = files = 0
    for status, path in found:
        if path.suffix == ".npz":
            total, files = total + status.st_size, files + 1
            if total > MOST_BYTES or files > MOST_FILES:
                path.unlink(missing_ok=True)
        elif path.suffix == ".tmp" and status.st_mtime < time.time() - STALE:
            path.unlink(missing_ok=True)
