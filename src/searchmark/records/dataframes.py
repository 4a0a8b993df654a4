"""Tables of other libraries as columns: DataFrames of pandas and polars, and whatever gives an Arrow stream.

None of these libraries is imported for that but polars, which reads Arrow: a table is known by what it can do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError, shortened
from searchmark.options.column_names import Words, squashed
from searchmark.records.ids import id_text

_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which is not imported to compare with
_SHOWN = 60
_MOST_NAMED = 300


def columns_of(table: Any) -> dict[str, list[Any]]:
    """Every column of a table as Python values."""
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):  # a lazy frame
        table = table.collect()
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas, whose own Arrow would need pyarrow
        names = [str(name) for name in table.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"the frame has two columns {twice!r}; give each a name of its own")
        return {name: table.iloc[:, place].tolist() for place, name in enumerate(names)}
    if not hasattr(table, "__arrow_c_stream__"):
        raise UsageError(f"{type(table).__name__} is not a table; give a DataFrame of pandas or polars, or an Arrow table")
    import polars as pl

    columns: dict[str, list[Any]] = pl.DataFrame(table).to_dict(as_series=False)
    return columns


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a table, found by what they are for; ``names`` has the column of each role that there is."""

    columns: Mapping[str, list[Any]]
    names: Mapping[str, str]
    roles: Words

    @classmethod
    def of(cls, table: Any, roles: Words, mapping: Mapping[str, str] | None = None) -> FrameColumns:
        """``mapping`` names columns that are called something else: {"target": "sku"}."""
        columns = columns_of(table)
        given = dict(mapping or {})
        _refuse_unknown(given, roles, columns)
        alike = {squashed(name): name for name in reversed(columns) if name not in given.values()}
        found = {
            role: next((alike[squashed(each)] for each in usual if squashed(each) in alike), None) for role, usual in roles.items()
        }
        return cls(columns, {role: name for role, name in {**found, **given}.items() if name is not None}, roles)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def has(self, role: str) -> bool:
        return role in self.names

    def need(self, role: str) -> list[Any]:
        """The column of a role, which must be there."""
        if role not in self.names:
            known = shortened(", ".join(self.columns), _MOST_NAMED)
            looked = ", ".join(self.roles[role])
            raise UsageError(
                f"the frame has no column for the {role} (looked for {looked}); its columns are {known}: "
                f'name yours with mapping={{"{role}": "..."}}'
            )
        return self.columns[self.names[role]]

    def get(self, role: str) -> list[Any]:
        """The column of a role, None in every row where there is none."""
        return self.columns[self.names[role]] if role in self.names else self._nothing

    def own(self, name: str) -> list[Any]:
        """A column by the name that frames of ours have for it, None in every row where there is none."""
        return self.columns.get(name, self._nothing)

    @cached_property
    def _nothing(self) -> list[Any]:
        return [None] * len(self)

    def ids(self, role: str, *, gaps: Sequence[bool] | None = None) -> list[str | None]:
        """The ids of a role as text; one that is missing is refused unless ``gaps`` says that the row may lack it."""
        values, name, found = self.need(role), self.names[role], list[str | None]()
        kinds = set(map(type, values))
        if kinds <= {str}:
            return values
        if kinds <= {int}:
            return list(map(str, values))
        for row, value in enumerate(values):
            if is_missing(value):
                if gaps is None or not gaps[row]:
                    raise UsageError(f"row {row} of the frame has no {role} (column {name!r})")
                found.append(None)
            else:
                found.append(id_text(value, f"row {row} of the frame: the {role} (column {name!r})"))
        return found

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """A column by its role or its own name as finite numbers, NaN where a row has none; None if there is no such column."""
        if name not in self.names and name not in self.columns:
            return None
        values = self.columns[self.names.get(name, name)]
        if set(map(type, values)) <= {int, float, type(None)}:
            with suppress(OverflowError):
                found = np.array(values, np.float64)
                if not np.isinf(found).any():
                    return found
        return np.array([math.nan if is_missing(each) else number(each, row, name) for row, each in enumerate(values)], np.float64)

    def rest(self, known: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """The columns that have no role, nor one of these names."""
        taken = {*self.names.values(), *known}
        return ((name, values) for name, values in self.columns.items() if name not in taken)


def _refuse_unknown(mapping: Mapping[str, str], roles: Words, columns: Mapping[str, Any]) -> None:
    for role, name in mapping.items():
        if role not in roles:
            raise UsageError(f"mapping: a frame has no {role!r} here; it has {', '.join(roles)}")
        if name not in columns:
            near = get_close_matches(str(name), columns, 1)
            meant = f"; did you mean {near[0]!r}?" if near else f"; its columns are {shortened(', '.join(columns), _MOST_NAMED)}"
            raise UsageError(f"mapping: the frame has no column {name!r} for the {role}{meant}")


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or what pandas writes for either."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, float) and math.isnan(value)


def number(value: Any, row: int, what: str) -> float:
    """A finite number of a cell."""
    with suppress(OverflowError):  # a whole number that no float can hold
        found = math.nan if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__") else float(value)
        if math.isfinite(found):
            return found
    raise UsageError(f"row {row} of the frame: the {what} is {shortened(repr(value), _SHOWN)}, not a finite number")


def text_or_none(value: Any) -> str | None:
    return None if is_missing(value) else str(value)
