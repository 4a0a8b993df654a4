"""The content of an answer, unpacked, and never more of it than allowed."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    import httpx

ENCODING = "gzip"
_GZIP_ONLY = zlib.MAX_WBITS | 16


@dataclass(frozen=True)
class Content:
    """What was read; ``whole`` is false if there is more than was allowed."""

    data: bytes
    whole: bool


def content_of(response: httpx.Response, limit: int) -> Content:
    """At most so many bytes, as sent and as unpacked.

    httpx would unpack every piece completely, and several layers of packing one after the other, before a limit could be held.
    """
    data = bytearray()
    whole = _handed_on(response, limit, data.extend)
    return Content(bytes(data[:limit]), whole)


def saved_content(response: httpx.Response, limit: int, file: IO[bytes]) -> Content:
    """The same into a file, in place of what is there; none of it is held."""
    file.seek(0)
    file.truncate()
    return Content(b"", _handed_on(response, limit, file.write))


def _handed_on(response: httpx.Response, limit: int, hand_on: Callable[[bytes], object]) -> bool:
    """Hand on piece by piece; whether that is all, or there is more than was allowed."""
    received = handed_on = 0
    unpacker = _unpacker(response)
    for piece in cast("httpx.SyncByteStream", response.stream):  # as it was sent
        received += len(piece)
        plain = piece if unpacker is None else _unpacked(unpacker, piece, limit + 1 - handed_on)
        handed_on += len(plain)
        hand_on(plain)
        if max(received, handed_on) > limit:
            return False
    if unpacker is not None and received and not unpacker.eof:
        raise _undecodable("its gzip data ends too early")
    return True


def _unpacker(response: httpx.Response) -> zlib._Decompress | None:
    encodings = [name.lower() for name in response.headers.get_list("content-encoding", split_commas=True)]
    if encodings in ([], [""], ["identity"]):
        return None
    if encodings != [ENCODING]:
        raise _undecodable("its content encoding is not the one that was asked for")
    return zlib.decompressobj(_GZIP_ONLY)


def _unpacked(unpacker: zlib._Decompress, piece: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(piece, limit)
    except zlib.error:
        raise _undecodable("its gzip data is damaged") from None


def _undecodable(reason: str) -> httpx.DecodingError:
    import httpx

    return httpx.DecodingError(reason)
