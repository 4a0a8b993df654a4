"""Documents from JSON arrays, JSONL and CSV, read piece by piece: memory holds one document, not the file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from searchmark.corpora.mapping import Mapping
from searchmark.errors import FormatError
from searchmark.records import Document
from searchmark.store import parse_json

PIECE = 1 << 20
LONGEST_FIELD = 1 << 30


def stream_documents(path: Path, mapping: Mapping) -> Iterator[Document]:
    """The documents of a file, in its order; a record that is none is refused with its place."""
    for place, record in _records(path):
        if not isinstance(record, dict):
            raise FormatError(path, place, "is not a mapping")
        document = mapping.document(record)
        if isinstance(document, str):
            raise FormatError(path, place, document)
        yield document


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    extension = path.suffix.lower()
    if extension == ".csv":
        return _from_csv(path)
    if extension == ".json":
        return _from_array(path)
    if extension in {".jsonl", ".ndjson"}:
        return _from_lines(path)
    raise FormatError(path, None, "is no corpus: its extension must be .json, .jsonl or .csv, or it must be a directory")


def _open(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error


def _from_lines(path: Path) -> Iterator[tuple[str, Any]]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"line {number}", parse_json(path, line.strip("\r\n"), number)


def _from_csv(path: Path) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(LONGEST_FIELD)
    with _open(path) as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            for row in reader:
                if not any(row):
                    continue
                if len(row) != len(header):
                    raise FormatError(path, f"line {reader.line_num}", f"has {len(row)} columns, the header {len(header)}")
                yield f"line {reader.line_num}", dict(zip(header, row, strict=True))
        except csv.Error as error:
            raise FormatError(path, f"line {reader.line_num}", f"not valid CSV: {error}") from error


def _from_array(path: Path) -> Iterator[tuple[str, Any]]:
    """The values of a JSON array one after the other, without the array."""
    decoder = json.JSONDecoder()
    with _open(path) as file:
        buffer = file.read(PIECE).lstrip()
        if not buffer.startswith("["):
            raise FormatError(path, None, "is not a JSON array of documents")
        buffer, number, ended = buffer[1:], 0, False
        while True:
            buffer = buffer.lstrip(" \t\r\n,") if number else buffer.lstrip()
            if buffer.startswith("]"):
                return
            try:
                value, end = decoder.raw_decode(buffer)
                complete = end < len(buffer)  # a number at the very end might go on
            except json.JSONDecodeError as error:
                if ended:
                    raise FormatError(path, f"document {number}", f"not valid JSON: {error.msg}") from error
                complete = False
            except (RecursionError, ValueError) as error:
                raise FormatError(path, f"document {number}", f"not valid JSON: {error}") from error
            if complete:
                yield f"document {number}", value
                buffer, number = buffer[end:], number + 1
                continue
            # Twice as much each time, so that one huge document is not parsed again for every piece.
            more = file.read(max(PIECE, len(buffer)))
            if not more and ended:
                raise FormatError(path, f"document {number}", "the array does not end")
            ended, buffer = not more, buffer + more
