"""Which files an ONNX model names as holding its weights, read from its bytes: the runtime opens whatever path is written there.

Only the path from a model to its tensors is walked, by the numbers of the fields in onnx.proto; weights are skipped, not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from searchmark.errors import UsageError

# message: {number of a field: the message in it}; what is not listed holds no tensor.
_FIELDS = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_KEY, _VALUE = 1, 2
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_DEEPEST = 100  # protobuf itself refuses more


def external_files(model: Path) -> tuple[Path, ...]:
    """The files beside a model that hold weights of it; one that is not below the model's folder is refused."""
    try:
        names = set(_locations(memoryview(model.read_bytes()), "model"))
    except (ValueError, IndexError) as error:
        raise UsageError(f"{model} is not an ONNX model ({error})") from error
    return tuple(_file_beside(model, name) for name in sorted(names))


def _file_beside(model: Path, name: str) -> Path:
    """A file by its relative name, links followed."""
    folder, path = model.parent, model.parent / name
    if "\0" in name or not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{model} names the file {name!r}, which is outside of {folder}; only files inside are read")
    if not path.is_file():
        raise UsageError(f"{model} names the file {name!r}, which does not exist in {folder}")
    return path


def _locations(message: memoryview, kind: str, depth: int = 0) -> Iterator[str]:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    for number, content in _fields(message):
        inside = _FIELDS[kind].get(number)
        if inside == "entry":
            entry = dict(_fields(content))
            if bytes(entry.get(_KEY, b"")) == b"location":
                yield bytes(entry.get(_VALUE, b"")).decode()
        elif inside is not None:
            yield from _locations(content, inside, depth + 1)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields that have a length, with their numbers; others are passed over."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        match tag & 7:
            case wire if wire == _LENGTH:
                length, at = _number(message, at)
                if at + length > len(message):
                    raise ValueError("it is cut short")
                yield tag >> 3, message[at : at + length]
                at += length
            case wire if wire == _VARINT:
                _, at = _number(message, at)
            case wire if wire in (_EIGHT_BYTES, _FOUR_BYTES):
                at += 8 if wire == _EIGHT_BYTES else 4
            case _:
                raise ValueError("its bytes cannot be decoded")


def _number(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004  # the last byte of a number
            return value, at
        if shift > 63:  # noqa: PLR2004  # bits of the longest number
            raise ValueError("its bytes cannot be decoded")
