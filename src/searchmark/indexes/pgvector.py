"""Vectors in PostgreSQL, by the extension pgvector."""

from __future__ import annotations

from searchmark.indexes.index import IndexOptions
from searchmark.options.sensitive import Address
from searchmark.options.strict import strict_record


@strict_record
class PgvectorOptions(IndexOptions):
    """Options of ``pgvector``. ``dsn``: which database, as ``postgresql://user@host/name``."""

    dsn: Address
