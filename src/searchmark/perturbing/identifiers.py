"""Names as programs write them (camelCase, snake_case), taken apart and put together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from searchmark.agents.lexical.stop_words import STOP_WORDS
from searchmark.perturbing.draws import Draws
from searchmark.perturbing.edits import rewritten

_NAME = re.compile(r"\w+")
# Where a small letter meets a capital, and where capitals meet a word: get|User, HTTP|Server.
_SEAM = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z])|_+")
_PLAIN = re.compile(r"[^\W\d_]+\d*")
MOST_JOINED = 3


def parts_of(name: str) -> list[str]:
    """The words that a name was put together from; a single one for what is not put together."""
    return [part for part in _SEAM.split(name) if part]


def split_identifiers(query: str, draws: Draws) -> Iterator[str]:
    """All names as words, and then one of them."""
    names = _names(query)
    if not names:
        return
    yield rewritten(query, [(start, end, _spaced(parts)) for start, end, parts in names])
    for drawn in draws.order(len(names)):
        start, end, parts = names[drawn]
        yield rewritten(query, [(start, end, _spaced(parts))])


def joined_identifiers(query: str, draws: Draws) -> Iterator[str]:
    """Two or three words as one name, or a name in the other style."""
    groups = [*((start, end, tuple(parts)) for start, end, parts in _names(query)), *_word_groups(query)]
    for drawn in draws.order(2 * len(groups)):
        start, end, parts = groups[drawn // 2]
        yield rewritten(query, [(start, end, _snake(parts) if drawn % 2 else _camel(parts))])


def _names(query: str) -> list[tuple[int, int, list[str]]]:
    found = ((*word.span(), parts_of(word[0])) for word in _NAME.finditer(query))
    return [each for each in found if len(each[2]) > 1]


def _word_groups(query: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Every two and three neighbouring words, a blank between them, that are neither names nor function words."""
    words = list(_NAME.finditer(query))
    for first in range(len(words)):
        for count in range(2, MOST_JOINED + 1):
            group = words[first : first + count]
            if len(group) < count or not all(_may_join(word[0]) for word in group):
                break
            if any(query[one.end() : two.start()] != " " for one, two in pairwise(group)):
                break
            yield group[0].start(), group[-1].end(), tuple(word[0] for word in group)


def _may_join(word: str) -> bool:
    return _PLAIN.fullmatch(word) is not None and len(parts_of(word)) == 1 and word.lower() not in STOP_WORDS["english"]


def _spaced(parts: Sequence[str]) -> str:
    return " ".join(part.lower() for part in parts)


def _snake(parts: Sequence[str]) -> str:
    return "_".join(part.lower() for part in parts)


def _camel(parts: Sequence[str]) -> str:
    first, *rest = parts
    return first.lower() + "".join(part[:1].upper() + part[1:].lower() for part in rest)
