"""CBOR (RFC 8949), as far as plain data needs it: numbers, text, lists, mappings, true, false and null, all of known length."""

from __future__ import annotations

import struct
from typing import Any

from searchmark.files.plain_data import DEEPEST

_UNSIGNED, _NEGATIVE, _TEXT, _LIST, _MAPPING, _SIMPLE = 0, 1, 3, 4, 5, 7
_LENGTHS = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_CONSTANTS = {20: False, 21: True, 22: None}


class CborError(ValueError):
    """What is wrong with the bytes, and where."""


def read_cbor(content: bytes) -> Any:
    """The one value that the bytes hold; a repeated key, a tag and anything behind the value are refused."""
    reader = _CborReader(content)
    value = reader.value(0)
    if reader.at != len(content):
        raise CborError(f"{len(content) - reader.at} bytes follow its value")
    return value


class _CborReader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise CborError("nested too deeply")
        first = self._taken(1)[0]
        kind, info = first >> 5, first & 31
        if kind == _SIMPLE:
            return self._simple(info)
        number = self._length(info)
        if kind == _TEXT:
            return self._text(number)
        if kind in (_UNSIGNED, _NEGATIVE):
            return number if kind == _UNSIGNED else -1 - number
        if kind in (_LIST, _MAPPING) and number > len(self.content) - self.at:
            raise CborError(f"byte {self.at}: cut short")
        if kind == _LIST:
            return [self.value(depth + 1) for _ in range(number)]
        if kind == _MAPPING:
            return self._mapping(number, depth)
        raise CborError(f"byte {self.at - 1}: a kind of value ({kind}) outside of what JSON has")

    def _mapping(self, count: int, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if not isinstance(key, str | int):
                raise CborError(f"byte {self.at}: a key that is neither text nor a number")
            found[key] = self.value(depth + 1)
        if len(found) < count:
            raise CborError(f"byte {self.at}: a duplicate key")
        return found

    def _simple(self, info: int) -> Any:
        if info in _CONSTANTS:
            return _CONSTANTS[info]
        if info not in _FLOATS:
            raise CborError(f"byte {self.at - 1}: a constant ({info}) outside of what JSON has")
        form = _FLOATS[info]
        return struct.unpack(form, self._taken(struct.calcsize(form)))[0]

    def _length(self, info: int) -> int:
        if info < min(_LENGTHS):
            return info
        if info not in _LENGTHS:
            raise CborError(f"byte {self.at - 1}: a value of unknown length")
        form = _LENGTHS[info]
        return int(struct.unpack(form, self._taken(struct.calcsize(form)))[0])

    def _text(self, length: int) -> str:
        try:
            return str(self._taken(length), "utf-8")
        except UnicodeDecodeError as error:
            raise CborError(f"byte {self.at}: text that is not UTF-8") from error

    def _taken(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.content):
            raise CborError(f"byte {self.at}: cut short")
        taken = self.content[self.at : end]
        self.at = end
        return taken
