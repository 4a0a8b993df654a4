"""A table with vectors in PostgreSQL: every transaction of the session is read-only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.agents.existing.table import SAMPLE, Rows, VectorTableConfig, check_rows, no_column, no_vectors, only_vector_column
from searchmark.embedders.embedder import Vectors
from searchmark.errors import UsageError
from searchmark.indexes.pg_distances import DISTANCES, vector_text
from searchmark.indexes.recall import NeighbourRecall
from searchmark.records import VectorStatistics
from searchmark.services.postgres import connected, explained, is_lost, said_by, vector_extension
from searchmark.services.variables import DEFAULT_DSN

if TYPE_CHECKING:
    from psycopg import sql

    from searchmark.services.postgres import Connection

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
_ODD_ROWS = """
SELECT count({column}), count(*) FILTER (WHERE vector_dims({column}) <> {dimension}),
  count(*) FILTER (WHERE {key} IS NULL AND {column} IS NOT NULL) FROM {table}{where}
"""
_METHODS = """
SELECT array(SELECT m.amname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
  WHERE i.indrelid = t.oid) FROM pg_class t WHERE t.oid = %s AND t.relkind IN ('r', 'm') AND NOT t.relhassubclass
"""
_COUNT = "SELECT count({column}) FROM {table}{where}"
_EXACT = ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan")


@dataclass(frozen=True)
class TableColumn:
    """The vectors of a table."""

    oid: int
    schema: str
    table: str
    name: str
    type: str
    dimension: int  # what the type says; below 1 if it says nothing


class PostgresTable:
    """An `ExistingTable` of pgvector, searched with the settings of the database unless the options have others."""

    def __init__(self, options: VectorTableConfig) -> None:
        self._options = options
        self._connection = connected(options.dsn or DEFAULT_DSN)
        try:
            with explained("the table was looked at"):
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        self._connection.execute("SET default_transaction_read_only = on")
        self._extension = vector_extension(self._connection)
        self._column = _column(self._connection, self._options)
        # Operators of vectors are found wherever they were installed.
        self._connection.execute(
            "SELECT set_config('search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(%s)), false)",
            [self._extension.schema],
        )
        self.dimension = max(self._column.dimension, 0)
        self._check_filter()
        self._check_settings()
        self.dimension = self.dimension or self._measured_dimension()
        check_rows(self._options, self.dimension, *self._one(_ODD_ROWS))
        for name, value in _settings(self._options).items():
            self._connection.execute("SELECT set_config(%s, %s, false)", [name, value])

    def _check_filter(self) -> None:
        """Each value by itself, so that it is known which one its column cannot be compared with."""
        from psycopg import Error

        for name, value in (self._options.filter or {}).items():
            one = replace(self._options, filter={name: value})
            try:
                self._connection.execute(self._sql("SELECT FROM {table}{where} LIMIT 0", options=one), _values(one))
            except Error as error:
                if is_lost(error):
                    raise
                raise UsageError(f"filter {name}: {said_by(error)}") from None

    def _check_settings(self) -> None:
        """What no index of the table heeds is refused; those behind a view or of partitions are not known here."""
        found = self._connection.execute(_METHODS, [self._column.oid]).fetchone()
        for setting in () if found is None else _settings(self._options):
            method, _, option = setting.partition(".")
            if found is not None and method not in found[0]:
                raise UsageError(f"{option} has no effect: the table {self._options.table} has no index of {method}; leave it out")

    def nearest(self, query: Vectors, k: int) -> Rows:
        with explained("the table was searched"):
            return self._rows(_NEAREST, query, k)

    def scores(self, rows: Rows) -> list[float]:
        scored: list[float] = DISTANCES[self._options.distance].scores(np.array(rows.distances, dtype=np.float64)).tolist()
        return scored

    def recall(self, query: Vectors, found: Rows, k: int) -> NeighbourRecall | None:
        """Both by the same operator, so that equal rows are equally far."""
        with explained("the true neighbours were looked for"), self._connection.transaction():
            for name in _EXACT:
                self._connection.execute("SELECT set_config(%s, 'off', true)", [name])
            true = self._rows(_TRUE_NEAREST, query, k)
        if not true.ids:
            return None
        furthest = _far_if_unknown(true.distances[-1])
        as_near = sum(_far_if_unknown(distance) <= furthest for distance in found.distances[: len(true.ids)])
        same = (Counter(found.ids[: len(true.ids)]) & Counter(true.ids)).total()
        return NeighbourRecall(len(true.ids), as_near / len(true.ids), same / len(true.ids))

    def size(self) -> int | None:
        return sum(size for _, size in self._indexes()) or None

    def statistics(self) -> VectorStatistics:
        with explained("the vectors were looked at"):
            (count,) = self._one(_COUNT)
            zero, duplicates, wrong, *norms = self._one(_STATISTICS, SAMPLE)
        odd = {"zero": zero, "duplicates": duplicates, "wrong_dimension": wrong}
        looked_at = SAMPLE if count > SAMPLE else None
        lengths = dict(zip(_NORM_NAMES, norms, strict=True))
        return VectorStatistics(count=count, dimension=self.dimension, looked_at=looked_at, **odd, **lengths)

    def describe(self) -> Mapping[str, Any]:
        with explained("the table was described"):
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

    def _rows(self, text: str, query: Vectors, k: int) -> Rows:
        found = self._connection.execute(self._sql(text, k), [vector_text(query), *_values(self._options)]).fetchall()
        rows = [(key, distance) for key, distance in found if distance is not None]  # an empty vector is far from everything
        return Rows([key for key, _ in rows], [distance for _, distance in rows])

    def _plan(self) -> str:
        """The node that reads the table: whether an index is used is for the planner to decide."""
        query = np.zeros(self.dimension, dtype=np.float32)
        query[0] = 1
        (plan,) = self._one("EXPLAIN (FORMAT JSON) " + _NEAREST, 10, vector_text(query))
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
            raise no_vectors(self._options.table)
        return int(row[0])

    def _one(self, text: str, k: int = 0, *values: Any) -> Any:
        return self._connection.execute(self._sql(text, k), [*values, *_values(self._options)]).fetchone()

    def _sql(self, text: str, k: int = 0, options: VectorTableConfig | None = None) -> sql.Composed:
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
            operator=sql.SQL(DISTANCES[self._options.distance].operator),
            norm=sql.SQL(_NORMS[self._column.type]),
            where=sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions) if conditions else sql.SQL(""),
            dimension=sql.Literal(self.dimension),
            k=sql.Literal(k),
        )


def _far_if_unknown(distance: float) -> float:
    """The distance to a vector of zeros, which pgvector does not know under cosine."""
    return inf if isnan(distance) else distance


def _values(options: VectorTableConfig) -> list[Any]:
    return [_one_type(each) if isinstance(each, tuple) else each for each in (options.filter or {}).values()]


def _one_type(values: tuple[Any, ...]) -> list[Any]:
    """Whole numbers beside others are sent as decimals, since a list has one type."""
    return list(values) if len({type(each) for each in values}) == 1 else [Decimal(str(each)) for each in values]


def _settings(options: VectorTableConfig) -> dict[str, str]:
    chosen = {"ivfflat.probes": options.probes, "hnsw.ef_search": options.ef_search, "hnsw.iterative_scan": options.iterative_scan}
    return {name: str(value) for name, value in chosen.items() if value is not None}


def _column(connection: Connection, options: VectorTableConfig) -> TableColumn:
    """The column of vectors of the table that is meant, by the search path where no schema is named."""
    from psycopg import sql

    quoted = sql.Identifier(*options.table.split(".", 1)).as_string(connection)
    found = connection.execute(
        "SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = to_regclass(%s)",
        [quoted],
    ).fetchone()
    if found is None:
        raise UsageError(f"the database {connection.info.dbname!r} has no table {options.table}")
    columns = {name: (kind, dimension) for name, kind, dimension in connection.execute(_COLUMNS, [found[0]]).fetchall()}
    name = options.vector_column or only_vector_column(options.table, [each for each in columns if columns[each][0] in _TYPES])
    for asked in (name, options.id_column, *(options.filter or {})):
        if asked not in columns:
            raise no_column(options.table, asked, list(columns))
    if columns[name][0] not in _TYPES:
        raise UsageError(f"the column {name!r} of {options.table} is of type {columns[name][0]}; it must be vector or halfvec")
    oid, schema, table = found
    kind, dimension = columns[name]
    return TableColumn(oid, schema, table, name, kind, dimension)
