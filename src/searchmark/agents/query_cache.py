"""What was asked before: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class QueryCache(Generic[T]):
    """Remembers the last ``size`` results of a function; none if the size is 0."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self.hits = 0

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What is remembered under this key, or what the function gives now."""
        if key in self._kept:
            self.hits += 1
            self._kept.move_to_end(key)
            return self._kept[key]
        value = compute()
        if self._size > 0:
            self._kept[key] = value
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget everything, as if nobody had asked yet."""
        self._kept.clear()
        self.hits = 0
