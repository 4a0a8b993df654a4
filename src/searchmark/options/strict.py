"""Records that are read from files: frozen, and without a field that their class does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

from searchmark.options.short_repr import short_repr

T = TypeVar("T")

# Read by pydantic where a file is checked.
STRICT = {"extra": "forbid", "allow_inf_nan": False}
_LARGEST = (1 << 63) - 1


_SCHEMA = "__get_pydantic_core_schema__"


def _schema_with_strict_numbers(_: type[Any], source: Any, handler: Callable[[Any], Any]) -> Any:
    return _with_strict_numbers(handler(source))


def _with_strict_numbers(schema: Any) -> Any:
    """The schema with numbers that are no booleans, which Python takes for 0 and 1, and that have 64 bits at most."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_with_strict_numbers, schema))
    if not isinstance(schema, dict) or schema.get("type") == "function-before":
        return schema
    inner = {key: value if key == "default" else _with_strict_numbers(value) for key, value in schema.items()}
    if inner.get("type") not in ("int", "float"):
        return inner
    from pydantic_core import core_schema

    if inner["type"] == "int":
        inner = {"ge": -_LARGEST, "le": _LARGEST} | inner
    return core_schema.no_info_before_validator_function(_no_boolean, inner)


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("number", "Input should be a number")
    return value


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_record(record: type[T], /) -> type[T]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_record(*, slots: bool) -> Callable[[type[T]], type[T]]: ...


def strict_record(record: Any = None, /, *, slots: bool = False) -> Any:
    """A frozen dataclass of which a file may name the known fields and no others."""

    def made(plain: Any) -> Any:
        if "__repr__" not in vars(plain):
            plain.__repr__ = short_repr
        strict: Any = dataclass(frozen=True, slots=slots)(plain)
        strict.__pydantic_config__ = STRICT
        if not hasattr(strict, _SCHEMA):  # a record that reads itself has its own
            setattr(strict, _SCHEMA, classmethod(_schema_with_strict_numbers))
        return strict

    return made if record is None else made(record)
