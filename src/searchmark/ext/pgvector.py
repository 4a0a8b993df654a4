"""Vectors in PostgreSQL, by the extension pgvector: in a table of our own, that is dropped when the index is closed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors, normalized
from searchmark.errors import SearchmarkError, UsageError
from searchmark.indexes.index import Distance, IndexOptions, Neighbours, Numbers, check_same_build
from searchmark.indexes.lengths import is_near_to_nothing, near_unit
from searchmark.indexes.pg_distances import DISTANCES, in_order
from searchmark.indexes.pg_rows import VectorType, copied_rows
from searchmark.indexes.pg_search import VectorRows
from searchmark.indexes.pg_tables import OwnTable, new_table
from searchmark.options.sensitive import DatabaseAddress, UsesUnasked
from searchmark.options.strict import strict_record
from searchmark.services.postgres import connected, explained, vector_extension
from searchmark.services.variables import DEFAULT_DSN

if TYPE_CHECKING:
    from psycopg import sql

    from searchmark.services.postgres import Connection, Extension

LARGEST_INDEXED = {"vector": 2000, "halfvec": 4000}  # numbers of a vector that pgvector can index
LARGEST_EF = 1000  # that pgvector allows
REBUILT_ABOVE = 0.2  # share of the vectors that changed since the index was made
BUILD_MEMORY = "256MB"
_WALKED_ON = {"iterative_scan": "strict_order", "max_scan_tuples": str(2**31 - 1), "scan_mem_multiplier": "100"}
_NOT_WALKED_ON = {"iterative_scan": "off"}
_SCHEMA_NAME = re.compile(r"(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}")
_OF_METHODS = frozenset({"lists", "probes", "m", "ef_construction", "ef_search", "iterative_scan"})
IterativeScan = Literal["off", "strict_order", "relaxed_order"]


@strict_record
class PgvectorOptions(IndexOptions, UsesUnasked):
    """Options of ``pgvector``.

    ``dsn``: which database, as ``postgresql://user@host/name``; ``${NAME}`` in it is an environment variable, and the default is
    what ``--dsn`` or SEARCHMARK_DSN says. ``method``: ``none`` looks at every vector; ``lists`` and ``probes`` are of ``ivfflat``,
    ``m``, ``ef_construction`` and ``ef_search`` of ``hnsw``; ef_search is never less than the vectors that are asked for.
    ``iterative_scan``: what pgvector does where the index gives too few. ``type``: what vectors are stored as. ``schema``: where
    our tables are, and nothing else is; it is made unless it exists, and stays.
    """

    AT_SEARCH: ClassVar[frozenset[str]] = frozenset({"ef_search", "probes"})

    dsn: DatabaseAddress = DEFAULT_DSN
    method: Literal["none", "ivfflat", "hnsw"] = "hnsw"
    type: VectorType = "vector"
    lists: Annotated[int, Ge(1), Le(32768)] = 100
    probes: Annotated[int, Ge(1), Le(32768)] = 1
    m: Annotated[int, Ge(2), Le(100)] = 16
    ef_construction: Annotated[int, Ge(4), Le(1000)] = 64
    ef_search: Annotated[int, Ge(1), Le(LARGEST_EF)] = 40
    iterative_scan: IterativeScan = "off"
    schema: str = "searchmark"

    def __post_init__(self) -> None:
        if not _SCHEMA_NAME.fullmatch(self.schema):
            raise ValueError(f"schema is {self.schema[:80]!r}, and must be up to 63 small letters, digits and _, not pg_ first")

    def refuse_without_effect(self) -> None:
        heeded = {*self.parameters, *self.reach}
        for field in fields(self):
            if field.name in _OF_METHODS - heeded and getattr(self, field.name) != field.default:
                raise UsageError(f"{field.name} has no effect with method: {self.method}; leave it out")

    @classmethod
    def used_unasked(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG003  # always
        return {"dsn": DEFAULT_DSN}

    def open(self, dimension: int, distance: Distance) -> PgvectorIndex:
        self._check(dimension)
        connection = connected(self.dsn)
        try:
            with explained("a table was made"):
                return PgvectorIndex(self, Storage.make(connection, self, dimension), dimension, distance)
        except BaseException:
            connection.close()
            raise

    def _check(self, dimension: int) -> None:
        if self.method == "hnsw" and self.ef_construction < 2 * self.m:
            raise UsageError(f"ef_construction must be at least twice m, {2 * self.m}, and is {self.ef_construction}")
        largest = LARGEST_INDEXED[self.type]
        if self.method != "none" and dimension > largest:
            other = "; type: halfvec takes 4000" if largest < dimension <= LARGEST_INDEXED["halfvec"] else ""
            raise UsageError(f"pgvector indexes up to {largest} numbers per {self.type}, and the vectors have {dimension}{other}")

    @property
    def parameters(self) -> Mapping[str, int]:
        """What an index is made with, as CREATE INDEX has it."""
        if self.method == "hnsw":
            return {"m": self.m, "ef_construction": self.ef_construction}
        return {"lists": self.lists} if self.method == "ivfflat" else {}

    @property
    def reach(self) -> Mapping[str, Any]:
        """How much of an index is looked at."""
        if self.method == "none":
            return {}
        own: dict[str, Any] = {"ef_search": self.ef_search} if self.method == "hnsw" else {"probes": self.probes}
        return own | {"iterative_scan": self.iterative_scan}


@dataclass(frozen=True)
class Storage:
    """A session, and the table that it has made."""

    connection: Connection
    extension: Extension
    table: OwnTable
    server: str

    @classmethod
    def make(cls, connection: Connection, options: PgvectorOptions, dimension: int) -> Storage:
        from psycopg import sql

        extension = vector_extension(connection)
        if options.type == "halfvec" and not extension.has(0, 7):
            raise UsageError(f"type halfvec needs pgvector 0.7, and the database has {extension.version}")
        if options.iterative_scan != "off" and not extension.has(0, 8):
            raise UsageError(f"iterative_scan needs pgvector 0.8, and the database has {extension.version}")
        for name, value in _session_settings(extension, options).items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        kind = sql.SQL("{}({})").format(sql.Identifier(options.type), sql.Literal(dimension))
        table = new_table(connection, options.schema, kind)
        return cls(connection, extension, table, connection.info.parameter_status("server_version") or "unknown")


def _session_settings(extension: Extension, options: PgvectorOptions) -> dict[str, str]:
    """One process builds, since several need shared memory that containers lack; and no table is too small for its index."""
    from psycopg import sql

    settings = {
        "search_path": sql.Identifier(extension.schema).as_string(),  # its operators, wherever they were installed
        "maintenance_work_mem": BUILD_MEMORY,
        "max_parallel_maintenance_workers": "0",
        "enable_seqscan": "on" if options.method == "none" else "off",
    }
    if options.method == "ivfflat":
        settings["ivfflat.probes"] = str(options.probes)
    if options.iterative_scan != "off" and options.method != "none":
        settings[f"{options.method}.iterative_scan"] = options.iterative_scan
    return settings


def _rows_of(table: OwnTable, options: PgvectorOptions, distance: Distance) -> VectorRows:
    from psycopg import sql

    return VectorRows(table.identifier, "number", "embedding", options.type, distance, sql.SQL(""))


class PgvectorIndex:
    """A `TunableIndex` in a database. Without an index (``method: none``) of full vectors it is exact, in float64."""

    def __init__(self, options: PgvectorOptions, storage: Storage, dimension: int, distance: Distance) -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self.exact = options.method == "none" and options.type == "vector"
        self._of_unit_length = distance == "cosine" and options.type == "halfvec"  # others may be too long or too short for it
        self._options = options
        self._storage: Storage | None = storage
        self._rows = _rows_of(storage.table, options, distance)
        self._live: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._zeros: set[int] = set()  # for cosine: pgvector leaves them out of its indexes, and knows no distance to them
        self._changed = 0  # vectors that were put or dropped since the index was made
        self._dropped = False  # since the table was last cleaned
        self._indexed = False
        self._longest = 0.0
        self._settings: dict[str, str] = {}

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        if not len(numbers):
            return
        self._grow(int(numbers.max()) + 1)
        vectors = normalized(vectors) if self._of_unit_length else vectors
        there = numbers[self._live[numbers]]
        stored = self._without_zeros(numbers, vectors)
        with explained("vectors were stored"), self._open.connection.transaction():
            self._delete(there)
            statement = self._sql("COPY {table} (number, embedding) FROM STDIN (FORMAT binary)")
            with self._open.connection.cursor().copy(statement) as copy:
                for piece in copied_rows(numbers[stored], vectors[stored], self._options.type):
                    copy.write(piece)
        self._live[numbers] = True
        self._changed += len(numbers)
        self._longest = max(self._longest, float(np.linalg.norm(vectors, axis=1).max()))

    def drop(self, numbers: Numbers) -> None:
        with explained("vectors were removed"):
            self._delete(numbers)
        self._zeros.difference_update(numbers.tolist())
        self._live[numbers] = False
        self._changed += len(numbers)

    def build(self) -> None:
        """Make the index when there is something to make it of, and again when a fifth of that has changed.

        The lists of ivfflat are made of what is there at that time; whatever comes later only joins them. Rows that are gone
        hide others from an index until they are cleaned away.
        """
        if not self._live.any():
            return
        with explained("the index was built"):
            if self._options.method != "none" and self._is_outdated():
                self._make_index()
            elif self._dropped:
                self._open.connection.execute(self._sql("VACUUM {table}"))
            self._dropped = False

    def search(self, query: Vectors, k: int) -> Neighbours:
        k = min(k, int(np.count_nonzero(self._live)))
        if k < 1 or is_near_to_nothing(query, self.distance):
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        with explained("vectors were searched"):
            return self._search(near_unit(query) if self._of_unit_length else query, k)

    def searching_with(self, options: IndexOptions) -> None:
        self._options = check_same_build(self._options, options)
        if self._options.method == "ivfflat":  # that of a graph also depends on how many vectors are asked for
            with explained("the settings were changed"):
                self._set("ivfflat.probes", str(self._options.probes))

    def size(self) -> int:
        with explained("the table was measured"):
            name = self._open.table.identifier.as_string()
            row = self._open.connection.execute("SELECT pg_total_relation_size(%s::regclass)", [name]).fetchone()
        return int(row[0]) if row else 0

    def describe(self) -> Mapping[str, Any]:
        options = self._options
        versions = {"pgvector": self._open.extension.version, "postgresql": self._open.server}
        chosen = {"method": options.method, "type": options.type, **options.parameters, **options.reach}
        return {"name": "pgvector", **chosen, **versions}

    def close(self) -> None:
        if self._storage is None:
            return
        with suppress(SearchmarkError), explained("the table was dropped"):  # a lost table is removed at the next start
            self._storage.table.drop(self._storage.connection)
        self._storage.connection.close()
        self._storage = None

    @property
    def _open(self) -> Storage:
        if self._storage is None:
            raise UsageError("the index is closed")
        return self._storage

    def _grow(self, rows: int) -> None:
        if rows > len(self._live):
            self._live = np.concatenate((self._live, np.zeros(max(rows - len(self._live), len(self._live)), dtype=np.bool_)))

    def _without_zeros(self, numbers: Numbers, vectors: Vectors) -> NDArray[np.bool_]:
        """Which of these are kept in the table."""
        stored: NDArray[np.bool_] = np.ones(len(numbers), dtype=np.bool_)
        if self.distance == "cosine":
            stored = np.asarray(vectors.any(axis=1))
        self._zeros.difference_update(numbers.tolist())
        self._zeros.update(numbers[~stored].tolist())
        return stored

    def _delete(self, numbers: Numbers) -> None:
        if len(numbers):
            self._open.connection.execute(self._sql("DELETE FROM {table} WHERE number = ANY(%s)"), [numbers.tolist()])
            self._dropped = True

    def _is_outdated(self) -> bool:
        return not self._indexed or self._changed > REBUILT_ABOVE * int(np.count_nonzero(self._live))

    def _make_index(self) -> None:
        from psycopg import sql

        table, name = self._open.table, f"{self._open.table.name}_index"
        parameters = [
            sql.SQL("{} = {}").format(sql.Identifier(key), sql.Literal(value)) for key, value in self._options.parameters.items()
        ]
        made = sql.SQL("CREATE INDEX {name} ON {table} USING {method} (embedding {opclass}) WITH ({parameters})").format(
            name=sql.Identifier(name),
            table=table.identifier,
            method=sql.Identifier(self._options.method),
            opclass=sql.Identifier(f"{self._options.type}_{DISTANCES[self.distance].opclass}"),
            parameters=sql.SQL(", ").join(parameters),
        )
        self._open.connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(table.schema, name)))
        self._open.connection.execute(made)
        self._indexed, self._changed = True, 0

    def _search(self, query: Vectors, k: int) -> Neighbours:
        if self._options.method == "hnsw":
            self._reach(k)
        if self.exact:
            found = self._rows.exactly_nearest(self._open.connection, query, k, self._longest)
        else:
            found = self._rows.nearest(self._open.connection, query, k)
        numbers = np.concatenate((np.array(found.keys, dtype=np.int64), np.fromiter(self._zeros, np.int64)))
        return in_order(numbers, np.concatenate((found.scores, np.zeros(len(self._zeros)))), k)

    def _reach(self, k: int) -> None:
        """A graph gives no more than ef_search vectors, unless it is walked on from there."""
        self._set("hnsw.ef_search", str(min(max(self._options.ef_search, k), LARGEST_EF)))
        if self._options.iterative_scan == "off" and self._open.extension.has(0, 8):
            for name, value in (_WALKED_ON if k > LARGEST_EF else _NOT_WALKED_ON).items():
                self._set(f"hnsw.{name}", value)

    def _set(self, name: str, value: str) -> None:
        """Once, and not before every search."""
        if self._settings.get(name) != value:
            self._open.connection.execute("SELECT set_config(%s, %s, false)", [name, value])
            self._settings[name] = value

    def _sql(self, text: str) -> sql.Composed:
        from psycopg import sql

        return sql.SQL(text).format(table=self._open.table.identifier)
