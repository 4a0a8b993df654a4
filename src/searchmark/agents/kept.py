"""Counted chunks that outlive a run: files in a cache folder, found again by the names of contents.

A file holds some documents, by the name of their content, and every chunk of theirs, so it is complete in itself. It is
written whole or not at all, never changed, and may go at any time: whoever cannot read one counts anew. Two
processes that write the same file write the same bytes.
"""

from __future__ import annotations

import os
import re
import time
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.contents import DIGEST_BYTES, Contents
from searchmark.agents.tokens import TOKENISER
from searchmark.agents.vocabulary import Counts, Ints
from searchmark.errors import UsageError
from searchmark.store import atomic_write, cache_folder

LAYOUT = 1  # of a file; a change makes another folder
MOST_BYTES = 2_000_000_000  # what was not used for longest goes first
MOST_FILES = 8  # a run that needed so many writes one in their place
STALE = 24 * 3600  # seconds after which what an interrupted writer left behind is removed
NO_TEXT = -1

# Only the digest of a content names it everywhere: "v1" may be something else in another corpus.
_IS_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}").fullmatch
_DAMAGED = (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile)

Known = dict[str, Ints | None]


def kept_folder() -> Path:
    """Where the files of this tokeniser and layout are."""
    return cache_folder() / "bm25" / f"{TOKENISER}-{LAYOUT}"


class Kept:
    """The files of a folder, each loaded when one of its documents is asked for."""

    def __init__(self, contents: Contents, folder: Path | None = None) -> None:
        self._contents = contents
        self._folder = folder or kept_folder()
        self._waiting = {path: keys for path in sorted(self._folder.glob("*.npz")) if (keys := _keys(path)) is not None}
        self._loaded: list[Path] = []

    def find(self, names: Iterable[str]) -> Known:
        """The chunks of these documents, and of others that are kept beside them; None where there is no text."""
        wanted, known = {name.encode() for name in names}, Known()
        for path in [path for path, keys in self._waiting.items() if not keys.isdisjoint(wanted)]:
            del self._waiting[path]
            known |= self._load(path)
        return known

    def _load(self, path: Path) -> Known:
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                columns = dict(file)
            os.utime(path)
            known = _unpacked(columns, self._contents)
        except _DAMAGED:
            path.unlink(missing_ok=True)
            return {}
        self._loaded.append(path)
        return known

    def save(self, new: Known, known: Known) -> None:
        """Keep new documents; all that are known if they came from many files, which are then no longer needed.

        A cache is a help and not a duty: where it cannot be written, nothing happens.
        """
        many = len(self._loaded) >= MOST_FILES
        documents = {name: rows for name, rows in (known if many else new).items() if _IS_DIGEST(name)}
        if not documents:
            return
        with suppress(UsageError, OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = blake2b("\n".join(sorted(documents)).encode(), digest_size=20).hexdigest()
            path = self._folder / f"{name}.npz"
            with atomic_write(path, 0o600) as file:
                np.savez(file, **_packed(documents, self._contents))  # type: ignore[arg-type]  # none is called allow_pickle
            for older in self._loaded if many else ():
                if older != path:
                    older.unlink(missing_ok=True)
            self._loaded = [path] if many else [*self._loaded, path]
            _prune(self._folder)


def _keys(path: Path) -> frozenset[bytes] | None:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return frozenset(file["names"].tolist())
    except _DAMAGED:
        path.unlink(missing_ok=True)
        return None


def _packed(documents: Mapping[str, Ints | None], contents: Contents) -> dict[str, NDArray[Any]]:
    """Documents as lists of chunks, chunks as counts of terms, terms as text: each numbered from 0."""
    names = sorted(documents)
    rows = [documents[name] for name in names]
    chunks, places = np.unique(np.concatenate([np.empty(0, np.int64), *(r for r in rows if r is not None)]), return_inverse=True)
    digests, counts = contents.part(chunks)
    terms, numbers = np.unique(counts.terms, return_inverse=True)
    every = list(contents.vocabulary.numbers)
    return {
        "names": np.array([name.encode() for name in names]),
        "sizes": np.array([NO_TEXT if r is None else len(r) for r in rows], np.int32),
        "chunks": places.astype(np.int32),
        "digests": np.frombuffer(b"".join(digests), np.uint8),
        "starts": counts.starts,
        "lengths": counts.lengths.astype(np.int32),
        "terms": numbers.astype(np.int32),
        "counts": counts.counts,
        "vocabulary": np.frombuffer("\n".join(every[term] for term in terms).encode("utf-8", "surrogatepass"), np.uint8),
    }


def _unpacked(columns: Mapping[str, NDArray[Any]], contents: Contents) -> Known:
    vocabulary = columns["vocabulary"].tobytes().decode("utf-8", "surrogatepass").split("\n")
    numbers = np.fromiter(map(contents.vocabulary.number, vocabulary), np.int32, len(vocabulary))
    counts = Counts(columns["starts"], numbers[columns["terms"]], columns["counts"], columns["lengths"].astype(np.int64))
    digests = columns["digests"].tobytes()
    rows = contents.take([digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)], counts)
    sizes = columns["sizes"]
    parts = np.split(rows[columns["chunks"]], np.cumsum(np.maximum(sizes, 0))[:-1])
    names = [name.decode() for name in columns["names"].tolist()]
    return {name: None if size == NO_TEXT else part for name, size, part in zip(names, sizes.tolist(), parts, strict=True)}


def _prune(folder: Path) -> None:
    """Hold the folder within its bounds; another process may do the same at the same time."""
    total = 0
    found = [(path, path.stat()) for path in folder.iterdir()]
    for path, status in sorted(found, key=lambda entry: -entry[1].st_mtime):
        if path.suffix == ".npz":
            total += status.st_size
            if total > MOST_BYTES:
                path.unlink(missing_ok=True)
        elif path.suffix == ".tmp" and status.st_mtime < time.time() - STALE:
            path.unlink(missing_ok=True)
