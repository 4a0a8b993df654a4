"""Postings by term, in columns that waste no byte: how they are sorted, packed, and merged with others.

A million documents have fifty million postings. They are sorted a part at a time, and parts are merged by copying.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.vocabulary import Ints, ranges

Floats = NDArray[np.float64]
AT_ONCE = 1 << 20  # postings that are copied at once: bounds what that takes beside its result
LARGE = 1 << 23  # postings of a segment that is kept until the last one of many is there
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


@dataclass(frozen=True, eq=False)
class Segment:
    """Postings by term: those of ``terms[i]`` are the rows ``starts[i]`` to ``starts[i + 1]``, in the order of their slots.

    A million documents have fifty million postings, so every byte of one counts: slots have half the width that arrays are indexed
    by, and frequencies the narrowest type that holds all of them exactly. What a query takes is widened as it is copied.
    """

    terms: NDArray[np.int32]  # distinct, ascending
    starts: Ints
    slots: NDArray[np.int32]
    frequencies: NDArray[Any]

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.terms, self.starts, self.slots, self.frequencies))

    def slices(self, terms: NDArray[np.int32]) -> list[slice]:
        """The rows of each term; none of one that is not here."""
        first, last = (self.starts[np.searchsorted(self.terms, terms, side)].tolist() for side in _SIDES)
        return [slice(start, end) for start, end in zip(first, last, strict=True)]

    def where(self, kept: NDArray[np.bool_]) -> Segment:
        """The postings that are marked."""
        if kept.all():
            return self
        sizes = np.diff(np.concatenate(([0], np.cumsum(kept)))[self.starts])
        held = sizes > 0
        return Segment(self.terms[held], _starts(sizes[held]), self.slots[kept], self.frequencies[kept])


def sorted_segment(terms: NDArray[np.int32], slots: Ints, frequencies: Floats) -> Segment:
    """Postings in any order as a segment; those with the same term and slot are added up."""
    order = _order(terms, slots)
    terms, slots, frequencies = terms[order], slots[order], frequencies[order]
    same_term = np.diff(terms, prepend=-1) == 0
    firsts = np.flatnonzero(~(same_term & (np.diff(slots, prepend=-1) == 0)))
    added = np.add.reduceat(frequencies, firsts) if len(firsts) else frequencies
    begins = np.flatnonzero(~same_term[firsts])
    starts = np.append(begins, len(firsts))
    return Segment(terms[firsts[begins]], starts, slots[firsts].astype(np.int32), _narrowed(added))


def gathered(segments: Iterable[Segment]) -> list[Segment]:
    """The same postings in few large segments: only large pieces of memory go back to the system when they are let go."""
    large: list[Segment] = []
    small: list[Segment] = []
    for segment in segments:
        small.append(segment)
        if sum(map(len, small)) >= LARGE:
            large.append(merged(small))
    return [*large, *small]


def merged(segments: list[Segment]) -> Segment:
    """One segment of several; the slots of each lie above those of the one before. Takes the segments out of the list."""
    if len(segments) == 1:
        return segments.pop()
    # Every posting is copied to where it belongs, so nothing is sorted but the terms.
    terms = np.unique(np.concatenate([segment.terms for segment in segments]))
    sizes = np.zeros(len(terms), np.int64)
    for segment in segments:
        sizes[np.searchsorted(terms, segment.terms)] += np.diff(segment.starts)
    starts = _starts(sizes)
    slots = np.empty(int(starts[-1]), np.int32)
    frequencies = np.empty(len(slots), np.result_type(*(segment.frequencies for segment in segments)))
    free = starts[:-1].copy()
    while segments:
        segment = segments.pop(0)  # so that it can go as soon as it was copied
        places, own = np.searchsorted(terms, segment.terms), np.diff(segment.starts)
        for first, last in pairwise(_cuts(segment.starts)):
            rows = ranges(free[places[first:last]], own[first:last])
            piece = slice(segment.starts[first], segment.starts[last])
            slots[rows], frequencies[rows] = segment.slots[piece], segment.frequencies[piece]
        free[places] += own
    return Segment(terms, starts, slots, frequencies)


def _narrowed(frequencies: Floats) -> NDArray[Any]:
    """The same numbers in the narrowest type that holds all of them exactly: mostly a byte, since most are small and whole."""
    for kind in (np.uint8, np.uint16, np.float32):
        with np.errstate(invalid="ignore", over="ignore"):  # what does not fit becomes something else, and is found by that
            narrow = frequencies.astype(kind)
        if np.array_equal(narrow, frequencies):
            return narrow
    return frequencies


def _order(terms: NDArray[np.int32], slots: Ints) -> Ints:
    """The order by term, then slot; two stable passes over halves are twice as fast as one over the whole."""
    # numpy sorts 16 bits by radix, in linear time, and wider numbers by comparing. Slots come in a few sorted runs.
    order = np.argsort(slots, kind="stable")
    for half in ((terms & 0xFFFF), terms >> 16):
        order = order[np.argsort(half.astype(np.uint16)[order], kind="stable")]
    return order


def _cuts(starts: Ints) -> list[int]:
    """Terms between which there are so many postings that a look at them all at once would take much memory."""
    inner: list[int] = np.searchsorted(starts, np.arange(AT_ONCE, starts[-1], AT_ONCE)).tolist()
    return [0, *inner, len(starts) - 1]


def _starts(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes)))
