"""Which cached vectors a built-in agent may use while code of others runs with the same rights, and could write any.

Those that were there before that code was started, which the runner has listed, and those that carry the seal of this run. The
list and the key of the seal reach a worker in a file without a name, of which the environment says only the number.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from hmac import compare_digest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.files.guarded import guard_file

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


NO_ROWS = KnownRows(np.empty(0, np.uint64), np.empty(0, np.uint64))


@dataclass(frozen=True, eq=False)
class CacheGuard:
    """The key of a run's seals, and the rows that were there before it."""

    key: bytes
    known: KnownRows

    @classmethod
    def over(cls, known: KnownRows) -> CacheGuard:
        return cls(secrets.token_bytes(KEY_BYTES), known)

    def answers_for(self, key: bytes, vector: bytes, checksum: bytes, seal: Any) -> bool:
        """Whether a row whose checksum is right was there before, or was written by an agent of ours in this run."""
        return self._knows(key, checksum) or (isinstance(seal, bytes) and compare_digest(seal, self.seal(key, vector)))

    def _knows(self, key: bytes, checksum: bytes) -> bool:
        (place,), (found,) = self.known.find(np.array([word(key)], np.uint64))
        return bool(found) and int(self.known.checksums[place]) == word(checksum)

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
            return cls(key, NO_ROWS)
        with open(descriptor, "rb", closefd=False) as file:  # a descriptor, no path
            rows = np.memmap(file, np.uint64, "r", KEY_BYTES)
        half = len(rows) // 2
        return cls(key, KnownRows(rows[:half], rows[half:]))


@cache
def guard_of_this_process() -> CacheGuard | None:
    """The guard that the runner has given to this worker, if any."""
    file = guard_file()
    return None if file is None else CacheGuard.from_file(file)


def word(start: bytes) -> int:
    """The first eight bytes as a number, in an order that is theirs."""
    return int.from_bytes(start[:8], "big")
