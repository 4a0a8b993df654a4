"""Lines of a file as a hit names them. Every process of an agent imports this module, so it imports little itself."""

from __future__ import annotations

from typing import Any

_MOST_LINES = 10**9


def is_line_range(value: Any) -> bool:
    """Whether this is a first and a last line, counted from 1, the last one not before the first."""
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(type(line) is int for line in value):  # noqa: PLR2004  # first and last
        return False
    return bool(0 < value[0] <= value[1] < _MOST_LINES)
