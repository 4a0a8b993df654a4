"""What the runner hands to the workers of built-in agents beside which code of others runs. Kept light: read before confinement.

A file without a name, of which the environment says only the number: the key of the caches, when the file was made, and then
what the workers have used of the caches, which they add.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

GUARD_VARIABLE = "SEARCHMARK_GUARD"  # the number of a file that the runner opened before any code of others was started

_KEY_BYTES, _TIME_BYTES, _ENTRY_BYTES = 32, 8, 32


@contextmanager
def open_guard(key: bytes) -> Iterator[int]:
    """A guard for some workers, as a descriptor."""
    with tempfile.TemporaryFile() as file:
        descriptor = file.fileno()
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
        os.write(descriptor, key)
        os.write(descriptor, change_time(descriptor).to_bytes(_TIME_BYTES, "big"))
        yield descriptor


@cache
def guard_file() -> int | None:
    """The file that the runner has given to this worker, if any; what a worker starts does not get it."""
    number = os.environ.get(GUARD_VARIABLE)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return int(number)


def given_key() -> bytes | None:
    """The key of the caches that the runner has given to this worker, if any. Several workers share the position of the file."""
    file = guard_file()
    return None if file is None else os.pread(file, _KEY_BYTES, 0)


def guard_start(guard: int | None = None) -> int | None:
    """When the guard began; whatever has changed since may be the work of others. None without one."""
    file = guard_file() if guard is None else guard
    return None if file is None else int.from_bytes(os.pread(file, _TIME_BYTES, _KEY_BYTES), "big")


_noted: set[bytes] = set()


def note_use(entries: Iterable[bytes]) -> None:
    """Tell the runner, where there is a guard, which entries of a cache were used: it looks at them again at the end."""
    file = guard_file()
    if file is not None:
        new = [entry for entry in entries if entry not in _noted]
        _noted.update(new)
        os.write(file, b"".join(new))


def used_entries(guard: int) -> set[bytes]:
    """What was used, by all workers together."""
    start = _KEY_BYTES + _TIME_BYTES
    content = os.pread(guard, os.fstat(guard).st_size, start)
    return {content[place : place + _ENTRY_BYTES] for place in range(0, len(content), _ENTRY_BYTES)}


def change_time(descriptor: int) -> int:
    """When a file was last written, renamed or touched, in nanoseconds, which nobody but the kernel can set."""
    return os.fstat(descriptor).st_ctime_ns
