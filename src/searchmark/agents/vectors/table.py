"""A table with vectors in a file of SQLite, by sqlite-vec: one of vec0, or any with vectors as blobs of float32."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from searchmark.agents.existing.table import SAMPLE, Rows, VectorTableConfig, check_rows, no_column, no_vectors, only_vector_column
from searchmark.embedders.embedder import Vectors
from searchmark.errors import UsageError
from searchmark.files.sqlite import load_vector_functions
from searchmark.indexes.recall import NeighbourRecall
from searchmark.records import VectorStatistics

MOST_NEIGHBOURS = 4096  # that vec0 gives to one question
_VEC0 = re.compile(r"(?i)\busing\s+vec0\b")
_VECTOR_COLUMN = re.compile(r"(?i)[\"\[`]?(\w+)[\"\]`]?\s+(float|int8|bit)\s*\[(\d+)\]([^,)]*)")
_METRIC = re.compile(r"(?i)distance_metric\s*=\s*(\w+)")


class SqliteTable:
    """An `ExistingTable` of SQLite, opened read-only. Every vector is looked at, so all true neighbours are found."""

    def __init__(self, options: VectorTableConfig) -> None:
        self._options = options
        if options.distance == "ip":
            raise UsageError("sqlite-vec has no inner product; set distance to cosine or l2")
        path = Path(options.database or "")
        if not path.is_file():
            raise UsageError(f"there is no database {path}")
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
        made = self._connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = ? AND type = 'table'", (options.table,)
        ).fetchone()
        if made is None:
            raise UsageError(f"the database {options.database} has no table {options.table}")
        columns = [row[1] for row in self._connection.execute(f"PRAGMA table_info({_quoted(options.table)})")]
        self._is_vec0 = bool(_VEC0.search(made[0]))
        declared = {name: (kind.lower(), rest) for name, kind, _, rest in _VECTOR_COLUMN.findall(made[0])} if self._is_vec0 else {}
        self._column = options.vector_column or only_vector_column(options.table, list(declared) or self._blobs(columns))
        for asked in (self._column, options.id_column, *(options.filter or {})):
            if asked not in (*columns, "rowid"):
                raise no_column(options.table, asked, columns)
        kind, rest = declared.get(self._column, ("float", ""))
        if kind != "float":
            raise UsageError(f"the column {self._column!r} of {options.table} holds {kind} vectors; it must be float")
        metric = _METRIC.search(rest)
        self._metric = (metric[1].lower() if metric else "l2") if self._is_vec0 else None
        self.dimension = self._measured_dimension()
        self._check_rows()

    def _check_rows(self) -> None:
        column, chosen = _quoted(self._column), " AND ".join([f"{_quoted(self._column)} IS NOT NULL", *self._where()])
        odd = f"count(*), total(length({column}) <> {4 * self.dimension}), total(typeof({self._key}) IN ('null', 'blob'))"
        counted: Any = self._connection.execute(
            f"SELECT {odd} FROM {_quoted(self._options.table)} WHERE {chosen}",  # noqa: S608  # names are quoted
            self._values(),
        ).fetchone()
        check_rows(self._options, self.dimension, *map(int, counted))

    def nearest(self, query: Vectors, k: int) -> Rows:
        column, table, where = _quoted(self._column), _quoted(self._options.table), self._where()
        values: tuple[Any, ...] = (query.tobytes(),)
        if self._metric == self._options.distance and k <= MOST_NEIGHBOURS:
            conditions = " AND ".join([f"{column} MATCH ?", "k = ?", *where])
            asked = f"SELECT {self._key}, distance FROM {table} WHERE {conditions}"  # noqa: S608  # names are quoted, values are parameters
            values = (*values, k, *self._values())
        else:
            chosen = f"WHERE {' AND '.join(where)}" if where else ""
            distance = f"vec_distance_{self._options.distance}({column}, ?)"
            asked = f"SELECT {self._key}, {distance} AS distance FROM {table} {chosen} ORDER BY distance IS NULL, distance LIMIT ?"  # noqa: S608  # names are quoted, values are parameters
            values = (*values, *self._values(), k)
        with self._explained():
            rows: list[Any] = self._connection.execute(asked, values).fetchall()
        rows.sort(key=lambda row: _far_if_unknown(row[1]))
        return Rows([str(row[0]) for row in rows], [_far_if_unknown(row[1]) for row in rows])

    def scores(self, rows: Rows) -> list[float]:
        offset = 1.0 if self._options.distance == "cosine" else 0.0
        return [offset - distance if distance != float("inf") else 0.0 for distance in rows.distances]

    def recall(self, query: Vectors, found: Rows, k: int) -> NeighbourRecall | None:  # noqa: ARG002  # by definition
        least = min(k, len(found.ids))
        return NeighbourRecall(least, 1.0, 1.0) if least else None

    def size(self) -> int | None:
        return None

    def statistics(self) -> VectorStatistics:
        table, column = _quoted(self._options.table), _quoted(self._column)
        chosen = " AND ".join([f"{column} IS NOT NULL", *self._where()])
        with self._explained():
            counted: Any = self._connection.execute(f"SELECT count(*) FROM {table} WHERE {chosen}", self._values()).fetchone()  # noqa: S608  # names are quoted
            sample = f"SELECT {column} FROM {table} WHERE {chosen} LIMIT {SAMPLE}"  # noqa: S608  # names are quoted
            blobs: list[Any] = [row[0] for row in self._connection.execute(sample, self._values())]
        return _statistics(blobs, counted[0], self.dimension)

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
        return "rowid" if self._options.id_column == "rowid" else _quoted(self._options.id_column)

    def _where(self) -> list[str]:
        given = (self._options.filter or {}).items()
        return [
            f"{_quoted(name)} IN ({', '.join('?' * len(value))})" if isinstance(value, tuple) else f"{_quoted(name)} = ?"
            for name, value in given
        ]

    def _values(self) -> tuple[Any, ...]:
        values = (self._options.filter or {}).values()
        return tuple(one for value in values for one in (value if isinstance(value, tuple) else (value,)))

    def _blobs(self, columns: list[str]) -> list[str]:
        """The columns whose first row holds a blob of whole numbers of float32."""
        row = self._connection.execute(f"SELECT * FROM {_quoted(self._options.table)} LIMIT 1").fetchone() or ()  # noqa: S608  # the name is quoted
        return [
            name for name, value in zip(columns, row, strict=False) if isinstance(value, bytes) and value and len(value) % 4 == 0
        ]

    def _measured_dimension(self) -> int:
        column = _quoted(self._column)
        first = f"SELECT {column} FROM {_quoted(self._options.table)} WHERE {column} IS NOT NULL"  # noqa: S608  # names are quoted
        chosen = " AND ".join([first, *self._where()])
        row: Any = self._connection.execute(f"{chosen} LIMIT 1", self._values()).fetchone()
        row = row or self._connection.execute(f"{first} LIMIT 1").fetchone()  # no row has the values of the filter
        if row is None:
            raise no_vectors(self._options.table)
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _far_if_unknown(distance: float | None) -> float:
    """The distance to a vector of zeros, which sqlite-vec does not know under cosine."""
    return float("inf") if distance is None or distance != distance else distance  # noqa: PLR0124  # NaN
