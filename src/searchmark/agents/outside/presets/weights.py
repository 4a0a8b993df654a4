"""Searched fields as people write them, ``title^3``, in the spellings of engines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from searchmark.errors import UsageError

_FIELD = re.compile(r"(?P<name>[^^\s]+)(?:\^(?P<weight>\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class SearchedField:
    """A field and its weight, which is text as it was written; None if it has none."""

    name: str
    weight: str | None = None


def searched_fields(texts: Sequence[str]) -> list[SearchedField]:
    """Read ``title^3``."""
    return [_read(text) for text in texts]


def _read(text: str) -> SearchedField:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise UsageError(f"the field {text!r} cannot be read; write a name, or a name with its weight: title^3")
    return SearchedField(match["name"], match["weight"])


def without_weights(texts: Sequence[str], engine: str) -> list[str]:
    """Names of fields for an engine that takes no weights with a search."""
    for each in searched_fields(texts):
        if each.weight is not None:
            raise UsageError(f"{engine} takes no weights with a search: write {each.name!r} without ^{each.weight}")
    return list(texts)
