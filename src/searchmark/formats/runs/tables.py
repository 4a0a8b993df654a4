"""Runs as tables, a row per hit: CSV and TSV, JSON lines.

As with TREC files, a careful reader defines what a text file means and says which line is wrong; a fast one takes large files
that it can prove to be clean, column by column, and gives up at the first doubt.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.errors import shortened
from searchmark.files.csv_rows import csv_rows
from searchmark.files.store import BOM, parse_json, read_bytes
from searchmark.files.trec_text import FAST_FROM
from searchmark.records import Run
from searchmark.runs.assembly import HitColumns, runs_of
from searchmark.runs.parts import id_of, score_of, written_number
from searchmark.runs.source import RunFile, named

if TYPE_CHECKING:
    import polars as pl

ROLES = ("case", "query", "id", "rank", "score", "agent")
DELIMITERS = (",", "\t", ";", "|")
_LONGEST_NAMES = 300

# What judgments have in place of a rank or score, and the header of a qrels file of BEIR.
_GRADES = ("rating", "grade", "relevance", "rel", "label", "judgment", "judgement")
_BEIR_JUDGMENTS = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table is what; all that was found, for those who must be told."""

    names: tuple[str, ...]
    roles: Mapping[str, str]

    @property
    def missing(self) -> list[str]:
        """The roles without which there is no run."""
        lacks = [] if "case" in self.roles or "query" in self.roles else ["query"]
        return lacks if "id" in self.roles else [*lacks, "id"]

    @property
    def numbers(self) -> list[str]:
        return [role for role in ("rank", "score") if role in self.roles]

    @property
    def key(self) -> str:
        """What names a case: its id, or else its query."""
        return "case" if "case" in self.roles else "query"


def columns_of(file: RunFile, names: Sequence[str], preset: Mapping[str, str] | None = None) -> TableColumns:
    """What the columns of a table are, by what was said of them and by their names; no column is two things."""
    if preset is not None:
        given = {role: name for role, name in {**preset, **file.field_names}.items() if role in ROLES}
        absent = [name for name in given.values() if name not in names]
        if absent:
            there = shortened(", ".join(map(repr, names)), _LONGEST_NAMES)
            raise file.error(None, f"has no column {', '.join(map(repr, absent))}; it has {there}")
        return TableColumns(tuple(names), given)
    free, roles = tuple(dict.fromkeys(names)), {}
    for role in sorted(ROLES, key=lambda role: role not in file.field_names):  # what was said comes first
        found = file.column(role, free)
        if found is not None:
            roles[role] = found
            free = tuple(name for name in free if name != found)
    return TableColumns(tuple(names), roles)


def header_of(file: RunFile) -> tuple[str, list[str]]:
    """The delimiter of a CSV, which is the one that its first line has most of, and the names of its columns."""
    first = file.head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
    delimiter = max(DELIMITERS, key=first.count)
    rows = [row for _, row in csv_rows(file.path, [first], delimiter)]
    return delimiter, [name.strip() for name in rows[0]] if rows else []


def read_csv(file: RunFile, preset: Mapping[str, str] | None = None) -> list[Run]:
    """Query, id, rank or score, under names that say so; by rank, else by score as trec_eval sorts, else as they come."""
    delimiter, names = header_of(file)
    table = checked(file, columns_of(file, names, preset))
    content = _clean_content(file)
    fast = None if content is None else _clean_csv(content, delimiter, table)
    return runs_or_error(file, fast or _careful_csv(file, delimiter, table))


def _clean_content(file: RunFile) -> bytes | None:
    """The bytes of a file that is large enough for the fast reader; None for others, and for text that is surely not UTF-8."""
    content = read_bytes(file.path).removeprefix(BOM)
    return content if len(content) >= FAST_FROM and b"\0" not in content[:FAST_FROM] else None


def checked(file: RunFile, table: TableColumns) -> TableColumns:
    """The columns, if they are those of a run: judgments have a query and an id too."""
    if table.missing:
        raise file.error(None, missed(table))
    grade = None if table.numbers else named(table.names, _GRADES)
    if list(table.names) == _BEIR_JUDGMENTS:
        grade = "score"
    if grade is not None and not file.format_given:
        raise file.error(
            None,
            f"holds judgments, not a run: its column {grade!r} is a grade, and it has no rank; name it with --gold-set, or, if "
            "these are hits in their order, give --run-format",
        )
    return table


def missed(table: TableColumns) -> str:
    """Which columns are missing, which there are, and how to name them."""
    how = " and ".join(f"--map run.{role}=COLUMN" for role in table.missing)
    found = shortened(", ".join(map(repr, table.names)) or "none", _LONGEST_NAMES)
    sentence = f"lacks a column for {' and '.join(table.missing)}; found the columns {found}; name yours with {how}"
    is_hit = any(name.replace(".", "", 1).isdecimal() for name in table.names)
    return f"{sentence}; if its first line is a hit, put one with the names of the columns above it" if is_hit else sentence


def runs_or_error(file: RunFile, columns: HitColumns) -> list[Run]:
    if not len(columns.id):
        raise file.error(None, "holds no hits")
    return runs_of(file, columns)


def _careful_csv(file: RunFile, delimiter: str, table: TableColumns) -> HitColumns:
    where = {role: table.names.index(name) for role, name in table.roles.items()}
    builder = ColumnBuilder(file, table)
    rows = csv_rows(file.path, io.StringIO(file.text, newline=""), delimiter)
    next(rows, None)
    for line, row in rows:
        if len(row) > len(table.names):
            raise file.error(f"line {line}", f"has {len(row)} columns instead of {len(table.names)}")
        if any(field.strip() for field in row):
            builder.add(f"line {line}", {role: row[place] for role, place in where.items() if place < len(row)}, written=True)
    return builder.columns


class ColumnBuilder:
    """Rows, checked one by one, on their way to columns."""

    def __init__(self, file: RunFile, table: TableColumns) -> None:
        self._file, self._table = file, table
        self._texts: dict[str, list[str]] = {role: [] for role in ("case", "query", "id", "agent") if role in table.roles}
        self._numbers: dict[str, list[float]] = {role: [] for role in table.numbers}

    def add(self, place: str, row: Mapping[str, Any], *, written: bool) -> None:
        """Take a row, whose values are ``written`` as text in CSV; one with a case alone says that it has no hits."""
        number = written_number if written else score_of
        numbers = {role: number(self._file, place, row.get(role, "" if written else None), role) for role in self._numbers}
        for role, column in self._texts.items():
            value = row.get(role)
            empty = value is None or (isinstance(value, str) and not value.strip())
            column.append("" if empty else id_of(self._file, f"{place}.{self._table.roles[role]}", value).strip())
        key, hit = self._texts[self._table.key][-1], self._texts["id"][-1]
        if not key:
            raise self._file.error(place, f"has no {self._table.roles[self._table.key]}")
        if not hit and not all(map(np.isnan, numbers.values())):
            raise self._file.error(place, f"has no {self._table.roles['id']}")
        if hit:
            self._refuse_missing(place, numbers)
        for role, value in numbers.items():
            self._numbers[role].append(value)

    def _refuse_missing(self, place: str, numbers: Mapping[str, float]) -> None:
        """Where hits are ordered by a number, each must have it."""
        decides = next(iter(numbers), None)
        if decides is not None and np.isnan(numbers[decides]):
            raise self._file.error(place, f"has no {self._table.roles[decides]}")

    @property
    def columns(self) -> HitColumns:
        numbers = {role: np.array(values, np.float64) for role, values in self._numbers.items()}
        return HitColumns(
            case=self._texts[self._table.key],
            id=self._texts["id"],
            query=self._texts.get("query") if self._table.key == "case" else None,
            rank=numbers.get("rank"),
            score=numbers.get("score"),
            agent=self._texts.get("agent"),
        )


def _clean_csv(content: bytes, delimiter: str, table: TableColumns) -> HitColumns | None:
    """The same columns by way of polars, or None if the file is not clean enough to be sure."""
    import polars as pl

    bare = _without_quoted(content, delimiter)
    if b'"' in bare:
        return None
    try:
        frame = pl.read_csv(content, separator=delimiter, infer_schema=False, quote_char=None if bare is content else '"')
    except pl.exceptions.PolarsError:
        return None
    width = len(table.names)
    if len(frame.columns) != width or bare.count(delimiter.encode()) != (width - 1) * (len(frame) + 1):
        return None
    frame.columns = [str(place) for place in range(width)]
    places = {role: str(table.names.index(name)) for role, name in table.roles.items()}
    return clean_columns(frame.select(pl.col(place).str.strip_chars().alias(role) for role, place in places.items()), table)


def _without_quoted(content: bytes, delimiter: str) -> bytes:
    """The content without fields that are quoted as a whole, about which all readers agree; a quote that is left is in doubt."""
    if b'"' not in content:
        return content
    mark = re.escape(delimiter.encode())
    return re.sub(rb'(\A|[\n%b])"(?:[^"]|"")*"(?=[\r\n%b]|\Z)' % (mark, mark), rb"\1", content)


def clean_columns(frame: pl.DataFrame, table: TableColumns) -> HitColumns | None:
    """Columns by their roles, or None where one has a gap, an empty text or a number that is none."""
    import polars as pl

    frame = frame.with_columns(pl.col(role).cast(pl.Float64, strict=False) for role in table.numbers)
    texts = [role for role in ("case", "query", "id", "agent") if role in table.roles]
    gaps = [pl.col(role).is_null().any() | (pl.col(role) == "").any() for role in texts]
    odd = [~pl.col(role).is_finite().all() | pl.col(role).is_null().any() for role in table.numbers]
    if any(frame.select(pl.any_horizontal(*gaps, *odd)).row(0)):
        return None
    numbers = {role: frame[role].to_numpy() for role in table.numbers}
    return HitColumns(
        case=frame[table.key],
        id=frame["id"],
        query=frame["query"] if table.key == "case" and "query" in table.roles else None,
        rank=numbers.get("rank"),
        score=numbers.get("score"),
        agent=frame["agent"] if "agent" in table.roles else None,
    )


def read_hit_rows(file: RunFile, rows: Iterator[tuple[str, Any]], first: Mapping[str, Any]) -> list[Run]:
    """JSON with an object per hit, each with its place; ``first`` is the first of them."""
    table = checked(file, columns_of(file, tuple(first)))
    content = _clean_content(file) if file.by_line else None
    fast = None if content is None else _clean_lines(content, table)
    return runs_or_error(file, fast or _careful_rows(file, rows, table))


def _careful_rows(file: RunFile, rows: Iterator[tuple[str, Any]], table: TableColumns) -> HitColumns:
    builder = ColumnBuilder(file, table)
    for place, row in rows:
        if not isinstance(row, dict):
            raise file.error(place, "is not an object")
        builder.add(place, {role: row.get(name) for role, name in table.roles.items()}, written=False)
    return builder.columns


# An id that may not have been text: polars makes text of everything.
_NOT_TEXT = r"^(?:true|false|[+-]?\d*\.\d+(?:[eE].*)?|\d+[eE].*|[\[{].*)$"


def _clean_lines(content: bytes, table: TableColumns) -> HitColumns | None:
    import polars as pl

    schema = {name: pl.Float64 if role in table.numbers else pl.String for role, name in table.roles.items()}
    try:
        frame = pl.read_ndjson(content, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    texts = [role for role in table.roles if role not in table.numbers]
    named = frame.select(pl.col(name).alias(role) for role, name in table.roles.items())
    if any(named.select(pl.any_horizontal(pl.col(role).str.contains(_NOT_TEXT).any() for role in texts)).row(0)):
        return None
    return clean_columns(named.with_columns(pl.col(role).str.strip_chars() for role in texts), table)


def json_lines(file: RunFile) -> Iterator[tuple[str, Any]]:
    """The values of a JSON lines file with their places; blank lines are passed over."""
    for number, line in enumerate(io.StringIO(file.text), 1):  # line by line: often only the first is wanted
        if line.strip():
            yield f"line {number}", parse_json(file.path, line, number, constants=True)
