"""Vectors to neighbours: `check_index` reads which index is meant, and its options open one.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from searchmark.errors import UsageError
from searchmark.files.store import check_shape, refuse_unknown_fields
from searchmark.options.sensitive import Described, Nested

if TYPE_CHECKING:
    from searchmark.indexes.index import IndexOptions

# The options of each, by module and class, which know how to open it; imported when one is asked for.
INDEXES = {
    "exact": "exact:ExactOptions",
    "hnsw": "hnsw:HnswOptions",
    "sqlite_vec": "sqlite_vec:SqliteVecOptions",
    "pgvector": "pgvector:PgvectorOptions",
}

__all__ = ["INDEXES", "IndexChoice", "check_index", "index_options_class"]


def check_index(choice: str | Mapping[str, Any]) -> IndexOptions:
    """The options of an index that was named (``hnsw``) or described (``{name: hnsw, m: 16}``)."""
    name, options = _name_and_options(choice)
    if name is None:
        raise UsageError(f"index: name is missing; write {{name: hnsw, ...}}, with one of {', '.join(INDEXES)}")
    if name not in INDEXES:
        raise UsageError(f"there is no index {name!r}; available: {', '.join(INDEXES)}")
    from pydantic import TypeAdapter

    record = index_options_class(name)
    refuse_unknown_fields(f"index {name}", record, options)
    return check_shape(f"index {name}", TypeAdapter(record), options)


def index_options_class(name: str) -> type[IndexOptions]:
    """The options that an index takes."""
    module, _, attribute = INDEXES[name].partition(":")
    found: type[IndexOptions] = getattr(import_module(f"searchmark.indexes.{module}"), attribute)
    return found


def _name_and_options(choice: str | Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    options = {"name": choice} if isinstance(choice, str) else dict(choice)
    return options.pop("name", None), options


def _read_choice(choice: Any) -> tuple[Nested, ...]:
    name, options = _name_and_options(choice) if isinstance(choice, str | Mapping) else (None, {})
    return (Nested(index_options_class(name), options),) if isinstance(name, str) and name in INDEXES else ()


IndexChoice = Annotated[str | dict[str, Any], Described(_read_choice)]  # a name, or {name, ...} with options
