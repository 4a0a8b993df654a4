"""A file that one process holds at a time, for as long as it lives: the kernel lets go of it whatever the process dies of."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path

_PAUSE = 0.05  # seconds between two attempts


def lock_file(path: Path, flags: int, mode: int = 0o600) -> int | None:
    """Open a file and lock it; the lock ends when what is returned is closed.

    None if the file was removed or replaced in between: then the lock is on something that has no name any more, and
    another process may hold the one of this name. Raises BlockingIOError if another process has the lock, and what
    opening a file may raise.
    """
    import fcntl  # there is none on Windows, where nothing that needs a lock is available

    held = os.open(path, flags, mode)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(held), os.stat(path, follow_symlinks=not flags & os.O_NOFOLLOW)):  # noqa: PTH116  # of a link too
            return held
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(held)
        raise
    os.close(held)
    return None


def wait_for_lock(path: Path, flags: int, mode: int = 0o600, seconds: float = math.inf) -> int:
    """Lock a file as soon as nobody else has it. Raises BlockingIOError after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        try:
            held = lock_file(path, flags, mode)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
            time.sleep(_PAUSE)
            continue
        if held is not None:
            return held


def create_locked(new_name: Callable[[], Path], mode: int = 0o600) -> tuple[Path, int]:
    """A new file that is locked. Before it is, another process may take it for one that was left; then another is made."""
    while True:
        path = new_name()
        try:
            held = lock_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        except BlockingIOError:
            continue
        except FileExistsError:
            raise
        except OSError:  # it may be there all the same, where only locking has failed
            path.unlink(missing_ok=True)
            raise
        if held is not None:
            return path, held


def lock_left(path: Path) -> int | None:
    """Lock a file whose owner has died; None if the owner lives, or if this is no file that could be locked."""
    try:
        return lock_file(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
