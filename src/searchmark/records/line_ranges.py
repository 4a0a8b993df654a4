"""Lines of a file as a hit names them. Every process of an agent imports this module, so it imports little itself."""

from __future__ import annotations

from typing import Any


def is_line_range(value: Any) -> bool:
    """Whether this is a first and a last line."""
    return isinstance(value, tuple | list) and len(value) == 2 and all(type(line) is int and 0 < line < 10**9 for line in value)  # noqa: PLR2004  # first and last
