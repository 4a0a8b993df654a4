"""Vectors on disk, found by what they were made from: the model, its revision, and the text.

One SQLite file for all models. SQLite is what makes it safe: writers wait for each other, and a process that is killed
while it writes leaves either its whole batch or nothing of it. What a disk or somebody else makes of the file is noticed: each
vector has a checksum, and a file that SQLite calls damaged is begun again. A cache is never the reason of a failure that
computing once more would avoid. Where code of others runs beside us, only vectors that a `CacheGuard` answers for are used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.cache_guard import CacheGuard, guard_of_this_process
from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.files.folders import make_private_folder
from searchmark.files.sqlite import open_database

if TYPE_CHECKING:
    import apsw

Vectors = NDArray[np.float32]
T = TypeVar("T")

FILE = "embeddings.sqlite"
VERSION = 3
AT_ONCE = 500  # keys per question
KEEP = 0.8  # of the allowed size, once it is exceeded: room is made rarely and then in one go
CHECKSUM_BYTES = 8


class VectorCache:
    """Float32 vectors by key. The oldest ones go when the file would grow beyond ``max_bytes``.

    ``damaged`` counts what was found and not believed: rows whose checksum is wrong or for which the guard does not answer, and
    files that were begun again.
    """

    def __init__(self, folder: Path | None = None, max_bytes: int = 4 << 30, guard: CacheGuard | None = None) -> None:
        self.path = (folder or cache_folder()) / FILE
        self.damaged = 0
        self._max_bytes = max_bytes
        self._guard = guard or guard_of_this_process()

    @cached_property
    def _database(self) -> apsw.Connection:
        """Opened when first used, in the process that uses it."""
        _make_private(self.path)
        database = open_database(self.path)
        try:
            database.pragma("journal_mode", "wal")
            database.pragma("synchronous", "normal")  # a power cut may cost the last batches, never the file
            if database.pragma("user_version") != VERSION:
                _create(database)
        except BaseException:
            database.close()
            raise
        return database

    def read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
        """The vectors that are there; one of another length or with a wrong checksum is as good as none."""
        return self._with_database(lambda: self._read(keys, dimension))

    def _read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = self._database.execute(
                f"SELECT key, vector, checksum, seal FROM vectors WHERE key IN ({marks})",  # noqa: S608  # only question marks
                tuple(some),
            )
            for key, vector, checksum, seal in rows:
                if self._is_sound(key, vector, checksum, seal):
                    found[key] = np.frombuffer(vector, dtype="<f4")
                else:
                    self.damaged += 1
        return {key: vector for key, vector in found.items() if len(vector) == dimension}

    def _is_sound(self, key: bytes, vector: Any, checksum: Any, seal: Any) -> bool:
        if not isinstance(vector, bytes) or len(vector) % 4 or _checksum(key, vector) != checksum:
            return False
        return self._guard is None or self._guard.answers_for(key, vector, checksum, seal)

    def write(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep them, all in one transaction; what another process has written meanwhile is the same."""
        self._with_database(lambda: self._write(vectors))

    def _write(self, vectors: Mapping[bytes, Vectors]) -> None:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            database.executemany(
                "INSERT OR REPLACE INTO vectors(key, vector, checksum, seal) VALUES (?, ?, ?, ?)", _rows(vectors, self._guard)
            )
            self._make_room()
            database.execute("COMMIT")
        except BaseException:
            with suppress(Exception):  # a full disk has rolled back already
                database.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        opened = self.__dict__.pop("_database", None)
        if opened is not None:
            opened.close()

    def used_bytes(self) -> int:
        """What the vectors take on disk, free pages not counted."""
        pages = int(self._database.pragma("page_count")) - int(self._database.pragma("freelist_count"))
        return pages * int(self._database.pragma("page_size"))

    def _with_database(self, work: Callable[[], T]) -> T:
        """Do something with the file; one that turns out to be damaged is begun again, once."""
        import apsw

        with self._advising():
            try:
                return work()
            except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
                if not _is_damage(error):
                    raise
            self._begin_again()
            return work()

    def _begin_again(self) -> None:
        """Leave a damaged file behind. Processes that still have it open keep on using what has no name any more."""
        self.damaged += 1
        with suppress(Exception):  # a file that is damaged may not even be closed in good order
            self.close()
        self.__dict__.pop("_database", None)
        remove_file(self.path)

    @contextmanager
    def _advising(self) -> Iterator[None]:
        """Whatever is wrong with the file, say which one it is and what can be done."""
        import apsw

        try:
            yield
        except (OSError, apsw.Error) as error:
            advice = "name another folder with SEARCHMARK_CACHE, delete it if it is damaged, or switch it off (cache: false)"
            raise UsageError(f"the cache {self.path} cannot be used ({error}); {advice}") from error

    def _make_room(self) -> None:
        used = self.used_bytes()
        if used <= self._max_bytes:
            return
        count = self._database.execute("SELECT count(*) FROM vectors").get
        surplus = max(1, round(int(count) * (1 - KEEP * self._max_bytes / used)))
        self._database.execute(
            "DELETE FROM vectors WHERE number IN (SELECT number FROM vectors ORDER BY number LIMIT ?)", (surplus,)
        )


def remove_file(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _create(database: apsw.Connection) -> None:
    """The table, and an index that knows checksums without touching a vector. Whatever an older version had goes."""
    database.execute("BEGIN IMMEDIATE")
    if database.pragma("user_version") != VERSION:  # nobody else has done it meanwhile
        database.execute("DROP TABLE IF EXISTS vectors")
        database.execute("CREATE TABLE vectors(number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB, checksum BLOB, seal BLOB)")
        database.execute("CREATE INDEX by_key ON vectors(key, checksum)")
        database.pragma("user_version", VERSION)
    database.execute("COMMIT")


def _is_damage(error: apsw.Error) -> bool:
    """Whether it is the content that is wrong; a disk that is full or cannot be read is another matter."""
    import apsw

    return not isinstance(error, apsw.IOError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ


def _checksum(key: bytes, vector: bytes) -> bytes:
    return blake2b(key + vector, digest_size=CHECKSUM_BYTES).digest()


def _rows(vectors: Mapping[bytes, Vectors], guard: CacheGuard | None) -> Iterable[tuple[bytes, bytes, bytes, bytes | None]]:
    for key, vector in vectors.items():
        raw = np.asarray(vector, dtype="<f4").tobytes()
        yield key, raw, _checksum(key, raw), None if guard is None else guard.seal(key, raw)


def _make_private(path: Path) -> None:
    """Texts of private code can be guessed from their vectors: nobody else may read them."""
    make_private_folder(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)
