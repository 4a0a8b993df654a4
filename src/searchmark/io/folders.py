"""Folders by descriptor: entered one name at a time, never through a link, and removed whole however deep they are.

A path means whatever lies there when it is used, and an agent may put a link there; it also ends at a few thousand bytes.
A descriptor has neither weakness.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

OWNER_ONLY = 0o700
OWN_FILE = 0o600
NOT_A_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})  # a file or a link where a folder should be


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, all for the owner alone; one that is there is left as it is."""
    for missing in reversed(list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))):
        missing.mkdir(mode=OWNER_ONLY, exist_ok=True)


def open_folder(path: str | bytes | Path, parent: int | None = None) -> int:
    """Open a folder; a link to one is refused."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


class Descent:
    """One opened folder that moves down by name and up again. It takes one descriptor, whatever the depth."""

    def __init__(self, top: int) -> None:
        self.here = os.dup(top)
        self._above: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self.here)

    @property
    def depth(self) -> int:
        return len(self._above)

    def enter(self, opened: int) -> None:
        """Move to a folder in this one, which was just opened."""
        self._above.append(_identity(self.here))
        self._move(opened)

    def leave(self) -> None:
        """Move back up. Where the folder was moved elsewhere in the meantime, its parent is another one, and not ours."""
        above = open_folder("..", self.here)
        if _identity(above) != self._above[-1]:
            os.close(above)
            raise OSError(errno.ESTALE, "a folder was moved while it was in use")
        self._above.pop()
        self._move(above)

    def _move(self, opened: int) -> None:
        os.close(self.here)
        self.here = opened


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


def remove(name: str | bytes, parent: int) -> OSError | None:
    """Remove whatever has this name in an opened folder: of a link the link, of a folder all that is in it.

    What cannot be removed is left and everything else goes; returned is the first reason, None where nothing is left.
    """
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:  # of a folder it is EISDIR on Linux, EPERM elsewhere
        return _remove_folder(os.fsdecode(name), parent) if _is_folder(name, parent) else error
    return None


@dataclass(frozen=True)
class _EmptiedFolder:
    """A folder that is being emptied, and the folders in it that are still to go."""

    name: str
    folders: list[str]


def _remove_folder(name: str, parent: int) -> OSError | None:
    reason = _FirstReason()
    with reason, Descent(parent) as descent:
        levels = [_entered(descent, name, reason)]
        while levels:
            if levels[-1].folders:
                with reason:
                    levels.append(_entered(descent, levels[-1].folders.pop(), reason))
            else:
                descent.leave()  # if this fails we do not know where we are, and stop
                with reason:
                    os.rmdir(levels.pop().name, dir_fd=descent.here)
    return reason.error


class _FirstReason:
    """Goes on after an OSError, and keeps the first one."""

    def __init__(self) -> None:
        self.error: OSError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, OSError):
            return False
        self.error = self.error or error
        return True


def _entered(descent: Descent, name: str, reason: _FirstReason) -> _EmptiedFolder:
    """Go into a folder and remove all that is no folder."""
    opened = _open_writable(name, descent.here)
    try:
        folders = _without_files(opened, reason)
    except BaseException:
        os.close(opened)
        raise
    descent.enter(opened)
    return _EmptiedFolder(name, folders)


def _without_files(folder: int, reason: _FirstReason) -> list[str]:
    """Remove the files of a folder; the names of the folders in it."""
    with os.scandir(folder) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name in (name for name, is_folder in entries if not is_folder):
        with reason, suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]


def _open_writable(name: str, parent: int) -> int:
    """Open a folder from which things are to be removed, whatever an agent has forbidden."""
    try:
        opened = open_folder(name, parent)
    except PermissionError:
        _unlock(name, parent)
        opened = open_folder(name, parent)
    found = os.fstat(opened)
    if found.st_dev != os.fstat(parent).st_dev:  # something is mounted there: its files are not ours
        os.close(opened)
        raise OSError(errno.EBUSY, "another file system is mounted there")
    if stat.S_IMODE(found.st_mode) & OWNER_ONLY != OWNER_ONLY:
        with suppress(OSError):  # of another owner; what cannot be removed will say so itself
            os.fchmod(opened, OWNER_ONLY)
    return opened


def _unlock(name: str, parent: int) -> None:
    """Let the owner into a folder that cannot even be opened for reading; never by way of a link."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, OWNER_ONLY, dir_fd=parent, follow_symlinks=False)
        return
    found = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{found}").chmod(OWNER_ONLY)  # Linux has no fchmod() for what is opened without a right to read
    finally:
        os.close(found)


def _is_folder(name: str | bytes, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False
