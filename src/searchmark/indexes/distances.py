"""The three distances, each twice: roughly, by one dot product in float32, and exactly, in float64.

A rough score needs no more than the dot product of a stored vector and the query, and one number that is kept per vector. Its
error has a bound, so whoever searches knows which vectors float32 cannot tell apart.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Distance, Scores

Wide = NDArray[np.float64]

UNIT = 2.0**-24  # what float32 may be wrong by in one step
SLACK = 1.01  # the usual bound of a sum leaves out what errors add to each other's
TINY = 2.0**-126  # what may be lost by each step whose result is too small for float32
MOST = 2.0**60  # lengths within these two fit into float32, and so do their squares and products
LEAST = 2.0**-60


class DistanceMeasure(Protocol):
    """What a distance is, for `ExactIndex`: rough scores are comparable with each other for one query."""

    def fits(self, lengths: Wide) -> NDArray[np.bool_]:
        """Whether float32 can score a vector of this length."""

    def factors(self, lengths: Wide) -> Vectors:
        """What is kept per vector, from its length."""

    def rough_query(self, query: Wide) -> Vectors | None:
        """What stored vectors are multiplied with; None if float32 is no help."""

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        """Dot products become rough scores; vectors are on the last axis."""

    def error(self, dimension: int, longest: float, length: float) -> float:
        """How far a rough score can be from what it would be without rounding."""

    def estimates(self, rough: Vectors, error: float, length: float) -> tuple[Vectors, float]:
        """Scores from rough ones, and how far each can be from the exact one."""

    def scores(self, rows: Wide, queries: Wide, squares: Wide | float) -> Scores:
        """The exact score of each row, with one query for all or one for each, and the sums of their squares."""


class InnerProduct:
    """The larger the product, the nearer."""

    def fits(self, lengths: Wide) -> NDArray[np.bool_]:
        return lengths <= MOST

    def factors(self, lengths: Wide) -> Vectors:
        return np.zeros(len(lengths), dtype=np.float32)

    def rough_query(self, query: Wide) -> Vectors | None:
        length = float(np.sqrt((query * query).sum()))
        return query.astype(np.float32) if LEAST <= length <= MOST else None

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        """A dot product is the score."""

    def error(self, dimension: int, longest: float, length: float) -> float:
        return dimension * (SLACK * UNIT * longest * length + TINY)

    def estimates(self, rough: Vectors, error: float, length: float) -> tuple[Vectors, float]:  # noqa: ARG002  # the same for all distances
        return rough, error

    def scores(self, rows: Wide, queries: Wide, squares: Wide | float) -> Scores:  # noqa: ARG002  # the same for all distances
        # Row by row, so that equal vectors get equal scores wherever they lie; BLAS does not promise that.
        found: Scores = (rows * queries).sum(axis=1)
        return found


class Cosine(InnerProduct):
    """The inner product over both lengths; that of a vector of zeros is 0."""

    def fits(self, lengths: Wide) -> NDArray[np.bool_]:
        fitting: NDArray[np.bool_] = (lengths == 0) | ((lengths >= LEAST) & (lengths <= MOST))
        return fitting

    def factors(self, lengths: Wide) -> Vectors:
        inverse = np.zeros(len(lengths))
        np.divide(1.0, lengths, out=inverse, where=(lengths >= LEAST) & (lengths <= MOST))
        return inverse.astype(np.float32)

    def rough_query(self, query: Wide) -> Vectors | None:
        unit: Vectors = (query / np.sqrt((query * query).sum())).astype(np.float32)
        return unit

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        np.multiply(products, factors, out=products)

    def error(self, dimension: int, longest: float, length: float) -> float:  # noqa: ARG002  # the same for all distances
        return (dimension + 4) * (SLACK * UNIT + TINY / LEAST)  # rounded beside the sum: the query, the factor, the product

    def scores(self, rows: Wide, queries: Wide, squares: Wide | float) -> Scores:
        found = super().scores(rows, queries, squares)
        lengths = np.sqrt((rows * rows).sum(axis=1) * squares)
        np.divide(found, lengths, out=found, where=lengths > 0)  # a row of zeros has scored 0 and keeps it
        return found


class Euclidean(InnerProduct):
    """The negative distance. Roughly: ``q.v - v.v / 2``, which falls as ``|q - v|`` grows."""

    def factors(self, lengths: Wide) -> Vectors:
        return (-0.5 * np.minimum(lengths, MOST) ** 2).astype(np.float32)

    def rough_query(self, query: Wide) -> Vectors | None:
        return query.astype(np.float32) if not query.any() else super().rough_query(query)

    def adjust(self, products: Vectors, factors: Vectors) -> None:
        np.add(products, factors, out=products)

    def error(self, dimension: int, longest: float, length: float) -> float:
        return (dimension + 4) * (SLACK * UNIT * longest * (length + longest) + TINY)

    def estimates(self, rough: Vectors, error: float, length: float) -> tuple[Vectors, float]:
        squares = np.maximum(length**2 - 2 * rough.astype(np.float64), 0)
        # Roots of two squares are never further apart than the root of what the squares are apart; the rest is float32's.
        return (-np.sqrt(squares)).astype(np.float32), float(np.sqrt(2 * error) + UNIT * np.sqrt(squares.max(initial=0)))

    def scores(self, rows: Wide, queries: Wide, squares: Wide | float) -> Scores:  # noqa: ARG002  # the same for all distances
        apart = rows - queries
        found: Scores = -np.sqrt((apart * apart).sum(axis=1))
        return found


MEASURES: dict[Distance, DistanceMeasure] = {"cosine": Cosine(), "ip": InnerProduct(), "l2": Euclidean()}
