"""Approximate search by a graph of neighbours (HNSW), through usearch."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge

from searchmark.indexes.index import IndexOptions
from searchmark.options.strict import strict_record


@strict_record
class HnswOptions(IndexOptions):
    """Options of ``hnsw``.

    ``m``: neighbours of each vector in the graph. ``ef_construction`` and ``ef_search``: how many candidates are kept while the
    graph is built and while it is searched. ``scalar``: what numbers are stored as.
    """

    m: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Ge(1)] = 128
    ef_search: Annotated[int, Ge(1)] = 64
    scalar: Literal["f32", "f16", "i8"] = "f32"
