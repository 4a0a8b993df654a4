"""TREC text files, qrels and runs alike: lines of columns, read fast when clean and carefully when not.

The careful reader defines what a file means: it goes line by line, accepts what trec_eval accepts, and
refuses the rest with file, line and reason. The fast reader takes over only files that it can prove to be
clean (one kind of separator, the right number of columns everywhere, nothing blank, no comment) and gives
up at the first doubt, so that both always agree; a test holds them to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import FormatError
from searchmark.files.store import BOM
from searchmark.records.id_columns import Texts, texts_at

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 22
HIGHEST_GRADE = 10**9 - 1
_GRADE = re.compile(rb"[+-]?0*\d{1,9}(?:\.0*)?")
_SCORE = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The columns of a file, which of them is the number, and whether more may follow."""

    columns: tuple[str, ...]
    number: str
    extra_allowed: bool


QRELS = Layout(("query", "iteration", "document", "grade"), "grade", extra_allowed=False)
RUN = Layout(("query", "iteration", "document", "rank", "score", "tag"), "score", extra_allowed=True)


@dataclass(frozen=True, eq=False)
class TrecTable:
    """The rows of a file, in its order. ``query`` counts the distinct queries in order of appearance."""

    queries: tuple[str, ...]
    query: NDArray[np.int64]
    documents: Texts
    numbers: NDArray[Any]
    tag: str | None


def read_table(path: str | PathLike[str], layout: Layout) -> TrecTable:
    """Read a qrels or run file; any flaw is a `FormatError` that names its line."""
    table = _read_clean(Path(path), layout) or _read_careful(Path(path), layout)
    if not len(table.query):
        raise FormatError(path, None, f"holds no lines of the form '{' '.join(layout.columns)}'")
    return table


def grouped_by_query(table: TrecTable) -> tuple[NDArray[np.int64], Texts, NDArray[Any]]:
    """Where the rows of each query start, and documents and numbers with the rows of a query together."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(table.query, minlength=len(table.queries)))])
    if (table.query[1:] >= table.query[:-1]).all():
        return starts, table.documents, table.numbers
    order = np.argsort(table.query, kind="stable")
    documents = table.documents
    taken = texts_at(documents, order) if isinstance(documents, list) else documents[order]
    return starts, taken, table.numbers[order]


def _read_careful(path: Path, layout: Layout) -> TrecTable:
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
        if tag is None and layout is RUN:
            tag = _text(fields[5])
    return TrecTable(tuple(index), np.array(query, np.int64), documents, np.array(numbers, np.float64), tag)


def _lines(path: Path, layout: Layout) -> Iterator[tuple[int, list[bytes]]]:
    """The lines that carry data, split into columns; blank lines and comments are passed over."""
    wanted = len(layout.columns)
    with _open(path) as file:
        for line_number, line in enumerate(file, 1):
            fields = (line.removeprefix(BOM) if line_number == 1 else line).split()
            if not fields or fields[0].startswith(b"#"):
                continue
            if b"\r" in line.rstrip():
                raise FormatError(path, f"line {line_number}", "a carriage return inside the line; end lines with LF or CRLF")
            if len(fields) < wanted or (len(fields) > wanted and not layout.extra_allowed):
                reason = f"has {len(fields)} columns instead of {wanted} ({' '.join(layout.columns)})"
                raise FormatError(path, f"line {line_number}", reason)
            yield line_number, fields


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _number(path: Path, line_number: int, layout: Layout, field: bytes) -> float:
    if (_GRADE if layout is QRELS else _SCORE).fullmatch(field):
        return float(field)
    shown = _text(field)
    if layout is RUN and shown.lower().lstrip("+-") == "nan":
        raise FormatError(path, f"line {line_number}", "the score is NaN; scores must be numbers that can be ranked")
    wanted = "a whole number of at most nine digits" if layout is QRELS else "a number"
    raise FormatError(path, f"line {line_number}", f"the {layout.number} {shown!r} is not {wanted}")


def _read_clean(path: Path, layout: Layout) -> TrecTable | None:
    """The same table by way of polars, or None if the file is not clean enough to be sure."""
    index: dict[str, int] = {}
    parts: list[tuple[NDArray[np.int64], pl.Series, NDArray[Any]]] = []
    tag = None
    for block in _blocks(path):
        frame = _clean_frame(block, layout)
        if frame is None:
            return None
        stretches = frame["query"].rle().struct.unnest()
        numbering = [index.setdefault(query, len(index)) for query in stretches["value"].to_list()]
        query = np.repeat(np.array(numbering, np.int64), stretches["len"].to_numpy())
        parts.append((query, frame["document"], frame[layout.number].to_numpy()))
        if layout is RUN and tag is None:
            tag = _text(block[: block.index(b"\n")].split()[-1])
    if not parts or any(query.startswith("#") for query in index):
        return None
    import polars as pl

    queries, documents, numbers = zip(*parts, strict=True)
    return TrecTable(tuple(index), np.concatenate(queries), pl.concat(documents, rechunk=False), np.concatenate(numbers), tag)


def _blocks(path: Path) -> Iterator[bytes]:
    """The file in pieces of whole lines, the last one ending in a line feed like all others."""
    with _open(path) as file:
        while block := file.read(BLOCK):
            block += file.readline()
            yield block if block.endswith(b"\n") else block + b"\n"


def _clean_frame(block: bytes, layout: Layout) -> pl.DataFrame | None:
    """The columns of some lines, or None.

    Where no two blanks meet, the last column is filled in every line, and there are no more blanks than the
    lines need, every column is where it belongs.
    """
    blank = np.frombuffer(block, np.uint8) <= ord(" ")  # the space and all control characters
    if blank[0] or block.startswith(BOM) or (blank[1:] & blank[:-1]).any():
        return None  # padding, a blank line, an empty column, CRLF
    import polars as pl

    number = pl.Int64 if layout is QRELS else pl.Float64
    schema = {name: number if name == layout.number else pl.String for name in layout.columns}
    separator = " " if b" " in block else "\t"
    scan = pl.scan_csv(block, separator=separator, has_header=False, quote_char=None, schema=schema)
    last = pl.col(layout.columns[-1])
    try:
        frame = scan.select("query", "document", layout.number, last.is_null().any().alias("short")).collect()
    except pl.exceptions.PolarsError:
        return None
    numbers = frame[layout.number]
    odd = numbers.is_nan().any() if layout is RUN else not numbers.is_between(-HIGHEST_GRADE, HIGHEST_GRADE).all()
    complete = np.count_nonzero(blank) == len(layout.columns) * len(frame) and not frame["short"][0]
    return frame if complete and not odd else None
