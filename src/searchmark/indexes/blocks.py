"""Where vectors lie: in blocks, so that they grow without being copied, in memory or in a file that is mapped."""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.errors import UsageError
from searchmark.files.locks import lock_file
from searchmark.files.private_folders import writing_temporary_files
from searchmark.indexes.index import Numbers

BLOCK = 8192  # vectors
HEADER = b"searchmark vectors: float32, from byte 4096 on\n"
FIRST = 4096  # bytes before the first block, which begins at a page


@dataclass(eq=False)
class Block:
    """Vectors in rows; which of them are in use, which of those float32 can score, and what their distance keeps of each."""

    first: int
    vectors: Vectors
    live: NDArray[np.bool_]
    rough: NDArray[np.bool_]
    factors: Vectors


class Blocks:
    """All vectors of an index. ``room``: gives the memory for one block more, by its shape."""

    def __init__(self, dimension: int, room: Callable[[int, int], Vectors]) -> None:
        self._dimension, self._room = dimension, room
        self._blocks: list[Block] = []
        self.rows = 0  # up to the last that was ever used

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def parts(self, size: int) -> Iterator[tuple[Block, slice]]:
        """All rows up to the last that was ever used, at most so many at once."""
        for block in self._blocks:
            used = min(self.rows - block.first, BLOCK)
            yield from ((block, slice(start, min(start + size, used))) for start in range(0, used, size))

    def grow(self, rows: int) -> None:
        while rows > len(self._blocks) * BLOCK:
            live, rough = np.zeros((2, BLOCK), dtype=np.bool_)
            vectors = self._room(BLOCK, self._dimension)
            self._blocks.append(Block(len(self._blocks) * BLOCK, vectors, live, rough, np.zeros(BLOCK, dtype=np.float32)))
        self.rows = max(self.rows, rows)

    def of(self, numbers: Numbers) -> Iterator[tuple[Block, Numbers, Numbers]]:
        """Every block that holds any of these vectors, their rows in it, and where among the numbers each is."""
        order = np.argsort(numbers, kind="stable")  # in the order of memory, and a no-op for numbers that are sorted
        borders = np.searchsorted(numbers[order], np.arange(len(self._blocks) + 1) * BLOCK).tolist()
        for block, start, end in zip(self._blocks, borders, borders[1:], strict=False):
            if end > start:
                where = order[start:end]
                yield block, numbers[where] - block.first, where

    def size(self) -> int:
        """Bytes of all rows up to the last that was ever used; what a block reserves beyond holds no vector."""
        one = sum(each[:1].nbytes for block in self._blocks[:1] for each in (block.vectors, block.live, block.rough, block.factors))
        return self.rows * one


def in_memory(rows: int, dimension: int) -> Vectors:
    """Room that the process owns; what is never written takes no memory."""
    return np.zeros((rows, dimension), dtype=np.float32)


class MappedFile:
    """Room in a file: what does not fit into memory is read from there when it is needed, and the system decides what that is.

    The file without a name is gone when the process is, whatever it dies of; one with a name is the caller's, and stays.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file = _unnamed() if path is None else _named(path)
        self._end = FIRST
        weakref.finalize(self, os.close, self._file)

    def __call__(self, rows: int, dimension: int) -> Vectors:
        size = -(-rows * dimension * 4 // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._reserve(size)
        mapped = mmap.mmap(self._file, size, offset=self._end)
        self._end += size
        return np.frombuffer(mapped, dtype=np.float32, count=rows * dimension).reshape(rows, dimension)

    def _reserve(self, size: int) -> None:
        # Not by making the file longer alone: on a full disk, the first write to such a page would kill the process.
        try:
            os.posix_fallocate(self._file, self._end, size)
        except OSError as error:
            where = f"the temporary folder {tempfile.gettempdir()}" if self._path is None else self._path
            raise UsageError(f"{where} has no room for more vectors: {error.strerror}; free some, or use another folder") from error


class MemoryThenFile:
    """Room in memory for so many bytes, and in a file without a name for the rest."""

    def __init__(self, memory: int) -> None:
        self._left = memory
        self._file: MappedFile | None = None

    def __call__(self, rows: int, dimension: int) -> Vectors:
        self._left -= rows * dimension * 4
        if self._left >= 0:
            return in_memory(rows, dimension)
        if self._file is None:
            self._file = MappedFile()
        return self._file(rows, dimension)


def _unnamed() -> int:
    with writing_temporary_files(), tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def _named(path: Path) -> int:
    """A new file of this name, or the one that an index has made before; no other, no link, and not while another index has it."""
    try:
        file = _made(path) or _made_before(path)
    except BlockingIOError as error:
        raise UsageError(f"{path} is in use by another index; name another file") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if file is None:
        raise UsageError(f"{path} was replaced while it was opened; try again")
    return file


def _made(path: Path) -> int | None:
    try:
        file = lock_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileExistsError:
        return None
    if file is not None:
        os.pwrite(file, HEADER, 0)
    return file


def _made_before(path: Path) -> int | None:
    if path.is_symlink():
        raise UsageError(f"{path} is a link, and vectors are written to none; name another file")
    file = lock_file(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if file is None:
        return None
    if not stat.S_ISREG(os.fstat(file).st_mode) or os.pread(file, len(HEADER), 0) != HEADER:
        os.close(file)
        raise UsageError(f"{path} is there and holds something else than vectors of an index; name another file")
    os.ftruncate(file, len(HEADER))
    return file
