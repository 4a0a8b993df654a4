"""The format of SMART, in which Cranfield, CISI, MED and CACM come: ``.I 1``, then a line for each field that follows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from searchmark.corpora.trec_docs import decoded_text
from searchmark.errors import FormatError
from searchmark.files.store import BOM, open_file

FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\.I\s+\S+[ \t]*\r?\n\.[A-Z][ \t]*\r?\n")
LARGEST = 1 << 27  # bytes of one document
_FIELD = re.compile(rb"\.([A-Z])\s*\Z")
_NAMES = {
    "T": "title", "W": "text", "A": "author", "B": "source", "K": "keywords", "C": "categories", "N": "entered", "X": "references"
}  # fmt: skip


def smart_records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Each document with the place where it begins; fields that have no usual name keep their letter."""
    for place, identity, lines in _documents(path):
        parts: dict[str, list[bytes]] = {}
        into: list[bytes] = []  # what comes before the first field belongs to none
        for line in lines:
            field = _FIELD.match(line)
            if field is None:
                into.append(line)
            else:
                letter = field[1].decode()
                into = parts.setdefault(_NAMES.get(letter, letter.lower()), [])
        found = {name: decoded_text(b"".join(part)).strip() for name, part in parts.items()}
        title = " ".join(found.pop("title", "").split())  # one line, however it is broken
        yield place, {"id": identity, "title": title, "text": "", **found}


def _documents(path: Path) -> Iterator[tuple[str, str, list[bytes]]]:
    """The lines of each document, with its place and its number."""
    place, identity, held, size = "", "", list[bytes](), 0
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            if line.startswith((b".I ", b".I\t", BOM + b".I ")):
                if place:
                    yield place, identity, held
                place, identity = f"line {number}", decoded_text(line.removeprefix(BOM)[2:]).strip()
                held, size = [], 0
            elif place:
                held.append(line)
                size += len(line)
            elif line.strip():
                raise FormatError(path, f"line {number}", "a document of SMART begins with .I and its number")
            if size > LARGEST:
                raise FormatError(path, place, f"this document has more than {LARGEST >> 20} MB")
    if place:
        yield place, identity, held
