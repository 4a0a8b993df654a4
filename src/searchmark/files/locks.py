"""A file that one process holds at a time, for as long as it lives: the kernel lets go of it whatever the process dies of."""

from __future__ import annotations

import os
from pathlib import Path


def lock_file(path: Path, flags: int) -> int | None:
    """Open a file and lock it; the lock ends when what is returned is closed.

    None if the file was removed or replaced in between: then the lock is on something that has no name any more, and
    another process may hold the one of this name. Raises BlockingIOError if another process has the lock, and what
    opening a file may raise.
    """
    import fcntl  # there is none on Windows, where nothing that needs a lock is available

    held = os.open(path, flags, 0o600)
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
