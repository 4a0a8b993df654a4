"""The content of an answer, unpacked, and never more of it than allowed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

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
    data, received, unpacker = bytearray(), 0, _unpacker(response)
    for piece in cast("httpx.SyncByteStream", response.stream):  # as it was sent
        received += len(piece)
        data += piece if unpacker is None else _unpacked(unpacker, piece, limit + 1 - len(data))
        if max(received, len(data)) > limit:
            return Content(bytes(data[:limit]), whole=False)
    if unpacker is not None and received and not unpacker.eof:
        raise _undecodable("its gzip data ends too early")
    return Content(bytes(data), whole=True)


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
