"""Chunks of a number of tokens, which end where a paragraph, a line or a sentence does if one ends in time.

Tokens are those of wordllama's tokenizer, whatever model the chunks are for: sizes mean the same for every embedder.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from searchmark.agents.outside.tokens import COUNTED_BY, tokenizer
from searchmark.files.text_encoding import encodable

STRETCH = 50_000  # characters that are tokenised at once: the tokenizer takes more than twice as long for twice as many

# From the border that is liked best to the one that is liked least; each is right behind what was found.
_SENTENCE = r"[.!?][\"')\]]*\s+|[。！？]"  # full-width marks end sentences too, without a blank
_BORDERS = (re.compile(r"\n[^\S\n]*\n+"), re.compile(r"\n"), re.compile(_SENTENCE))

Span = tuple[int, int]


@dataclass(frozen=True)
class Overlap:
    """How many tokens of a chunk are those of the one before: a number of them, or a share of the one before."""

    tokens: int = 0
    share: float = 0.0

    def of(self, size: int) -> int:
        """That of a chunk with so many tokens."""
        return self.tokens or int(size * self.share + 1e-9)  # 15 % of 100 are 15, whatever floats make of it

    def __str__(self) -> str:
        return f"{100 * self.share:.4g}%" if self.share else str(self.tokens)


@dataclass(frozen=True)
class TokenChunks:
    """Chunks of ``least`` to ``most`` tokens; the last of a text may be shorter. No character is ever cut in two."""

    least: int
    most: int
    overlap: Overlap = Overlap()

    def __str__(self) -> str:
        sizes = str(self.most) if self.least == self.most else f"{self.least}-{self.most}"
        return f"tokens/{sizes}/overlap {self.overlap}/{COUNTED_BY}"

    def spans(self, text: str) -> list[Span]:
        """Where each chunk begins and ends; together they hold every character."""
        return list(self._spans(text, token_starts(text)))

    def _spans(self, text: str, starts: list[int]) -> Iterator[Span]:
        start = end = 0
        while end < len(text):
            end = self._end(text, starts, start, end)
            yield start, end
            start = self._next(starts, start, end)

    def _next(self, starts: list[int], start: int, end: int) -> int:
        """Where the chunk after this one begins."""
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        again = max(last - self.overlap.of(last - first), first)
        if again == last or starts[again] <= start:
            return end
        # It must hold more than what is known already, and a character of many tokens may leave no room for that.
        room = bisect_left(starts, starts[again]) + self.most
        return starts[again] if room >= len(starts) or starts[room] > end else end

    def _end(self, text: str, starts: list[int], start: int, before: int) -> int:
        """Where a chunk ends, which is behind the end of the one before."""
        first = bisect_left(starts, start)
        if first + self.most >= len(starts):
            return len(text)
        latest = starts[first + self.most]
        if latest <= start:  # one character has more tokens than a chunk may have
            return starts[bisect_left(starts, start + 1)] if starts[-1] > start else len(text)
        enough = starts[first + self.least - 1]  # whatever ends behind it has as many tokens as it must
        return _border(text, max(enough, before) + 1, latest) or latest


def token_starts(text: str) -> list[int]:
    """Where each token begins, in characters."""
    stretches = list(_stretches(text))
    encoded = tokenizer().encode_batch([encodable(text[start:end]) for start, end in stretches], add_special_tokens=False)
    return [start + offset for (start, _), each in zip(stretches, encoded, strict=True) for offset, _ in each.offsets]


def _stretches(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = min(start + STRETCH, len(text))
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield start, end
        start = end


def _border(text: str, earliest: int, latest: int) -> int | None:
    """The last border between two positions of the kind that is liked best; None if there is none."""
    before = max(earliest - 2, 0)  # a border has what it ends before it
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, before, latest) if match.end() >= earliest]
        if ends:
            return ends[-1]
    return None
