"""From texts to numbers: which terms occur how often in each of many texts, in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.tokens import IDENTIFIERS, Tokeniser, raw_words

Ints = NDArray[np.int64]
Kind = TypeVar("Kind", bound=np.integer[Any])


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each term occurs in each text: those of text ``i`` are the rows ``starts[i]`` to ``starts[i + 1]``."""

    starts: Ints
    terms: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: Ints  # of each text, in tokens

    def __len__(self) -> int:
        return len(self.lengths)

    def at(self, rows: Ints) -> Counts:
        """The counts of some of the texts, one after the other."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        places = ranges(self.starts[rows], sizes)
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return Counts(ends, self.terms[places], self.counts[places], self.lengths[rows])

    @classmethod
    def of_tokens(cls, terms: NDArray[np.int32], lengths: Ints) -> Counts:
        """Count the terms of texts that follow each other."""
        ends = np.concatenate(([0], np.cumsum(lengths)))
        terms = terms.copy()
        for start, end in pairwise(ends.tolist()):  # many short sorts take a quarter of the time of a long one
            terms[start:end].sort()
        new = np.diff(terms, prepend=-1) != 0
        new[ends[:-1][lengths > 0]] = True  # a text may begin with the term that the one before it ended with
        firsts = np.flatnonzero(new)
        repeated = np.diff(firsts, append=len(terms)).astype(np.int32)
        return cls(np.searchsorted(firsts, ends), terms[firsts], repeated, lengths)


class Vocabulary:
    """Numbers for terms, given when a term is first seen. Every distinct word is taken apart once."""

    def __init__(self, tokeniser: Tokeniser = IDENTIFIERS) -> None:
        self.tokeniser = tokeniser
        self.numbers: dict[str, int] = {}
        # A raw word ("getHTTPResponse") gets a number, and its terms ("get", "http", ...) lie in one array from
        # _starts[number] on: so a text that repeats a word costs a look-up and no cutting.
        self._words = _WordNumbers(self)
        self._starts = Growing(np.int64)
        self._terms = Growing(np.int32)
        self._starts.extend([0])

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, term: str) -> int:
        """The number of a term, a new one if need be."""
        return self.numbers.setdefault(term, len(self.numbers))

    def query(self, text: str) -> dict[int, int]:
        """The known terms of a query, in order, and how often each is asked for."""
        asked: dict[int, int] = {}
        for token in self.tokeniser.tokens(text):
            number = self.numbers.get(token)
            if number is not None:
                asked[number] = asked.get(number, 0) + 1
        return asked

    def count(self, texts: Iterable[str]) -> Counts:
        """Count the terms of each text."""
        words = list(map(raw_words, texts))
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        # __getitem__ and not get: a word that is missing is numbered on the way, without a line of Python per known word.
        found = np.fromiter(map(self._words.__getitem__, chain.from_iterable(words)), np.int64, int(sizes.sum()))
        self._learn()
        starts = self._starts.values
        lengths = (starts[1:] - starts[:-1])[found]
        # Tokens before each word, and words before each text: together, the tokens before each text.
        before = np.concatenate(([0], np.cumsum(lengths)))
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return Counts.of_tokens(self._terms.values[ranges(starts[:-1][found], lengths)], np.diff(before[ends]))

    def _learn(self) -> None:
        """Move what new words consist of into the arrays."""
        new = self._words.new
        if new:
            self._terms.extend(list(chain.from_iterable(new)))
            self._starts.extend(self._starts.values[-1] + np.cumsum(list(map(len, new))))
            new.clear()


class _WordNumbers(dict[bytes, int]):
    """Raw words and their numbers; one that is missing is taken apart and remembered."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.new: list[list[int]] = []
        self._number = vocabulary.number
        self._pieces = vocabulary.tokeniser.pieces

    def __missing__(self, word: bytes) -> int:
        self.new.append(list(map(self._number, self._pieces(word))))
        number = self[word] = len(self)
        return number


class Growing(Generic[Kind]):
    """An array that grows at its end, in constant time per value."""

    def __init__(self, kind: type[Kind]) -> None:
        self._room: NDArray[Kind] = np.empty(1024, kind)
        self._size = 0

    @property
    def values(self) -> NDArray[Kind]:
        return self._room[: self._size]

    def extend(self, values: Sequence[int] | NDArray[Any]) -> None:
        size = self._size + len(values)
        if size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = values
        self._size = size


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """All numbers from each start on, as many as its length says, one range after the other."""
    # 0, 1, 2, ... over everything, moved at the beginning of each range by what it is off there.
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(starts - ends + lengths, lengths)
