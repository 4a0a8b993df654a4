"""The cached vectors as they were when a run began, and what has become of them when it ends."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.embedders.cache import FILE, remove_file
from searchmark.embedders.cache_guard import NO_ROWS, CacheGuard, KnownRows, Words
from searchmark.errors import UsageError
from searchmark.files.sqlite import open_database

if TYPE_CHECKING:
    import apsw

_LARGEST = b"\xff" * 32
_WORD = 8  # bytes of a checksum, and of a key as much as tells it apart


class CacheWatch:
    """One cache during a run. ``guard`` is for the agents that may use what is there and add to it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.guard = CacheGuard.over(_rows(self.path) or NO_ROWS)

    def changed(self) -> int:
        """How many vectors are not what they were; they are removed, so that nobody uses them.

        Where they cannot be looked at any more (no index, no table, no sound file), that is true of all, and the file goes.
        """
        before, after = self.guard.known, _rows(self.path)
        if after is None:
            remove_file(self.path)
            return len(before)
        places, found = before.find(after.keys)
        different = found & (before.checksums[places] != after.checksums) if len(before) else found
        return self._remove_without_seal(after.keys[different])

    def remove_added(self) -> int:
        """Remove vectors that came during the run without its seal; how many. Whoever planted them means a later run."""
        after = _rows(self.path) or NO_ROWS
        return self._remove_without_seal(after.keys[~self.guard.known.find(after.keys)[1]])

    def _remove_without_seal(self, starts: Words) -> int:
        import apsw

        removed = 0
        with suppress(apsw.Error, UsageError), closing(open_database(self.path)) as database, database:
            for start in starts.tolist():
                removed += self._removed(database, start.to_bytes(_WORD, "big"))
        return removed

    def _removed(self, database: apsw.Connection, start: bytes) -> int:
        rows = list(
            database.execute("SELECT number, key, vector, seal FROM vectors WHERE key >= ? AND key <= ?", (start, start + _LARGEST))
        )
        strange = [(number,) for number, *row in rows if not self._is_sealed(*row)]
        database.executemany("DELETE FROM vectors WHERE number = ?", strange)
        return len(strange)

    def _is_sealed(self, key: Any, vector: Any, seal: Any) -> bool:
        return isinstance(key, bytes) and isinstance(vector, bytes) and seal == self.guard.seal(key, vector)


def _rows(path: Path) -> KnownRows | None:
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
