"""Attributes that are worked out when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801  # reads as property does
    """``functools.cached_property`` without its lock, which in Python 3.11 costs more than most of what we work out."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._work = work
        self._name = work.__name__

    @overload
    def __get__(self, owner: None, kind: type) -> lazy[T]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: object | None, kind: type) -> T | lazy[T]:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work(owner)
        return value
