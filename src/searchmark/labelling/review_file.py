"""The file that people grade: pairs of a query and an item with all that is known of both, and an empty grade."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from searchmark.corpora.field_mapping import plain
from searchmark.errors import FormatError, UsageError
from searchmark.files.csv_rows import csv_rows
from searchmark.files.store import read_utf8
from searchmark.labelling.review_cells import id_cell, read_cell, text_cell
from searchmark.suites.source import Entry, Source

COLUMNS = ("query_id", "query", "item_id", "grade", "title", "text", "fields", "drawn_from")
CHOSEN = "chosen, not drawn at random"  # instead of what a sample was drawn from
LONGEST = 2000  # letters of a text: what people read before they give a grade
EXTENSIONS = (".csv", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class ReviewRow:
    """One pair for people. ``drawn_from`` tells what it was drawn from at random, or that it was CHOSEN."""

    query_id: str
    query: str
    item_id: str
    title: str = ""
    text: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    drawn_from: str = CHOSEN
    grade: None = None


def rows_text(rows: Iterable[ReviewRow], path: Path, clean: Callable[[str], str] = str) -> str:
    """The file for people, CSV or JSONL by its extension; ``clean`` sees texts before they are cut."""
    by_column = [{name: asdict(row)[name] for name in COLUMNS} | _shown(row, clean) for row in rows]
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        raise UsageError(f"{path}: a review is written as .csv or .jsonl; name the file accordingly")
    if extension != ".csv":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in by_column)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row, column) for column in COLUMNS] for row in by_column)
    return file.getvalue()


def _shown(row: ReviewRow, clean: Callable[[str], str]) -> dict[str, Any]:
    """What people read, cut where it is long."""
    fields = {name: cut if (cut := _cut(clean(plain(value)))) != plain(value) else value for name, value in row.fields.items()}
    return {"title": _cut(clean(row.title)), "text": _cut(clean(row.text)), "fields": fields}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (cut: {LONGEST} of {len(text)} characters)"


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row[column]
    if column == "fields":
        value = _cut("; ".join(f"{name}: {plain(inner)}" for name, inner in value.items()))
    text = "" if value is None else str(value)
    return id_cell(text) if column in ("query_id", "item_id") else text_cell(text)


def is_chosen(entry: Entry) -> bool:
    """Whether a pair was chosen, and is not part of a sample."""
    return entry.maybe_text("drawn_from") == CHOSEN


def graded_entries(path: Path, may_be_empty: Callable[[Entry], bool]) -> tuple[list[Entry], int]:
    """The pairs of a file that people have graded, and how many they have not; who asks says which may be left so."""
    entries = list(_entries(path))
    if not entries:
        raise FormatError(path, None, "holds no pairs")
    empty = [entry for entry in entries if entry.first("grade") is None]
    refused = [entry for entry in empty if not may_be_empty(entry)]
    if refused:
        more = f" ({len(refused)} of {len(entries)} pairs have none)" if len(refused) > 1 else ""
        why = "a sample without those that are hard to grade agrees too well"
        raise FormatError(path, refused[0].place, f"has no grade{more}; grade every pair: {why}")
    if len(empty) == len(entries):
        raise FormatError(path, empty[0].place, "no pair has a grade; fill in the column grade")
    return [entry for entry in entries if entry.first("grade") is not None], len(empty)


def _entries(path: Path) -> Iterator[Entry]:
    if path.suffix.lower() != ".csv":
        yield from Source(path).entries()
        return
    rows = csv_rows(path, io.StringIO(read_utf8(path), newline=""))
    _, header = next(rows, (0, list[str]()))
    if missing := [name for name in ("query_id", "item_id", "grade") if name not in header]:
        raise FormatError(path, "line 1", f"has no column {missing[0]!r}")
    if twice := [name for name in COLUMNS if header.count(name) > 1]:
        raise FormatError(path, "line 1", f"has two columns {twice[0]!r}; remove one of them")
    for line, row in rows:
        if not any(row):
            continue
        if len(row) != len(header):
            raise FormatError(path, f"line {line}", f"has {len(row)} columns, the header {len(header)}")
        values = {name: read_cell(cell) for name, cell in zip(header, row, strict=True) if cell.strip()}
        yield Entry.of(path, f"line {line}", values)
