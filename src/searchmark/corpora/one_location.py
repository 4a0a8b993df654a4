"""Where cases are searched, if that is the same for all of them: as cheap for a million as for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, ValuesView
from itertools import repeat

from searchmark.corpora.locations import Location
from searchmark.records import CaseTable


class OneLocation(Mapping[str, Location]):
    """The location of every case of a suite, in its order."""

    def __init__(self, table: CaseTable, location: Location) -> None:
        self._table, self._location = table, location

    def __getitem__(self, case: str) -> Location:
        if case not in self._table.index:
            raise KeyError(case)
        return self._location

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.ids)

    def __len__(self) -> int:
        return len(self._table)

    def values(self) -> ValuesView[Location]:
        return _Repeated(self, self._location)

    def __repr__(self) -> str:
        return f"OneLocation({len(self)} cases, {self._location!r})"


class _Repeated(ValuesView[Location]):
    """Its values, without looking up every case."""

    def __init__(self, mapping: OneLocation, location: Location) -> None:
        super().__init__(mapping)
        self._location = location

    def __iter__(self) -> Iterator[Location]:
        return repeat(self._location, len(self))
