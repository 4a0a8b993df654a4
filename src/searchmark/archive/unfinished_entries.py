"""Entries that are being written or removed, under names that no entry has, and those that killed processes have left.

Each is a hidden folder with a lock file beside it, held for as long as its owner lives. The lock file is made before the folder
and removed after it, so whoever finds one whose lock is free may remove both.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from searchmark.files.folders import remove
from searchmark.files.locks import create_locked, lock_left

_LOCK = re.compile(r"\.[0-9a-f]{16}\.lock")
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}  # some network file systems: there nothing is taken for left


@contextmanager
def unfinished_entry(archive: Path) -> Iterator[Path]:
    """The path of a hidden folder that is not there yet; whatever is there at the end is removed."""
    parent = os.open(archive, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _remove_left(archive, parent)
        lock, held = _locked(archive)
        try:
            yield lock.with_suffix("")
        finally:
            _removed(lock, parent)
            if held is not None:
                os.close(held)
    finally:
        os.close(parent)


def _locked(archive: Path) -> tuple[Path, int | None]:
    def new_name() -> Path:
        return archive / f".{secrets.token_hex(8)}.lock"

    try:
        return create_locked(new_name)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return new_name(), None


def _remove_left(archive: Path, parent: int) -> None:
    """Remove what killed processes have left. A failure is no reason to stop."""
    for name in filter(_LOCK.fullmatch, os.listdir(parent)):
        held = lock_left(archive / name)
        if held is not None:
            _removed(archive / name, parent)
            os.close(held)


def _removed(lock: Path, parent: int) -> None:
    """Remove a folder and then its lock file, which stays where the folder does: a later process will try again."""
    if remove(lock.with_suffix("").name, parent) is None:
        with suppress(OSError):
            lock.unlink(missing_ok=True)
