"""Tables: CSV, TSV, Parquet, and lists of mappings in JSON, JSONL and YAML, all as entries under the names of their columns."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.csv_rows import csv_rows
from searchmark.files.parquet import is_parquet, parquet_columns, parquet_rows
from searchmark.suites.source import LISTS, Entry, Source, snake

DELIMITERS = (",", "\t", ";")
LISTS_OF_OTHERS = ("questions", "data", "examples", "items", "rows", "samples", "pairs", "tests")


@dataclass(frozen=True, eq=False)
class TableRows:
    """A table and how its columns are written."""

    source: Source

    @cached_property
    def columns(self) -> list[str]:
        """The names as they are written; in JSON those of all entries, in the order in which they come up."""
        if is_parquet(self.source.path):
            return parquet_columns(self.source.path)
        if self.source.structured:
            return list(dict.fromkeys(str(name) for row in self._mappings for name in row))
        return _header(self.source)

    @cached_property
    def names(self) -> set[str]:
        """The same in snake_case, in which they are compared."""
        return {snake(name) for name in self.columns}

    def entries(self) -> Iterator[Entry]:
        path = self.source.path
        if is_parquet(path):
            yield from (Entry.of(path, f"row {number}", row) for number, row in enumerate(parquet_rows(path), 1))
        elif self.source.structured:
            yield from self._listed()
        else:
            yield from csv_entries(self.source)

    @property
    def _mappings(self) -> list[dict[str, Any]]:
        return [row for row in _list_in(self.source.data)[1] if isinstance(row, dict)]

    def _listed(self) -> Iterator[Entry]:
        if self.source.by_line:
            yield from self.source.entries()
            return
        place, rows = _list_in(self.source.data)
        for number, row in enumerate(rows):
            yield Entry.of(self.source.path, f"{place}.{number}" if place else str(number), row)


def _list_in(data: Any) -> tuple[str, list[Any]]:
    """The list of rows and what it is called: the content itself, one under a usual name, or the only list of mappings."""
    if isinstance(data, list):
        return "", data
    if not isinstance(data, dict):
        return "", []
    lists = {str(name): rows for name, rows in data.items() if isinstance(rows, list) and dict in map(type, rows)}
    usual = next((name for name in (*LISTS, *LISTS_OF_OTHERS) for given in lists if snake(given) == name), None)
    given = next((name for name in lists if snake(name) == usual), next(iter(lists), "") if len(lists) == 1 else "")
    return given, lists.get(given, [])


def delimiter(source: Source) -> str:
    """What separates the columns of the first line; a comma where nothing does."""
    if source.extension == ".tsv":
        return "\t"
    first = source.head.split("\n", 1)[0]
    return max(DELIMITERS, key=first.count)


def _header(source: Source) -> list[str]:
    """The names in the first line; a quoted one may go on in the next, and only then all of the text is needed."""
    first, ended, _ = source.head.partition("\n")
    text = source.text if '"' in first or not ended else first
    rows = csv_rows(source.path, io.StringIO(text, newline=""), delimiter(source))
    return [name.strip() for name in next(rows, (0, []))[1]]


def csv_entries(source: Source, *, may_end_early: bool = False) -> Iterator[Entry]:
    """The lines of a table under the names of its header; one that may end early has nothing in its last columns."""
    rows = csv_rows(source.path, io.StringIO(source.text, newline=""), delimiter(source))
    header = [snake(name) for name in next(rows, (0, []))[1]]
    if len(set(header)) < len(header):
        raise FormatError(source.path, "line 1", "duplicate column name")
    for line, row in rows:
        if any(cell.strip() for cell in row):
            if len(row) > len(header) or (len(row) < len(header) and not may_end_early):
                raise FormatError(source.path, f"line {line}", f"has {len(row)} columns, the header {len(header)}")
            yield Entry(source.path, f"line {line}", dict(zip(header, [*row, *[""] * (len(header) - len(row))], strict=True)))
