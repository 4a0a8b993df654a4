"""Many times in little memory: eight bytes each, where a tuple of Python's numbers takes thirty-two."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, overload

from annotated_types import Ge

Milliseconds = Annotated[float, Ge(0)]


class Samples(Sequence[float]):
    """Numbers that are never changed, equal to a tuple of the same ones."""

    __slots__ = ("_packed",)

    def __init__(self, samples: Iterable[float] = ()) -> None:
        self._packed = array("d", samples).tobytes()

    def _numbers(self) -> memoryview[float]:
        return memoryview(self._packed).cast("d")

    def __len__(self) -> int:
        return len(self._numbers())

    def __iter__(self) -> Iterator[float]:
        return iter(self._numbers())

    @overload
    def __getitem__(self, which: int) -> float: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[float]: ...
    def __getitem__(self, which: int | slice) -> float | Sequence[float]:
        return tuple(self)[which]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Samples | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class _Packed:
    """Tells pydantic to read a list of times as `Samples`."""

    def __get_pydantic_core_schema__(self, _: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(Samples, handler(tuple[Milliseconds, ...]))


ManyMilliseconds = Annotated[Sequence[float], _Packed()]
