"""Data as JSON could hold it, whatever file it came from: nested to a bound, so that nothing later can run out of stack."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError, UsageError

# Far deeper than anything that was written on purpose, and far from where Python's own stack ends.
DEEPEST = 100
LARGEST = 1 << 63
EXPANDS = "its aliases expand to more than the file itself"
TOO_DEEP = f"is nested more than {DEEPEST} levels deep"


def is_too_deep(value: Any, deepest: int = DEEPEST) -> bool:
    """Whether lists and mappings lie inside each other more than so many levels deep; an endless nest is one."""
    level = [value]
    for _ in range(deepest + 1):
        level = [inner for each in level if isinstance(each, dict | list | tuple) for inner in inner_values(each)]
        if not level:
            return False
    return True


def inner_values(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def check_plain(path: Path, data: Any, most: int | None = None) -> None:
    """Refuse data that JSON could not hold, that is nested too deeply, or that has more than so many values."""
    level, depth, left = [data], 0, most
    while level:
        left = None if left is None else left - len(level)
        if left is not None and left < 0:
            raise FormatError(path, None, EXPANDS)
        if depth > DEEPEST:
            raise FormatError(path, None, TOO_DEEP)
        if any(map(odd_value, level)):
            raise _odd_data(path, data)
        level = [inner for each in level if isinstance(each, dict | list) for inner in inner_values(each)]
        depth += 1


def _odd_data(path: Path, data: Any) -> FormatError:
    """The error about the first odd value; its place is looked for only now, since that takes longer."""
    level = [("", data)]
    while True:
        for place, value in level:
            if reason := odd_value(value):
                return FormatError(path, place or None, reason)
        level = [(f"{place}.{name}".lstrip("."), inner) for place, value in level for name, inner in _named_values(value)]


def _named_values(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def odd_value(value: Any) -> str | None:
    """What is wrong with one value that JSON could not hold, or that is no number to reckon with; None if nothing is."""
    if isinstance(value, dict):
        odd = next((key for key in value if not isinstance(key, str | int | float | None)), None)
        return None if odd is None else f"a key is {type(odd).__name__}, not text"
    if isinstance(value, bool | str | list | None):
        return None
    if isinstance(value, int):
        return None if -LARGEST <= value < LARGEST else "a whole number has more than 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a finite number"
    return f"a value is {type(value).__name__}, not text, number, list or mapping"


def dates_as_text(value: Any) -> Any:
    """The same data with dates and times as they are written."""
    if isinstance(value, dict):
        return {key: dates_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [dates_as_text(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value


def plain_value(value: Any, depth: int = 0) -> Any:
    """A value of a program as JSON can hold it: a date or a number of over 64 bits as text, NaN as nothing, a set as a list."""
    if isinstance(value, str | bool | None):
        return value
    if depth > DEEPEST:
        raise UsageError(f"a value {TOO_DEEP}")
    if isinstance(value, Mapping):
        return {str(key): plain_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(inner, depth + 1) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if hasattr(value, "tolist"):  # of NumPy
        return plain_value(value.tolist(), depth + 1)
    reason = odd_value(value)
    return value if reason is None else None if isinstance(value, float) else str(value)
