"""Documents from tables: DataFrames of pandas and polars, and Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from searchmark.corpora.field_mapping import FieldMapping
from searchmark.errors import UsageError, shortened
from searchmark.files.plain_data import plain_value
from searchmark.records import Document
from searchmark.records.frame_reading import columns_of, is_missing


def documents_of_frame(table: Any, mapping: FieldMapping | Mapping[str, str] | None) -> list[Document]:
    """One document per row; a cell that is empty is none of its fields, and a row without an id is refused."""
    columns = columns_of(table)
    fields = mapping if isinstance(mapping, FieldMapping) else FieldMapping.parse(_items(mapping or {}))
    unknown = min((name for name in fields.named if name not in columns), default=None)
    if unknown is not None:
        known = shortened(", ".join(columns), 300)
        raise UsageError(f"mapping: the frame has no column {unknown!r}; its columns are {known}")
    documents = []
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        record = {name: plain_value(value) for name, value in zip(columns, values, strict=True) if not is_missing(value)}
        document = fields.document(record)
        if isinstance(document, str):
            raise UsageError(f"row {row} of the frame {document}; its columns are {shortened(', '.join(columns), 300)}")
        documents.append(document)
    return documents


def _items(mapping: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{role}={name}" for role, name in mapping.items())
