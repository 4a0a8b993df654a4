"""CSV and Parquet, row by row and bounded."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, shortened
from searchmark.io.packed import UNPACKED_FREE, UNPACKED_MOST_TIMES, detect_packing, inner_suffix
from searchmark.io.store import open_file, open_stored, read_bytes
from searchmark.io.text import bytes_as_text

if TYPE_CHECKING:
    import polars as pl


# CSV row by row, strictly, with fields as long as a document.

LONGEST_FIELD = 1 << 30


def csv_rows(path: str | PathLike[str], lines: Iterable[str], delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Every row with the number of its last line.

    How long a field may be is a setting of the whole process in Python, so it is changed for one row at a time and
    other readers of CSV in this process never see it.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise FormatError(path, f"line {reader.line_num}", f"not valid CSV: {error}") from error
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield reader.line_num, row


# Parquet files: their columns and rows, packed or not, and bounded: a few kilobytes may claim to hold anything.

PARQUET_EXTENSION = ".parquet"

PARQUET_MAGIC = b"PAR1"


# Rows that no doubt is cast on, and those per byte beyond: a column of one value takes next to nothing.
FREE_ROWS, MOST_ROWS_PER_BYTE = 10_000_000, 100

_BATCH = 512  # rows


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether this is a Parquet file, by its name or by how it begins."""
    if inner_suffix(path) == PARQUET_EXTENSION:
        return True
    with open_file(path) as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns, without reading any."""
    with _explain_errors(path):
        return list(_scan(path).collect_schema())


def parquet_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Columns of a file; one that holds far more than its size allows is refused before its values are made."""
    with _explain_errors(path):
        table = _scan(path)
        selection = table if columns is None else table.select(columns)
        _refuse_rows(path, selection)
        frame = selection.collect()
        _refuse_text_size(path, _text_bytes(frame))
    return frame


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """One mapping per row, of what JSON has too; some hundred rows are read at a time."""
    with _explain_errors(path):
        table = _scan(path)
        _refuse_rows(path, table)
        batches = table.collect_batches(chunk_size=_BATCH, maintain_order=True, lazy=True)
    total = 0
    while True:
        with _explain_errors(path):
            batch = next(batches, None)
            if batch is None:
                return
            total += _text_bytes(batch)
            _refuse_text_size(path, total)
        for row in batch.iter_rows(named=True):
            yield {name: _as_json(value) for name, value in row.items()}


def _scan(path: Path) -> pl.LazyFrame:
    """The file, of which nothing is read yet; a packed one is unpacked in memory."""
    import polars as pl

    with open_stored(path) as file:
        is_packed = detect_packing(file.peek(4)) is not None
    return pl.scan_parquet(io.BytesIO(read_bytes(path)) if is_packed else path, glob=False, hive_partitioning=False)


def _refuse_rows(path: Path, table: pl.LazyFrame) -> None:
    import polars as pl

    size = path.stat().st_size
    rows, most = int(table.select(pl.len()).collect().item()), max(FREE_ROWS, MOST_ROWS_PER_BYTE * size)
    if rows > most:
        raise FormatError(path, None, f"claims {rows:,} rows in {size:,} bytes; at most {most:,} are read")


def _text_bytes(frame: pl.DataFrame) -> int:
    """How long all texts are; one that is repeated is stored once, and made again for every row."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical)]
    lists = [name for name, kind in frame.schema.items() if kind == pl.List(pl.String)]
    each = [pl.col(name).cast(pl.String).str.len_bytes().cast(pl.Int64).sum() for name in texts]
    each += [pl.col(name).list.eval(pl.element().str.len_bytes()).list.sum().cast(pl.Int64).sum() for name in lists]
    return sum(frame.select(total.alias(str(place)) for place, total in enumerate(each)).row(0)) if each else 0


def _refuse_text_size(path: Path, total: int) -> None:
    most = max(UNPACKED_FREE, UNPACKED_MOST_TIMES * path.stat().st_size)
    if total > most:
        raise FormatError(path, None, f"holds more than {most:,} bytes of text, the most that is read of a file of its size")


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """What is wrong with the file becomes a sentence."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        message = shortened((str(error).splitlines() or [""])[0], 120)
        raise FormatError(path, None, f"not valid Parquet: {message}") from error


def _as_json(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    return bytes_as_text(value) if isinstance(value, bytes) else str(value)  # dates and decimals as text, and bytes that can be
