"""The index `pgvector`: vectors in a PostgreSQL table that lives as long as the process."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import Vectors, normalize_rows
from searchmark.agents.vectors.index import (
    Distance,
    IndexSettings,
    Neighbours,
    VectorNumbers,
    VectorScores,
    has_no_direction,
    scale_to_unit,
    settings_for_search,
)
from searchmark.agents.vectors.postgres import (
    PG_DISTANCES,
    connect,
    exact_scores,
    explain_errors,
    top_k,
    vector_extension,
    vector_literal,
)
from searchmark.config.permissions import DatabaseAddress, ImpliedSettings
from searchmark.config.strict import STRICT, strict_record
from searchmark.errors import SearchmarkError, UsageError
from searchmark.io.secrets import DEFAULT_DSN

if TYPE_CHECKING:
    from psycopg import sql

    from searchmark.agents.vectors.postgres import Extension, PostgresConnection


# Numbered vectors in the binary format of PostgreSQL's COPY, made by numpy without a loop over the rows.

VectorType = Literal["vector", "halfvec"]

COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)

COPY_TRAILER = b"\xff\xff"

_SCALARS = {"vector": ">f4", "halfvec": ">f2"}

_ROWS_AT_ONCE = 4096


def copy_stream(numbers: VectorNumbers, vectors: Vectors, kind: VectorType) -> Iterator[bytes]:
    """What COPY reads, in pieces: a header, rows of two fields, an end."""
    yield COPY_HEADER
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield _rows(numbers[part], vectors[part], kind)
    yield COPY_TRAILER


def _rows(numbers: VectorNumbers, vectors: Vectors, kind: VectorType) -> bytes:
    """Each field has its length before it; a vector begins with its dimension and two bytes that are not used yet."""
    dimension = vectors.shape[1]
    scalar = np.dtype(_SCALARS[kind])
    layout = [
        ("fields", ">i2"),
        ("size", ">i4"),
        ("number", ">i8"),
        ("bytes", ">i4"),
        ("dimension", ">i2"),
        ("unused", ">i2"),
    ]
    rows = np.zeros(len(numbers), dtype=[*layout, ("scalars", scalar, (dimension,))])
    rows["fields"], rows["size"], rows["number"] = 2, 8, numbers
    rows["bytes"], rows["dimension"] = 4 + dimension * scalar.itemsize, dimension
    with np.errstate(over="ignore"):  # what is too large for a halfvec becomes infinite, which PostgreSQL refuses
        rows["scalars"] = vectors
    return rows.tobytes()


# The nearest rows of a table with vectors: as the planner and its index find them, and exactly, by a scan.

EXTRA_ROWS = 16  # rows beyond the k-th that an exact search looks at, to see whether float32 could have confused them


@dataclass(frozen=True, eq=False)
class FoundRows:
    """Keys of rows and their scores, not in any order that could be relied on."""

    keys: Sequence[Any]
    scores: VectorScores


@dataclass(frozen=True)
class VectorRows:
    """Rows with a key and a vector of one type, those that meet a condition."""

    relation: sql.Composable
    key: str
    column: str
    type: str
    distance: Distance
    condition: sql.Composable
    values: Sequence[Any] = ()

    def nearest(self, connection: PostgresConnection, query: Vectors, k: int) -> FoundRows:
        """The nearest as the planner and its index find them."""
        statement = (
            "SELECT {key}, {column} {operator} %s::{type} AS distance FROM {relation}{condition} ORDER BY distance LIMIT {k}"
        )
        rows = connection.execute(self._sql(statement, k), [vector_literal(query), *self.values], binary=True).fetchall()
        distances = np.fromiter((row[1] for row in rows), np.float64, len(rows))
        return FoundRows([row[0] for row in rows], PG_DISTANCES[self.distance].scores(distances))

    def exactly_nearest(self, connection: PostgresConnection, query: Vectors, k: int, longest: float) -> FoundRows:
        """At least all of the nearest ``k``, scored in float64; whatever float32 could have confused is among them.

        ``longest`` is the greatest length of a vector: the longer they are, the less certain are inner products.
        """
        nearest = self._sql("SELECT * FROM ({scored}) AS row ORDER BY distance LIMIT {k}", k + EXTRA_ROWS)
        values = [vector_literal(query), *self.values]
        rows = connection.execute(nearest, values, binary=True).fetchall()
        if len(rows) == k + EXTRA_ROWS:
            limit = rows[k - 1][1] + 2 * self._uncertainty(query, rows[k - 1][1], longest)
            if rows[-1][1] <= limit:  # then rows that are as near may be further behind
                near = self._sql("SELECT * FROM ({scored}) AS row WHERE distance <= %s")
                rows = connection.execute(near, [*values, limit], binary=True).fetchall()
        return self._rescored(rows, query)

    def _rescored(self, rows: Sequence[Any], query: Vectors) -> FoundRows:
        vectors = np.array([row[2] for row in rows], dtype=np.float64).reshape(len(rows), len(query))
        return FoundRows([row[0] for row in rows], exact_scores(vectors, query.astype(np.float64), self.distance))

    def _uncertainty(self, query: Vectors, distance: float, longest: float) -> float:
        """How far a distance in float32 can be from the exact one."""
        unit = 4 * len(query) * 2.0**-24
        if self.distance == "cosine":
            return unit
        return unit * (float(np.linalg.norm(query)) * longest if self.distance == "ip" else abs(distance))

    def _sql(self, text: str, k: int = 0) -> sql.Composed:
        """The distance to a vector of zeros, which pgvector does not know, is that of one at a right angle."""
        from psycopg import sql

        parts: dict[str, sql.Composable] = {
            "relation": self.relation,
            "condition": self.condition,
            "key": sql.Identifier(self.key),
            "column": sql.Identifier(self.column),
            "type": sql.Identifier(self.type),
            "operator": sql.SQL(PG_DISTANCES[self.distance].operator),
        }
        select = sql.SQL(
            "SELECT {key} AS key, coalesce(nullif({column} {operator} %s::{type}, 'NaN'), 1) AS distance, "
            "{column}::vector::real[] AS scalars FROM {relation}{condition}"
        )
        return sql.SQL(text).format(**parts, scored=select.format(**parts), k=sql.Literal(k))


# Tables of our own in a database of others: one per index, in a schema of ours, and none is left behind for long.
#
# The name of a table is the number of a lock that its session holds. The server releases the lock when the session ends, however
# that happens, so a table whose lock is free belongs to no process any longer.

PREFIX = "searchmark_vectors_"

COMMENT = "made by searchmark for one process, and dropped when that ends"

_OUR_TABLE_NAME = re.compile(rf"{PREFIX}([0-9a-f]{{16}})")


@dataclass(frozen=True)
class TemporaryTable:
    """A table that lives as long as its session."""

    schema: str
    name: str

    @property
    def identifier(self) -> sql.Identifier:
        from psycopg import sql

        return sql.Identifier(self.schema, self.name)

    @property
    def lock(self) -> int:
        return _lock_number(self.name)

    def drop(self, connection: PostgresConnection) -> None:
        """Remove the table, and release its lock."""
        from psycopg import sql

        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self.identifier))
        connection.execute("SELECT pg_advisory_unlock(%s)", [self.lock])


def create_table(connection: PostgresConnection, schema: str, vector_type: sql.Composable) -> TemporaryTable:
    """An empty table with a number and a vector in each row; tables of processes that were killed are removed first."""
    from psycopg import sql

    _create_schema(connection, schema)
    _check_rights(connection, schema)
    _remove_abandoned(connection, schema)
    table = TemporaryTable(schema, f"{PREFIX}{secrets.token_hex(8)}")
    connection.execute("SELECT pg_advisory_lock(%s)", [table.lock])  # before the table is there to be found
    with connection.transaction():
        statement = sql.SQL("CREATE UNLOGGED TABLE {} (number bigint PRIMARY KEY, embedding {} NOT NULL)")
        connection.execute(statement.format(table.identifier, vector_type))
        connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(table.identifier, sql.Literal(COMMENT)))
    return table


def _check_rights(connection: PostgresConnection, schema: str) -> None:
    row = connection.execute(
        "SELECT has_schema_privilege(%s, 'USAGE') AND has_schema_privilege(%s, 'CREATE')", [schema] * 2
    ).fetchone()
    if row is None or not row[0]:
        user = connection.info.user
        raise UsageError(
            f"the user {user!r} may not create tables in the schema {schema!r}; let its owner run "
            f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{user}", or name a schema of yours as the option schema'
        )


def _create_schema(connection: PostgresConnection, schema: str) -> None:
    import psycopg
    from psycopg import sql

    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is not None:
        _refuse_foreign_tables(connection, schema)
        return
    try:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    except psycopg.errors.InsufficientPrivilege:
        info = connection.info
        raise UsageError(
            f"the user {info.user!r} may not create the schema {schema!r} in the database {info.dbname!r}; let its owner run "
            f'GRANT CREATE ON DATABASE "{info.dbname}" TO "{info.user}", or name a schema of yours as the option schema'
        ) from None
    except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema):
        pass  # another process has just made it


def _refuse_foreign_tables(connection: PostgresConnection, schema: str) -> None:
    """Refuse a schema that holds anything else; indexes and the like belong to tables."""
    row = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
        "AND c.relkind NOT IN ('i', 'I', 't') AND c.relname !~ %s ORDER BY c.relname LIMIT 1",
        [schema, f"^{_OUR_TABLE_NAME.pattern}$"],
    ).fetchone()
    if row is not None:
        raise UsageError(f"the schema {schema!r} holds {row[0]!r}, which is not ours; set the option schema to a new name")


def _remove_abandoned(connection: PostgresConnection, schema: str) -> None:
    """Drop what killed processes of this user left: tables with our name and comment whose lock is free."""
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r' "
        "AND pg_get_userbyid(c.relowner) = current_user AND obj_description(c.oid, 'pg_class') = %s",
        [schema, COMMENT],
    ).fetchall()
    for (name,) in rows:
        if _OUR_TABLE_NAME.fullmatch(name):
            _drop_if_abandoned(connection, TemporaryTable(schema, name))


def _drop_if_abandoned(connection: PostgresConnection, table: TemporaryTable) -> None:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [table.lock]).fetchone()
    if row is not None and row[0]:
        table.drop(connection)


def _lock_number(name: str) -> int:
    return int.from_bytes(bytes.fromhex(name.removeprefix(PREFIX)), "big", signed=True)


# Vectors in PostgreSQL, by the extension pgvector: in a table of our own, that is dropped when the index is closed.

LARGEST_INDEXED = {"vector": 2000, "halfvec": 4000}  # numbers of a vector that pgvector can index

LARGEST_EF = 1000  # that pgvector allows

REBUILT_ABOVE = 0.2  # share of the vectors that changed since the index was made

BUILD_MEMORY = "256MB"

_ITERATIVE_SCAN_SETTINGS = {"iterative_scan": "strict_order", "max_scan_tuples": str(2**31 - 1), "scan_mem_multiplier": "100"}

_NO_ITERATIVE_SCAN_SETTINGS = {"iterative_scan": "off"}

_SCHEMA_NAME = re.compile(r"(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}")

_METHOD_OPTIONS = frozenset({"lists", "probes", "m", "ef_construction", "ef_search", "iterative_scan"})

IterativeScan = Literal["off", "strict_order", "relaxed_order"]


@strict_record
class PgvectorSettings(IndexSettings, ImpliedSettings):
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
    lists: Annotated[int, Ge(1), Le(32768), STRICT] = 100
    probes: Annotated[int, Ge(1), Le(32768), STRICT] = 1
    m: Annotated[int, Ge(2), Le(100), STRICT] = 16
    ef_construction: Annotated[int, Ge(4), Le(1000), STRICT] = 64
    ef_search: Annotated[int, Ge(1), Le(LARGEST_EF), STRICT] = 40
    iterative_scan: IterativeScan = "off"
    schema: str = "searchmark"

    def __post_init__(self) -> None:
        if not _SCHEMA_NAME.fullmatch(self.schema):
            raise ValueError(f"schema is {self.schema[:80]!r}, and must be up to 63 small letters, digits and _, not pg_ first")

    def refuse_without_effect(self) -> None:
        used_names = {*self.parameters, *self.reach}
        for field in fields(self):
            if field.name in _METHOD_OPTIONS - used_names and getattr(self, field.name) != field.default:
                raise UsageError(f"{field.name} has no effect with method: {self.method}; leave it out")

    @classmethod
    def implied_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG003  # always
        return {"dsn": DEFAULT_DSN}

    def ignored(self) -> set[str]:
        return {field.name for field in fields(self)} - {"dsn", "method", "type", "schema", *self.parameters, *self.reach}

    def least_candidates(self, k: int) -> int:
        return min(k, LARGEST_EF)

    def open(self, dimension: int, distance: Distance) -> PgvectorIndex:
        self._check(dimension)
        connection = connect(self.dsn)
        try:
            with explain_errors("a table was made"):
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
        options: dict[str, Any] = {"ef_search": self.ef_search} if self.method == "hnsw" else {"probes": self.probes}
        return options | {"iterative_scan": self.iterative_scan}


@dataclass(frozen=True)
class Storage:
    """A session, and the table that it has made."""

    connection: PostgresConnection
    extension: Extension
    table: TemporaryTable
    server: str

    @classmethod
    def make(cls, connection: PostgresConnection, options: PgvectorSettings, dimension: int) -> Storage:
        from psycopg import sql

        extension = vector_extension(connection)
        if options.type == "halfvec" and not extension.has(0, 7):
            raise UsageError(f"type halfvec needs pgvector 0.7, and the database has {extension.version}")
        if options.iterative_scan != "off" and not extension.has(0, 8):
            raise UsageError(f"iterative_scan needs pgvector 0.8, and the database has {extension.version}")
        for name, value in _session_settings(extension, options).items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        kind = sql.SQL("{}({})").format(sql.Identifier(options.type), sql.Literal(dimension))
        table = create_table(connection, options.schema, kind)
        return cls(connection, extension, table, connection.info.parameter_status("server_version") or "unknown")


def _session_settings(extension: Extension, options: PgvectorSettings) -> dict[str, str]:
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


def _vector_rows(table: TemporaryTable, options: PgvectorSettings, distance: Distance) -> VectorRows:
    from psycopg import sql

    return VectorRows(table.identifier, "number", "embedding", options.type, distance, sql.SQL(""))


class PgvectorIndex:
    """A `TunableIndex` in a database. Without an index (``method: none``) of full vectors it is exact, in float64."""

    def __init__(self, options: PgvectorSettings, storage: Storage, dimension: int, distance: Distance) -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self.exact = options.method == "none" and options.type == "vector"
        self._of_unit_length = distance == "cosine" and options.type == "halfvec"  # others may be too long or too short for it
        self._options = options
        self._storage: Storage | None = storage
        self._rows = _vector_rows(storage.table, options, distance)
        self._live: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._zeros: set[int] = set()  # for cosine: pgvector leaves them out of its indexes, and knows no distance to them
        self._changed = 0  # vectors that were put or dropped since the index was made
        self._dropped = False  # since the table was last cleaned
        self._indexed = False
        self._longest = 0.0
        self._settings: dict[str, str] = {}

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        if not len(numbers):
            return
        self._grow(int(numbers.max()) + 1)
        vectors = normalize_rows(vectors) if self._of_unit_length else vectors
        there = numbers[self._live[numbers]]
        stored = self._without_zeros(numbers, vectors)
        with explain_errors("vectors were stored"), self._open.connection.transaction():
            self._delete(there)
            statement = self._sql("COPY {table} (number, embedding) FROM STDIN (FORMAT binary)")
            with self._open.connection.cursor().copy(statement) as copy:
                for piece in copy_stream(numbers[stored], vectors[stored], self._options.type):
                    copy.write(piece)
        self._live[numbers] = True
        self._changed += len(numbers)
        self._longest = max(self._longest, float(np.linalg.norm(vectors, axis=1).max()))

    def drop(self, numbers: VectorNumbers) -> None:
        with explain_errors("vectors were removed"):
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
        with explain_errors("the index was built"):
            if self._options.method != "none" and self._is_outdated():
                self._make_index()
            elif self._dropped:
                self._open.connection.execute(self._sql("VACUUM {table}"))
            self._dropped = False

    def search(self, query: Vectors, k: int) -> Neighbours:
        k = min(k, int(np.count_nonzero(self._live)))
        if k < 1 or has_no_direction(query, self.distance):
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        with explain_errors("vectors were searched"):
            return self._search(scale_to_unit(query) if self._of_unit_length else query, k)

    def searching_with(self, options: IndexSettings) -> None:
        self._options = settings_for_search(self._options, options)
        if self._options.method == "ivfflat":  # that of a graph also depends on how many vectors are asked for
            with explain_errors("the settings were changed"):
                self._set("ivfflat.probes", str(self._options.probes))

    def size(self) -> int:
        with explain_errors("the table was measured"):
            name = self._open.table.identifier.as_string()
            row = self._open.connection.execute("SELECT pg_total_relation_size(%s::regclass)", [name]).fetchone()
        return int(row[0]) if row else 0

    def describe(self) -> Mapping[str, Any]:
        options = self._options
        versions = {"pgvector": self._open.extension.version, "postgresql": self._open.server}
        settings = {"method": options.method, "type": options.type, **options.parameters, **options.reach}
        return {"name": "pgvector", **settings, **versions}

    def close(self) -> None:
        if self._storage is None:
            return
        with suppress(SearchmarkError), explain_errors("the table was dropped"):  # a lost table is removed at the next start
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

    def _without_zeros(self, numbers: VectorNumbers, vectors: Vectors) -> NDArray[np.bool_]:
        """Which of these are kept in the table."""
        stored: NDArray[np.bool_] = np.ones(len(numbers), dtype=np.bool_)
        if self.distance == "cosine":
            stored = np.asarray(vectors.any(axis=1))
        self._zeros.difference_update(numbers.tolist())
        self._zeros.update(numbers[~stored].tolist())
        return stored

    def _delete(self, numbers: VectorNumbers) -> None:
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
        statement = sql.SQL("CREATE INDEX {name} ON {table} USING {method} (embedding {opclass}) WITH ({parameters})").format(
            name=sql.Identifier(name),
            table=table.identifier,
            method=sql.Identifier(self._options.method),
            opclass=sql.Identifier(f"{self._options.type}_{PG_DISTANCES[self.distance].opclass}"),
            parameters=sql.SQL(", ").join(parameters),
        )
        self._open.connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(table.schema, name)))
        self._open.connection.execute(statement)
        self._indexed, self._changed = True, 0

    def _search(self, query: Vectors, k: int) -> Neighbours:
        if self._options.method == "hnsw":
            self._reach(k)
        if self.exact:
            rows = self._rows.exactly_nearest(self._open.connection, query, k, self._longest)
        else:
            rows = self._rows.nearest(self._open.connection, query, k)
        numbers = np.concatenate((np.array(rows.keys, dtype=np.int64), np.fromiter(self._zeros, np.int64)))
        return top_k(numbers, np.concatenate((rows.scores, np.zeros(len(self._zeros)))), k)

    def _reach(self, k: int) -> None:
        """A graph gives no more than ef_search vectors, unless it is walked on from there."""
        self._set("hnsw.ef_search", str(min(max(self._options.ef_search, k), LARGEST_EF)))
        if self._options.iterative_scan == "off" and self._open.extension.has(0, 8):
            for name, value in (_ITERATIVE_SCAN_SETTINGS if k > LARGEST_EF else _NO_ITERATIVE_SCAN_SETTINGS).items():
                self._set(f"hnsw.{name}", value)

    def _set(self, name: str, value: str) -> None:
        """Once, and not before every search."""
        if self._settings.get(name) != value:
            self._open.connection.execute("SELECT set_config(%s, %s, false)", [name, value])
            self._settings[name] = value

    def _sql(self, text: str) -> sql.Composed:
        from psycopg import sql

        return sql.SQL(text).format(table=self._open.table.identifier)
