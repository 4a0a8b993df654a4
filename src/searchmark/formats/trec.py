"""Columns of TREC text, for qrels and runs: fast when the file is clean, line by line when not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, FileIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import FormatError, shortened
from searchmark.io.store import BOM, open_file, read_bytes
from searchmark.records.columns import Texts, texts_at

if TYPE_CHECKING:
    import polars as pl


# Bytes from which on the fast reader saves more time than importing polars takes.
FAST_FROM = 1 << 20

_PACKED_FACTOR = 4  # the part of its size that a table of ids and numbers is packed to, roughly


# Bytes that are looked through at once: so few that they stay in the cache of a processor.
_BLOCK = 1 << 18

HIGHEST_GRADE = 10**9 - 1

_GRADE = re.compile(rb"[+-]?0*\d{1,9}(?:\.0*)?")

_SCORE = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class TrecLayout:
    """The columns of a file, which of them is the number, and whether more may follow."""

    columns: tuple[str, ...]
    number: str
    extra_allowed: bool


QRELS_LAYOUT = TrecLayout(("query", "iteration", "document", "grade"), "grade", extra_allowed=False)

RUN_LAYOUT = TrecLayout(("query", "iteration", "document", "rank", "score", "tag"), "score", extra_allowed=True)


@dataclass(frozen=True, eq=False)
class TrecTable:
    """The rows of a file, in its order: stretches of one query each, the queries numbered in order of appearance."""

    queries: tuple[str, ...]
    stretches: NDArray[np.int64]
    lengths: NDArray[np.int64]
    documents: Texts
    numbers: NDArray[Any]
    tag: str | None

    @cached_property
    def query(self) -> NDArray[np.int64]:
        """The number of the query of every row."""
        return np.repeat(self.stretches, self.lengths)


def read_trec_table(path: str | PathLike[str], layout: TrecLayout) -> TrecTable:
    """Read a qrels or run file; any flaw is a `FormatError` that names its line."""
    path = Path(path)
    table = (_read_clean(path, layout) if _is_large(path) else None) or _read_careful(path, layout)
    if not len(table.numbers):
        raise FormatError(path, None, f"holds no lines of the form '{' '.join(layout.columns)}'")
    return table


def group_by_query(table: TrecTable) -> tuple[NDArray[np.int64], Texts, NDArray[Any]]:
    """Where the rows of each query start, and documents and numbers with the rows of a query together."""
    counts = np.bincount(table.stretches, table.lengths, minlength=len(table.queries)).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    if len(table.stretches) == len(table.queries):
        return starts, table.documents, table.numbers
    order = np.argsort(table.query, kind="stable")
    documents = table.documents
    ordered_documents = texts_at(documents, order) if isinstance(documents, list) else documents[order]
    return starts, ordered_documents, table.numbers[order]


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size >= (FAST_FROM if _is_stored_as_read(path) else FAST_FROM // _PACKED_FACTOR)
    except OSError:  # reported when it is opened
        return False


def _is_stored_as_read(path: Path) -> bool:
    """Whether polars can be given the file itself, since it is not packed."""
    with open_file(path) as file:
        return isinstance(file.raw, FileIO)


def _read_careful(path: Path, layout: TrecLayout) -> TrecTable:
    index: dict[str, int] = {}
    query: list[int] = []
    documents: list[str] = []
    numbers: list[float] = []
    tag = None
    for line_number, fields in _lines(path, layout):
        number = _number(path, line_number, layout, fields[layout.columns.index(layout.number)])
        query.append(index.setdefault(_text(fields[0]), len(index)))
        documents.append(_text(fields[2]))
        numbers.append(number)
        if tag is None and layout is RUN_LAYOUT:
            tag = _text(fields[5])
    stretches, lengths = _stretches(np.array(query, np.int64))
    return TrecTable(tuple(index), stretches, lengths, documents, np.array(numbers, np.float64), tag)


def _stretches(query: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The query of each stretch of rows, and how long it is."""
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    return query[starts], np.diff(starts, append=len(query))


def read_qrels_rows(path: Path) -> Iterator[tuple[int, str, str, str, int]]:
    """Line, query, iteration, document and grade of every row, where the iteration matters."""
    for line_number, fields in _lines(path, QRELS_LAYOUT):
        query, iteration, document = map(_text, fields[:3])
        yield line_number, query, iteration, document, int(_number(path, line_number, QRELS_LAYOUT, fields[3]))


def _lines(path: Path, layout: TrecLayout) -> Iterator[tuple[int, list[bytes]]]:
    """The lines that carry data, split into columns; blank lines and comments are passed over."""
    words_per_line = len(layout.columns)
    with open_file(path) as file:
        for line_number, line in enumerate(file, 1):
            fields = (line.removeprefix(BOM) if line_number == 1 else line).split()
            if not fields or fields[0].startswith(b"#"):
                continue
            if b"\r" in line.rstrip():
                raise FormatError(path, f"line {line_number}", "a carriage return inside the line; end lines with LF or CRLF")
            if len(fields) < words_per_line or (len(fields) > words_per_line and not layout.extra_allowed):
                reason = f"has {len(fields)} columns instead of {words_per_line} ({' '.join(layout.columns)})"
                raise FormatError(path, f"line {line_number}", reason)
            yield line_number, fields


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _number(path: Path, line_number: int, layout: TrecLayout, field: bytes) -> float:
    if (_GRADE if layout is QRELS_LAYOUT else _SCORE).fullmatch(field) and math.isfinite(number := float(field)):
        return number
    short_text = shortened(_text(field), 60)
    whole = "a whole number of at most nine digits; qrels hold nothing else, a CSV of query,docid,rating or a BEIR folder may"
    description = whole if layout is QRELS_LAYOUT else "a finite number"
    raise FormatError(path, f"line {line_number}", f"the {layout.number} {short_text!r} is not {description}")


def _read_clean(path: Path, layout: TrecLayout) -> TrecTable | None:
    """The same table by way of polars, or None if the file is not clean enough to be sure."""
    blanks = _count_blanks(path)
    frame = _clean_frame(path, layout, blanks) if blanks else None
    if frame is None:
        return None
    runs = frame["query"].rle().struct.unnest()
    index: dict[str, int] = {}
    stretches = [index.setdefault(query, len(index)) for query in runs["value"].to_list()]
    if any(query.startswith("#") for query in index):
        return None
    return TrecTable(
        queries=tuple(index),
        stretches=np.array(stretches, np.int64),
        lengths=runs["len"].to_numpy().astype(np.int64),
        documents=frame["document"],
        numbers=frame[layout.number].to_numpy(),
        tag=_text(_first_line(path).split()[-1]) if layout is RUN_LAYOUT else None,
    )


def _first_line(path: Path) -> bytes:
    with open_file(path) as file:
        line: bytes = file.readline()
        return line


def _count_blanks(path: Path) -> int | None:
    """How many blanks a file has, the line feed that the last line may lack included; None if it begins with one or two meet.

    Blanks are the space and all control characters. Where two meet there is padding, a blank line, an empty column or CRLF.
    """
    block, count, last_was_blank = bytearray(_BLOCK), 0, True
    blank, meet = np.empty(_BLOCK + 1, bool), np.empty(_BLOCK, bool)
    with open_file(path) as file:
        while size := file.readinto(block):
            blank[0] = last_was_blank
            np.less_equal(np.frombuffer(block, np.uint8, size), ord(" "), out=blank[1 : size + 1])
            if np.logical_and(blank[:size], blank[1 : size + 1], out=meet[:size]).any():
                return None
            count += int(np.count_nonzero(blank[1 : size + 1]))
            last_was_blank = bool(blank[size])
    return count + (not last_was_blank)


def _clean_frame(path: Path, layout: TrecLayout, blanks: int) -> pl.DataFrame | None:
    """The columns of a file in which no two blanks meet, or None.

    Where the last column is filled in every line, and there are no more blanks than the lines need, every column is where
    it belongs.
    """
    first = _first_line(path)
    if first.startswith(BOM):
        return None
    import polars as pl

    number = pl.Int64 if layout is QRELS_LAYOUT else pl.Float64
    schema = {name: number if name == layout.number else pl.String for name in layout.columns}
    separator = " " if b" " in first else "\t"
    source = path.absolute() if _is_stored_as_read(path) else BytesIO(read_bytes(path))
    scan = pl.scan_csv(source, separator=separator, has_header=False, quote_char=None, schema=schema, glob=False)
    last = pl.col(layout.columns[-1])
    try:
        frame = scan.select("query", "document", layout.number, last.is_null().any().alias("short")).collect()
    except pl.exceptions.PolarsError:
        return None
    numbers = frame[layout.number]
    odd = not numbers.is_finite().all() if layout is RUN_LAYOUT else not numbers.is_between(-HIGHEST_GRADE, HIGHEST_GRADE).all()
    complete = blanks == len(layout.columns) * len(frame) and not frame["short"][0]
    return frame if complete and not odd else None
