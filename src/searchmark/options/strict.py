"""Records that are read from files: frozen, and without a field that their class does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")

# Read by pydantic where a file is checked.
STRICT = {"extra": "forbid"}


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_record(record: type[T], /) -> type[T]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict_record(*, slots: bool) -> Callable[[type[T]], type[T]]: ...


def strict_record(record: Any = None, /, *, slots: bool = False) -> Any:
    """A frozen dataclass of which a file may name the known fields and no others."""

    def made(plain: Any) -> Any:
        strict: Any = dataclass(frozen=True, slots=slots)(plain)
        strict.__pydantic_config__ = STRICT
        return strict

    return made if record is None else made(record)
