"""What a file is, by how it begins: said where it was taken for something else.

Readers know their own formats best. This is asked only when one of them has given up, or might mistake a file for its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.cut_json import cut_json
from searchmark.files.known_kinds import (
    BASELINE,
    BY_TOP,
    CONFIG,
    CORPUS,
    NONE,
    RECORDS,
    RUN,
    SUITE,
    TOPICS,
    FileKind,
    kind_by_names,
    snake,
)
from searchmark.files.packed import found_file, inner_suffix
from searchmark.files.parquet import MAGIC, parquet_columns
from searchmark.files.store import open_file

__all__ = ["BASELINE", "CONFIG", "CORPUS", "RUN", "SUITE", "TOPICS", "recognised", "refuse_others", "telling_what_it_is"]

_HEAD = 1 << 16
_BINARY = {
    b"SQLite format 3\0": FileKind("a SQLite database", (CORPUS,)),
    b"%PDF-": FileKind("a PDF", (NONE,)),
    b"BZh": FileKind("packed by bzip2, which is not unpacked here", (NONE,)),
    b"\xfd7zXZ": FileKind("packed by xz, which is not unpacked here", (NONE,)),
    b"\x7fELF": FileKind("a program", (NONE,)),
    b"\x89PNG": FileKind("a picture", (NONE,)),
    b"\xff\xd8\xff": FileKind("a picture", (NONE,)),
}
CONFIG_SECTIONS = {
    "archive",
    "compare",
    "corpus",
    "dataset",
    "drift",
    "evaluation",
    "gates",
    "agents",
    "output",
    "suite",
    "versions",
}
# Where suites keep their cases.
_LISTS = {"test_cases", "fixtures", "cases", "benchmark_cases", "queries", "requests", "instances", "questions", "data", "examples"}
_YAML_KEY = re.compile(r"^([ \t-]*)([A-Za-z_][\w-]{0,79}):(?:\s|$)", re.MULTILINE)
_WHOLE, _NUMBER = re.compile(r"[+-]?\d{1,9}"), re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LETOR = re.compile(r"\S+\s+qid:\S")
_RUN_WORDS, _QRELS_WORDS = 6, 4
_BY_QUERY = FileKind("a list of ids for each query, as runs are", (RUN,))
_JUDGMENT_LISTS = FileKind("a judgment list of OpenSearch", (SUITE,))
_RESPONSE = FileKind("the response to one search", (RUN,))
_RESPONSES = FileKind("the responses of a search engine by query", (RUN,))


@contextmanager
def telling_what_it_is(path: str | PathLike[str], role: str) -> Iterator[None]:
    """Where a file cannot be read as what it was given as, and is something else, say that instead of what was missed."""
    try:
        yield
    except FormatError as error:
        kind = recognised(path) if error.path == fspath(path) else None
        if kind is None or role in kind.roles:
            raise
        raise _mistaken(path, role, kind) from error


def refuse_others(path: str | PathLike[str], role: str, others: tuple[str, ...] | None = None) -> None:
    """Refuse a file that is surely something else, or one of some ``others``, before a reader makes of it what it can."""
    kind = recognised(path)
    if kind is not None and role not in kind.roles and (others is None or kind.roles[0] in others):
        raise _mistaken(path, role, kind)


def _mistaken(path: str | PathLike[str], role: str, kind: FileKind) -> FormatError:
    return FormatError(path, None, f"is {kind.name}, not {role if role == TOPICS else f'a {role}'}; {kind.advice}")


def recognised(path: str | PathLike[str]) -> FileKind | None:
    """What a file or a folder is, if that can be told from its beginning."""
    if found_file(Path(path) / "queries.jsonl") and found_file(Path(path) / "corpus.jsonl"):
        return FileKind("a BEIR folder", (SUITE, CORPUS))
    try:
        with open_file(path) as file:
            head = file.read(_HEAD)
        if head.startswith(MAGIC):
            return kind_by_names(parquet_columns(Path(path)))
    except FormatError:
        return None
    binary = next((kind for magic, kind in _BINARY.items() if head.startswith(magic)), None)
    if binary is not None or b"\0" in head:
        return binary
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("{", "[")):
        return _of_json(text, by_line=inner_suffix(path) in {".jsonl", ".ndjson"})
    return _of_marks(text) or _of_words(text) or _of_table(text) or _of_yaml(text)


def _of_json(text: str, *, by_line: bool) -> FileKind | None:
    line, _, more = text.partition("\n")
    first = _parsed(line)
    if isinstance(first, dict) and (by_line or more.strip()):
        return _of_record(first) or kind_by_names(first)
    data = cut_json(text)
    if isinstance(data, dict):
        return _of_record(data) or _of_object(data)
    entry = data[0] if isinstance(data, list) and data else None
    return kind_by_names(entry) if isinstance(entry, dict) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_record(data: dict[str, Any]) -> FileKind | None:
    """Files of our own say what they are; others are also known by their parts."""
    record = data.get("record")
    if isinstance(record, str) and record in RECORDS:
        return RECORDS[record]
    keys = {snake(name) for name in data}
    return next((each.kind for each in BY_TOP if each.names <= keys), None)


def _of_object(data: dict[str, Any]) -> FileKind | None:
    """An object with a list of entries, or one with the hits or grades of each query."""
    entries = next((value for name, value in data.items() if snake(name) in _LISTS and isinstance(value, list) and value), None)
    if entries is not None:
        fields = entries[0] if isinstance(entries[0], dict) else {}
        return kind_by_names(fields) or kind_by_names({*data, *fields})
    if data.keys() & _LISTS or not any(data.values()):
        return None
    if data.keys() <= CONFIG_SECTIONS:
        return FileKind("a config of Searchmark", (CONFIG,))
    if isinstance(data.get("hits"), dict):
        return _JUDGMENT_LISTS if "judgmentRatings" in _first_source(data["hits"]) else _RESPONSE
    if all(isinstance(value, dict) and isinstance(value.get("hits"), dict) for value in data.values()):
        return _RESPONSES
    return _BY_QUERY if all(map(_are_hits, data.values())) else None


def _first_source(hits: dict[str, Any]) -> dict[str, Any]:
    """The document of the first hit of a response."""
    found = hits.get("hits")
    source = found[0].get("_source") if isinstance(found, list) and found and isinstance(found[0], dict) else None
    return source if isinstance(source, dict) else {}


def _are_hits(value: Any) -> bool:
    """Whether this is a list of ids or of hits, or a score for each id."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(score, int | float | None) for score in value.values())
    return isinstance(value, list) and all(isinstance(hit, str | int) or (isinstance(hit, dict) and "id" in hit) for hit in value)


def _of_marks(text: str) -> FileKind | None:
    head = text[:2000].lower()
    if re.search(r"<top(ic)?\b", head):
        return FileKind("TREC topics", (TOPICS,))
    return FileKind("TREC documents", (CORPUS,)) if re.search(r"<doc>", head) else None


def _lines(text: str) -> list[str]:
    """The first lines that say something; the last one may be cut."""
    return [line for line in text[:4096].split("\n") if line.strip() and not line.lstrip().startswith("#")][:5]


def _of_words(text: str) -> FileKind | None:
    lines = _lines(text)[:1]
    words = lines[0].split() if lines else []
    if len(words) == _RUN_WORDS and _NUMBER.fullmatch(words[4]) and (words[1] == "Q0" or _WHOLE.fullmatch(words[3])):
        return FileKind("a TREC run", (RUN,))
    if len(words) == _QRELS_WORDS and _WHOLE.fullmatch(words[3]) and "," not in lines[0]:
        return FileKind("TREC qrels", (SUITE,))
    return FileKind("a list for learning to rank", (SUITE,)) if lines and _LETOR.match(lines[0]) else None


def _of_table(text: str) -> FileKind | None:
    lines = _lines(text)
    if not lines:
        return None
    separator = max(",;\t", key=lines[0].count)
    if separator not in lines[0]:
        return None
    columns = [cell.strip().strip('"') for cell in lines[0].split(separator)]
    two = all(len(line.split("\t")) == 2 for line in lines[:-1] or lines)  # noqa: PLR2004  # an id and a query
    topics = FileKind("topics, lines of id and query", (TOPICS,)) if two and separator == "\t" else None
    return kind_by_names(columns) or _of_book(columns, lines[1:-1] or lines[1:], separator) or topics


def _of_book(columns: list[str], lines: list[str], separator: str) -> FileKind | None:
    """The judgments of a book of Quepid: behind query and document a column of numbers for each judge."""
    rated = [cell.strip() for line in lines for cell in line.rsplit(separator, len(columns) - 2)[1:]]
    is_book = columns[:2] == ["query", "docid"] and any(rated) and all(_NUMBER.fullmatch(cell) for cell in rated if cell)
    return FileKind("a book of Quepid", (SUITE,)) if is_book else None


def _of_yaml(text: str) -> FileKind | None:
    keys = [(not margin, name) for margin, name in _YAML_KEY.findall(text)]
    names = {name for is_top, name in keys if is_top}
    if {"agent", "grid"} <= names:
        return FileKind("the grid of a sweep", (CONFIG,))
    if names and names <= CONFIG_SECTIONS:
        return FileKind("a config of Searchmark", (CONFIG,))
    return _of_record(dict.fromkeys(names)) or (kind_by_names(name for _, name in keys) if names & _LISTS else None)
