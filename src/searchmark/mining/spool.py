"""Records that wait in a file for their turn, so that memory holds one of them and not all."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from searchmark.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Spool(Generic[T]):
    """Records in a file of our own; ``starts`` says where each one begins, in the order in which they are read."""

    path: Path
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[T]:
        with self.path.open("rb") as file:
            for start in self.starts:
                file.seek(start)
                yield pickle.load(file)  # noqa: S301  # this program has written it, to a folder of its own

    def in_order(self, numbers: Iterable[int]) -> Spool[T]:
        """The same records in another order, by the numbers that they had."""
        return replace(self, starts=tuple(self.starts[number] for number in numbers))


class SpoolWriter(Generic[T]):
    """Writes records one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._starts: list[int] = []
        try:
            self._file = path.open("xb")
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def add(self, record: T) -> None:
        try:
            self._starts.append(self._file.tell())
            pickle.dump(record, self._file, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise self._unwritable(error) from error

    def finished(self) -> Spool[T]:
        """What was written, to be read."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error
        return Spool(self._path, tuple(self._starts))

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._path} cannot be written: {error.strerror}; set TMPDIR to another folder")
