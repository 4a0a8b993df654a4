"""Parquet files as tables and as rows: packed or not, what is wrong with them in a sentence, and bounded.

Equal values are stored once, so that a few kilobytes can claim any number of rows and any length of text.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, shortened
from searchmark.files.packed import FREE, MOST_TIMES, packing_of
from searchmark.files.store import inner_suffix, open_stored, read_bytes
from searchmark.files.text_encoding import text_in

if TYPE_CHECKING:
    import polars as pl

EXTENSION = ".parquet"
# Rows that no doubt is cast on, and those per byte beyond.
FREE_ROWS, MOST_ROWS_PER_BYTE = 10_000_000, 100
_BATCH = 512  # rows in memory at a time
_SHOWN = 200


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether a file is called so."""
    return inner_suffix(path) == EXTENSION


def parquet_columns(path: Path) -> list[str]:
    """The names of the columns, without reading any."""
    with _naming(path):
        return list(_scanned(path).collect_schema())


def parquet_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The columns of a file in memory."""
    with _naming(path):
        table = _scanned(path)
        frame = (table if columns is None else table.select(columns)).collect()
        _TextBound(path).count(frame)
    return frame


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """One mapping per row, of what JSON has too: times and decimals are text, and so are bytes that can be."""
    bound = _TextBound(path)
    with _naming(path):
        for batch in _scanned(path).collect_batches(chunk_size=_BATCH, lazy=True):
            bound.count(batch)
            for row in batch.iter_rows(named=True):
                yield {name: _plain(value) for name, value in row.items()}


def _scanned(path: Path) -> pl.LazyFrame:
    """The table, of which nothing is read yet; one that claims more rows than its size allows is refused."""
    import polars as pl

    with open_stored(path) as file:  # what is not an ordinary file is refused by its name
        packed = packing_of(file.peek(4)) is not None
    content = io.BytesIO(read_bytes(path)) if packed else None
    table = pl.scan_parquet(path if content is None else content, glob=False, hive_partitioning=False)
    rows = int(table.select(pl.len()).collect().item())
    size = path.stat().st_size if content is None else content.getbuffer().nbytes
    if rows > max(FREE_ROWS, MOST_ROWS_PER_BYTE * size):
        raise FormatError(path, None, f"claims to hold {rows} rows in {size} bytes")
    return table


class _TextBound:
    """How much text a file may still hold: a long one that is the same in every row takes no room in the file."""

    def __init__(self, path: Path) -> None:
        self._path, self._left = path, max(FREE, MOST_TIMES * path.stat().st_size)

    def count(self, frame: pl.DataFrame) -> None:
        import polars as pl

        for name, kind in frame.schema.items():
            texts = frame[name].explode() if kind == pl.List(pl.String) else frame[name]
            self._left -= int(texts.str.len_bytes().cast(pl.Int64).sum()) if texts.dtype == pl.String else 0
        if self._left < 0:
            reason = "holds far more text than a file of its size can; if that is meant, write it as JSONL"
            raise FormatError(self._path, None, reason)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        said = shortened((str(error).splitlines() or [""])[0], _SHOWN)
        raise FormatError(path, None, f"is not Parquet that can be read: {said}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return text_in(value) if isinstance(value, bytes) else str(value)
