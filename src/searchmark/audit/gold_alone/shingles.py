"""Texts as sets of numbers, one for every three words in a row: near copies have nearly the same set (Broder, 1997)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from searchmark.records import Document

Shingles = NDArray[np.uint64]

LENGTH = 3
# The smallest numbers of a set are a random sample of it: of two sets that share nine tenths, all sixteen are different once in
# 10^20 pairs.
SKETCH = 16
# A number that so many texts share is boilerplate and tells nothing of copies.
MOST_SHARING = 100

_EAST_ASIAN = "぀-ヿ㐀-鿿가-힯"  # written without spaces: every sign is taken for a word
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W{_EAST_ASIAN}]+")


def shingles(document: Document) -> Shingles:
    """The set of a document, sorted; empty if it has fewer words than one shingle."""
    words = _WORD.findall(f"{document.title or ''}\n{document.text}".casefold())
    hashes = np.fromiter(map(hash, words), np.int64, len(words)).astype(np.uint64)
    if len(hashes) < LENGTH:
        return np.zeros(0, np.uint64)
    rows = len(hashes) - LENGTH + 1
    mixed = np.zeros(rows, np.uint64)
    for place in range(LENGTH):  # the order of the words counts
        mixed = (mixed ^ hashes[place : place + rows]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


def similarity(one: Shingles, other: Shingles) -> float:
    """The share of common numbers among all of both (Jaccard)."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


class NearCopies:
    """An index of some texts that finds those which are nearly equal to another."""

    def __init__(self, texts: Mapping[str, Shingles]) -> None:
        self._texts = texts
        postings: dict[int, list[str]] = {}
        for name, each in texts.items():
            for number in each[:SKETCH].tolist():
                postings.setdefault(number, []).append(name)
        self._postings = {number: names for number, names in postings.items() if len(names) <= MOST_SHARING}
        self._numbers = np.array(sorted(self._postings), np.uint64)

    def of(self, text: Shingles, at_least: float) -> Iterator[str]:
        """The names of the texts that are as similar as that."""
        for name in sorted(set(self._sharing(text))):
            if similarity(self._texts[name], text) >= at_least:
                yield name

    def _sharing(self, text: Shingles) -> Iterable[str]:
        common = text[np.isin(text, self._numbers, assume_unique=True)].tolist() if len(self._numbers) else []
        return (name for number in common for name in self._postings[number])
