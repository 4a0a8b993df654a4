"""Lists of queries: text with one per line, or JSON, JSONL and TSV with ``id``, ``query`` and ``type``.

In text a query's id is its line number, counted from 1 as an editor counts; blank lines and comments (``#``) have a number and no
query. A line of text that is data of another format is refused: as a query it would be asked with all its marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from searchmark.errors import FormatError, shortened
from searchmark.files.store import inner_suffix, read_utf8
from searchmark.suites.source import Entry, Source

EXTENSIONS = (".txt", ".jsonl", ".tsv", ".json", ".ndjson")
_ID, _QUERY = ("id", "query_id"), ("query", "text")


@dataclass(frozen=True)
class ListedQuery:
    """What is asked, and what kind of query it is if that is known."""

    id: str
    text: str
    type: str | None
    position: str  # in its file


def read_queries(path: Path) -> dict[str, ListedQuery]:
    """Queries by id."""
    extension = inner_suffix(path)
    found: Iterator[ListedQuery]
    if extension in (".json", ".jsonl", ".ndjson"):
        found = map(_from_entry, Source(path, pipe=True).entries("queries"))
    elif extension in (".tsv", ".csv"):
        found = map(_from_entry, _rows(path, "\t" if extension == ".tsv" else ","))
    else:
        found = _from_lines(path)
    queries: dict[str, ListedQuery] = {}
    for query in found:
        if query.id in queries:
            raise FormatError(path, query.position, f"duplicate id {query.id!r}")
        queries[query.id] = query
    if not queries:
        raise FormatError(path, None, "holds no queries")
    return queries


def queries_file(folder: Path) -> Path | None:
    """The one list of queries in a folder: ``queries.txt``, or else the only ``queries_*``; None if there is none."""
    for pattern in ("queries", "queries_*"):
        found = sorted(path for ending in EXTENSIONS for path in folder.glob(pattern + ending) if path.is_file())
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise FormatError(folder, None, f"holds several lists of queries ({names}); name one with --topics, or keep one")
        if found:
            return found[0]
    return None


def _from_entry(entry: Entry) -> ListedQuery:
    return ListedQuery(entry.text(*_ID), entry.text(*_QUERY).strip(), entry.maybe_text("type", "category"), entry.place)


def _from_lines(path: Path) -> Iterator[ListedQuery]:
    for number, line in enumerate(read_utf8(path, pipe=True).split("\n"), 1):
        text, position = line.strip(), f"line {number}"
        if not text or text.startswith("#"):
            continue
        if "\t" in text or text.startswith(("{", "[{")):
            kind = (
                "tab-separated; name the file .tsv and let its first line be: id, query, type"
                if "\t" in text
                else "JSON; name the file .jsonl"
            )
            raise FormatError(path, position, f"{shortened(text, 60)!r} is {kind}")
        yield ListedQuery(str(number), text, None, position)


def _rows(path: Path, separator: str) -> Iterator[Entry]:
    """The rows of a table whose first line names its columns; empty cells are absent."""
    from searchmark.files.csv_rows import csv_rows

    text = read_utf8(path, pipe=True).replace("\r\n", "\n")
    rows = csv_rows(path, StringIO(text, newline="")) if separator == "," else _tab_separated(text)
    header: list[str] | None = None
    for number, row in rows:
        if header is None:
            header = [name.strip() for name in row]
            if not {*_QUERY} & {*header} or not {*_ID} & {*header}:
                raise FormatError(path, f"line {number}", "the first line must name the columns, id and query among them")
            continue
        if len(row) != len(header):
            raise FormatError(path, f"line {number}", f"has {len(row)} columns, the header {len(header)}")
        yield Entry.of(path, f"line {number}", {name: value for name, value in zip(header, row, strict=True) if value.strip()})


def _tab_separated(text: str) -> Iterator[tuple[int, list[str]]]:
    """A tab separates, and a quotation mark is one of the query's own."""
    yield from ((number, line.split("\t")) for number, line in enumerate(text.split("\n"), 1) if line.strip())
