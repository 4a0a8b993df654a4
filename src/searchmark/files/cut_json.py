"""JSON of which only the beginning is there: what can be told of it."""

from __future__ import annotations

import json
import re
from typing import Any

_DEEPEST = 8
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[\s,:]*")


def cut_json(text: str) -> Any:
    """The value that a text begins with; where it is cut, what comes before the cut. None if it is not JSON."""
    return _value(text, _BLANKS.match(text).end(), 0)[0]  # type: ignore[union-attr]  # which matches everywhere


def _value(text: str, at: int, depth: int) -> tuple[Any, int | None]:
    """A value and where it ends; None for the end of one that is cut."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        opening = text[at : at + 1]
    if depth >= _DEEPEST or opening not in ("{", "["):
        return None, None
    found: list[Any] = []
    end: int | None = at + 1
    while end is not None:
        place = _BLANKS.match(text, end).end()  # type: ignore[union-attr]  # as above
        value, end = _value(text, place, depth + 1)
        if end is not None or value is not None:
            found.append(value)
    if opening == "[":
        return found, None
    return {name: value for name, value in zip(found[::2], found[1::2], strict=False) if isinstance(name, str)}, None
