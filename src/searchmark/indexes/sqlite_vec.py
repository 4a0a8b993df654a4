"""Vectors in SQLite, by the extension sqlite-vec."""

from __future__ import annotations

from searchmark.indexes.index import IndexOptions
from searchmark.options.strict import strict_record


@strict_record
class SqliteVecOptions(IndexOptions):
    """Options of ``sqlite_vec``."""
