"""Temporary folders that no other user can look into and that do not outlive their process by much.

Each folder has a lock file beside it, which its owner holds locked for as long as it lives; the kernel lets go of the
lock whatever the owner dies of. Whoever needs a folder first removes those whose lock is free.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.locks import lock_file

OWNER_ONLY = 0o700
_LOCK = ".lock"


@contextmanager
def private_folder() -> Iterator[Path]:
    """An empty folder for the owner alone, removed at the end, or by the next process if this one is killed."""
    parent = _user_folder()
    remove_stale(parent)
    lock, held = _locked(parent)
    folder = lock.with_suffix("")
    folder.mkdir(mode=OWNER_ONLY)
    try:
        yield folder
    finally:
        _remove(folder, lock)
        os.close(held)


def _user_folder() -> Path:
    """The folder of this user below the temporary one (TMPDIR), where all of the private ones are."""
    parent = Path(tempfile.gettempdir(), f"searchmark-{os.getuid()}")
    try:
        parent.mkdir(mode=OWNER_ONLY, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{parent} cannot be made: {error.strerror}; set TMPDIR to another folder") from error
    found = parent.lstat()  # of a link the link itself
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) != OWNER_ONLY:
        raise UsageError(f"{parent} is not a private folder of this user (mode 700); remove it, or set TMPDIR to another folder")
    return parent


def remove_stale(parent: Path) -> None:
    """Remove the folders whose owners have died. What cannot be removed is left, and is no reason to stop."""
    for lock in parent.glob(f"*{_LOCK}"):
        held = _try_lock(lock, os.O_RDWR)
        if held is not None:
            with suppress(OSError):
                _remove(lock.with_suffix(""), lock)
            os.close(held)


def _locked(parent: Path) -> tuple[Path, int]:
    """A new lock file that is ours. One that is not locked yet may be taken for stale, and then we try another."""
    while True:
        lock = parent / f"{secrets.token_hex(8)}{_LOCK}"
        held = _try_lock(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        if held is not None:
            return lock, held


def _try_lock(lock: Path, flags: int) -> int | None:
    """Lock a file; None if another process has it or has removed it."""
    try:
        return lock_file(lock, flags | os.O_NOFOLLOW)
    except (BlockingIOError, FileNotFoundError):
        return None


def _remove(folder: Path, lock: Path) -> None:
    """The folder first: as long as its lock file is there, another process will try again."""
    if folder.exists():
        _make_writable(folder)
        shutil.rmtree(folder)
    lock.unlink(missing_ok=True)


def _make_writable(folder: Path) -> None:
    """An agent may have made folders from which nothing can be removed."""
    folder.chmod(OWNER_ONLY)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _make_writable(Path(entry.path))
