"""Files and folders of the cache that are made once, whole or not at all, however many processes want them at a time.

They lie in folders for the owner alone.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.folders import make_private_folder
from searchmark.files.locks import wait_for_lock

_UNFINISHED = "unfinished"


def made_once(target: Path, make: Callable[[Path], object], is_whole: Callable[[Path], bool] = Path.exists) -> Path:
    """``target``, which ``make`` has made under another name if it was not there or not whole.

    One process makes it, and the others wait. What a killed one has left is removed by the next that makes the same.
    """
    if not is_whole(target):
        with alone_with(target):
            if not is_whole(target):
                _make(target, make)
    return target


@contextmanager
def alone_with(target: Path) -> Iterator[None]:
    """Wait until no other process makes or changes this, and keep them all waiting meanwhile."""
    try:
        make_private_folder(target.parent)
        held = wait_for_lock(target.with_name(f".{target.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            yield
        finally:
            os.close(held)
    except OSError as error:
        said = f"{target} cannot be made: {error.strerror}"
        raise UsageError(f"{said}; set SEARCHMARK_CACHE to a folder that you can write to and that has space") from error


def _make(target: Path, make: Callable[[Path], object]) -> None:
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.{_UNFINISHED}"):
        _remove(left)
    # A new name every time: a program that a killed process has started may still write to the old one.
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(6)}.{_UNFINISHED}")
    try:
        make(unfinished)
        _remove(target)
        unfinished.rename(target)
    except BaseException:
        _remove(unfinished)
        raise


def _remove(path: Path) -> None:
    """What is in the way; a folder that cannot be removed completely is in nobody's way."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
