"""Texts as sets of numbers, one for every three words in a row: near copies have nearly the same set (Broder, 1997)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from searchmark.records import Document

Shingles = NDArray[np.uint64]

LENGTH = 3
# Texts that one text is compared with at most; each text begins with others, so that all have their turn among equal ones.
MOST_COMPARED = 20

_EAST_ASIAN = "぀-ヿ㐀-鿿가-힯"  # written without spaces: every sign is taken for a word
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W{_EAST_ASIAN}]+")


def shingles(document: Document) -> Shingles:
    """The set of a document, sorted; empty if it has fewer words than one shingle."""
    words = _WORD.findall(f"{document.title or ''}\n{document.text}".casefold())
    if len(words) < LENGTH:
        return np.zeros(0, np.uint64)
    # Python's own hash of a text is another one in every process.
    each = "\n".join(words).encode("utf-8", "surrogatepass").split(b"\n")
    hashes = np.fromiter(map(crc32, each), np.uint64, len(each))
    rows = len(hashes) - LENGTH + 1
    mixed = np.zeros(rows, np.uint64)
    for place in range(LENGTH):  # the order of the words counts
        mixed = (mixed ^ hashes[place : place + rows]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


def similarity(one: Shingles, other: Shingles) -> float:
    """The share of common numbers among all of both (Jaccard)."""
    if not len(one) or not len(other):
        return 0.0
    common = np.count_nonzero(one.take(np.searchsorted(one, other), mode="clip") == other)
    return float(common / (len(one) + len(other) - common))


class NearCopies:
    """An index of some texts that finds those which share at least such a part of their numbers with another.

    A text lacks few of the numbers of its near copy. So it has one of any few more than these, and the index needs only as many
    of each text: the rarest, which boilerplate is not among.
    """

    def __init__(self, texts: Mapping[str, Shingles], at_least: float) -> None:
        self._names, self._texts, self._at_least = list(texts), list(texts.values()), at_least
        numbers, counts = np.unique(np.concatenate([np.zeros(0, np.uint64), *self._texts]), return_counts=True)
        kept = [_rarest(each, counts[np.searchsorted(numbers, each)], at_least) for each in self._texts]
        keys = np.concatenate([np.zeros(0, np.uint64), *kept])
        order = np.argsort(keys, kind="stable")
        self._keys, self._owners = keys[order], np.repeat(np.arange(len(kept)), list(map(len, kept)))[order]
        self._turn = 0
        self.cut = False  # whether a text had more candidates than were compared

    def __len__(self) -> int:
        return len(self._names)

    def of(self, text: Shingles) -> Iterator[str]:
        """The names of the texts that are as similar as that, in the order of the index."""
        for at in sorted(self._candidates(text)):
            if similarity(self._texts[at], text) >= self._at_least:
                yield self._names[at]

    def _candidates(self, text: Shingles) -> list[int]:
        """The texts that have a number of their own in this one: those with the most if there are too many."""
        starts, ends = np.searchsorted(self._keys, text), np.searchsorted(self._keys, text, side="right")
        rows = [self._owners[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True) if end > start]
        if not rows:
            return []
        shared = np.bincount(np.concatenate(rows))
        found = np.flatnonzero(shared)
        if len(found) > MOST_COMPARED:
            self.cut = True
            self._turn += MOST_COMPARED
            found = found[np.lexsort(((found - self._turn) % len(self._names), -shared[found]))[:MOST_COMPARED]]
        return [int(at) for at in found]


def _rarest(text: Shingles, counts: NDArray[np.int64], at_least: float) -> Shingles:
    """One number more than a text of this similarity can lack."""
    lacking = len(text) - ceil(at_least * len(text) - 1e-9)
    return text[np.argsort(counts, kind="stable")[: lacking + 1]]
