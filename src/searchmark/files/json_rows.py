"""JSON over several lines, row by row: a file may have more rows than fit into memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring_ascii
from typing import IO, Any


def write_rows(file: IO[bytes], name: str, rows: Iterable[bytes], metadata: Mapping[str, Any]) -> None:
    """Write an object of two parts: the list ``name`` with its rows, which are JSON already, and ``metadata``."""
    file.write(f'{{\n  "{name}": ['.encode())
    separator = b"\n    "
    for row in rows:
        file.write(separator)
        file.write(row)
        separator = b",\n    "
    file.write(b"\n  ]" if separator[:1] == b"," else b"]")
    file.write(f',\n  "metadata": {_indented(metadata, "  ")}\n}}\n'.encode("ascii"))


def row_text(row: Mapping[str, Any]) -> bytes:
    """A row as it stands in the file."""
    return _indented(row, "    ").encode("ascii")


def _indented(value: object, margin: str) -> str:
    """What ``json.dumps(value, indent=2)`` writes, behind a margin and without its generators, which take most of the time."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    inner = f"{margin}  "
    if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
        lines = [f"{inner}{encode_basestring_ascii(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join([f"{inner}{_indented(item, inner)}" for item in value]) + f"\n{margin}]"
    if isinstance(value, dict) and value:  # with keys that must become text first
        return _indented(json.loads(json.dumps(value)), margin)
    return json.dumps(value)
