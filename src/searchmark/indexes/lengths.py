"""Lengths of vectors that an index cannot hold, or need not."""

from __future__ import annotations

import numpy as np

from searchmark.embedders.embedder import Vectors, normalized

SHORT, LONG = 0.25, 1.001  # squared lengths that may stay: far from what f16 loses, and no number beyond what i8 takes for one


def near_unit(query: Vectors) -> Vectors:
    """A query for cosine: unchanged, unless it is so long or so short that small numbers cannot hold it."""
    return query if SHORT < float(query @ query) < LONG else normalized(query[np.newaxis]).reshape(-1)
