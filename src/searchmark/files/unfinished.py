"""Files that are being written beside the one that they will become, and those that killed writers have left there."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from searchmark.files.locks import create_locked, lock_left
from searchmark.files.text_encoding import shortened_bytes

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}  # some network file systems: there nothing is taken for left


def open_unfinished(target: Path, mode: int) -> tuple[Path, int]:
    """A new file in the folder of ``target``, locked for as long as it is open; what killed writers left of it is removed."""
    start = f".{shortened_bytes(target.name, 50)}."

    def new_name() -> Path:
        return target.with_name(f"{start}{secrets.token_hex(6)}.tmp")

    if os.name == "nt":  # where there are no such locks
        return _opened(new_name, mode)
    _remove_left(target.parent, start)
    try:
        return create_locked(new_name, mode)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return _opened(new_name, mode)


def _opened(new_name: Callable[[], Path], mode: int) -> tuple[Path, int]:
    path = new_name()
    return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)


def _remove_left(folder: Path, start: str) -> None:
    """Remove the files whose lock is free. A failure is no reason not to write."""
    ours = re.compile(rf"{re.escape(start)}[0-9a-f]{{12}}\.tmp")
    with suppress(OSError):
        for path in folder.iterdir():
            held = lock_left(path) if ours.fullmatch(path.name) else None
            if held is not None:
                with suppress(OSError):
                    path.unlink()
                os.close(held)
