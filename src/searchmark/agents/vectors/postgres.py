"""Connections to PostgreSQL, distances of pgvector, and existing tables of vectors. No error contains a password."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import Vectors
from searchmark.agents.vectors.index import Distance, NeighbourRecall, Neighbours, VectorNumbers, VectorScores
from searchmark.agents.vectors.table import (
    SAMPLED_ROWS,
    NearestRows,
    VectorTableSettings,
    choose_vector_column,
    no_column_error,
    no_vectors_error,
    refuse_unsearchable_rows,
)
from searchmark.errors import Missing, MissingService, ServiceError, UsageError
from searchmark.io.network import check_network
from searchmark.io.secrets import DEFAULT_DSN, DSN_VARIABLE, database_address, forms_of, passwords_in, scrub
from searchmark.records.provenance import VectorStatistics

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

    PostgresConnection = psycopg.Connection[Any]


# Distances as pgvector has them: operators, operator classes, and the scores that follow from what the operators give.


@dataclass(frozen=True)
class PgDistance:
    """One of pgvector's distances, and the score that we make of it."""

    operator: str  # gives a number that is the smaller, the nearer a vector is
    opclass: str  # what an index of it is made with
    offset: float  # a score is this less that number

    def scores(self, distances: VectorScores) -> VectorScores:
        """What is nearer scores more; the cosine to a vector of zeros, which pgvector does not know, is 0."""
        scores: VectorScores = np.nan_to_num(self.offset - distances, nan=0.0)
        return scores


PG_DISTANCES: dict[Distance, PgDistance] = {
    "cosine": PgDistance("<=>", "cosine_ops", 1.0),
    "ip": PgDistance("<#>", "ip_ops", 0.0),
    "l2": PgDistance("<->", "l2_ops", 0.0),
}


def vector_literal(query: Vectors) -> str:
    """A query as pgvector reads it; every digit of a float32 arrives."""
    return str(query.tolist())


def exact_scores(rows: NDArray[np.float64], query: NDArray[np.float64], distance: Distance) -> VectorScores:
    """The scores of vectors in float64, row by row, so that equal vectors get equal scores."""
    if distance == "l2":
        return np.asarray(-np.sqrt(((rows - query) ** 2).sum(axis=1)))
    scores: VectorScores = (rows * query).sum(axis=1)
    if distance == "cosine":
        lengths = np.sqrt((rows * rows).sum(axis=1) * (query * query).sum())
        np.divide(scores, lengths, out=scores, where=lengths > 0)
    return scores


def top_k(numbers: VectorNumbers, scores: VectorScores, k: int) -> Neighbours:
    """The best ``k``; equal scores are ordered by number."""
    best = np.lexsort((numbers, -scores))[:k]
    return Neighbours(numbers[best], scores[best])


# Connections, and what is said where PostgreSQL refuses something; no sentence ever holds a password.
#
# psycopg is imported when the first connection is opened. A connection that was lost stays lost: the database may hold something
# else by then, and a search that fails is better than one that answers from other data.

CONNECT_SECONDS = 10

_PASSWORD_REFUSED = re.compile(r"password authentication failed|no password supplied")

_UNREACHABLE = re.compile(r"Connection refused|No such file|timeout|timed out|could not translate|resolve|unreachable")


@dataclass(frozen=True)
class Extension:
    """The extension pgvector as a database has it: in which schema, and which version."""

    schema: str
    version: str

    def has(self, *version: int) -> bool:
        """Whether it is this version or a later one."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)) >= version


def connect(dsn: str) -> PostgresConnection:
    """A connection that commits by itself; ``dsn`` may name environment variables as ``${NAME}``."""
    check_network("PostgreSQL")
    psycopg = _import_psycopg()
    _refuse_literal_password(dsn)
    address = database_address(dsn)
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise UsageError("dsn is not an address of a database; write postgresql://USER@HOST:PORT/NAME") from None
    parts["application_name"] = "searchmark"
    try:
        connection: PostgresConnection = psycopg.connect(**{"connect_timeout": CONNECT_SECONDS, **parts}, autocommit=True)
    except psycopg.Error as error:
        raise _connection_error(error, parts, address) from None
    with suppress(psycopg.Error):  # a server that cannot do it finds out later that we were killed
        connection.execute("SET client_connection_check_interval = '2s'")
    return connection


def vector_extension(connection: PostgresConnection) -> Extension:
    """The extension ``vector``, which must be there: to install it is for the owner of the database."""
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        name = connection.info.dbname
        raise UsageError(f"the database {name!r} has no extension vector; its owner can run CREATE EXTENSION vector there")
    return Extension(*row)


@contextmanager
def explain_errors(doing: str) -> Iterator[None]:
    """What PostgreSQL refuses inside the block becomes one sentence."""
    psycopg = _import_psycopg()
    try:
        yield
    except psycopg.Error as error:
        failed = "the connection to PostgreSQL was lost" if is_lost(error) else "PostgreSQL failed"
        raise ServiceError(f"{failed} while {doing}", excerpt=error_first_line(error)) from None


def is_lost(error: Any) -> bool:
    """By the server's own word; the library says nothing about states, neither of lost connections nor of values it cannot send."""
    if error.sqlstate is None:
        return isinstance(error, _import_psycopg().OperationalError | _import_psycopg().InterfaceError)
    return bool(error.sqlstate.startswith(("08", "57P")))


def _import_psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise Missing(
            "PostgreSQL is asked through psycopg, which is not installed; install the extra: pip install 'searchmark[postgres]'"
        ) from None
    return psycopg


def _refuse_literal_password(dsn: str) -> None:
    if passwords_in(dsn):
        raise UsageError(
            "dsn holds a password, which would be stored with the config; put the password into an environment variable and write "
            f"${{MY_PASSWORD}}, or the whole address into {DSN_VARIABLE}"
        )


def _connection_error(error: Exception, parts: dict[str, Any], address: str) -> ServiceError:
    reason = _without_passwords(error_first_line(error), address)
    where = f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"
    if _PASSWORD_REFUSED.search(reason):
        return ServiceError(f"PostgreSQL at {where} refuses the user or the password of dsn", excerpt=reason)
    if _UNREACHABLE.search(reason):
        return MissingService(f"no PostgreSQL answers at {where}; is it running, and is dsn right?", excerpt=reason)
    return ServiceError(f"PostgreSQL at {where} refuses the connection", excerpt=reason)


def error_first_line(error: Exception) -> str:
    """The first line of what a server or its library says; others repeat the statement."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _without_passwords(text: str, address: str) -> str:
    return scrub(text, frozenset(form for each in {address, *passwords_in(address)} for form in forms_of(each)))


# A table with vectors in PostgreSQL: every transaction of the session is read-only.

_TYPES = ("vector", "halfvec")

_NORMS = {"vector": "vector_norm", "halfvec": "l2_norm"}


_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


_INDEXES = """
SELECT pg_get_indexdef(i.indexrelid), pg_relation_size(i.indexrelid) FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) WHERE i.indrelid = %s AND a.attname = %s
"""

_NEAREST = "SELECT {key}::text, {column} {operator} %s::{type} AS distance FROM {table}{where} ORDER BY distance LIMIT {k}"


# By the id as well: no index has that order, and it makes the truth one of its kind where rows are equally near. No condition is
# on the distance: it could be computed before the filter, of vectors that it leaves out.
_TRUE_NEAREST = """
SELECT key, distance FROM (
  SELECT {key}::text AS key, {column} {operator} %s::{type} AS distance, {column} IS NOT NULL AS given FROM {table}{where}
) AS row WHERE given ORDER BY distance, key LIMIT {k}
"""


_STATISTICS = """
SELECT count(*) FILTER (WHERE norm = 0), count(scalars) - count(DISTINCT scalars), count(*) FILTER (WHERE dims <> {dimension}),
  avg(norm), stddev_pop(norm), min(norm), min(norm) FILTER (WHERE norm > 0), max(norm)
FROM (SELECT {column} AS scalars, {norm}({column}) AS norm, vector_dims({column}) AS dims FROM {table}{where} LIMIT {k}) AS row
"""

_NORM_NAMES = ("norm_mean", "norm_std", "norm_min", "norm_min_nonzero", "norm_max")  # as they are selected there


_UNUSABLE_ROWS_QUERY = """
SELECT count({column}), count(*) FILTER (WHERE vector_dims({column}) <> {dimension}),
  count(*) FILTER (WHERE {key} IS NULL AND {column} IS NOT NULL) FROM {table}{where}
"""


_METHODS = """
SELECT array(SELECT m.amname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
  WHERE i.indrelid = t.oid) FROM pg_class t WHERE t.oid = %s AND t.relkind IN ('r', 'm') AND NOT t.relhassubclass
"""

_COUNT = "SELECT count({column}) FROM {table}{where}"

_EXACT_SEARCH_SETTINGS = ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan")


@dataclass(frozen=True)
class VectorColumn:
    """The vectors of a table."""

    oid: int
    schema: str
    table: str
    name: str
    type: str
    dimension: int  # what the type says; below 1 if it says nothing


class PostgresVectorTable:
    """An `ExistingTable` of pgvector, searched with the settings of the database unless the options have others."""

    def __init__(self, options: VectorTableSettings) -> None:
        self._options = options
        self._connection = connect(options.dsn or DEFAULT_DSN)
        try:
            with explain_errors("the table was looked at"):
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        self._connection.execute("SET default_transaction_read_only = on")
        self._extension = vector_extension(self._connection)
        self._column = _find_vector_column(self._connection, self._options)
        # Operators of vectors are found wherever they were installed.
        self._connection.execute(
            "SELECT set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(%s)), false)",
            [self._extension.schema],
        )
        self.dimension = max(self._column.dimension, 0)
        self._check_filter()
        self._check_settings()
        self.dimension = self.dimension or self._measured_dimension()
        refuse_unsearchable_rows(self._options, self.dimension, *self._one(_UNUSABLE_ROWS_QUERY))
        for name, value in _settings(self._options).items():
            self._connection.execute("SELECT set_config(%s, %s, false)", [name, value])

    def _check_filter(self) -> None:
        """One value after the other, so that the one that cannot be compared with its column is known."""
        from psycopg import Error

        for name, value in (self._options.filter or {}).items():
            one = replace(self._options, filter={name: value})
            try:
                self._connection.execute(self._sql("SELECT FROM {table}{where} LIMIT 0", options=one), _values(one))
            except Error as error:
                if is_lost(error):
                    raise
                raise UsageError(f"filter {name}: {error_first_line(error)}") from None

    def _check_settings(self) -> None:
        """What no index of the table heeds is refused; those behind a view or of partitions are not known here."""
        row = self._connection.execute(_METHODS, [self._column.oid]).fetchone()
        for setting in () if row is None else _settings(self._options):
            method, _, option = setting.partition(".")
            if row is not None and method not in row[0]:
                raise UsageError(f"{option} has no effect: the table {self._options.table} has no index of {method}; leave it out")

    def nearest(self, query: Vectors, k: int) -> NearestRows:
        with explain_errors("the table was searched"):
            return self._rows(_NEAREST, query, k)

    def scores(self, rows: NearestRows) -> list[float]:
        scores: list[float] = PG_DISTANCES[self._options.distance].scores(np.array(rows.distances, dtype=np.float64)).tolist()
        return scores

    def recall(self, query: Vectors, rows: NearestRows, k: int) -> NeighbourRecall | None:
        """Both by the same operator, so that equal rows are equally far."""
        with explain_errors("the true neighbours were looked for"), self._connection.transaction():
            for name in _EXACT_SEARCH_SETTINGS:
                self._connection.execute("SELECT set_config(%s, 'off', true)", [name])
            true = self._rows(_TRUE_NEAREST, query, k)
        if not true.ids:
            return None
        furthest = _far_if_unknown(true.distances[-1])
        as_near = sum(_far_if_unknown(distance) <= furthest for distance in rows.distances[: len(true.ids)])
        same = (Counter(rows.ids[: len(true.ids)]) & Counter(true.ids)).total()
        return NeighbourRecall(len(true.ids), as_near / len(true.ids), same / len(true.ids))

    def size(self) -> int | None:
        return sum(size for _, size in self._indexes()) or None

    def statistics(self) -> VectorStatistics:
        with explain_errors("the vectors were looked at"):
            (count,) = self._one(_COUNT)
            zero, duplicates, wrong, *norms = self._one(_STATISTICS, SAMPLED_ROWS)
        odd = {"zero": zero, "duplicates": duplicates, "wrong_dimension": wrong}
        sample_size = SAMPLED_ROWS if count > SAMPLED_ROWS else None
        lengths = dict(zip(_NORM_NAMES, norms, strict=True))
        return VectorStatistics(count=count, dimension=self.dimension, looked_at=sample_size, **odd, **lengths)

    def describe(self) -> Mapping[str, Any]:
        with explain_errors("the table was described"):
            return {
                "table": f"{self._column.schema}.{self._column.table}",
                "vector_column": f"{self._column.name} {self._column.type}({self.dimension})",
                "indexes": [definition for definition, _ in self._indexes()],
                "plan": self._plan(),
                "pgvector": self._extension.version,
                "postgresql": self._connection.info.parameter_status("server_version") or "unknown",
                **_settings(self._options),
            }

    def close(self) -> None:
        self._connection.close()

    def _rows(self, text: str, query: Vectors, k: int) -> NearestRows:
        records = self._connection.execute(self._sql(text, k), [vector_literal(query), *_values(self._options)]).fetchall()
        rows = [(key, distance) for key, distance in records if distance is not None]  # an empty vector is far from everything
        return NearestRows([key for key, _ in rows], [distance for _, distance in rows])

    def _plan(self) -> str:
        """The node that reads the table: whether an index is used is for the planner to decide."""
        query = np.zeros(self.dimension, dtype=np.float32)
        query[0] = 1
        (plan,) = self._one("EXPLAIN (FORMAT JSON) " + _NEAREST, 10, vector_literal(query))
        node = plan[0]["Plan"]
        while "Plans" in node:
            node = node["Plans"][0]
        return " using ".join(part for part in (node["Node Type"], node.get("Index Name")) if part)

    def _indexes(self) -> list[tuple[str, int]]:
        return self._connection.execute(_INDEXES, [self._column.oid, self._column.name]).fetchall()

    def _measured_dimension(self) -> int:
        first = "SELECT dims FROM (SELECT vector_dims({column}) AS dims FROM {table}{where}) AS row WHERE dims IS NOT NULL LIMIT 1"
        row = self._one(first)
        if row is None:  # no row has the values of the filter
            row = self._connection.execute(self._sql(first, options=replace(self._options, filter=None))).fetchone()
        if row is None:
            raise no_vectors_error(self._options.table)
        return int(row[0])

    def _one(self, text: str, k: int = 0, *values: Any) -> Any:
        return self._connection.execute(self._sql(text, k), [*values, *_values(self._options)]).fetchone()

    def _sql(self, text: str, k: int = 0, options: VectorTableSettings | None = None) -> sql.Composed:
        """A statement whose names are quoted and whose values are parameters."""
        from psycopg import sql

        conditions = [
            sql.SQL("{} = ANY(%s)" if isinstance(value, tuple) else "{} = %s").format(sql.Identifier(name))
            for name, value in ((options or self._options).filter or {}).items()
        ]
        return sql.SQL(text).format(
            key=sql.Identifier(self._options.id_column),
            column=sql.Identifier(self._column.name),
            type=sql.Identifier(self._column.type),
            table=sql.Identifier(self._column.schema, self._column.table),
            operator=sql.SQL(PG_DISTANCES[self._options.distance].operator),
            norm=sql.SQL(_NORMS[self._column.type]),
            where=sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions) if conditions else sql.SQL(""),
            dimension=sql.Literal(self.dimension),
            k=sql.Literal(k),
        )


def _far_if_unknown(distance: float) -> float:
    """The distance to a vector of zeros, which pgvector does not know under cosine."""
    return inf if isnan(distance) else distance


def _values(options: VectorTableSettings) -> list[Any]:
    return [_as_one_type(each) if isinstance(each, tuple) else each for each in (options.filter or {}).values()]


def _as_one_type(values: tuple[Any, ...]) -> list[Any]:
    """Whole numbers beside others are sent as decimals, since a list has one type."""
    return list(values) if len({type(each) for each in values}) == 1 else [Decimal(str(each)) for each in values]


def _settings(options: VectorTableSettings) -> dict[str, str]:
    settings = {
        "ivfflat.probes": options.probes,
        "hnsw.ef_search": options.ef_search,
        "hnsw.iterative_scan": options.iterative_scan,
    }
    return {name: str(value) for name, value in settings.items() if value is not None}


def _find_vector_column(connection: PostgresConnection, options: VectorTableSettings) -> VectorColumn:
    """The column of vectors of the table that is meant, by the search path where no schema is named."""
    from psycopg import sql

    identifier = sql.Identifier(*options.table.split(".", 1)).as_string(connection)
    rows = connection.execute(
        "SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = to_regclass(%s)",
        [identifier],
    ).fetchone()
    if rows is None:
        raise UsageError(f"the database {connection.info.dbname!r} has no table {options.table}")
    columns = {name: (kind, dimension) for name, kind, dimension in connection.execute(_COLUMNS, [rows[0]]).fetchall()}
    name = options.vector_column or choose_vector_column(options.table, [each for each in columns if columns[each][0] in _TYPES])
    for column in (name, options.id_column, *(options.filter or {})):
        if column not in columns:
            raise no_column_error(options.table, column, list(columns))
    if columns[name][0] not in _TYPES:
        raise UsageError(f"the column {name!r} of {options.table} is of type {columns[name][0]}; it must be vector or halfvec")
    oid, schema, table = rows
    kind, dimension = columns[name]
    return VectorColumn(oid, schema, table, name, kind, dimension)
