"""The nearest rows of a table with vectors, as PostgreSQL finds them, and exactly, whatever indexes there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Distance, Scores
from searchmark.indexes.pg_distances import DISTANCES, exact_scores, vector_text

if TYPE_CHECKING:
    from psycopg import sql

    from searchmark.services.postgres import Connection

SPARE = 16  # rows beyond the k-th that an exact search looks at, to see whether float32 could have confused them


@dataclass(frozen=True, eq=False)
class FoundRows:
    """Keys of rows and their scores, not in any order that could be relied on."""

    keys: Sequence[Any]
    scores: Scores


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

    def nearest(self, connection: Connection, query: Vectors, k: int) -> FoundRows:
        """The nearest as the planner and its index find them."""
        asked = "SELECT {key}, {column} {operator} %s::{type} AS distance FROM {relation}{condition} ORDER BY distance LIMIT {k}"
        rows = connection.execute(self._sql(asked, k), [vector_text(query), *self.values], binary=True).fetchall()
        distances = np.fromiter((row[1] for row in rows), np.float64, len(rows))
        return FoundRows([row[0] for row in rows], DISTANCES[self.distance].scores(distances))

    def exactly_nearest(self, connection: Connection, query: Vectors, k: int, longest: float) -> FoundRows:
        """At least all of the nearest ``k``, scored in float64; whatever float32 could have confused is among them.

        ``longest`` is the greatest length of a vector: the longer they are, the less certain are inner products.
        """
        nearest = self._sql("SELECT * FROM ({scored}) AS row ORDER BY distance LIMIT {k}", k + SPARE)
        values = [vector_text(query), *self.values]
        rows = connection.execute(nearest, values, binary=True).fetchall()
        if len(rows) == k + SPARE:
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
            "operator": sql.SQL(DISTANCES[self.distance].operator),
        }
        scored = sql.SQL(
            "SELECT {key} AS key, coalesce(nullif({column} {operator} %s::{type}, 'NaN'), 1) AS distance, "
            "{column}::vector::real[] AS scalars FROM {relation}{condition}"
        )
        return sql.SQL(text).format(**parts, scored=scored.format(**parts), k=sql.Literal(k))
