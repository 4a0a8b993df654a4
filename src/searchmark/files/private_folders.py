"""Temporary folders that no other user can look into and that do not outlive their process by much.

Each folder has a lock file beside it, which its owner holds locked for as long as it lives; the kernel lets go of the
lock whatever the owner dies of. Whoever needs a folder first removes those whose lock is free. What cannot be removed is
left for a later process, and is no reason to stop: its lock file says that this was told already.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from searchmark.errors import UsageError
from searchmark.files.folders import OWNER_ONLY, open_folder, remove
from searchmark.files.locks import create_locked, lock_left
from searchmark.files.named_files import NamedFile

_LOCK = ".lock"
_TOLD = b"cannot be removed\n"
_left_here: set[str] = set()  # folders that this process could not remove: it tries each of them once, and speaks once


@contextmanager
def private_folder(prefix: str = "") -> Iterator[Path]:
    """An empty folder for the owner alone, removed at the end, or by the next process if this one is killed.

    With a ``prefix`` that is as good as random, other processes find it by that.
    """
    path, parent = _user_folder()
    try:
        _remove_stale(path, parent)
        lock, held = _created(path, prefix)
        try:
            yield lock.with_suffix("")
        finally:
            _remove(lock, held, parent)
            os.close(held)
    finally:
        os.close(parent)


def private_folder_of(prefix: str) -> Path:
    """The folder that another process of this user has made with this prefix."""
    path, parent = _user_folder()
    os.close(parent)
    found = next((each for each in path.glob(f"{prefix}*") if each.is_dir()), None)
    if found is None:
        raise UsageError(f"the folder in {path} that all processes of this session share is not there")
    return found


def remove_left_folders() -> None:
    """Remove what processes that were stopped could not: a signal can arrive in the middle of a clean-up."""
    path, parent = _user_folder()
    try:
        _remove_stale(path, parent)
    finally:
        os.close(parent)


@contextmanager
def temporary_file() -> Iterator[IO[bytes]]:
    """A file without a name, gone at the end; where it cannot be written, the temporary folder is to blame and is named."""
    with writing_temporary_files():
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed below
    with file, NamedFile(os.dup(file.fileno()), _unusable).buffered() as named:
        yield named


@contextmanager
def writing_temporary_files() -> Iterator[None]:
    """Blames the temporary folder for every error of the system in here."""
    try:
        yield
    except OSError as error:
        raise _unusable(error) from error


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise UsageError(f"there is no usable temporary folder ({error.strerror}); set TMPDIR to one with free space") from error


def _unusable(error: OSError) -> UsageError:
    folder = _temporary_folder()
    return UsageError(f"the temporary folder {folder} cannot be used: {error.strerror}; set TMPDIR to another folder")


def _user_folder() -> tuple[Path, int]:
    """The folder of this user below the temporary one (TMPDIR), where all of the private ones are; its path, and opened."""
    path = _temporary_folder() / f"searchmark-{os.getuid()}"
    try:
        path.mkdir(mode=OWNER_ONLY, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}; set TMPDIR to another folder") from error
    try:
        opened = open_folder(path)
    except OSError as error:
        raise _not_private(path) from error
    found = os.fstat(opened)
    if found.st_uid != os.getuid():
        os.close(opened)
        raise _not_private(path)
    if stat.S_IMODE(found.st_mode) != OWNER_ONLY:  # an agent of ours may have opened it to all
        os.fchmod(opened, OWNER_ONLY)
    return path, opened


def _not_private(path: Path) -> UsageError:
    return UsageError(f"{path} is not a folder of this user; remove it, or set TMPDIR to another folder")


def _created(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder, as the path of its lock file and the lock."""
    with writing_temporary_files():
        lock, held = create_locked(lambda: parent / f"{prefix}{secrets.token_hex(8)}{_LOCK}")
        try:
            lock.with_suffix("").mkdir(mode=OWNER_ONLY)
        except BaseException:
            lock.unlink(missing_ok=True)
            os.close(held)
            raise
    return lock, held


def _remove_stale(path: Path, parent: int) -> None:
    """Remove the folders whose owners have died."""
    for name in os.listdir(parent):
        held = lock_left(path / name) if name.endswith(_LOCK) and name not in _left_here else None
        if held is not None:
            _remove(path / name, held, parent)
            os.close(held)


def _remove(lock: Path, held: int, parent: int) -> None:
    """Remove a folder, then its lock file, which we hold: as long as that is there, a later process will try again."""
    reason = remove(lock.with_suffix("").name, parent)
    if reason is None:
        reason = remove(lock.name, parent)
    if reason is not None:
        _tell(lock, held, reason)


def _tell(lock: Path, held: int, reason: OSError) -> None:
    """Say once that something is left, not in every command and not for every folder."""
    first, told = not _left_here, os.fstat(held).st_size
    _left_here.add(lock.name)
    with suppress(OSError):
        os.pwrite(held, _TOLD, 0)
    if first and not told:
        import logging  # only here: most runs leave nothing

        folder = lock.with_suffix("")
        logging.getLogger("searchmark").warning(
            "searchmark: %s cannot be removed completely (%s); later runs will try again", folder, reason.strerror
        )
