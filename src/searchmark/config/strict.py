"""Frozen records that refuse unknown fields, and the short text by which they show themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Annotated, Any, TypeVar, dataclass_transform, overload

from annotated_types import Ge

# One short line for a record, wherever Python shows it: what differs from the defaults, cut where it is long.

LONGEST_REPR = 199

_LONGEST_VALUE = 60

_MOST_ENTRIES = 3  # entries of a collection


def short_repr(record: Any) -> str:
    """The class and its fields, as far as they say something and fit; never longer than ``LONGEST_REPR``."""
    name = type(record).__qualname__
    parts: list[str] = []
    room = LONGEST_REPR - len(name) - len("(, …)")
    for each in fields(record):
        value = getattr(record, each.name)
        if not each.repr or _is_default(each, value):
            continue
        part = f"{each.name}={_value_text(value)}"
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


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return _cut_quoted(value)
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)[:_LONGEST_VALUE]
    if isinstance(value, Sized) and not is_dataclass(value):
        return _collection(value)
    text = _record_text(value) if is_dataclass(value) and not isinstance(value, type) else ""
    return text if 0 < len(text) <= _LONGEST_VALUE else f"<{type(value).__name__}>"


def _record_text(value: Any) -> str:
    """What a record says of itself; what dataclasses generate has no bound."""
    return short_repr(value) if hasattr(type(value).__repr__, "__wrapped__") else repr(value)


def _collection(value: Any) -> str:
    """A few entries as they are, many as their number."""
    size = f"<{len(value)}>"
    if len(value) > _MOST_ENTRIES or not isinstance(value, tuple | list | Mapping | set | frozenset):
        return size
    brackets = "()" if isinstance(value, tuple) else "[]" if isinstance(value, list) else "{}"
    text = ", ".join(_entry_texts(value))
    single = "," if isinstance(value, tuple) and len(value) == 1 else ""
    return f"{brackets[0]}{text}{single}{brackets[1]}" if len(text) <= _LONGEST_VALUE else size


def _entry_texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        return (f"{_value_text(key)}: {_value_text(each)}" for key, each in value.items())
    return map(_value_text, value)


def _cut_quoted(text: str) -> str:
    """A text in quotation marks, what is invisible written out, its middle left out if it is long: ids differ at their ends."""
    end = _LONGEST_VALUE // 2 - 2
    literal = repr(text if len(text) <= 2 * end else f"{text[:end]}…{text[-end:]}")
    return literal if len(literal) <= 2 * _LONGEST_VALUE else f"<text of {len(text)}>"


# Records that are read from files: frozen, and without a field that their class does not know.

T = TypeVar("T")

_LARGEST = (1 << 63) - 1


class _Strict:
    """Tells pydantic that a number is no boolean, which Python takes for 0 and 1, and that a whole one has 64 bits at most."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        schema = handler(source)
        number = schema.get("schema", schema)  # of what may be missing, too
        if number["type"] == "int":
            number.update({"ge": -_LARGEST, "le": _LARGEST} | number)
        return core_schema.no_info_before_validator_function(_no_boolean, schema)


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("number", "Input should be a number")
    return value


# Numbers of strict records. The mark stands after the bounds, which pydantic would otherwise check apart from the number.
STRICT = _Strict()

Whole = Annotated[int, STRICT]

Count = Annotated[int, Ge(0), STRICT]

Positive = Annotated[int, Ge(1), STRICT]

Number = Annotated[float, STRICT]


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_record(record: type[T], /) -> type[T]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_record(*, slots: bool) -> Callable[[type[T]], type[T]]: ...


def strict_record(record: Any = None, /, *, slots: bool = False) -> Any:
    """A frozen dataclass of which a file may name the known fields and no others."""

    def make(plain: Any) -> Any:
        if "__repr__" not in vars(plain):
            plain.__repr__ = short_repr
        strict: Any = dataclass(frozen=True, slots=slots)(plain)
        strict.__pydantic_config__ = {"extra": "forbid", "allow_inf_nan": False}  # read where a file is checked
        return strict

    return make if record is None else make(record)
