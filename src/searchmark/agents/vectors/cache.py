"""Vectors on disk, by model and text, in one SQLite file. Also guards the cache while foreign code runs with the same rights."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.io.folders import cache_folder, make_private_folder
from searchmark.io.guard import guard_file
from searchmark.io.sqlite import open_database

if TYPE_CHECKING:
    import apsw


# Which cached vectors a built-in agent may use while code of others runs with the same rights, and could write any.
#
# Those that were there before that code was started, which the runner has listed, and those that carry the seal of this run.
# The list and the key of the seal reach a worker in a file without a name, of which the environment says only the number.

KEY_BYTES = 32

SEAL_BYTES = 16

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """The start of every key, in order, and the checksum that belongs to it."""

    keys: Words
    checksums: Words

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Words) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where each of these keys is, and whether it is there at all."""
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return places, self.keys[places] == keys


NO_KNOWN_ROWS = KnownRows(np.empty(0, np.uint64), np.empty(0, np.uint64))


@dataclass(frozen=True, eq=False)
class CacheGuard:
    """The key of a run's seals, and the rows that were there before it."""

    key: bytes
    known: KnownRows

    @classmethod
    def over(cls, rows: KnownRows) -> CacheGuard:
        return cls(secrets.token_bytes(KEY_BYTES), rows)

    def answers_for(self, key: bytes, vector: bytes, checksum: bytes, seal: Any) -> bool:
        """Whether a row whose checksum is right was there before, or was written by an agent of ours in this run."""
        return self._knows(key, checksum) or (isinstance(seal, bytes) and compare_digest(seal, self.seal(key, vector)))

    def _knows(self, key: bytes, checksum: bytes) -> bool:
        (place,), (present,) = self.known.find(np.array([key_word(key)], np.uint64))
        return bool(present) and int(self.known.checksums[place]) == key_word(checksum)

    def seal(self, key: bytes, vector: bytes) -> bytes:
        return blake2b(key + vector, key=self.key, digest_size=SEAL_BYTES).digest()

    @contextmanager
    def as_file(self) -> Iterator[int]:
        """A file without a name that has all of it, as a descriptor."""
        with tempfile.TemporaryFile() as file:
            file.write(self.key + self.known.keys.tobytes() + self.known.checksums.tobytes())
            file.flush()
            yield file.fileno()

    @classmethod
    def from_file(cls, descriptor: int) -> CacheGuard:
        """Read where it is, since several workers share the position of the file; its rows stay on disk."""
        key = os.pread(descriptor, KEY_BYTES, 0)
        size = os.fstat(descriptor).st_size - KEY_BYTES
        if not size:
            return cls(key, NO_KNOWN_ROWS)
        with open(descriptor, "rb", closefd=False) as file:  # a descriptor, no path
            rows = np.memmap(file, np.uint64, "r", KEY_BYTES)
        half = len(rows) // 2
        return cls(key, KnownRows(rows[:half], rows[half:]))


@cache
def inherited_guard() -> CacheGuard | None:
    """The guard that the runner has given to this worker, if any."""
    file = guard_file()
    return None if file is None else CacheGuard.from_file(file)


def key_word(start: bytes) -> int:
    """The first eight bytes as a number, in an order that is theirs."""
    return int.from_bytes(start[:8], "big")


# Vectors on disk, found by what they were made from: the model, its revision, and the text.
#
# One SQLite file for all models. SQLite is what makes it safe: writers wait for each other, and a process that is killed while
# it writes leaves either its whole batch or nothing of it. What a disk or somebody else makes of the file is noticed: each
# vector has a checksum, and a file that SQLite calls damaged is begun again. A cache is never the reason of a failure that
# computing once more would avoid. Where code of others runs beside us, only vectors that a `CacheGuard` answers for are used.

Vectors = NDArray[np.float32]

T = TypeVar("T")

FILE = "embeddings.sqlite"

VERSION = 3

KEYS_PER_QUERY = 500  # keys per question

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
        self._guard = guard or inherited_guard()

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
        """The vectors that are there; one of another length or with a wrong checksum is as good as none."""
        return self._with_database(lambda: self._read(keys, dimension))

    def _read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
        vectors: dict[bytes, Vectors] = {}
        for start in range(0, len(keys), KEYS_PER_QUERY):
            some = keys[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(some))
            rows = self._database.execute(
                f"SELECT key, vector, checksum, seal FROM vectors WHERE key IN ({marks})",  # noqa: S608  # only question marks
                tuple(some),
            )
            for key, vector, checksum, seal in rows:
                if self._is_sound(key, vector, checksum, seal):
                    vectors[key] = np.frombuffer(vector, dtype="<f4")
                else:
                    self.damaged += 1
        return {key: vector for key, vector in vectors.items() if len(vector) == dimension}

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
                "INSERT OR REPLACE INTO vectors(key, vector, checksum, seal) VALUES (?, ?, ?, ?)", _cache_rows(vectors, self._guard)
            )
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
    """The table, and an index that knows checksums without touching a vector. Whatever an older version had goes."""
    database.execute("BEGIN IMMEDIATE")
    if database.pragma("user_version") != VERSION:  # nobody else has done it meanwhile
        database.execute("DROP TABLE IF EXISTS vectors")
        database.execute("CREATE TABLE vectors(number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB, checksum BLOB, seal BLOB)")
        database.execute("CREATE INDEX by_key ON vectors(key, checksum)")
        database.pragma("user_version", VERSION)
    database.execute("COMMIT")


def _is_damaged_error(error: apsw.Error) -> bool:
    """Whether it is the content that is wrong; a disk that is full or cannot be read is another matter."""
    import apsw

    return not isinstance(error, apsw.IOError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ


def _checksum(key: bytes, vector: bytes) -> bytes:
    return blake2b(key + vector, digest_size=CHECKSUM_BYTES).digest()


def _cache_rows(vectors: Mapping[bytes, Vectors], guard: CacheGuard | None) -> Iterable[tuple[bytes, bytes, bytes, bytes | None]]:
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


# The cached vectors as they were when a run began, and what has become of them when it ends.

_LARGEST = b"\xff" * 32

_WORD = 8  # bytes of a checksum, and of a key as much as tells it apart


class CacheWatch:
    """One cache during a run. ``guard`` is for the agents that may use what is there and add to it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.guard = CacheGuard.over(_read_checksums(self.path) or NO_KNOWN_ROWS)

    def changed(self) -> int:
        """How many vectors are not what they were; they are removed, so that nobody uses them.

        Where they cannot be looked at any more (no index, no table, no sound file), that is true of all, and the file goes.
        """
        before, after = self.guard.known, _read_checksums(self.path)
        if after is None:
            remove_cache_file(self.path)
            return len(before)
        places, present = before.find(after.keys)
        different = present & (before.checksums[places] != after.checksums) if len(before) else present
        return self._remove_without_seal(after.keys[different])

    def remove_added(self) -> int:
        """Remove vectors that came during the run without its seal; how many. Whoever planted them means a later run."""
        after = _read_checksums(self.path) or NO_KNOWN_ROWS
        return self._remove_without_seal(after.keys[~self.guard.known.find(after.keys)[1]])

    def _remove_without_seal(self, starts: Words) -> int:
        import apsw

        count = 0
        with suppress(apsw.Error, UsageError), closing(open_database(self.path)) as database, database:
            for start in starts.tolist():
                count += self._removed(database, start.to_bytes(_WORD, "big"))
        return count

    def _removed(self, database: apsw.Connection, start: bytes) -> int:
        rows = list(
            database.execute("SELECT number, key, vector, seal FROM vectors WHERE key >= ? AND key <= ?", (start, start + _LARGEST))
        )
        strange = [(number,) for number, *row in rows if not self._is_sealed(*row)]
        database.executemany("DELETE FROM vectors WHERE number = ?", strange)
        return len(strange)

    def _is_sealed(self, key: Any, vector: Any, seal: Any) -> bool:
        return isinstance(key, bytes) and isinstance(vector, bytes) and seal == self.guard.seal(key, vector)


def _read_checksums(path: Path) -> KnownRows | None:
    """The checksum of every vector beside the start of its key, 16 bytes each; None where there is no sound file."""
    import apsw

    rows = bytearray()
    if not path.is_file():  # which opening would make
        return None
    try:
        with closing(open_database(path)) as database:
            for key, checksum in database.execute("SELECT key, checksum FROM vectors INDEXED BY by_key"):
                if len(key) < _WORD or len(checksum) != _WORD:
                    return None
                rows += key[:_WORD]
                rows += checksum
        words = np.frombuffer(bytes(rows), ">u8").astype(np.uint64)
        return KnownRows(np.ascontiguousarray(words[::2]), np.ascontiguousarray(words[1::2]))
    except (apsw.Error, UsageError, OSError, TypeError, ValueError):  # the last two: a key or a checksum of another kind
        return None
