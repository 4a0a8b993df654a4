"""What a table with vectors is to the agent that searches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from annotated_types import Ge, Le

from searchmark.embedders import EmbedderChoice
from searchmark.embedders.embedder import Vectors
from searchmark.errors import UsageError
from searchmark.indexes.index import Distance
from searchmark.indexes.recall import NeighbourRecall
from searchmark.options.sensitive import DatabaseAddress, FilePath, UsesUnasked
from searchmark.options.strict import strict_record
from searchmark.options.user_paths import expand_paths
from searchmark.records import VectorStatistics
from searchmark.services.variables import DEFAULT_DSN

SAMPLE = 100_000  # rows whose vectors are looked at for statistics
Scalar = str | int | float | bool
_OF_PGVECTOR = ("probes", "ef_search", "iterative_scan")


@strict_record
class VectorTableConfig(UsesUnasked):
    """Options of ``vector-table``.

    ``dsn``: the PostgreSQL database, if it is not that of ``--dsn`` or SEARCHMARK_DSN; ``database``: a file of SQLite instead.
    ``table``: its name, in PostgreSQL with its schema if needed. ``id_column`` has the ids that cases name, ``vector_column`` the
    vectors; without it there must be one column of vectors alone. ``filter``: only rows with these values, ``{column: value}`` or
    ``{column: [values]}``. ``embedder`` makes vectors of queries. ``probes``, ``ef_search`` and ``iterative_scan`` are pgvector's;
    without them the settings of the database hold. ``recall_k``: of how many true neighbours the found ones are counted;
    ``measure_recall``: whether that is done.
    """

    table: str = ""
    dsn: DatabaseAddress | None = None
    database: FilePath | None = None
    id_column: str = "id"
    vector_column: str | None = None
    distance: Distance = "cosine"
    filter: Mapping[str, Scalar | tuple[Scalar, ...]] | None = None
    embedder: EmbedderChoice = "wordllama"
    probes: Annotated[int, Ge(1), Le(32768)] | None = None
    ef_search: Annotated[int, Ge(1), Le(1000)] | None = None
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] | None = None
    recall_k: Annotated[int, Ge(1)] = 10
    measure_recall: bool = True

    def __post_init__(self) -> None:
        expand_paths(self, "database")
        if self.dsn is not None and self.database is not None:
            raise UsageError("a table is in PostgreSQL (dsn) or in SQLite (database); leave out one of the two")
        if self.database is not None and (given := [name for name in _OF_PGVECTOR if getattr(self, name) is not None]):
            raise UsageError(f"{' and '.join(given)} would have no effect in SQLite (database); leave it out")
        for column, values in (self.filter or {}).items():
            _check_filter(column, values, typed=self.database is None)

    @classmethod
    def used_unasked(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {} if options.get("database") else {"dsn": DEFAULT_DSN}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that were found, nearest first: their ids, and how far they are by the operator of the database."""

    ids: Sequence[str]
    distances: Sequence[float]


class ExistingTable(Protocol):
    """A table that somebody else has made."""

    dimension: int

    def nearest(self, query: Vectors, k: int) -> Rows:
        """What the database finds."""

    def scores(self, rows: Rows) -> list[float]:
        """What is nearer scores more."""

    def recall(self, query: Vectors, found: Rows, k: int) -> NeighbourRecall | None:
        """What was found of the true nearest; None if there are none."""

    def size(self) -> int | None:
        """Bytes of its indexes of vectors; None if it has none."""

    def statistics(self) -> VectorStatistics:
        """What its vectors are like, the first of them where there are very many."""

    def describe(self) -> Mapping[str, Any]:
        """Versions, and how the table is indexed."""

    def close(self) -> None:
        """End the session."""


def _check_filter(column: str, values: Scalar | tuple[Scalar, ...], *, typed: bool) -> None:
    """Columns of PostgreSQL are typed; one of SQLite can hold whatever there is."""
    several = values if isinstance(values, tuple) else (values,)
    if not several:
        raise UsageError(f"filter {column}: no row has one of no values; name some, or leave the filter out")
    if typed and len({_kind(each) for each in several}) > 1:
        raise UsageError(f"filter {column}: the values {list(several)} are of different types; write all as text or all as numbers")


def _kind(value: Scalar) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def check_rows(options: VectorTableConfig, dimension: int, count: int, other_dimension: int, without_id: int) -> None:
    """Refuse a table whose rows cannot be searched or named, before the first search does."""
    if not count and not options.filter:
        raise no_vectors(options.table)
    if other_dimension:
        raise UsageError(
            f"{other_dimension:,} of {count:,} vectors of {options.table} do not have {dimension} numbers as the first one has; "
            "choose rows of one dimension with the option filter, or another vector_column"
        )
    if without_id:
        raise UsageError(
            f"{without_id:,} of {count:,} rows with a vector have no id in the column {options.id_column!r} of {options.table}; "
            "give them one, leave them out with the option filter, or name another id_column"
        )


def no_vectors(table: str) -> UsageError:
    return UsageError(f"the table {table} holds no vectors")


def no_column(table: str, column: str, known: Sequence[str]) -> UsageError:
    return UsageError(f"the table {table} has no column {column!r}; it has {', '.join(known)}")


def only_vector_column(table: str, found: Sequence[str]) -> str:
    if len(found) != 1:
        several = f"has several columns of vectors ({', '.join(found)})" if found else "has no column of vectors"
        raise UsageError(f"the table {table} {several}; name one with the option vector_column")
    return found[0]
