"""Encodings, HTML entities, and notes to the user about a file."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from html import unescape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.errors import FormatError, shortened
from searchmark.io.packed import PACKED_ENDINGS

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


# Entities of HTML in a stranger's text.

_NO_CHARACTER = re.compile(r"&#[0-9]{20,}+;?")  # Python refuses to make a number of thousands of digits

_REPLACEMENT = "\ufffd"  # what HTML makes of a number that is no character


def unescape_entities(text: str) -> str:
    """The text with characters in place of entities, as browsers read it."""
    return unescape(_NO_CHARACTER.sub(_REPLACEMENT, text)) if "&" in text else text


# What users should know about a file that was read all the same: reported once, by the part that talks to the user.


def _log_note(sentence: str) -> None:
    """As a library says things: on stderr, unless the program that uses it wants them elsewhere."""
    import logging

    logging.getLogger("searchmark").warning("%s", sentence)


_say: Callable[[str], None] = _log_note

_notes_shown: set[str] = set()


def note(sentence: str) -> None:
    """Say something about a file; a file is opened several times, and it is said the first time."""
    if sentence not in _notes_shown:
        _notes_shown.add(sentence)
        _say(sentence)


@contextmanager
def redirect_notes(say: Callable[[str], None]) -> Iterator[None]:
    """Have notes said by another; each is news to it."""
    global _say, _notes_shown  # files are read by threads too, and these talk to the same user
    before = _say, _notes_shown
    _say, _notes_shown = say, set()
    try:
        yield
    finally:
        _say, _notes_shown = before


# Text as UTF-8 can hold it, and files whose text is something else.
#
# UTF-16 and UTF-32 are unmistakable and read as UTF-8. Latin-1 and other encodings of one byte per letter differ in
# nothing but the sense they make, so a file in one of them is refused where its words matter, with a way to convert it.

# The longer ones first: one begins as another does.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

_PIECE = 1 << 17

_SAMPLE_SIZE = 4096

_LEAST_ASCII = 0.25  # of the letters of a file with columns, marks or keys, in whatever language its words are

_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffe\uffff]")

_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")

_LONG_RUN = 3  # bytes beyond ASCII in a row: in Western languages two accents meet, in others whole words are made of them


def replace_surrogates(text: str) -> str:
    """The text with a question mark for every lone surrogate.

    Bytes of a file that were not UTF-8 survive in memory as such; JSON, SQLite and tokenizers refuse them.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def bytes_as_text(value: bytes) -> str | None:
    """The bytes of a cell as text, if they can be; vectors and pictures are none."""
    try:
        return None if b"\0" in value else value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def shorten_to_bytes(text: str, count: int) -> str:
    """The beginning of a text, in whole characters: names of files are bounded in bytes, of which a character may have four."""
    return os.fsencode(text)[:count].decode(sys.getfilesystemencoding(), "ignore")


def wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, if a file that begins like this is one of them; without a mark only where nothing else makes sense."""
    name_by_mark = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if name_by_mark is not None or b"\0" not in head[:_SAMPLE_SIZE]:
        return name_by_mark
    return next((name for name in ("utf-16-le", "utf-16-be") if _is_text(head[:_SAMPLE_SIZE], name)), None)


def _is_text(head: bytes, encoding: str) -> bool:
    if len(head) % 2:
        return False
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return bool(text) and not _NO_TEXT.search(text) and sum(map(str.isascii, text)) >= _LEAST_ASCII * len(text)


def as_utf8(file: io.BufferedReader, path: str | PathLike[str]) -> io.BufferedReader:
    """A file whose text is UTF-16 or UTF-32 as the same text in UTF-8; any other as it is."""
    encoding = wide_encoding(file.peek(_SAMPLE_SIZE))
    if encoding is None:
        return file
    note(f"{os.fspath(path)} is {encoding[:6].upper()} and was read as such; everything is written as UTF-8")
    return io.BufferedReader(TranscodedFile(file, path, encoding), _PIECE)


class TranscodedFile(io.RawIOBase):
    """The text of a file in UTF-8 while it is read; what is wrong with it becomes a sentence."""

    def __init__(self, file: io.BufferedReader, path: str | PathLike[str], encoding: str) -> None:
        self._file, self._path, self._encoding = file, path, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._at_end = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer).cast("B")
        while not self._ready and not self._at_end:
            piece = self._file.read(_PIECE)
            self._at_end = not piece
            self._ready = self._decode(piece)
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decode(self, piece: bytes) -> bytes:
        try:
            return self._decoder.decode(piece, final=self._at_end).encode()
        except UnicodeError as error:
            reason = f"looks like {self._encoding[:6].upper()}, and is not: {error}"
            raise FormatError(self._path, None, reason) from error

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def strict_text(path: str | PathLike[str], content: bytes) -> str:
    """The text of a file that people wrote, which must be UTF-8 or UTF-16: words that were misread would be searched for."""
    with as_utf8(io.BufferedReader(io.BytesIO(content)), path) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8_error(path, io.BytesIO(content)) from error


def not_utf8_error(path: str | PathLike[str], lines: Iterable[bytes]) -> FormatError:
    """The error about a file that has a line which is not UTF-8; the first is named."""
    for number, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            what = f"byte {error.start + 1} ({line[error.start]:#04x}) is not UTF-8"
            return FormatError(path, f"line {number}", f"{what}; {_advice(path, line, error.start)}")
    return FormatError(path, None, "ends in the middle of a character of UTF-8: cut short?")


def _advice(path: str | PathLike[str], line: bytes, place: int) -> str:
    file = Path(path)
    name = shortened(file.stem if file.suffix.lower() in PACKED_ENDINGS else file.name, 60)
    if not _is_western(line):
        return f"convert the file: iconv -f ITS-ENCODING -t UTF-8 {name} > utf8-{name}"
    around = line.decode("cp1252")[max(0, place - 15) : place + 15].strip()
    command = f"iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{name}"
    return f"if {around!r} is what it means, the file is Windows-1252 or Latin-1; convert it: {command}"


def _is_western(line: bytes) -> bool:
    """Whether a line might be Windows-1252: its accents are few, and each is a character there."""
    try:
        text = line.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return max(map(len, _HIGH_BYTES.findall(line))) < _LONG_RUN and "".join(text.split()).isprintable()
