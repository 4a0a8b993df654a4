"""Nearest neighbours by the SQLite extension sqlite-vec. All vectors are compared, in float32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from searchmark.agents.vectors.embedder import Vectors, normalize_rows
from searchmark.agents.vectors.index import (
    Distance,
    IndexSettings,
    Neighbours,
    VectorNumbers,
    has_no_direction,
    refuse_nonfinite_query,
    refuse_nonfinite_vectors,
    scale_to_unit,
)
from searchmark.config.strict import strict_record
from searchmark.errors import UsageError
from searchmark.io.sqlite import IN_MEMORY, PRIVATE_FILE, load_vector_functions, open_database

if TYPE_CHECKING:
    import apsw


MOST_NEIGHBOURS = 4096  # that vec0 gives to one question

DATABASES = {"memory": IN_MEMORY, "file": PRIVATE_FILE}

COLUMNS = {"f32": "float", "i8": "int8"}

PLACEHOLDERS = {"f32": "?", "i8": "vec_quantize_int8(?, 'unit')"}

STEPS = {"f32": 1.0, "i8": 127.5}  # from zero to one

LONGEST_UNIT_VECTOR = 1.001  # what i8 still takes for one

CREATE = "CREATE VIRTUAL TABLE vectors USING vec0(vector {column}[{dimension}] distance_metric={distance})"

INSERT = "INSERT INTO vectors (rowid, vector) VALUES (?, {vector})"

NEAREST = "SELECT rowid, distance FROM vectors WHERE vector MATCH {vector} AND k = ?"


# Slower, since SQLite sorts what vec0 would have selected, but without a limit.
SELECT_BY_DISTANCE = "SELECT rowid, vec_distance_{distance}(vector, {vector}) AS distance FROM vectors ORDER BY distance LIMIT ?"


@strict_record
class SqliteVecSettings(IndexSettings):
    """Options of ``sqlite_vec``.

    ``scalar``: what numbers are stored as. ``storage``: ``memory``, or a private temporary ``file`` that is gone when it is closed.
    """

    scalar: Literal["f32", "i8"] = "f32"
    storage: Literal["memory", "file"] = "memory"

    def check_distance(self, distance: Distance) -> None:
        if distance == "ip":
            raise UsageError(
                "index sqlite_vec has no inner product; set distance to cosine, which ranks normalised vectors the same, "
                "or index to exact, hnsw or pgvector"
            )

    def open(self, dimension: int, distance: Distance) -> SqliteVecIndex:
        return SqliteVecIndex(dimension, distance, self)


class SqliteVecIndex:
    """A `VectorIndex` by a table of vec0."""

    exact = False

    def __init__(self, dimension: int, distance: Distance = "cosine", options: SqliteVecSettings | None = None) -> None:
        self.dimension = dimension
        self.distance: Distance = distance
        self._options = options or SqliteVecSettings()
        self._options.check_distance(distance)
        self._zeros: set[int] = set()  # for cosine: vec0 would say NULL, in any order
        self._vector = PLACEHOLDERS[self._options.scalar]
        self._database = self._empty()

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        refuse_nonfinite_vectors(numbers, vectors)
        rows = normalize_rows(vectors) if self.distance == "cosine" else vectors
        self._check_range(rows)
        self.drop(numbers)
        if self.distance == "cosine":
            empty = ~rows.any(axis=1)
            self._zeros.update(numbers[empty].tolist())
            numbers, rows = numbers[~empty], rows[~empty]
        values = ((number, row.tobytes()) for number, row in zip(numbers.tolist(), rows, strict=True))
        with self._database:
            self._database.executemany(INSERT.format(vector=self._vector), values)

    def drop(self, numbers: VectorNumbers) -> None:
        self._zeros.difference_update(numbers.tolist())
        with self._database:
            self._database.executemany("DELETE FROM vectors WHERE rowid = ?", ((number,) for number in numbers.tolist()))

    def build(self) -> None:
        """Nothing to do: every search looks at every vector."""

    def search(self, query: Vectors, k: int) -> Neighbours:
        refuse_nonfinite_query(query)
        if k < 1 or has_no_direction(query, self.distance):
            return Neighbours(np.empty(0, dtype=np.int64), np.empty(0))
        vector = scale_to_unit(query) if self.distance == "cosine" else query
        self._check_range(vector)
        question = (NEAREST if k <= MOST_NEIGHBOURS else SELECT_BY_DISTANCE).format(distance=self.distance, vector=self._vector)
        rows = self._database.execute(question, (vector.tobytes(), k)).fetchall()
        numbers = np.array([number for number, _ in rows], dtype=np.int64)
        distances = np.array([distance for _, distance in rows], dtype=np.float64)
        scores = 1.0 - distances if self.distance == "cosine" else -distances / STEPS[self._options.scalar]
        if self._zeros:
            numbers = np.append(numbers, np.fromiter(self._zeros, np.int64))
            scores = np.append(scores, np.zeros(len(self._zeros)))
        order = np.lexsort((numbers, -scores))[:k]
        return Neighbours(numbers[order], scores[order])

    def size(self) -> int:
        """The pages of the database, in memory or in its file, whether or not every row of them is in use."""
        return int(self._database.pragma("page_count")) * int(self._database.pragma("page_size"))

    def describe(self) -> Mapping[str, Any]:
        return {"name": "sqlite_vec", **asdict(self._options)}

    def close(self) -> None:
        self._database.close()

    def _empty(self) -> apsw.Connection:
        database = open_database(DATABASES[self._options.storage])
        load_vector_functions(database)
        column = COLUMNS[self._options.scalar]
        database.execute(CREATE.format(column=column, dimension=self.dimension, distance=self.distance))
        return database

    def _check_range(self, vectors: Vectors) -> None:
        if self._options.scalar == "i8" and np.abs(vectors).max(initial=0.0) > LONGEST_UNIT_VECTOR:
            raise UsageError(
                "index sqlite_vec with scalar i8 holds numbers from -1 to 1, and a vector has a larger one; "
                "normalise the vectors, or set scalar to f32 or distance to cosine"
            )
