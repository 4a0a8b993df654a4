"""Rows of Parquet files, some hundred at a time, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError, shortened

ROWS = 512
LONGEST = 200


def parquet_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with its place; what no JSON could hold, such as a time, is text, and bytes are left out."""
    import polars as pl

    number = 0
    try:
        batches = pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_batches(chunk_size=ROWS, lazy=True)
        for batch in batches:
            for row in batch.to_dicts():
                number += 1
                yield f"row {number}", {name: _plain(value) for name, value in row.items()}
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        said = shortened(str(error).partition("\n")[0], LONGEST)
        raise FormatError(path, f"row {number + 1}" if number else None, f"is not Parquet that can be read: {said}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, bytes):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)
