"""What the lines of an answer cost: counted along the ranking while the texts are there, for measures of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from searchmark.judging.matching import LineRange, apart
from searchmark.measures.line_tokens import MOST_LINES, MOST_TOKENS
from searchmark.records import CountedText

LineTokens: TypeAlias = tuple[int, ...]
# The tokens of every line of some documents, by id; what is no text is left out.
TextCounter: TypeAlias = Callable[[Sequence[str]], Mapping[str, LineTokens]]


def counted_lines(
    ids: Sequence[str],
    lines: Sequence[LineRange | None] | None,
    count: TextCounter,
    most: tuple[int, int] = (MOST_TOKENS, MOST_LINES),
) -> dict[str, CountedText]:
    """The lines that a reader of an answer sees, none twice, until ``most`` tokens and lines are read, whichever comes last.

    A hit without lines means all lines of its document; one that is no text has none.
    """
    meant = [apart(hit) for hit in ids]
    ranges = [given or spelt for given, (_, spelt) in zip(lines or [None] * len(ids), meant, strict=True)]
    texts = count([document for document, _ in meant])
    read: dict[str, set[int]] = {}
    total = number = 0
    for (document, _), span in zip(meant, ranges, strict=True):
        tokens, seen = texts.get(document, ()), read.setdefault(document, set())
        first, last = span or (1, len(tokens))
        for line in range(first, min(last, len(tokens)) + 1):
            if total >= most[0] and number >= most[1]:
                return _counted(texts, read)
            if line not in seen:
                seen.add(line)
                total, number = total + tokens[line - 1], number + 1
    return _counted(texts, read)


def _counted(texts: Mapping[str, LineTokens], read: Mapping[str, set[int]]) -> dict[str, CountedText]:
    return {
        each: CountedText(len(texts.get(each, ())), _pieces(texts.get(each, ()), sorted(lines))) for each, lines in read.items()
    }


def _pieces(tokens: LineTokens, lines: Sequence[int]) -> tuple[tuple[int, LineTokens], ...]:
    """Lines that follow each other are one piece."""
    begins = [place for place, line in enumerate(lines) if place == 0 or line != lines[place - 1] + 1]
    ends = [*begins[1:], len(lines)]
    return tuple((lines[begin], tokens[lines[begin] - 1 : lines[end - 1]]) for begin, end in zip(begins, ends, strict=False))
