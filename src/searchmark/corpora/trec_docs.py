"""TREC documents: ``<DOC>`` after ``<DOC>`` in a file, with DOCNO and whatever tags a collection has.

They look like SGML and are no valid XML: tags are not nested by rule, entities are not declared, and older collections are
Latin-1. So each document is cut out by its first and last tag, and an element ends at the next tag that could end it.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.entities import unescaped
from searchmark.files.store import BOM, open_file

LARGEST = 1 << 26  # bytes of one document: what has no end is not read to the end
_HEAD = 4096
# What is repeated never gives back what it took: of a stranger's blanks and letters there may be millions.
_AROUND = rb"\s*+(?:<\?xml[^<>]*+>|</?[A-Za-z][\w.-]*+>)?\s*+"  # some wrap the documents into one element
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?" + _AROUND + _AROUND + rb"<DOC>", re.IGNORECASE)
_BEGIN, _END = re.compile(rb"\s*+<DOC>", re.IGNORECASE), re.compile(rb"</DOC>", re.IGNORECASE)
_AROUND_LINE = re.compile(rb"(?:\xef\xbb\xbf)?" + _AROUND)
_ID = re.compile(r"<DOCNO>([^<]*+)</DOCNO>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)[^<>]*+>")
_MARKUP = re.compile(r"</?[A-Za-z!?][^<>]*+>")
_TITLES = ("title", "headline", "head", "ti", "hl")
_TEXTS = ("text", "abstract", "body", "content")
_HEADER = "dochdr"
_HEADER_TAG = re.compile(rf"<(/?){_HEADER}>", re.IGNORECASE)
_PAGE_TITLE = re.compile(r"<title\b[^<>]*+>([^<]*+)</title>", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t]+")


def begins_a_document(path: Path) -> bool:
    """Whether the first thing in a file is a document of TREC's."""
    with open_file(path) as file:
        return _FIRST.match(file.read(_HEAD)) is not None


def names_a_document(path: Path) -> bool:
    """Whether a file begins so and the id of the document follows: other texts may begin with that tag, too."""
    try:
        with open_file(path) as file:
            head = file.read(_HEAD)
    except (FormatError, OSError):
        return False
    return _FIRST.match(head) is not None and b"<docno>" in head.lower()


def trec_records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Each document with the place where it begins: its id, title and text, and its other elements by their names."""
    for line, raw in _documents(path):
        place = f"line {line}"
        text = decoded_text(raw)
        number = _ID.search(text)
        identity = "" if number is None else unescaped(number[1]).strip()
        if number is None or not identity:
            raise FormatError(path, place, "this <DOC> has no <DOCNO>, which is the id of a TREC document")
        yield place, _record(identity, text[: number.start()] + text[number.end() :])


def decoded_text(raw: bytes) -> str:
    """Text in UTF-8, or else in Latin-1, as older collections are."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _documents(path: Path) -> Iterator[tuple[int, bytes]]:
    """What is between <DOC> and </DOC>, with the number of the line where it begins."""
    held: list[bytes] = []
    size = began = 0
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            if not began:
                found = _BEGIN.match(line.removeprefix(BOM))
                if found is None and _AROUND_LINE.fullmatch(line):
                    continue
                if found is None:
                    raise FormatError(path, f"line {number}", "a TREC document begins with <DOC>")
                began, line = number, line.removeprefix(BOM)[found.end() :]  # noqa: PLW2901  # the rest of it
            end = _END.search(line)
            held.append(line if end is None else line[: end.start()])
            size += len(line)
            if size > LARGEST:
                raise FormatError(path, f"line {began}", f"this <DOC> has more than {LARGEST >> 20} MB, or no </DOC>")
            if end is not None:
                if line[end.end() :].strip():
                    raise FormatError(path, f"line {number}", "something follows </DOC> on its line")
                yield began, b"".join(held)
                held, size, began = [], 0, 0
    if began:
        raise FormatError(path, f"line {began}", "this <DOC> has no </DOC>")


def _record(identity: str, text: str) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    for name, content in _elements(text):
        parts.setdefault(name, []).append(_without_markup(content))
    if not any(name in parts for name in _TEXTS):  # pages of the web, which have tags of their own
        parts = {name: parts[name] for name in (*_TITLES, _HEADER) if name in parts} | _page(text)
    found = {name: "\n".join(filter(None, values)) for name, values in parts.items()}
    title = " ".join(filter(None, (found.pop(name, "") for name in _TITLES)))
    body = "\n".join(filter(None, (found.pop(name, "") for name in _TEXTS)))
    others = {name: value for name, value in found.items() if value and name not in {"id", "docid"}}
    return {"id": identity, "title": " ".join(title.split()), "text": body, **others}


def _page(text: str) -> dict[str, list[str]]:
    """A page without what the server said about it; its title is in its own head, and no part of its text."""
    tags = list(islice(_HEADER_TAG.finditer(text), 2))
    page = text[: tags[0].start()] + text[tags[1].end() :] if [tag[1] for tag in tags] == ["", "/"] else text
    title = _PAGE_TITLE.search(page)
    if title is None:
        return {"text": [_without_markup(page)]}
    return {"title": [_without_markup(title[1])], "text": [_without_markup(page[: title.start()] + " " + page[title.end() :])]}


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """The elements on the top level; a tag that none of the following could end is no element."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for tag in _TAG.finditer(text):
        if tag[1]:
            ends.setdefault(tag[2].lower(), []).append(tag.span())
    after = 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if tag[1] or tag.start() < after or name not in ends:
            continue
        at = bisect(ends[name], (tag.end(), 0))
        if at < len(ends[name]):
            start, after = ends[name][at]
            yield name, text[tag.end() : start]


def _without_markup(text: str) -> str:
    lines = (_BLANKS.sub(" ", line).strip() for line in unescaped(_MARKUP.sub(" ", text)).splitlines())
    return "\n".join(filter(None, lines))
