"""Files packed by gzip, Zstandard or zip, read as if unpacked."""

from __future__ import annotations

import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Protocol

from searchmark.errors import FormatError, shortened

if TYPE_CHECKING:
    from zipfile import ZipFile

    from _typeshed import WriteableBuffer


PACKED_ENDINGS = (".gz", ".gzip", ".zst", ".zstd", ".zip")


# Text is rarely packed to a fiftieth, a bomb to a thousandth.
UNPACKED_FREE, UNPACKED_MOST_TIMES = 1 << 28, 200

_KINDS = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip"}

_BUFFER = 1 << 17

_SHOWN = 5


class _ReadableFile(Protocol):
    """All that is asked of an unpacker."""

    def read(self, size: int, /) -> bytes: ...


def open_unpacked(file: io.BufferedReader, path: str | PathLike[str]) -> io.BufferedReader:
    """What a file holds, which is the file itself where it is not packed."""
    try:
        kind = detect_packing(file.peek(4))
        if kind is None:
            return file
        content: io.BufferedReader = io.BufferedReader(UnpackedFile(file, path, kind), _BUFFER)
        _refuse_packed_again(path, content.peek(1))
    except BaseException:
        file.close()
        raise
    return content


def _refuse_packed_again(path: str | PathLike[str], head: bytes) -> None:
    if head[257:262] == b"ustar":
        raise FormatError(path, None, "holds a tar archive; unpack it, and name a file or a folder of it")
    if inner := detect_packing(head):
        raise FormatError(path, None, f"holds a file that is packed again, by {inner}; unpack it once")


def detect_packing(head: bytes) -> str | None:
    """What a file is packed by, as its first bytes tell."""
    return next((name for magic, name in _KINDS.items() if head.startswith(magic)), None)


class UnpackedFile(io.RawIOBase):
    """The content of a packed file while it is unpacked; what is wrong with it becomes a sentence."""

    def __init__(self, file: io.BufferedReader, path: str | PathLike[str], kind: str) -> None:
        self._file, self._path, self._kind = file, path, kind
        self._size = os.fstat(file.fileno()).st_size
        self._bytes_left = max(UNPACKED_FREE, UNPACKED_MOST_TIMES * self._size)
        with self._naming():
            self._content = _open_unpacker(file, path, kind)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        with self._naming():
            piece = self._content.read(len(target))
        self._bytes_left -= len(piece)
        if self._bytes_left < 0:
            limit = (
                f"{UNPACKED_MOST_TIMES} times its size"
                if self._size * UNPACKED_MOST_TIMES > UNPACKED_FREE
                else f"{UNPACKED_FREE >> 20} MiB"
            )
            raise FormatError(self._path, None, f"unpacks to more than {limit}; if that is meant, unpack it first")
        target[: len(piece)] = piece
        return len(piece)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except FormatError:
            raise
        except EOFError as error:
            raise FormatError(self._path, None, f"its {self._kind} data ends too early: cut short?") from error
        except Exception as error:
            if not _is_unpacking_error(error):
                raise
            reason = f"its {self._kind} data cannot be unpacked: {shortened(str(error), 100)}"
            raise FormatError(self._path, None, reason) from error

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _is_unpacking_error(error: Exception) -> bool:
    """Whether an error is one of those that the unpackers raise on damaged data; some of them have bases of their own."""
    kinds = (OSError, zlib.error, ValueError, NotImplementedError, RuntimeError)
    return isinstance(error, kinds) or type(error).__name__ in {"ZstdError", "BadZipFile", "LZMAError"}


def _open_unpacker(file: io.BufferedReader, path: str | PathLike[str], kind: str) -> _ReadableFile:
    if kind == "gzip":
        from gzip import GzipFile

        return GzipFile(fileobj=file)
    if kind == "zip":
        return _open_zip_member(file, path)
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile
    else:
        from backports.zstd import ZstdFile
    return ZstdFile(file)


def _open_zip_member(file: io.BufferedReader, path: str | PathLike[str]) -> IO[bytes]:
    from zipfile import ZipFile

    if not file.seekable():
        raise FormatError(path, None, "is a zip archive, which cannot be read through a pipe; save it to a file first")
    archive = ZipFile(file)
    members = _members(archive)
    if not members:
        raise FormatError(path, None, "is a zip archive without a file in it")
    if len(members) > 1:
        more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
        listing = shortened(", ".join(members[:_SHOWN]), 250) + more
        raise FormatError(path, None, f"is a zip archive of {len(members)} files ({listing}); unpack it, and name one or a folder")
    return archive.open(members[0])


def _members(archive: ZipFile) -> list[str]:
    """The files in an archive, without what macOS adds to each."""
    names = [each.filename for each in archive.infolist() if not each.is_dir()]
    return [name for name in names if not name.startswith("__MACOSX/") and PurePosixPath(name).name != ".DS_Store"]


def find_file(path: Path) -> Path | None:
    """The file of this name, or the packed one in its place: ``corpus.jsonl.gz`` for ``corpus.jsonl``; None if there is neither."""
    places = (path, *(path.with_name(path.name + ending) for ending in PACKED_ENDINGS))
    return next((place for place in places if place.is_file()), None)


def inner_suffix(path: str | PathLike[str]) -> str:
    """The extension in lower case of what a file holds: ``.txt`` of ``qrels.txt.gz``, ``.csv`` of a zip with one CSV in it."""
    return _inner_name(Path(path))[1]


def inner_stem(path: str | PathLike[str]) -> str:
    """The name of a file without its extension, and without that of its packing: ``bm25`` of ``bm25.run.gz``."""
    return _inner_name(Path(path))[0]


def _inner_name(path: Path) -> tuple[str, str]:
    ending = path.suffix.lower()
    if ending not in PACKED_ENDINGS:
        return path.stem, ending
    inner = Path(path.stem)
    if ending != ".zip":
        return inner.stem, inner.suffix.lower()
    is_version = not inner.suffix[1:2].isalpha()  # a zip is often called by nothing more: export-1.2.zip
    return path.stem if is_version else inner.stem, PurePosixPath(_member_name(path) or inner).suffix.lower()


def _member_name(path: Path) -> str | None:
    """The only file in a zip archive; None where that is not what the file is, which is said when it is opened."""
    if not path.is_file():
        return None
    from zipfile import ZipFile

    try:
        with ZipFile(path) as archive:
            members = _members(archive)
    except Exception as error:
        if not _is_unpacking_error(error):
            raise
        return None
    return members[0] if len(members) == 1 else None
