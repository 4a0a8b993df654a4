"""Vectors on disk, found by what they were made from: the model, its revision, and the text.

One SQLite file for all models. SQLite is what makes it safe: writers wait for each other, and a process that is killed
while it writes leaves either its whole batch or nothing of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.files.folders import make_private_folder
from searchmark.files.sqlite import open_database
from searchmark.files.store import cache_folder

if TYPE_CHECKING:
    import apsw

Vectors = NDArray[np.float32]

FILE = "embeddings.sqlite"
AT_ONCE = 500  # keys per question
KEEP = 0.8  # of the allowed size, once it is exceeded: room is made rarely and then in one go


class VectorCache:
    """Float32 vectors by key. The oldest ones go when the file would grow beyond ``max_bytes``."""

    def __init__(self, folder: Path | None = None, max_bytes: int = 4 << 30) -> None:
        self.path = (folder or cache_folder()) / FILE
        self._max_bytes = max_bytes

    @cached_property
    def _database(self) -> apsw.Connection:
        """Opened when first used, in the process that uses it."""
        with self._advising():
            _make_private(self.path)
            database = open_database(self.path)
            database.pragma("journal_mode", "wal")
            database.pragma("synchronous", "normal")  # a power cut may cost the last batches, never the file
            database.execute("CREATE TABLE IF NOT EXISTS vectors(number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB)")
        return database

    @contextmanager
    def _advising(self) -> Iterator[None]:
        """Whatever is wrong with the file, say which one it is and what can be done."""
        import apsw

        try:
            yield
        except (OSError, apsw.Error) as error:
            advice = "name another folder with SEARCHMARK_CACHE, delete it if it is damaged, or switch it off (cache: false)"
            raise UsageError(f"the cache {self.path} cannot be used ({error}); {advice}") from error

    def read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
        """The vectors that are there; one of another length is as good as none."""
        found: dict[bytes, Vectors] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            with self._advising():
                rows = self._database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", tuple(some))  # noqa: S608  # only question marks
                found.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
        return {key: vector for key, vector in found.items() if len(vector) == dimension}

    def write(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep them, all in one transaction; what another process has written meanwhile is the same."""
        with self._advising():
            database = self._database
            database.execute("BEGIN IMMEDIATE")
            try:
                database.executemany("INSERT OR REPLACE INTO vectors(key, vector) VALUES (?, ?)", _rows(vectors))
                self._make_room()
            except BaseException:
                with suppress(Exception):  # a full disk has rolled back already
                    database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        opened = self.__dict__.pop("_database", None)
        if opened is not None:
            opened.close()

    def used_bytes(self) -> int:
        """What the vectors take on disk, free pages not counted."""
        pages = int(self._database.pragma("page_count")) - int(self._database.pragma("freelist_count"))
        return pages * int(self._database.pragma("page_size"))

    def _make_room(self) -> None:
        used = self.used_bytes()
        if used <= self._max_bytes:
            return
        count = self._database.execute("SELECT count(*) FROM vectors").get
        surplus = max(1, round(int(count) * (1 - KEEP * self._max_bytes / used)))
        self._database.execute(
            "DELETE FROM vectors WHERE number IN (SELECT number FROM vectors ORDER BY number LIMIT ?)", (surplus,)
        )


def _rows(vectors: Mapping[bytes, Vectors]) -> Iterable[tuple[bytes, bytes]]:
    return ((key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items())


def _make_private(path: Path) -> None:
    """Texts of private code can be guessed from their vectors: nobody else may read them."""
    make_private_folder(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)
