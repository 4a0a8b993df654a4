"""JSON in frames over pipes. Loaded before a worker is confined, so it stays small."""

from __future__ import annotations

import json
import os
import select
import struct
import sys
import time
from typing import Any

MARK = b"\x00SMK"

HEADER = struct.Struct(">4sI")

PIECE = 1 << 18

LONGEST_NUMBER = 20  # characters of a whole number

AWAKE = 200e-6  # seconds that a worker stays awake between two requests

SEVERAL_CORES = (os.cpu_count() or 1) > 1

yield_core = getattr(os, "sched_yield", lambda: None)  # macOS has none

encode_compact = json.JSONEncoder(separators=(",", ":")).encode  # made once: it is called for every search


class InvalidFrame(Exception):
    """Something else than a frame came through the pipe."""


def encode_frame(message: dict[str, Any]) -> bytes:
    body = encode_compact(message).encode()
    return HEADER.pack(MARK, len(body)) + body


class FrameBuffer:
    """Bytes as they come, taken apart into messages; all frames of one answer together are no longer than ``longest``."""

    def __init__(self, longest: int) -> None:
        self._longest = self._bytes_left = longest
        self._bytes = bytearray()

    def begin(self) -> None:
        """From here on, another answer."""
        self._bytes_left = self._longest

    def feed(self, piece: bytes) -> None:
        self._bytes += piece

    def __len__(self) -> int:
        """How many bytes are waiting to be taken apart."""
        return len(self._bytes)

    def take(self) -> dict[str, Any] | None:
        """The next whole message, None if it is not complete yet."""
        data = self._bytes
        if not data:
            return None
        if not MARK.startswith(data[: len(MARK)]):
            raise InvalidFrame("the worker's channel carries something that is not a frame")
        if len(data) < HEADER.size:
            return None
        _, length = HEADER.unpack_from(data)
        if length > self._bytes_left:
            raise InvalidFrame(f"a message of {length} bytes is too long")
        end = HEADER.size + length
        if len(data) < end:
            return None
        self._bytes_left -= length
        body = bytes(data[HEADER.size : end])
        del data[:end]
        return _parse_body(body)


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _parse_int(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(digits)
    return int(digits)


_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_parse_int)


def _parse_body(body: bytes) -> dict[str, Any]:
    try:
        message = _decoder.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidFrame("a message is not JSON") from error
    if not isinstance(message, dict):
        raise InvalidFrame("a message is not a JSON object")
    return message


def await_ready(poll: select.poll, milliseconds: float | None, awake_until: float) -> list[tuple[int, int]]:
    """Wait for something to read, awake for a moment: falling asleep and being woken takes longer than a fast search.

    Whoever is awake lets others go first: the one that is waited for may have been put on the same core.
    """
    while SEVERAL_CORES and time.perf_counter() < awake_until:
        yield_core()
        if ready := poll.poll(0):
            return ready
    return poll.poll(milliseconds)


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write a whole frame, however long the reader takes."""
    rest = memoryview(encode_frame(message))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class Receiver:
    """The end of a pipe that messages come out of."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = FrameBuffer(sys.maxsize)
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def next(self) -> dict[str, Any] | None:
        """Wait for the next message; None if the other side has hung up."""
        self._buffer.begin()
        while (message := self._buffer.take()) is None:
            await_ready(self._poll, None, time.perf_counter() + AWAKE)
            piece = os.read(self._descriptor, PIECE)
            if not piece:
                return None
            self._buffer.feed(piece)
        return message
