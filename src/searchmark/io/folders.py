"""Folders that processes share safely: private, locked, cached, made once, removed whole."""

from __future__ import annotations

import errno
import glob
import io
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from searchmark.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


# Folders by descriptor: entered one name at a time, never through a link, and removed whole however deep they are.
#
# A path means whatever lies there when it is used, and an agent may put a link there; it also ends at a few thousand bytes.
# A descriptor has neither weakness.

OWNER_ONLY_FOLDER = 0o700

OWNER_ONLY_FILE = 0o600

NOT_A_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})  # a file or a link where a folder should be


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, all for the owner alone; one that is there is left as it is."""
    for missing in reversed(list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))):
        missing.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)


def open_folder(path: str | bytes | Path, parent: int | None = None) -> int:
    """Open a folder; a link to one is refused."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


class FolderDescent:
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

    def enter(self, folder: int) -> None:
        """Move to a folder in this one, which was just opened."""
        self._above.append(_identity(self.here))
        self._move(folder)

    def leave(self) -> None:
        """Move back up. Where the folder was moved elsewhere in the meantime, its parent is another one, and not ours."""
        above = open_folder("..", self.here)
        if _identity(above) != self._above[-1]:
            os.close(above)
            raise OSError(errno.ESTALE, "a folder was moved while it was in use")
        self._above.pop()
        self._move(above)

    def _move(self, folder: int) -> None:
        os.close(self.here)
        self.here = folder


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def remove_entry_in(name: str | bytes, parent: int) -> OSError | None:
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
    reason = _FirstError()
    with reason, FolderDescent(parent) as descent:
        levels = [_enter_and_empty(descent, name, reason)]
        while levels:
            if levels[-1].folders:
                with reason:
                    levels.append(_enter_and_empty(descent, levels[-1].folders.pop(), reason))
            else:
                descent.leave()  # if this fails we do not know where we are, and stop
                with reason:
                    os.rmdir(levels.pop().name, dir_fd=descent.here)
    return reason.error


class _FirstError:
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


def _enter_and_empty(descent: FolderDescent, name: str, reason: _FirstError) -> _EmptiedFolder:
    """Go into a folder and remove all that is no folder."""
    folder = _open_writable(name, descent.here)
    try:
        folders = _remove_files(folder, reason)
    except BaseException:
        os.close(folder)
        raise
    descent.enter(folder)
    return _EmptiedFolder(name, folders)


def _remove_files(folder: int, reason: _FirstError) -> list[str]:
    """Remove the files of a folder; the names of the folders in it."""
    with os.scandir(folder) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name in (name for name, is_folder in entries if not is_folder):
        with reason, suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]


def _open_writable(name: str, parent: int) -> int:
    """Open a folder from which things are to be removed, whatever an agent has forbidden."""
    try:
        folder = open_folder(name, parent)
    except PermissionError:
        _unlock(name, parent)
        folder = open_folder(name, parent)
    status = os.fstat(folder)
    if status.st_dev != os.fstat(parent).st_dev:  # something is mounted there: its files are not ours
        os.close(folder)
        raise OSError(errno.EBUSY, "another file system is mounted there")
    if stat.S_IMODE(status.st_mode) & OWNER_ONLY_FOLDER != OWNER_ONLY_FOLDER:
        with suppress(OSError):  # of another owner; what cannot be removed will say so itself
            os.fchmod(folder, OWNER_ONLY_FOLDER)
    return folder


def _unlock(name: str, parent: int) -> None:
    """Let the owner into a folder that cannot even be opened for reading; never by way of a link."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, OWNER_ONLY_FOLDER, dir_fd=parent, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(OWNER_ONLY_FOLDER)  # Linux has no fchmod() for what is opened without a right to read
    finally:
        os.close(handle)


def _is_folder(name: str | bytes, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


# A file that one process holds at a time, for as long as it lives: the kernel lets go of it whatever the process dies of.

_LOCK_PAUSE = 0.05  # seconds between two attempts


def lock_file(path: Path, flags: int, mode: int = 0o600) -> int | None:
    """Open a file and lock it; the lock ends when what is returned is closed.

    None if the file was removed or replaced in between: then the lock is on something that has no name any more, and
    another process may hold the one of this name. Raises BlockingIOError if another process has the lock, and what
    opening a file may raise.
    """
    import fcntl  # there is none on Windows, where nothing that needs a lock is available

    descriptor = os.open(path, flags, mode)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=not flags & os.O_NOFOLLOW)):  # noqa: PTH116  # of a link too
            return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def wait_for_lock(path: Path, flags: int, mode: int = 0o600, seconds: float = math.inf) -> int:
    """Lock a file as soon as nobody else has it. Raises BlockingIOError after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        try:
            descriptor = lock_file(path, flags, mode)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
            time.sleep(_LOCK_PAUSE)
            continue
        if descriptor is not None:
            return descriptor


def create_locked(new_name: Callable[[], Path], mode: int = 0o600) -> tuple[Path, int]:
    """A new file that is locked. Before it is, another process may take it for one that was left; then another is made."""
    while True:
        path = new_name()
        try:
            descriptor = lock_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        except BlockingIOError:
            continue
        except FileExistsError:
            raise
        except OSError:  # it may be there all the same, where only locking has failed
            path.unlink(missing_ok=True)
            raise
        if descriptor is not None:
            return path, descriptor


def lock_abandoned(path: Path) -> int | None:
    """Lock a file whose owner has died; None if the owner lives, or if this is no file that could be locked."""
    try:
        return lock_file(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None


# Entries that are being written or removed, under names that no entry has, and those that killed processes have left.
#
# Each is a hidden folder with a lock file beside it, locked for as long as its owner lives. The lock file is made before the
# folder and removed after it, so any process that finds a free lock may remove both.

_ENTRY_LOCK = re.compile(r"\.[0-9a-f]{16}\.lock")

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}  # some network file systems: there nothing is taken for left


@contextmanager
def unfinished_entry(archive: Path) -> Iterator[Path]:
    """The path of a hidden folder that is not there yet; whatever is there at the end is removed."""
    parent = os.open(archive, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _remove_abandoned(archive, parent)
        lock, descriptor = _lock_entry(archive)
        try:
            yield lock.with_suffix("")
        finally:
            _remove_with_lock(lock, parent)
            if descriptor is not None:
                os.close(descriptor)
    finally:
        os.close(parent)


def _lock_entry(archive: Path) -> tuple[Path, int | None]:
    def new_name() -> Path:
        return archive / f".{secrets.token_hex(8)}.lock"

    try:
        return create_locked(new_name)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return new_name(), None


def _remove_abandoned(archive: Path, parent: int) -> None:
    """Remove what killed processes have left. A failure is no reason to stop."""
    for name in filter(_ENTRY_LOCK.fullmatch, os.listdir(parent)):
        descriptor = lock_abandoned(archive / name)
        if descriptor is not None:
            _remove_with_lock(archive / name, parent)
            os.close(descriptor)


def _remove_with_lock(lock: Path, parent: int) -> None:
    """Remove a folder and then its lock file, which stays where the folder does: a later process will try again."""
    if remove_entry_in(lock.with_suffix("").name, parent) is None:
        with suppress(OSError):
            lock.unlink(missing_ok=True)


# Where things are cached that could be made again.


def cache_folder() -> Path:
    """Where things are cached that could be made again: ``$SEARCHMARK_CACHE``, or where the platform wants them."""
    from platformdirs import user_cache_path

    setting = os.environ.get("SEARCHMARK_CACHE")
    return Path(setting) if setting else user_cache_path("searchmark", appauthor=False)


def foreign_cache_folder() -> Path:
    """Where agents that are not built in cache what they make with our embedders: apart from what built-in ones rely on."""
    return (cache_folder() / "foreign").absolute()


# Files and folders of the cache that are made once, whole or not at all, however many processes want them at a time.
#
# They lie in folders for the owner alone.

_UNFINISHED_SUFFIX = "unfinished"


def make_once(target: Path, make: Callable[[Path], object], is_whole: Callable[[Path], bool] = Path.exists) -> Path:
    """``target``, which ``make`` has made under another name if it was not there or not whole.

    One process makes it, and the others wait. What a killed one has left is removed by the next that makes the same.
    """
    if not is_whole(target):
        with exclusive(target):
            if not is_whole(target):
                _make_unfinished(target, make)
    return target


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Wait until no other process makes or changes this, and keep them all waiting meanwhile."""
    try:
        make_private_folder(target.parent)
        descriptor = wait_for_lock(target.with_name(f".{target.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            yield
        finally:
            os.close(descriptor)
    except OSError as error:
        problem = f"{target} cannot be made: {error.strerror}"
        raise UsageError(f"{problem}; set SEARCHMARK_CACHE to a folder that you can write to and that has space") from error


def _make_unfinished(target: Path, make: Callable[[Path], object]) -> None:
    for remains in target.parent.glob(f".{glob.escape(target.name)}.*.{_UNFINISHED_SUFFIX}"):
        _clear_path(remains)
    # A new name every time: a program that a killed process has started may still write to the old one.
    temporary_path = target.with_name(f".{target.name}.{secrets.token_hex(6)}.{_UNFINISHED_SUFFIX}")
    try:
        make(temporary_path)
        _clear_path(target)
        temporary_path.rename(target)
    except BaseException:
        _clear_path(temporary_path)
        raise


def _clear_path(path: Path) -> None:
    """What is in the way; a folder that cannot be removed completely is in nobody's way."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# Files whose write errors name them: what else goes wrong while a file is open is not its fault.

_BUFFER = 1 << 18


class NamedFile(io.FileIO):
    """An opened file that turns an error of its own writing into a sentence for the user."""

    def __init__(self, descriptor: int, sentence: Callable[[OSError], Exception]) -> None:
        super().__init__(descriptor, "r+b")
        self._sentence = sentence

    def open_buffered(self) -> io.BufferedRandom:
        return io.BufferedRandom(self, _BUFFER)

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise self._sentence(error) from error


# Temporary folders that no other user can look into and that do not outlive their process by much.
#
# Each folder has a lock file beside it, which its owner holds locked for as long as it lives; the kernel lets go of the
# lock whatever the owner dies of. A process that needs a folder first removes those whose lock is free. What cannot be removed is
# left for a later process, and is no reason to stop: its lock file says that this was told already.

_FOLDER_LOCK = ".lock"

_REPORTED = b"cannot be removed\n"

_left_here: set[str] = set()  # folders that this process could not remove: it tries each of them once, and speaks once


@contextmanager
def private_folder(prefix: str = "") -> Iterator[Path]:
    """An empty folder for the owner alone, removed at the end, or by the next process if this one is killed.

    With a ``prefix`` that is as good as random, other processes find it by that.
    """
    path, parent = _user_folder()
    try:
        _remove_stale(path, parent)
        lock, descriptor = _create_locked_folder(path, prefix)
        try:
            yield lock.with_suffix("")
        finally:
            _remove_locked_folder(lock, descriptor, parent)
            os.close(descriptor)
    finally:
        os.close(parent)


def private_folder_of(prefix: str) -> Path:
    """The folder that another process of this user has made with this prefix."""
    path, parent = _user_folder()
    os.close(parent)
    folder = next((each for each in path.glob(f"{prefix}*") if each.is_dir()), None)
    if folder is None:
        raise UsageError(f"the folder in {path} that all processes of this session share is not there")
    return folder


def remove_abandoned_folders() -> None:
    """Remove what processes that were stopped could not: a signal can arrive in the middle of a clean-up."""
    path, parent = _user_folder()
    try:
        _remove_stale(path, parent)
    finally:
        os.close(parent)


@contextmanager
def temporary_file() -> Iterator[IO[bytes]]:
    """A file without a name, gone at the end; where it cannot be written, the temporary folder is to blame and is named."""
    with blame_temporary_folder():
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed below
    with file, NamedFile(os.dup(file.fileno()), _unusable_error).open_buffered() as wrapper:
        yield wrapper


@contextmanager
def blame_temporary_folder() -> Iterator[None]:
    """Blames the temporary folder for every error of the system in here."""
    try:
        yield
    except OSError as error:
        raise _unusable_error(error) from error


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise UsageError(f"there is no usable temporary folder ({error.strerror}); set TMPDIR to one with free space") from error


def _unusable_error(error: OSError) -> UsageError:
    folder = _temporary_folder()
    return UsageError(f"the temporary folder {folder} cannot be used: {error.strerror}; set TMPDIR to another folder")


def _user_folder() -> tuple[Path, int]:
    """The folder of this user below the temporary one (TMPDIR), where all of the private ones are; its path, and opened."""
    path = _temporary_folder() / f"searchmark-{os.getuid()}"
    try:
        path.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}; set TMPDIR to another folder") from error
    try:
        descriptor = open_folder(path)
    except OSError as error:
        raise _not_private_error(path) from error
    status = os.fstat(descriptor)
    if status.st_uid != os.getuid():
        os.close(descriptor)
        raise _not_private_error(path)
    if stat.S_IMODE(status.st_mode) != OWNER_ONLY_FOLDER:  # an agent of ours may have opened it to all
        os.fchmod(descriptor, OWNER_ONLY_FOLDER)
    return path, descriptor


def _not_private_error(path: Path) -> UsageError:
    return UsageError(f"{path} is not a folder of this user; remove it, or set TMPDIR to another folder")


def _create_locked_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder, as the path of its lock file and the lock."""
    with blame_temporary_folder():
        lock, descriptor = create_locked(lambda: parent / f"{prefix}{secrets.token_hex(8)}{_FOLDER_LOCK}")
        try:
            lock.with_suffix("").mkdir(mode=OWNER_ONLY_FOLDER)
        except BaseException:
            lock.unlink(missing_ok=True)
            os.close(descriptor)
            raise
    return lock, descriptor


def _remove_stale(path: Path, parent: int) -> None:
    """Remove the folders whose owners have died."""
    for name in os.listdir(parent):
        descriptor = lock_abandoned(path / name) if name.endswith(_FOLDER_LOCK) and name not in _left_here else None
        if descriptor is not None:
            _remove_locked_folder(path / name, descriptor, parent)
            os.close(descriptor)


def _remove_locked_folder(lock: Path, descriptor: int, parent: int) -> None:
    """Remove a folder, then its lock file, which we hold: as long as that is there, a later process will try again."""
    reason = remove_entry_in(lock.with_suffix("").name, parent)
    if reason is None:
        reason = remove_entry_in(lock.name, parent)
    if reason is not None:
        _report_remains(lock, descriptor, reason)


def _report_remains(lock: Path, descriptor: int, reason: OSError) -> None:
    """Say once that something is left, not in every command and not for every folder."""
    first, reported_before = not _left_here, os.fstat(descriptor).st_size
    _left_here.add(lock.name)
    with suppress(OSError):
        os.pwrite(descriptor, _REPORTED, 0)
    if first and not reported_before:
        import logging  # only here: most runs leave nothing

        folder = lock.with_suffix("")
        logging.getLogger("searchmark").warning(
            "searchmark: %s cannot be removed completely (%s); later runs will try again", folder, reason.strerror
        )
