"""Parquet files as rows: what suites need of them, read once and bounded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, shortened
from searchmark.files.store import open_file

if TYPE_CHECKING:
    import polars as pl

EXTENSION = ".parquet"
MOST_ROWS = 20_000_000  # a few kilobytes can claim any number of rows


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns, without reading any."""
    return list(_scanned(path).collect_schema())


def parquet_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The columns of a file; one with more rows than any suite has is refused before they are read."""
    import polars as pl

    frame = _scanned(path)
    rows = int(frame.select(pl.len()).collect().item())
    if rows > MOST_ROWS:
        raise FormatError(path, None, f"claims {rows:,} rows; at most {MOST_ROWS:,} are read")
    try:
        return (frame if columns is None else frame.select(columns)).collect()
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, error) from error


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """One mapping per row, of what JSON has too: text, numbers, lists."""
    for row in parquet_frame(path).iter_rows(named=True):
        yield {name: _as_json(value) for name, value in row.items()}


def _scanned(path: Path) -> pl.LazyFrame:
    import polars as pl

    open_file(path).close()  # what is not an ordinary file is refused by its name
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        frame.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, error) from error
    return frame


def _unreadable(path: Path, error: Exception) -> FormatError:
    told = shortened((str(error).splitlines() or [""])[0], 120)
    return FormatError(path, None, f"not valid Parquet: {told}")


def _as_json(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    return str(value)  # dates, decimals, bytes
