"""Records as tables: a polars frame for those who compute on, and Arrow for everything else that takes a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.records.id_columns import Texts
from searchmark.records.shown import NotebookRecord

if TYPE_CHECKING:
    import polars as pl


class Framed(NotebookRecord):
    """A record with a frame, which other libraries take as it is."""

    def frame(self) -> pl.DataFrame:
        """The record as a tidy table, one row per smallest thing in it."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The frame for whatever reads Arrow: pyarrow, pandas, DuckDB."""
        return self.frame().__arrow_c_stream__(requested_schema)

    def __narwhals_dataframe__(self) -> Any:
        """The frame for whatever reads tables by narwhals: altair, which takes no Arrow, and plotly."""
        import narwhals  # never ours to install: only a library that has it asks

        return narwhals.from_native(self.frame(), eager_only=True)._compliant_frame


def text_column(texts: Texts | Sequence[str | None]) -> pl.Series:
    """Texts as a column; half of a surrogate pair, which Arrow cannot hold, is written out."""
    import polars as pl

    if isinstance(texts, pl.Series):
        return texts
    try:
        return pl.Series(values=texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(values=list(map(_encodable, texts)), dtype=pl.String)


def _encodable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def number_column(numbers: NDArray[Any], missing: NDArray[np.bool_]) -> pl.Series:
    """Numbers as a column, null where they are missing."""
    import polars as pl

    column = pl.Series(values=numbers)
    return column.set(pl.Series(values=missing), None) if missing.any() else column


def in_rows(column: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """The entries in some rows, null for a row below 0; the column itself where that is what they are."""
    if len(rows) == len(column) and (rows == np.arange(len(rows))).all():
        return column
    return column.gather(number_column(rows, rows < 0))


def null_column(kind: type, count: int) -> pl.Series:
    import polars as pl

    return pl.Series(values=[None], dtype=pl.DataType.from_python(kind)).new_from_index(0, count)


def constant_columns(values: Mapping[str, str | None], count: int) -> dict[str, pl.Series]:
    """Columns that say the same in every row."""
    return {name: text_column([value]).new_from_index(0, count) for name, value in values.items()}


def typed_frame(rows: Sequence[Mapping[str, Any]], types: Mapping[str, type]) -> pl.DataFrame:
    """A few records as a frame whose columns have these types, also where all of a column is null."""
    import polars as pl

    return pl.DataFrame({name: _typed_column([row[name] for row in rows], kind) for name, kind in types.items()})


def _typed_column(values: list[Any], kind: type) -> pl.Series:
    import polars as pl

    return text_column(values) if kind is str else pl.Series(values=values, dtype=pl.DataType.from_python(kind))
