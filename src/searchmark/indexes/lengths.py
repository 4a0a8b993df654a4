"""Vectors and queries that an index cannot hold as they are, by their lengths and numbers."""

from __future__ import annotations

import numpy as np

from searchmark.embedders.embedder import Vectors, normalized
from searchmark.errors import UsageError
from searchmark.indexes.index import Distance, Numbers

SHORT, LONG = 0.25, 1.001  # squared lengths that may stay: far from what f16 loses, and no number beyond what i8 takes for one


def near_unit(query: Vectors) -> Vectors:
    """A query for cosine: unchanged, unless it is so long or so short that small numbers cannot hold it."""
    return query if SHORT < float(query @ query) < LONG else normalized(query[np.newaxis]).reshape(-1)


def is_near_to_nothing(query: Vectors, distance: Distance) -> bool:
    """Zeros have no direction; by distance alone they are as good a query as any."""
    return distance != "l2" and not query.any()


def check_finite(numbers: Numbers, vectors: Vectors) -> None:
    """Refuse vectors that are near or far to nothing: one of them would spoil the order of others."""
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise UsageError(f"vector {numbers[wrong[0]]} holds NaN or infinity; an index takes finite numbers only")


def check_finite_query(query: Vectors) -> None:
    """Refuse a query that nothing can be compared with."""
    if not np.isfinite(query).all():
        raise UsageError("a query holds NaN or infinity; an index takes finite numbers only")
