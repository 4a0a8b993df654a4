"""A file that a suite, a run or a corpus is read from, and the rows of JSON lines and tables with their places in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.io.data import parse_json
from searchmark.io.packed import inner_stem, inner_suffix
from searchmark.io.rows import parquet_rows
from searchmark.io.store import BOM, open_file, read_utf8


@dataclass(frozen=True, eq=False)
class InputFile:
    """One file or folder that something is read from: read once, parsed once."""

    path: Path
    field_names: Mapping[str, str] = field(default_factory=dict)  # what it calls a query, a target and so on

    @property
    def name(self) -> str:
        """What is called so where the file has no name for it."""
        return self.path.resolve().name if self.path.is_dir() else inner_stem(self.path)

    @cached_property
    def extension(self) -> str:
        return inner_suffix(self.path)

    @cached_property
    def text(self) -> str:
        return read_utf8(self.path)

    @cached_property
    def data(self) -> Any:
        """The content of a JSON file."""
        return parse_json(self.path, self.text)

    def start(self, size: int) -> bytes:
        """How the content begins, without reading all of it."""
        with open_file(self.path) as file:
            content: bytes = file.read(size)
        return content.removeprefix(BOM)

    def error(self, place: str | None, reason: str) -> FormatError:
        return FormatError(self.path, place, reason)


def json_lines(path: Path, lines: Iterable[str], *, constants: bool = False) -> Iterator[tuple[str, Any]]:
    """The values of JSON lines; blank lines are passed over."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"line {number}", parse_json(path, line, number, constants=constants)


def placed_parquet_rows(file: InputFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a Parquet file."""
    return ((f"row {number}", row) for number, row in enumerate(parquet_rows(file.path), 1))


def most_frequent(first: str, delimiters: Sequence[str]) -> str:
    """What separates the columns of a table: what its first line has most of, and of several the one that is named first."""
    return max(delimiters, key=first.count)


def table_records(
    path: str | PathLike[str], rows: Iterable[tuple[int, list[str]]], names: Sequence[str], *, may_end_early: bool = False
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a table under the names of its columns; one that may end early has nothing in its last ones."""
    for line, row in rows:
        if len(row) > len(names) or (len(row) < len(names) and not may_end_early):
            raise FormatError(path, f"line {line}", f"has {len(row)} columns, the header {len(names)}")
        yield f"line {line}", dict(zip(names, [*row, *[""] * (len(names) - len(row))], strict=True))


def column_names(path: str | PathLike[str], rows: Iterator[tuple[int, list[str]]], change: Callable[[str], str]) -> list[str]:
    """The names in the first row, none of them twice."""
    names = [change(name) for name in next(rows, (0, list[str]()))[1]]
    if len(set(names)) < len(names):
        raise FormatError(path, "line 1", "duplicate column name")
    return names
