"""Files written whole or not at all, and read strictly."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import IO, TypeVar

from searchmark.errors import FormatError, UsageError
from searchmark.io.folders import OWNER_ONLY_FILE, NamedFile, create_locked, lock_abandoned, make_private_folder
from searchmark.io.packed import detect_packing, open_unpacked
from searchmark.io.text import as_utf8, shorten_to_bytes, strict_text, wide_encoding

# Files that are being written beside the one that they will become, and those that killed writers have left there.

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}  # some network file systems: there nothing is taken for left


def open_unfinished(target: Path, mode: int) -> tuple[Path, int]:
    """A new file in the folder of ``target``, locked for as long as it is open; what killed writers left of it is removed."""
    start = f".{shorten_to_bytes(target.name, 50)}."

    def new_name() -> Path:
        return target.with_name(f"{start}{secrets.token_hex(6)}.tmp")

    if os.name == "nt":  # where there are no such locks
        return _create_unlocked(new_name, mode)
    _remove_abandoned_files(target.parent, start)
    try:
        return create_locked(new_name, mode)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return _create_unlocked(new_name, mode)


def _create_unlocked(new_name: Callable[[], Path], mode: int) -> tuple[Path, int]:
    path = new_name()
    return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)


def _remove_abandoned_files(folder: Path, start: str) -> None:
    """Remove the files whose lock is free. A failure is no reason not to write."""
    ours = re.compile(rf"{re.escape(start)}[0-9a-f]{{12}}\.tmp")
    with suppress(OSError):
        for path in folder.iterdir():
            descriptor = lock_abandoned(path) if ours.fullmatch(path.name) else None
            if descriptor is not None:
                with suppress(OSError):
                    path.unlink()
                os.close(descriptor)


# Files: written whole or not at all, read strictly.
#
# Errors name the file and the place in it: a line for text, the path to a field for structured data.

BOM = b"\xef\xbb\xbf"

_NOT_A_FILE = "is neither a file nor a folder; save what comes through a pipe to a file first"


@contextmanager
def atomic_write(path: str | PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to that takes its name only when it is complete and safely on disk.

    A link is followed. A new file has the mode that the user's umask gives, and one that was there keeps its own. A
    ``private`` one, and every folder made for it, is for the owner alone. Errors of others, while it is open, are not its own.
    """
    target = Path(os.path.realpath(path))
    with _name_write_errors(path):
        make_private_folder(target.parent) if private else target.parent.mkdir(parents=True, exist_ok=True)
        temporary, descriptor = open_unfinished(target, OWNER_ONLY_FILE if private else 0o666)
    try:
        if not private:
            with suppress(OSError):  # there is none yet, or it is of a file system without permissions
                temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)
        with NamedFile(descriptor, lambda error: _write_error(path, error)).open_buffered() as file:
            yield file
            file.flush()
            with _name_write_errors(path):
                os.fsync(file.fileno())
                if os.name == "nt":  # where nothing is locked, and an open file cannot be renamed
                    file.close()
                temporary.replace(target)  # still locked, so that it cannot be taken for one that was left
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def check_replaceable(path: str | PathLike[str]) -> None:
    """Refuse a file that is protected, or that other names would keep as it was; one that is not there can be made."""
    try:
        status = os.stat(path)  # noqa: PTH116  # of any kind of path
    except OSError:
        return
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):  # the superuser may write to everything
        raise UsageError(f"{path} is read-only, and is left as it is; make it writable first")
    if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
        raise UsageError(
            f"{path} is one of {status.st_nlink} hard links to a file, and the others would stay as they are; copy it first"
        )


@contextmanager
def _name_write_errors(path: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: str | PathLike[str], error: OSError) -> UsageError:
    not_a_folder = isinstance(error, FileExistsError | NotADirectoryError) and not Path(path).parent.is_dir()
    reason = f"{Path(path).parent} is not a folder" if not_a_folder else error.strerror
    return UsageError(f"{path} cannot be written: {reason}")


def check_readable(path: Path) -> None:
    """Refuse what is not there, and what can be read only once: formats are told by a first look."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise FormatError(path, None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FormatError(path, None, _NOT_A_FILE)


@contextmanager
def pause_garbage_collector() -> Iterator[None]:
    """Reading makes a million objects and no cycles; looking for cycles among them takes a third of the time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def write_text(path: str | PathLike[str], text: str | Iterable[str]) -> None:
    """Write a text, whole or piece by piece as it is made."""
    with atomic_write(path) as file:
        for piece in [text] if isinstance(text, str) else text:
            try:
                file.write(piece.encode("utf-8", "surrogateescape"))
            except UnicodeEncodeError as error:
                letter = piece[error.start]
                raise UsageError(f"{path} cannot be written: {letter!r} is not a character that a file can hold") from error


def open_file(path: str | PathLike[str], *, pipe: bool = False) -> BufferedReader:
    """The content of an ordinary file: unpacked if it is packed, and in UTF-8 if it is UTF-16.

    ``pipe`` also takes a pipe that is open already, as ``/dev/stdin`` and ``<(…)`` of a shell are.
    """
    return as_utf8(open_unpacked(open_stored(path, pipe=pipe), path), path)


def open_stored(path: str | PathLike[str], *, pipe: bool = False) -> BufferedReader:
    """An ordinary file as it is stored: a device may never end, and a named pipe waits for a writer."""
    try:
        if pipe and _is_open_already(path):
            return Path(path).open("rb")
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # so that a named pipe is refused and not waited for
    except (OSError, ValueError) as error:  # the latter: a name that no file can have
        raise FormatError(path, None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise FormatError(path, None, "cannot be read: Is a directory" if stat.S_ISDIR(mode) else _NOT_A_FILE)


def _is_open_already(path: str | PathLike[str]) -> bool:
    return bool(re.fullmatch(r"/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+", os.fspath(path)))


def read_bytes(path: str | PathLike[str], *, pipe: bool = False, stored: bool = False) -> bytes:
    """All that a file holds, as `open_file` gives it; or else, as it is ``stored``."""
    with (open_stored if stored else open_file)(path, pipe=pipe) as file:
        try:
            return file.read()
        except OSError as error:
            raise FormatError(path, None, f"cannot be read: {error.strerror}") from error


def read_text(path: str | PathLike[str], *, pipe: bool = False) -> str:
    """The text of a file; bytes that are not UTF-8 survive as lone surrogates."""
    return read_bytes(path, pipe=pipe).removeprefix(BOM).decode("utf-8", "surrogateescape")


def read_utf8(path: str | PathLike[str], *, pipe: bool = False) -> str:
    """The text of a file that people wrote; what is not UTF-8 is refused with its line and a way to convert it."""
    return strict_text(path, read_bytes(path, pipe=pipe))


def safe_file_name(text: str) -> str:
    """A name that files can have; where it is not the text itself, a digest keeps it apart from others."""
    safe_name = shorten_to_bytes(re.sub(r"[^\w.@+#-]+", "-", text), 80).lstrip(".")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return safe_name if safe_name == text else f"{safe_name}-{digest}"


# Files that are changed in place, in the lines that change and no others.


def read_to_change(path: str | PathLike[str]) -> bytes:
    """The bytes of a file that is to be changed: what is read otherwise than it is stored would be written otherwise."""
    content = read_bytes(path, stored=True)
    if packing := detect_packing(content):
        raise UsageError(f"{path} is packed by {packing}, and cannot be changed in place; unpack it first")
    if encoding := wide_encoding(content):
        raise UsageError(f"{path} is {encoding[:6].upper()}, and cannot be changed in place; convert it to UTF-8 first")
    return content


# Reading one file while another is read: the readers of large files work outside of Python, on several cores.

T = TypeVar("T")


def start_in_background(work: Callable[[], T]) -> Future[T]:
    """Work that begins now in a thread of its own, and whose result is waited for where it is asked for.

    No daemon: a thread that is ended inside of a foreign library takes the whole process down with it.
    """
    executor = ThreadPoolExecutor(1)
    try:
        return executor.submit(work)
    finally:
        executor.shutdown(wait=False)
