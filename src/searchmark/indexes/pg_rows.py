"""Numbered vectors in the binary format of PostgreSQL's COPY, made by numpy without a loop over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from searchmark.embedders.embedder import Vectors
from searchmark.indexes.index import Numbers

VectorType = Literal["vector", "halfvec"]

HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER = b"\xff\xff"
_SCALARS = {"vector": ">f4", "halfvec": ">f2"}
_ROWS_AT_ONCE = 4096


def copied_rows(numbers: Numbers, vectors: Vectors, kind: VectorType) -> Iterator[bytes]:
    """What COPY reads, in pieces: a header, rows of two fields, an end."""
    yield HEADER
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield _rows(numbers[part], vectors[part], kind)
    yield TRAILER


def _rows(numbers: Numbers, vectors: Vectors, kind: VectorType) -> bytes:
    """Each field has its length before it; a vector begins with its dimension and two bytes that are not used yet."""
    dimension = vectors.shape[1]
    scalar = np.dtype(_SCALARS[kind])
    layout = [
        ("fields", ">i2"),
        ("size", ">i4"),
        ("number", ">i8"),
        ("bytes", ">i4"),
        ("dimension", ">i2"),
        ("unused", ">i2"),
    ]
    rows = np.zeros(len(numbers), dtype=[*layout, ("scalars", scalar, (dimension,))])
    rows["fields"], rows["size"], rows["number"] = 2, 8, numbers
    rows["bytes"], rows["dimension"] = 4 + dimension * scalar.itemsize, dimension
    with np.errstate(over="ignore"):  # what is too large for a halfvec becomes infinite, which PostgreSQL refuses
        rows["scalars"] = vectors
    return rows.tobytes()
