"""One short line for a record, wherever Python shows it: what differs from the defaults, cut where it is long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

LONGEST = 199
_LONGEST_VALUE = 60
_MOST_SHOWN = 3  # entries of a collection


def short_repr(record: Any) -> str:
    """The class and its fields, as far as they say something and fit; never longer than ``LONGEST``."""
    name = type(record).__qualname__
    parts: list[str] = []
    room = LONGEST - len(name) - len("(, …)")
    for each in fields(record):
        value = getattr(record, each.name)
        if not each.repr or _is_default(each, value):
            continue
        part = f"{each.name}={_shown(value)}"
        room -= len(part) + 2
        if room < 0:
            parts.append("…")
            break
        parts.append(part)
    return f"{name}({', '.join(parts)})"


def _is_default(each: Field[Any], value: Any) -> bool:
    if each.default is not MISSING:
        return value is each.default or (type(value) is type(each.default) and _is_plain(value) and value == each.default)
    return each.default_factory is not MISSING and isinstance(value, Sized) and len(value) == 0


def _is_plain(value: Any) -> bool:
    """Whether two such values are compared at once: columns are not."""
    return value is None or isinstance(value, str | int | float | tuple) or is_dataclass(value)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)[:_LONGEST_VALUE]
    if isinstance(value, Sized) and not is_dataclass(value):
        return _collection(value)
    text = _of_record(value) if is_dataclass(value) and not isinstance(value, type) else ""
    return text if 0 < len(text) <= _LONGEST_VALUE else f"<{type(value).__name__}>"


def _of_record(value: Any) -> str:
    """What a record says of itself; what dataclasses generate has no bound."""
    return short_repr(value) if hasattr(type(value).__repr__, "__wrapped__") else repr(value)


def _collection(value: Any) -> str:
    """A few entries as they are, many as their number."""
    counted = f"<{len(value)}>"
    if len(value) > _MOST_SHOWN or not isinstance(value, tuple | list | Mapping | set | frozenset):
        return counted
    brackets = "()" if isinstance(value, tuple) else "[]" if isinstance(value, list) else "{}"
    text = ", ".join(_entries(value))
    single = "," if isinstance(value, tuple) and len(value) == 1 else ""
    return f"{brackets[0]}{text}{single}{brackets[1]}" if len(text) <= _LONGEST_VALUE else counted


def _entries(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        return (f"{_shown(key)}: {_shown(each)}" for key, each in value.items())
    return map(_shown, value)


def _cut(text: str) -> str:
    """A text in quotation marks, what is invisible written out, its middle left out if it is long: ids differ at their ends."""
    end = _LONGEST_VALUE // 2 - 2
    shown = repr(text if len(text) <= 2 * end else f"{text[:end]}…{text[-end:]}")
    return shown if len(shown) <= 2 * _LONGEST_VALUE else f"<text of {len(text)}>"
