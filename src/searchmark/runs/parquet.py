"""Runs in Parquet: a row per hit, as ranx writes it (``q_id``, ``doc_id``, ``score``), or with any names that say what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from searchmark.files.parquet import parquet_columns, parquet_frame
from searchmark.records import Run
from searchmark.runs.assembly import HitColumns
from searchmark.runs.source import RunFile
from searchmark.runs.tables import ColumnBuilder, TableColumns, checked, clean_columns, columns_of, runs_or_error

if TYPE_CHECKING:
    import polars as pl


def read_parquet(file: RunFile) -> list[Run]:
    table = checked(file, columns_of(file, tuple(parquet_columns(file.path))))
    frame = parquet_frame(file.path, list(table.roles.values()))
    frame = frame.select(_as_needed(file, frame[name], role) for role, name in table.roles.items())
    return runs_or_error(file, clean_columns(frame, table) or _careful_frame(file, frame, table))


def _as_needed(file: RunFile, column: pl.Series, role: str) -> pl.Series:
    """A column as its role needs it; pandas makes fractions of whole numbers where one is missing."""
    import polars as pl

    wanted = pl.Float64 if role in ("rank", "score") else pl.String
    if wanted == pl.String and column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all():
        column = column.cast(pl.Int64)
    try:
        if column.dtype.is_nested() or column.dtype == pl.Boolean:
            raise pl.exceptions.InvalidOperationError
        fitting = column.cast(wanted)
    except pl.exceptions.PolarsError as error:
        needed = "numbers" if wanted == pl.Float64 else "text or whole numbers"
        raise file.error(column.name, f"holds {column.dtype}, and the {role} of a hit, one in each row, needs {needed}") from error
    return (fitting.str.strip_chars() if wanted == pl.String else fitting).alias(role)


def _careful_frame(file: RunFile, frame: pl.DataFrame, table: TableColumns) -> HitColumns:
    builder = ColumnBuilder(file, table)
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        builder.add(f"row {number}", row, written=False)
    return builder.columns
