"""The agent `vector-table`: searches a table of vectors that already exists, in SQLite or PostgreSQL.

Tables are read and never written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np
from annotated_types import Ge, Le

from searchmark.agents.protocol import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.vectors import EmbedderEntry, embedder_settings, load_embedder
from searchmark.agents.vectors.embedder import Vectors
from searchmark.agents.vectors.index import Distance, NeighbourRecall
from searchmark.config.permissions import DatabaseAddress, FilePath, ImpliedSettings
from searchmark.config.strict import STRICT, Number, Whole, strict_record
from searchmark.errors import Missing, UsageError
from searchmark.io.paths import expand_paths
from searchmark.io.plugins import load_code
from searchmark.io.secrets import DEFAULT_DSN
from searchmark.io.sqlite import load_vector_functions, sql_name
from searchmark.records.provenance import VectorStatistics

if TYPE_CHECKING:
    from searchmark.agents.vectors.embedder import Embedder
    from searchmark.formats.corpora.corpus import Changes, Corpus


# What a table with vectors is to the agent that searches it.

SAMPLED_ROWS = 100_000  # rows whose vectors are looked at for statistics

FilterValue = str | Whole | Number | bool

_PGVECTOR_OPTIONS = ("probes", "ef_search", "iterative_scan")


@strict_record
class VectorTableSettings(ImpliedSettings):
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
    filter: Mapping[str, FilterValue | tuple[FilterValue, ...]] | None = None
    embedder: EmbedderEntry = "wordllama"
    probes: Annotated[int, Ge(1), Le(32768), STRICT] | None = None
    ef_search: Annotated[int, Ge(1), Le(1000), STRICT] | None = None
    iterative_scan: Literal["off", "strict_order", "relaxed_order"] | None = None
    recall_k: Annotated[int, Ge(1), STRICT] = 10
    measure_recall: bool = True

    def __post_init__(self) -> None:
        expand_paths(self, "database")
        if self.dsn is not None and self.database is not None:
            raise UsageError("a table is in PostgreSQL (dsn) or in SQLite (database); leave out one of the two")
        if self.database is not None and (names := [name for name in _PGVECTOR_OPTIONS if getattr(self, name) is not None]):
            raise UsageError(f"{' and '.join(names)} would have no effect in SQLite (database); leave it out")
        for column, values in (self.filter or {}).items():
            _check_filter(column, values, typed=self.database is None)

    @classmethod
    def implied_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {} if options.get("database") else {"dsn": DEFAULT_DSN}


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Rows that were found, nearest first: their ids, and how far they are by the operator of the database."""

    ids: Sequence[str]
    distances: Sequence[float]


class ExistingTable(Protocol):
    """A table that somebody else has made."""

    dimension: int

    def nearest(self, query: Vectors, k: int) -> NearestRows:
        """What the database finds."""

    def scores(self, rows: NearestRows) -> list[float]:
        """What is nearer scores more."""

    def recall(self, query: Vectors, rows: NearestRows, k: int) -> NeighbourRecall | None:
        """What was found of the true nearest; None if there are none."""

    def size(self) -> int | None:
        """Bytes of its indexes of vectors; None if it has none."""

    def statistics(self) -> VectorStatistics:
        """What its vectors are like, the first of them where there are very many."""

    def describe(self) -> Mapping[str, Any]:
        """Versions, and how the table is indexed."""

    def close(self) -> None:
        """End the session."""


def _check_filter(column: str, values: FilterValue | tuple[FilterValue, ...], *, typed: bool) -> None:
    """Columns of PostgreSQL are typed; one of SQLite can hold whatever there is."""
    several = values if isinstance(values, tuple) else (values,)
    if not several:
        raise UsageError(f"filter {column}: no row has one of no values; name some, or leave the filter out")
    if typed and len({_value_kind(each) for each in several}) > 1:
        raise UsageError(f"filter {column}: the values {list(several)} are of different types; write all as text or all as numbers")


def _value_kind(value: FilterValue) -> type:
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def refuse_unsearchable_rows(
    options: VectorTableSettings, dimension: int, count: int, other_dimension: int, without_id: int
) -> None:
    """Refuse a table whose rows cannot be searched or named, before the first search does."""
    if not count and not options.filter:
        raise no_vectors_error(options.table)
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


def no_vectors_error(table: str) -> UsageError:
    return UsageError(f"the table {table} holds no vectors")


def no_column_error(table: str, column: str, columns: Sequence[str]) -> UsageError:
    return UsageError(f"the table {table} has no column {column!r}; it has {', '.join(columns)}")


def choose_vector_column(table: str, columns: Sequence[str]) -> str:
    if len(columns) != 1:
        several = f"has several columns of vectors ({', '.join(columns)})" if columns else "has no column of vectors"
        raise UsageError(f"the table {table} {several}; name one with the option vector_column")
    return columns[0]


# A table with vectors in a file of SQLite, by sqlite-vec: one of vec0, or any with vectors as blobs of float32.

MAX_VEC0_NEIGHBOURS = 4096  # that vec0 gives to one question

_VEC0 = re.compile(r"(?i)\busing\s+vec0\b")

_VECTOR_COLUMN = re.compile(r"(?i)[\"\[`]?(\w+)[\"\]`]?\s+(float|int8|bit)\s*\[(\d+)\]([^,)]*)")

_METRIC = re.compile(r"(?i)distance_metric\s*=\s*(\w+)")


class SqliteTable:
    """An `ExistingTable` of SQLite, opened read-only. Every vector is looked at, so all true neighbours are found."""

    def __init__(self, options: VectorTableSettings) -> None:
        self._options = options
        if options.distance == "ip":
            raise UsageError("sqlite-vec has no inner product; set distance to cosine or l2")
        path = Path(options.database or "")
        if not path.is_file():
            raise Missing(f"there is no database {path}")
        import apsw

        self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            load_vector_functions(self._connection)
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        options = self._options
        statement = self._connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = ? AND type = 'table'", (options.table,)
        ).fetchone()
        if statement is None:
            raise UsageError(f"the database {options.database} has no table {options.table}")
        names = [row[1] for row in self._connection.execute(f"PRAGMA table_info({sql_name(options.table)})")]
        self._is_vec0 = bool(_VEC0.search(statement[0]))
        vector_columns = (
            {name: (kind.lower(), rest) for name, kind, _, rest in _VECTOR_COLUMN.findall(statement[0])} if self._is_vec0 else {}
        )
        self._column = options.vector_column or choose_vector_column(options.table, list(vector_columns) or self._blobs(names))
        for name in (self._column, options.id_column, *(options.filter or {})):
            if name not in (*names, "rowid"):
                raise no_column_error(options.table, name, names)
        kind, rest = vector_columns.get(self._column, ("float", ""))
        if kind != "float":
            raise UsageError(f"the column {self._column!r} of {options.table} holds {kind} vectors; it must be float")
        metric = _METRIC.search(rest)
        self._metric = (metric[1].lower() if metric else "l2") if self._is_vec0 else None
        self.dimension = self._measured_dimension()
        self._check_rows()

    def _check_rows(self) -> None:
        column, condition = (
            sql_name(self._column),
            " AND ".join([f"{sql_name(self._column)} IS NOT NULL", *self._where()]),
        )
        odd = f"count(*), total(length({column}) <> {4 * self.dimension}), total(typeof({self._key}) IN ('null', 'blob'))"
        counts: Any = self._connection.execute(
            f"SELECT {odd} FROM {sql_name(self._options.table)} WHERE {condition}",  # noqa: S608  # names are quoted
            self._values(),
        ).fetchone()
        refuse_unsearchable_rows(self._options, self.dimension, *map(int, counts))

    def nearest(self, query: Vectors, k: int) -> NearestRows:
        column, table, where = sql_name(self._column), sql_name(self._options.table), self._where()
        values: tuple[Any, ...] = (query.tobytes(),)
        if self._metric == self._options.distance and k <= MAX_VEC0_NEIGHBOURS:
            conditions = " AND ".join([f"{column} MATCH ?", "k = ?", *where])
            statement = f"SELECT {self._key}, distance FROM {table} WHERE {conditions}"  # noqa: S608  # names are quoted, values are parameters
            values = (*values, k, *self._values())
        else:
            condition = f"WHERE {' AND '.join(where)}" if where else ""
            distance = f"vec_distance_{self._options.distance}({column}, ?)"
            statement = (
                f"SELECT {self._key}, {distance} AS distance FROM {table} {condition} ORDER BY distance IS NULL, distance LIMIT ?"  # noqa: S608  # names are quoted, values are parameters
            )
            values = (*values, *self._values(), k)
        with self._explained():
            rows: list[Any] = self._connection.execute(statement, values).fetchall()
        rows.sort(key=lambda row: _far_if_unknown(row[1]))
        return NearestRows([str(row[0]) for row in rows], [_far_if_unknown(row[1]) for row in rows])

    def scores(self, rows: NearestRows) -> list[float]:
        offset = 1.0 if self._options.distance == "cosine" else 0.0
        return [offset - distance if distance != float("inf") else 0.0 for distance in rows.distances]

    def recall(self, query: Vectors, rows: NearestRows, k: int) -> NeighbourRecall | None:  # noqa: ARG002  # by definition
        least = min(k, len(rows.ids))
        return NeighbourRecall(least, 1.0, 1.0) if least else None

    def size(self) -> int | None:
        return None

    def statistics(self) -> VectorStatistics:
        table, column = sql_name(self._options.table), sql_name(self._column)
        condition = " AND ".join([f"{column} IS NOT NULL", *self._where()])
        with self._explained():
            counts: Any = self._connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}", self._values()).fetchone()  # noqa: S608  # names are quoted
            sample = f"SELECT {column} FROM {table} WHERE {condition} LIMIT {SAMPLED_ROWS}"  # noqa: S608  # names are quoted
            blobs: list[Any] = [row[0] for row in self._connection.execute(sample, self._values())]
        return _statistics(blobs, counts[0], self.dimension)

    def describe(self) -> Mapping[str, Any]:
        import apsw

        version: Any = self._connection.execute("SELECT vec_version()").fetchone()
        return {
            "table": self._options.table,
            "vector_column": f"{self._column} float[{self.dimension}]",
            "kind": f"vec0, distance_metric={self._metric}" if self._is_vec0 else "blobs",
            "sqlite_vec": version[0],
            "sqlite": apsw.sqlite_lib_version(),
        }

    def close(self) -> None:
        self._connection.close()

    @property
    def _key(self) -> str:
        return "rowid" if self._options.id_column == "rowid" else sql_name(self._options.id_column)

    def _where(self) -> list[str]:
        return [
            f"{sql_name(name)} IN ({', '.join('?' * len(value))})" if isinstance(value, tuple) else f"{sql_name(name)} = ?"
            for name, value in (self._options.filter or {}).items()
        ]

    def _values(self) -> tuple[Any, ...]:
        values = (self._options.filter or {}).values()
        return tuple(one for value in values for one in (value if isinstance(value, tuple) else (value,)))

    def _blobs(self, columns: list[str]) -> list[str]:
        """The columns whose first row holds a blob of whole numbers of float32."""
        row = self._connection.execute(f"SELECT * FROM {sql_name(self._options.table)} LIMIT 1").fetchone() or ()  # noqa: S608  # the name is quoted
        return [
            name for name, value in zip(columns, row, strict=False) if isinstance(value, bytes) and value and len(value) % 4 == 0
        ]

    def _measured_dimension(self) -> int:
        column = sql_name(self._column)
        first = f"SELECT {column} FROM {sql_name(self._options.table)} WHERE {column} IS NOT NULL"  # noqa: S608  # names are quoted
        query = " AND ".join([first, *self._where()])
        row: Any = self._connection.execute(f"{query} LIMIT 1", self._values()).fetchone()
        row = row or self._connection.execute(f"{first} LIMIT 1").fetchone()  # no row has the values of the filter
        if row is None:
            raise no_vectors_error(self._options.table)
        if not isinstance(row[0], bytes) or len(row[0]) % 4:
            raise UsageError(f"the column {self._column!r} of {self._options.table} does not hold vectors of float32")
        return len(row[0]) // 4

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import apsw

        try:
            yield
        except apsw.Error as error:
            raise UsageError(f"SQLite failed on {self._options.database}: {error}") from None


def _statistics(blobs: list[bytes], count: int, dimension: int) -> VectorStatistics:
    whole = [blob for blob in blobs if len(blob) == 4 * dimension]
    vectors = np.frombuffer(b"".join(whole), dtype="<f4").reshape(-1, dimension)
    finite = np.isfinite(vectors).all(axis=1)
    norms = np.linalg.norm(vectors[finite].astype(np.float64), axis=1)
    long = norms[norms > 0]
    return VectorStatistics(
        count=count,
        dimension=dimension,
        norm_mean=float(norms.mean()) if len(norms) else None,
        norm_std=float(norms.std()) if len(norms) else None,
        norm_min=float(norms.min()) if len(norms) else None,
        norm_min_nonzero=float(long.min()) if len(long) else None,
        norm_max=float(norms.max()) if len(norms) else None,
        zero=int((norms == 0).sum()),
        duplicates=len(blobs) - len(set(blobs)),
        not_finite=int((~finite).sum()),
        wrong_dimension=len(blobs) - len(whole),
        looked_at=len(blobs) if len(blobs) < count else None,
    )


def _far_if_unknown(distance: float | None) -> float:
    """The distance to a vector of zeros, which sqlite-vec does not know under cosine."""
    return float("inf") if distance is None or distance != distance else distance  # noqa: PLR0124  # NaN


# Searches a table with vectors that is already there, as it is: in PostgreSQL by pgvector, or in SQLite by sqlite-vec.


class VectorTableAgent(RetrievalAgent):
    """Ranks the rows of a table by the distance between their vectors and that of the query; nothing is written there."""

    Config = VectorTableSettings
    needs_corpus = False

    def __init__(self, config: VectorTableSettings | None = None) -> None:
        self._config = config or VectorTableSettings()
        self._options = embedder_settings(self._config.embedder)
        self._embedder: Embedder | None = None
        self._table: ExistingTable | None = None
        self._last: tuple[Vectors, NearestRows, int] | None = None

    def start(self) -> None:
        """Vectors that cannot be compared are refused here, and not in the first search."""
        if not self._config.table:
            raise UsageError("vector-table needs the option table, and a dsn or a database")
        self.close()
        self._table = _open_table(self._config)
        self._embedder = load_embedder(self._options)
        embedder_size, table_size = self._embedder.dimension, self._table.dimension
        if embedder_size != table_size:
            name = self._embedder.name
            self.close()
            raise UsageError(
                f"the embedder {name} gives {embedder_size} numbers, and the vectors of {self._config.table} have {table_size}; "
                "name the embedder that the table was made with"
            )

    def initialize(self, corpus: Corpus) -> None:  # noqa: ARG002  # the table has its own
        self.start()

    def update(self, changes: Changes) -> bool:  # noqa: ARG002  # whatever has changed is not in the table
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._table is None or self._embedder is None:
            raise UsageError("vector-table was asked before it was started")
        before = self._embedder.cost()
        vector = self._embedder.embed_query(query)
        self._last = None
        start = perf_counter()
        rows = self._table.nearest(vector, k) if vector.any() else NearestRows((), ())  # a query of zeros is near to nothing
        index_ms = (perf_counter() - start) * 1000
        self._last = (vector, rows, k)
        return RetrievalResult(rows.ids, self._table.scores(rows), cost=self._embedder.cost() - before, index_ms=index_ms)

    def usage_of_last(self) -> Usage:
        if self._table is None or self._last is None or not self._config.measure_recall or not self._last[0].any():
            return NO_USAGE
        vector, rows, k = self._last
        recall = self._table.recall(vector, rows, min(k, self._config.recall_k))
        return NO_USAGE if recall is None else Usage(ann_k=recall.k, ann_recall=recall.recall, ann_overlap=recall.overlap)

    def index_bytes(self) -> int | None:
        return None if self._table is None else self._table.size()

    def vectors(self) -> Sequence[VectorStatistics]:
        return () if self._table is None else (self._table.statistics(),)

    def describe(self) -> Mapping[str, Any]:
        made_of = {} if self._embedder is None else asdict(self._embedder.fingerprint())
        return {
            "ranking": "vectors",
            "embedder": {part: value for part, value in made_of.items() if value is not None},
            "distance": self._config.distance,
            "index": {} if self._table is None else dict(self._table.describe()),
            "filter": None if self._config.filter is None else dict(self._config.filter),
            "statistics_of_first": SAMPLED_ROWS,
        }

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        if self._table is not None:
            self._table.close()
        self._embedder = self._table = self._last = None


def _open_table(config: VectorTableSettings) -> ExistingTable:
    if config.database is not None:
        return SqliteTable(config)
    table: ExistingTable = load_code("searchmark.agents.vectors.postgres:PostgresVectorTable")(config)
    return table
