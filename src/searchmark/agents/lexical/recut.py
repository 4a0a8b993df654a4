"""What an edit leaves alone: a new version of a text is cut only where it differs from the last one.

Borders between chunks depend on the text around them, so the chunks of the common beginning and of the common end of two
versions are the same. Most edits are small, and cutting whole files again would cost more than counting what is new.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.vocabulary import Ints
from searchmark.corpora.chunks import chunks, next_border


@dataclass(frozen=True, eq=False)
class Version:
    """A text, the sizes of its chunks in characters, and their rows."""

    text: str
    sizes: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Cut:
    """A text as chunks: some that are known by their rows before and after those that have to be looked at."""

    text: str
    before: Ints
    chunks: list[str]
    after: Ints
    sizes: Ints

    def rows(self, between: Ints) -> Ints:
        """The rows of all chunks, given those of the ones that were looked at."""
        return np.concatenate((self.before, between, self.after)) if len(self.before) or len(self.after) else between


NONE: Ints = np.empty(0, np.int64)


def cut(text: str) -> Cut:
    """Cut a text of which nothing is known."""
    parts = chunks(text)
    return Cut(text, NONE, parts, NONE, np.fromiter(map(len, parts), np.int64, len(parts)))


def cut_again(text: str, former: Version) -> Cut:
    """Cut another version of a text."""
    old = former.text
    if not text or not old:
        return cut(text)
    ends = np.cumsum(former.sizes)
    beginning, ending = _common(old, text)
    first = _last_border(old, ends, beginning)
    start = int(ends[first - 1]) if first else 0
    resumed = max(next_border(old, len(old) - ending), start)
    last = int(np.searchsorted(ends, resumed, "right"))
    parts = chunks(text[start : len(text) - (len(old) - resumed)])
    sizes = np.concatenate((former.sizes[:first], np.fromiter(map(len, parts), np.int64, len(parts)), former.sizes[last:]))
    return Cut(text, former.rows[:first], parts, former.rows[last:], sizes)


def _common(old: str, new: str) -> tuple[int, int]:
    """How many characters two texts share at their beginning, and how many of the rest at their end."""
    size = min(len(old), len(new))
    first, second = _characters(old, new)
    beginning = _alike(first[:size] != second[:size])
    size -= beginning
    return beginning, _alike((first[len(first) - size :] != second[len(second) - size :])[::-1]) if size else 0


def _alike(differing: NDArray[np.bool_]) -> int:
    return int(differing.argmax()) if differing.any() else len(differing)


def _characters(*texts: str) -> list[NDArray[np.unsignedinteger]]:
    """One number per character, so that places are those in the text."""
    code, kind = ("ascii", np.uint8) if all(map(str.isascii, texts)) else ("utf-32-le", np.uint32)
    return [np.frombuffer(text.encode(code, "surrogatepass"), kind) for text in texts]


def _last_border(text: str, ends: Ints, beginning: int) -> int:
    """How many chunks lie within the common beginning, up to the last border that does not depend on what follows.

    Such a border is followed by unindented text. One inside a long chunk is there only as long as that chunk is long.
    """
    count = int(np.searchsorted(ends, beginning, "left"))
    while count and text[ends[count - 1]].isspace():
        count -= 1
    return count
