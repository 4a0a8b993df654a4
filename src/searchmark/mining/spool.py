"""Records that wait in a file for their turn, so that memory holds one of them and not all."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from searchmark.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Spool(Generic[T]):
    """Records in files of our own; ``starts`` says in which one and where each record begins, in the order of reading."""

    starts: tuple[tuple[Path, int], ...]

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[T]:
        for path, records in groupby(self.starts, key=itemgetter(0)):
            with path.open("rb") as file:
                for _, start in records:
                    file.seek(start)
                    yield pickle.load(file)  # noqa: S301  # this program has written it, to a folder of its own


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
        with suppress(OSError):  # what is in the buffer still: `finished` would have said so
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
        return Spool(tuple((self._path, start) for start in self._starts))

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"the temporary file {self._path} cannot be written: {error.strerror}; set TMPDIR to another folder")
