"""Vectors on disk, by model and text, in one SQLite file. What is not sealed with the key of the cache is not believed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.io.cache_keys import cache_key, seal
from searchmark.io.folders import cache_folder, make_private_folder
from searchmark.io.guard import given_key, note_use, used_entries
from searchmark.io.sqlite import open_database

if TYPE_CHECKING:
    import apsw


# Vectors on disk, found by what they were made from: the model, its revision, and the text.
#
# One SQLite file for all models. SQLite is what makes it safe: writers wait for each other, and a process that is killed while
# it writes leaves either its whole batch or nothing of it. What a disk or somebody else makes of the file is noticed: each
# vector has a seal, and a file that SQLite calls damaged is begun again. A cache is never the reason of a failure that
# computing once more would avoid.

Vectors = NDArray[np.float32]

T = TypeVar("T")

FILE = "embeddings.sqlite"

VERSION = 4

KEYS_PER_QUERY = 500  # keys per question

KEEP = 0.8  # of the allowed size, once it is exceeded: room is made rarely and then in one go


class VectorCache:
    """Float32 vectors by key. The oldest ones go when the file would grow beyond ``max_bytes``.

    ``damaged`` counts what was found and not believed: rows whose seal is wrong, and files that were begun again.
    """

    def __init__(self, folder: Path | None = None, max_bytes: int = 4 << 30, key: bytes | None = None) -> None:
        self.path = (folder or cache_folder()) / FILE
        self.damaged = 0
        self._max_bytes = max_bytes
        self._given = key or given_key()

    @cached_property
    def _key(self) -> bytes:
        return self._given or cache_key(self.path.parent)

    @cached_property
    def _database(self) -> apsw.Connection:
        """Opened when first used, in the process that uses it."""
        _make_private(self.path)
        database = open_database(self.path)
        try:
            database.pragma("journal_mode", "wal")
            database.pragma("synchronous", "normal")  # a power cut may cost the last batches, never the file
            if database.pragma("user_version") != VERSION:
                _create_tables(database)
        except BaseException:
            database.close()
            raise
        return database

    def read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
        """The vectors that are there; one of another length or with a wrong seal is as good as none."""
        return self._with_database(lambda: self._read(keys, dimension))

    def _read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
        vectors: dict[bytes, Vectors] = {}
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(some))
            rows = self._database.execute(
                f"SELECT key, vector, seal FROM vectors WHERE key IN ({marks})",  # noqa: S608  # only question marks
                tuple(some),
            )
            for key, *row in rows:
                if _is_sound(self._key, key, *row):
                    vectors[key] = np.frombuffer(row[0], dtype="<f4")
                else:
                    self.damaged += 1
        note_use(vectors)
        return {key: vector for key, vector in vectors.items() if len(vector) == dimension}

    def write(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep them, all in one transaction; what another process has written meanwhile is the same."""
        self._with_database(lambda: self._write(vectors))

    def _write(self, vectors: Mapping[bytes, Vectors]) -> None:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            raw = {key: np.asarray(vector, dtype="<f4").tobytes() for key, vector in vectors.items()}
            rows = [(key, vector, seal(self._key, key + vector)) for key, vector in raw.items()]
            database.executemany("INSERT OR REPLACE INTO vectors(key, vector, seal) VALUES (?, ?, ?)", rows)
            self._make_room()
            database.execute("COMMIT")
        except BaseException:
            with suppress(Exception):  # a full disk has rolled back already
                database.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        database = self.__dict__.pop("_database", None)
        if database is not None:
            database.close()

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
                if not _is_damaged_error(error):
                    raise
            self._begin_again()
            return work()

    def _begin_again(self) -> None:
        """Leave a damaged file behind. Processes that still have it open keep on using what has no name any more."""
        self.damaged += 1
        with suppress(Exception):  # a file that is damaged may not even be closed in good order
            self.close()
        self.__dict__.pop("_database", None)
        remove_cache_file(self.path)

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
        size = self.used_bytes()
        if size <= self._max_bytes:
            return
        count = self._database.execute("SELECT count(*) FROM vectors").get
        surplus = max(1, round(int(count) * (1 - KEEP * self._max_bytes / size)))
        self._database.execute(
            "DELETE FROM vectors WHERE number IN (SELECT number FROM vectors ORDER BY number LIMIT ?)", (surplus,)
        )


def remove_cache_file(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _create_tables(database: apsw.Connection) -> None:
    """Whatever an older version had goes."""
    database.execute("BEGIN IMMEDIATE")
    if database.pragma("user_version") != VERSION:  # nobody else has done it meanwhile
        database.execute("DROP TABLE IF EXISTS vectors")
        database.execute("CREATE TABLE vectors(number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB, seal BLOB)")
        database.pragma("user_version", VERSION)
    database.execute("COMMIT")


def _is_damaged_error(error: apsw.Error) -> bool:
    """Whether it is the content that is wrong; a disk that is full or cannot be read is another matter."""
    import apsw

    return not isinstance(error, apsw.IOError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ


def _is_sound(own_key: bytes, key: Any, vector: Any, its_seal: Any) -> bool:
    return isinstance(vector, bytes) and len(vector) % 4 == 0 and its_seal == seal(own_key, key + vector)


def _make_private(path: Path) -> None:
    """Texts of private code can be guessed from their vectors: nobody else may read them."""
    make_private_folder(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def remove_changed(folder: Path, guard: int, key: bytes) -> int:
    """Remove those of the vectors that guarded workers have used that are not sealed any more; how many.

    Where they cannot be looked at any more (no table, no sound file), that is true of all, and the file goes.
    """
    import apsw

    path, used, changed = folder / FILE, used_entries(guard), []
    if not used:
        return 0
    try:
        with closing(open_database(path)) as database, database:
            for name in used:
                rows = database.execute("SELECT key, vector, seal FROM vectors WHERE key = ?", (name,))
                changed += [(name,) for row in rows if not _is_sound(key, *row)]
            database.executemany("DELETE FROM vectors WHERE key = ?", changed)
    except (apsw.Error, UsageError, OSError):
        remove_cache_file(path)
        return len(used)
    return len(changed)
