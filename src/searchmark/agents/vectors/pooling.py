"""Which chunks each file has: every distinct chunk is one number, however many files hold it.

An index knows nothing but these numbers. A number that no file holds any longer is given to another chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.indexes.index import Neighbours, Numbers, Scores

NONE: Numbers = np.empty(0, dtype=np.int64)
MISSING = -1  # in place of a number


@dataclass(frozen=True, eq=False)
class ChunkLayout:
    """The files in the order of their names, and their chunks one after the other, as numbers."""

    names: list[str]
    numbers: Numbers
    starts: Numbers
    counts: Numbers

    def found(self, near: Neighbours) -> tuple[Numbers, Scores]:
        """Where the chunks that were found are, in order, and their scores; one that many files hold occurs often."""
        # Marks by number, looked up for all chunks at once: an index from numbers to files would take longer to keep, since
        # most states of a corpus are asked once.
        marked = np.zeros(int(self.numbers.max(initial=-1)) + 1, dtype=np.bool_)
        marked[near.numbers] = True
        where = np.flatnonzero(marked[self.numbers])
        order = np.argsort(near.numbers)
        return where, near.scores[order][np.searchsorted(near.numbers[order], self.numbers[where])]

    def files_at(self, where: Numbers) -> Numbers:
        """The file of each of these chunks."""
        return np.searchsorted(self.starts, where, "right") - 1

    def chunks_of(self, files: Numbers) -> Numbers:
        """Where the chunks of these files are."""
        counts = self.counts[files]
        before = np.cumsum(counts) - counts
        where: Numbers = np.arange(counts.sum()) + np.repeat(self.starts[files] - before, counts)
        return where


class ChunkTable:
    """Files and the numbers of their chunks."""

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

    def __len__(self) -> int:
        """How many distinct chunks there are."""
        return len(self._number_of)

    @property
    def files(self) -> Mapping[str, Numbers]:
        """The numbers of the chunks of each file, in order."""
        return self._files

    def numbers_of(self, keys: Iterable[bytes]) -> list[int]:
        """The numbers of those of these chunks that are here."""
        return [self._number_of[key] for key in keys if key in self._number_of]

    def keys(self, numbers: Numbers) -> list[bytes]:
        """The chunks that have these numbers."""
        return [self._key_of[number] for number in numbers.tolist()]

    def put(self, files: Mapping[str, Sequence[bytes]]) -> dict[bytes, int]:
        """Files, each with its chunks, none twice, in place of what they were; gives the numbers of chunks that are new."""
        known = {
            name: np.array([self._number_of.get(key, MISSING) for key in keys], dtype=np.int64) for name, keys in files.items()
        }
        # What is here and will be held must not make room for what is new, so it is held before anything is let go.
        for numbers in known.values():
            self._hold(numbers[numbers != MISSING])
        self.remove(files)
        new: dict[bytes, int] = {}
        for name, numbers in known.items():
            self._fill(numbers, files[name], new)
            if len(numbers):
                self._files[name] = numbers
        return new

    def remove(self, names: Iterable[str]) -> None:
        """Files that are gone."""
        for name in names:
            self._let_go(name)
        self._layout = None

    def collect(self) -> Numbers:
        """Take their numbers from chunks that no file holds any longer; they are given out again from now on."""
        # Not as soon as the last file lets go: within one step a chunk often moves to another file, and need not be embedded
        # if its number was not needed meanwhile.
        gone = list(self._unheld)
        for number in gone:
            del self._number_of[self._key_of[number]]
        self._free += gone
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

    def _hold(self, numbers: Numbers) -> None:
        for number in numbers[self._holders[numbers] == 0].tolist():
            del self._unheld[number]
        self._holders[numbers] += 1

    def _fill(self, numbers: Numbers, keys: Sequence[bytes], new: dict[bytes, int]) -> None:
        """Put numbers where they are missing; another file may have brought the same chunk meanwhile."""
        for place in np.flatnonzero(numbers == MISSING).tolist():
            key = keys[place]
            if key not in self._number_of:
                self._number_of[key] = new[key] = self._next_number()
                self._key_of[new[key]] = key
            numbers[place] = self._number_of[key]
            self._holders[numbers[place]] += 1

    def _next_number(self) -> int:
        """Used numbers first, so that an index does not grow with what has changed."""
        if self._free:
            return self._free.pop()
        if self._unheld:
            number = next(iter(self._unheld))
            del self._unheld[number], self._number_of[self._key_of[number]]
            return number
        number = len(self._key_of)
        self._key_of.append(b"")
        if number == len(self._holders):  # as much again, so that growing chunk by chunk does not copy it each time
            self._holders = np.concatenate((self._holders, np.zeros(max(number, 1024), dtype=np.int64)))
        return number

    def _let_go(self, name: str) -> None:
        numbers = self._files.pop(name, NONE)
        self._holders[numbers] -= 1
        self._unheld.update(dict.fromkeys(numbers[self._holders[numbers] == 0].tolist()))
