"""Documents from files of records, read piece by piece: memory holds a few documents, not the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any

from searchmark.corpora.document_source import DocumentSource
from searchmark.corpora.field_mapping import FieldMapping
from searchmark.corpora.folder_layouts import collection_files, files_beside
from searchmark.corpora.smart import FIRST, smart_records
from searchmark.corpora.sqlite_rows import MAGIC, sqlite_records
from searchmark.corpora.trec_docs import begins_a_document, trec_records
from searchmark.errors import FormatError, shortened
from searchmark.files.csv_rows import csv_rows
from searchmark.files.packed import packing_of
from searchmark.files.parquet import parquet_rows
from searchmark.files.recognised import CORPUS, RUN, SUITE, refuse_others, telling_what_it_is
from searchmark.files.store import inner_suffix, open_file, open_stored, parse_json, strict_decoder
from searchmark.files.utf8_rows import naming_bytes
from searchmark.records import Document

PIECE = 1 << 20
HEAD = 1024
FORMATS = "JSON (.json, .jsonl), CSV (.csv, .tsv), Parquet (.parquet), SQLite, TREC <DOC> and SMART (.I .T .W)"
_BLANKS = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class FileSource(DocumentSource):
    """The documents of one file, or of the files of one collection, named in messages as it was given."""

    path: Path
    mapping: FieldMapping

    def __reduce__(self) -> tuple[type[FileSource], tuple[Path, FieldMapping]]:
        return FileSource, (self.path.absolute(), self.mapping)  # another process may have another working directory

    def stream(self) -> Iterator[Document | None]:
        yield from stream_documents(self.path, self.mapping)
        if self.path.is_dir():
            yield from (None for _ in range(files_beside(self.path)))


def stream_documents(path: Path, mapping: FieldMapping) -> Iterator[Document]:
    """The documents of a file, in its order; a record that is none is refused with its place.

    A mapping to a field that no record has is refused at the end: only then is that known.
    """
    if mapping.named:  # by somebody who knows what the file is
        yield from _documents(path, mapping)
        return
    refuse_others(path, CORPUS, (SUITE, RUN))  # tables of ratings and of hits have ids of documents too
    with telling_what_it_is(path, CORPUS):
        yield from _documents(path, mapping)


def _documents(path: Path, mapping: FieldMapping) -> Iterator[Document]:
    unseen, names = mapping.named, set[str]()
    for place, record in naming_bytes(path, _records(path, mapping)):
        if not isinstance(record, dict):
            raise FormatError(path, place, "is not a mapping")
        if unseen:
            unseen, names = unseen - record.keys(), names | record.keys()
        document = mapping.document(record)
        if isinstance(document, str):
            raise FormatError(path, place, document)
        yield document
    if unseen and names:
        listed = shortened(", ".join(sorted(names)), 300)
        raise FormatError(path, None, f"no document has the field {min(unseen)!r} that the mapping names; the fields are {listed}")


def _records(path: Path, mapping: FieldMapping) -> Iterator[tuple[str, Any]]:
    """The records of a file, or of all files of a collection, each with its place."""
    if path.is_dir():
        for file in collection_files(path):
            for place, record in _records(file, mapping):
                yield f"{file.relative_to(path).as_posix()}, {place}", record
        return
    suffix = inner_suffix(path)
    if suffix in {".csv", ".tsv"}:
        yield from _from_csv(path, suffix)
    elif suffix == ".json":
        yield from _from_array(path)
    elif suffix in {".jsonl", ".ndjson"}:
        yield from _from_lines(path)
    elif suffix == ".parquet":
        yield from ((f"row {number}", row) for number, row in enumerate(parquet_rows(path), 1))
    else:
        yield from _by_content(path, mapping)


def _by_content(path: Path, mapping: FieldMapping) -> Iterator[tuple[str, Any]]:
    with open_file(path) as file:
        head = file.read(HEAD)
    if not head:
        raise FormatError(path, None, "is empty; a corpus holds documents")
    if head.startswith(MAGIC):
        with open_stored(path) as stored:
            if packing := packing_of(stored.peek(4)):
                raise FormatError(path, None, f"holds a SQLite database that is packed by {packing}; unpack it first")
        return sqlite_records(path, mapping.table)
    if begins_a_document(path):
        return trec_records(path)
    if FIRST.match(head):
        return smart_records(path)
    raise FormatError(path, None, f"is not a corpus: it is none of {FORMATS}, and not a directory")


def _open(path: Path) -> TextIOWrapper:
    return TextIOWrapper(open_file(path), encoding="utf-8-sig", newline="")


def _from_lines(path: Path) -> Iterator[tuple[str, Any]]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"line {number}", parse_json(path, line.strip("\r\n"), number)


def _from_csv(path: Path, suffix: str) -> Iterator[tuple[str, Any]]:
    with _open(path) as file:
        first = file.readline()
        rows = csv_rows(path, chain([first], file), "\t" if suffix == ".tsv" else _delimiter(first))
        _, header = next(rows, (0, list[str]()))
        if len(set(header)) < len(header):
            raise FormatError(path, "line 1", "duplicate column name")
        for line, row in rows:
            if not any(row):
                continue
            if len(row) != len(header):
                raise FormatError(path, f"line {line}", f"has {len(row)} columns, the header {len(header)}")
            yield f"line {line}", dict(zip(header, row, strict=True))


def _delimiter(header: str) -> str:
    """A comma, unless the header has none and has one of the others that programs write."""
    return next((each for each in ",;\t" if each in header), ",")


def _from_array(path: Path) -> Iterator[tuple[str, Any]]:
    """The values of a JSON array one after the other, without the array."""
    with _open(path) as file:
        window = _Window(path, file)
        if window.next_char() != "[":
            raise FormatError(path, None, "is not a JSON array of documents")
        window.take(1)
        number = 0
        while window.next_char() != "]":
            if not window.next_char():
                raise FormatError(path, f"document {number}", "the array does not end")
            if number:
                if window.next_char() != ",":
                    raise FormatError(
                        path, f"document {number}", "not valid JSON: a comma or the end of the array is missing before it"
                    )
                window.take(1)
                window.next_char()
            yield f"document {number}", window.value(f"document {number}")
            number += 1
        window.take(1)
        if window.next_char():
            raise FormatError(path, None, "not valid JSON: something follows the array")


@dataclass
class _Window:
    """The part of a file that is being looked at."""

    path: Path
    file: Any
    buffer: str = ""
    position: int = 0
    ended: bool = False

    def read_more(self) -> None:
        """Drop what was taken and read on, more each time that one value needs more."""
        rest = self.buffer[self.position :]
        piece = self.file.read(max(PIECE, len(rest)))
        self.buffer, self.position, self.ended = rest + piece, 0, not piece

    def take(self, count: int) -> None:
        self.position += count

    def next_char(self) -> str:
        """Pass over blanks; the character after them, nothing at the end."""
        while True:
            self.position = _BLANKS.match(self.buffer, self.position).end()  # type: ignore[union-attr]  # matches always
            if self.position < len(self.buffer) or self.ended:
                return self.buffer[self.position : self.position + 1]
            self.read_more()

    def value(self, place: str) -> Any:
        """The JSON value that begins here."""
        while True:
            try:
                value, end = strict_decoder().raw_decode(self.buffer, self.position)
            except json.JSONDecodeError as error:
                if self.ended:
                    reason = (
                        "the array does not end" if not self.buffer[self.position :].strip() else f"not valid JSON: {error.msg}"
                    )
                    raise FormatError(self.path, place, reason) from error
            except (RecursionError, ValueError) as error:
                raise FormatError(self.path, place, f"not valid JSON: {error}") from error
            else:
                if end < len(self.buffer) or self.ended:  # a number at the very end of the window might continue
                    self.position = end
                    return value
            self.read_more()
