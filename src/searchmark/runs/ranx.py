"""Runs that ranx has packed: ``{query: {id: score}}`` in CBOR, in LZ4, in LZ4 again. Its JSON and Parquet need no reader."""

from __future__ import annotations

from typing import Any

from searchmark.files.cbor import CborError, read_cbor
from searchmark.files.store import read_bytes
from searchmark.records import Run
from searchmark.runs.answers import ImportedAnswers
from searchmark.runs.source import RunFile

MAGIC = b"\x04\x22\x4d\x18"
_LAYERS = 2

# Bytes that no doubt is cast on, and those per packed byte beyond: scores are packed to a half, a bomb to a 255th.
FREE, MOST_TIMES = 1 << 28, 50


def read_ranx(file: RunFile) -> list[Run]:
    content = read_bytes(file.path)
    for _ in range(_LAYERS):
        content = _unpacked(file, content) if content.startswith(MAGIC) else content
    try:
        data = read_cbor(content)
    except CborError as error:
        raise file.error(None, f"is not a run of ranx: {error}") from error
    if isinstance(data, dict) and isinstance(data.get("run"), dict) and isinstance(data.get("metadata"), dict):
        data = data["run"]  # as ranxhub wraps it
    if not isinstance(data, dict) or not all(_is_answer(*each) for each in data.items()):
        raise file.error(None, "is not a run of ranx: it is not {query: {id: score}}")
    return [ImportedAnswers(file).by_case(data)]


def _is_answer(case: Any, hits: Any) -> bool:
    return isinstance(case, str) and isinstance(hits, dict) and set(map(type, hits)) <= {str}


def _unpacked(file: RunFile, packed: bytes) -> bytes:
    from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

    bound = max(FREE, MOST_TIMES * len(packed))
    unpacker = LZ4FrameDecompressor()
    try:
        content = unpacker.decompress(packed, max_length=bound + 1)
    except RuntimeError as error:
        raise file.error(None, f"cannot be unpacked: {error}") from error
    if len(content) > bound:
        raise file.error(None, f"unpacks to more than {bound} bytes, which is more than a run of its size can hold")
    if not unpacker.eof:
        raise file.error(None, "cannot be unpacked: it was cut short")
    return bytes(content)
