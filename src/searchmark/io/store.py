"""Files: written whole or not at all, read strictly.

Errors name the file and the place in it: a line for text, the path to a field for structured data.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import cache
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from searchmark.errors import FormatError, UsageError
from searchmark.files.folders import OWN_FILE, make_private_folder
from searchmark.files.named_files import NamedFile
from searchmark.files.packed import inner_stem as inner_stem  # noqa: PLC0414  # readers of files look for it here
from searchmark.files.packed import inner_suffix as inner_suffix  # noqa: PLC0414  # likewise
from searchmark.files.packed import unpacked
from searchmark.files.plain_data import DEEPEST
from searchmark.files.text_encoding import as_utf8, shortened_bytes, strict_text
from searchmark.files.unfinished import open_unfinished

if TYPE_CHECKING:
    from pydantic import TypeAdapter

BOM = b"\xef\xbb\xbf"
_NO_FILE = "is neither a file nor a folder; save what comes through a pipe to a file first"

T = TypeVar("T")


@contextmanager
def atomic_write(path: str | PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to that takes its name only when it is complete and safely on disk.

    A link is followed. A new file has the mode that the user's umask gives, and one that was there keeps its own. A
    ``private`` one, and every folder made for it, is for the owner alone. Errors of others, while it is open, are not its own.
    """
    target = Path(os.path.realpath(path))
    with _naming(path):
        make_private_folder(target.parent) if private else target.parent.mkdir(parents=True, exist_ok=True)
        temporary, opened = open_unfinished(target, OWN_FILE if private else 0o666)
    try:
        if not private:
            with suppress(OSError):  # there is none yet, or it is of a file system without permissions
                temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)
        with NamedFile(opened, lambda error: _unwritable(path, error)).buffered() as file:
            yield file
            file.flush()
            with _naming(path):
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
        found = os.stat(path)  # noqa: PTH116  # of any kind of path
    except OSError:
        return
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):  # the superuser may write to everything
        raise UsageError(f"{path} is read-only, and is left as it is; make it writable first")
    if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
        raise UsageError(
            f"{path} is one of {found.st_nlink} hard links to a file, and the others would stay as they are; copy it first"
        )


@contextmanager
def _naming(path: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str | PathLike[str], error: OSError) -> UsageError:
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
        raise FormatError(path, None, _NO_FILE)


@contextmanager
def collector_paused() -> Iterator[None]:
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
    return as_utf8(unpacked(open_stored(path, pipe=pipe), path), path)


def open_stored(path: str | PathLike[str], *, pipe: bool = False) -> BufferedReader:
    """An ordinary file as it is stored: a device may never end, and a named pipe waits for whoever writes to it."""
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
    raise FormatError(path, None, "cannot be read: Is a directory" if stat.S_ISDIR(mode) else _NO_FILE)


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


def parse_json(path: str | PathLike[str], text: str, line: int | None = None, *, constants: bool = False) -> Any:
    """JSON, strictly: a repeated key is refused, and so are NaN and Infinity unless ``constants`` lets them in.

    ``line`` is given where the text is one line of many.
    """
    try:
        return _decoder(constants).decode(text)
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        raise FormatError(path, place, f"not valid JSON: {error.msg}") from error
    except RecursionError as error:
        raise FormatError(path, f"line {line}" if line else None, "nested too deeply") from error
    except ValueError as error:  # a repeated key, a constant, or a number with thousands of digits
        raise FormatError(path, f"line {line}" if line else None, str(error)) from error


def strict_decoder() -> json.JSONDecoder:
    """The decoder of everything but plain runs, for those who decode piece by piece."""
    return _decoder(False)


@cache
def _decoder(constants: bool) -> json.JSONDecoder:
    """Made once: a JSONL file has many lines."""
    return json.JSONDecoder(object_pairs_hook=_refuse_repetition, parse_constant=float if constants else _refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"not valid JSON: {name}")


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add gives None
        raise ValueError(f"duplicate key {twice!r}")
    return result


def file_name(text: str) -> str:
    """A name that files can have; where it is not the text itself, a digest keeps it apart from others."""
    allowed = shortened_bytes(re.sub(r"[^\w.@+#-]+", "-", text), 80).lstrip(".")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return allowed if allowed == text else f"{allowed}-{digest}"


def json_number(value: float | None) -> float | str | None:
    """A number as JSON can hold it: NaN is null, and infinity, which JSON lacks, is text that float() reads."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def plain_json(record: Any, levels: int = DEEPEST // 2) -> Any:
    """A record as JSON has it: fields at their defaults are left out, times are in ISO 8601.

    Below so many levels, which no record of ours has, only a note is left: it must not be the end of a report.
    """
    if levels < 0:
        return "<nested too deeply>"
    if is_dataclass(record) and not isinstance(record, type):
        each_field = (each for each in fields(record) if not _is_default(record, each))
        return {each.name: plain_json(getattr(record, each.name), levels - 1) for each in each_field}
    if isinstance(record, Mapping):
        return {key: plain_json(value, levels - 1) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [plain_json(value, levels - 1) for value in record]
    if isinstance(record, datetime):
        return record.isoformat()
    return json_number(record) if isinstance(record, float) else record


def _is_default(record: Any, each: Field[Any]) -> bool:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return default is not MISSING and bool(getattr(record, each.name) == default)


def check_shape(path: str | PathLike[str], adapter: TypeAdapter[T], data: Any, prefix: str = "") -> T:
    """Turn plain data into records; what does not fit is named by the path to its field."""
    from pydantic import ValidationError

    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        from searchmark.files.shape_errors import shape_error

        raise shape_error(path, adapter._type, error, prefix) from None
    except RecursionError as error:
        raise FormatError(path, prefix or None, "nested too deeply") from error


def refuse_unknown_fields(path: str | PathLike[str], record: type, data: Mapping[str, Any]) -> None:
    """Name the fields that there are where one is given that is not among them."""
    known = [each.name for each in fields(record)]
    unknown = next((name for name in data if name not in known), None)
    if unknown is not None:
        from searchmark.files.shape_errors import unknown_name

        raise FormatError(path, str(unknown), unknown_name(str(unknown), known))
