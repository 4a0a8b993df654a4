"""Tables as answers: a data frame of pandas or polars has a hit per row, best first.

Neither is imported for that: they are known by what they can do.
"""

from __future__ import annotations

from typing import Any


def is_table(result: Any) -> bool:
    """Whether this is a data frame; iterated, it would give the names of its columns."""
    return hasattr(result, "columns") and (_reads(result, "to_dicts") or _reads(result, "to_dict"))


def rows_of(result: Any, most: int) -> list[Any] | None:
    """The first rows of a data frame as mappings; None for what is none."""
    if not is_table(result):
        return None
    first = result.head(most)
    return list(first.to_dicts() if _reads(first, "to_dicts") else first.to_dict("records"))


def _reads(result: Any, method: str) -> bool:
    return callable(getattr(result, method, None)) and callable(getattr(result, "head", None))
