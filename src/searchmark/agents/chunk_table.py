"""Which chunks each file has: every distinct chunk is one number, however many files hold it.

An index knows nothing but these numbers. A number that no file holds any longer is given to another chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.indexes.index import Neighbours, Numbers, Scores

NONE: Numbers = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ChunkLayout:
    """The files in the order of their names, and their chunks one after the other, as numbers."""

    names: list[str]
    numbers: Numbers
    starts: Numbers
    counts: Numbers

    def found(self, near: Neighbours) -> tuple[Numbers, Scores]:
        """Where the chunks that were found stand, in order, and their scores; one that many files hold stands often."""
        # A table by number, looked up for all chunks at once, is quicker than an index from numbers to files would be to
        # keep: most states of a corpus are asked once.
        scores = np.full(int(self.numbers.max(initial=-1)) + 1, -np.inf)
        scores[near.numbers] = near.scores
        everywhere = scores[self.numbers]
        where = np.flatnonzero(everywhere > -np.inf)
        return where, everywhere[where]

    def files_at(self, where: Numbers) -> Numbers:
        """The file of each of these chunks."""
        return np.searchsorted(self.starts, where, "right") - 1

    def chunks_of(self, files: Numbers) -> Numbers:
        """Where the chunks of these files stand."""
        counts = self.counts[files]
        before = np.cumsum(counts) - counts
        where: Numbers = np.arange(counts.sum()) + np.repeat(self.starts[files] - before, counts)
        return where


class ChunkTable:
    """Files and the numbers of their chunks. Whoever puts a file has asked for the numbers of its new chunks before."""

    def __init__(self) -> None:
        self._number_of: dict[bytes, int] = {}
        self._key_of: list[bytes] = []
        self._holders = NONE
        self._unheld: dict[int, None] = {}  # in the order in which they were let go
        self._free: list[int] = []
        self._files: dict[str, Numbers] = {}
        self._layout: ChunkLayout | None = None

    def __contains__(self, key: bytes) -> bool:
        return key in self._number_of

    @property
    def files(self) -> Mapping[str, Numbers]:
        """The numbers of the chunks of each file, in order."""
        return self._files

    def keys(self, numbers: Numbers) -> list[bytes]:
        """The chunks that have these numbers."""
        return [self._key_of[number] for number in numbers.tolist()]

    def number(self, keys: Iterable[bytes]) -> Numbers:
        """Numbers for chunks that have none yet; no file holds them until one is put."""
        numbers = [self._next_number(key) for key in keys]
        room = len(self._key_of) - len(self._holders)  # below zero while what was added last time is not used up
        if room > 0:
            # At least as much again, so that growing chunk by chunk does not copy the array each time.
            self._holders = np.concatenate((self._holders, np.zeros(max(room, len(self._holders)), dtype=np.int64)))
        self._unheld.update(dict.fromkeys(numbers))
        return np.array(numbers, dtype=np.int64)

    def put(self, files: Mapping[str, Sequence[bytes]]) -> None:
        """Files, each with its chunks, none twice, in place of what they were before."""
        for name, keys in files.items():
            numbers = np.array([self._number_of[key] for key in keys], dtype=np.int64)
            for number in numbers[self._holders[numbers] == 0].tolist():
                del self._unheld[number]
            self._holders[numbers] += 1  # before the former version lets go, which may hold the same
            self._let_go(name)
            if len(numbers):
                self._files[name] = numbers
        self._layout = None

    def remove(self, names: Iterable[str]) -> None:
        """Files that are gone."""
        for name in names:
            self._let_go(name)
        self._layout = None

    def collect(self) -> Numbers:
        """Take their numbers from chunks that no file holds any longer; they are given out again from now on."""
        # Not as soon as the last file lets go: within one step a chunk often moves to another file, and need not be embedded.
        gone = list(self._unheld)
        for number in gone:
            del self._number_of[self._key_of[number]]
        self._free = gone[::-1] + self._free
        self._unheld = {}
        return np.array(gone, dtype=np.int64)

    def layout(self) -> ChunkLayout:
        """The present state for a search; made once per state."""
        if self._layout is None:
            names = sorted(self._files)
            counts = np.array([len(self._files[name]) for name in names], dtype=np.int64)
            numbers = np.concatenate([NONE, *(self._files[name] for name in names)])
            self._layout = ChunkLayout(names, numbers, np.cumsum(counts) - counts, counts)
        return self._layout

    def size(self) -> int:
        """Bytes of the lists that say whose a chunk is."""
        return sum(numbers.nbytes for numbers in self._files.values())

    def _next_number(self, key: bytes) -> int:
        if self._free:
            number = self._free.pop()
            self._key_of[number] = key
        else:
            number = len(self._key_of)
            self._key_of.append(key)
        self._number_of[key] = number
        return number

    def _let_go(self, name: str) -> None:
        numbers = self._files.pop(name, NONE)
        self._holders[numbers] -= 1
        self._unheld.update(dict.fromkeys(numbers[self._holders[numbers] == 0].tolist()))
