"""Words and phrases of queries, titles and values in one spelling: no case, no accents, English stems.

Labels and the audit compare texts by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

LONGEST_PHRASE = 100  # letters; what is longer is a text

_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'"})

_POSSESSIVE = re.compile(r"(?<=\w)'s?\b|(?<=s)'")

_WORD = re.compile(r"[^\W_]+")


# Words whose stem is another thing: shorts are not short, glasses are not made of glass.
_NO_PLURALS = frozenset({"shorts", "tights", "slacks", "flats", "pumps", "heels", "slides"})


# Plurals whose stem is not that of the singular; not gloves and sleeves, so no rule does.
_IN_VES = re.compile(r"(?:(\w*(?:scar|shel|wol|thie|kerchie))v(?:es|ing)|(cal|hal|lea|loa|el|hoo|dwar|shea|\w*sel)ves)")

_IN_IVES = re.compile(r"(\w*(?:kni|wi)|li)ves")

_NEGATING = frozenset({"no", "not", "non", "without", "never"})

_FREE = "free"  # leather-free, free of leather, free from leather

_FREE_OF = frozenset({"of", "from"})

_CONJUNCTIONS = frozenset({"and", "or", "nor"})


# All that may stand between "not" and what it negates: in "no-show cotton socks" the cotton is not negated.
_BETWEEN = "a an any the in of for from with made real genuine pure animal added use"

_FARTHEST = 3  # words between


def stemmed_words(text: str) -> list[str]:
    """The words of a text in order, each in its one form."""
    return [_stem_word(word) for word in written_words(text)]


def written_words(text: str) -> list[str]:
    """The words of a text in order, before they are reduced to stems."""
    return _WORD.findall(fold_text(text))


def fold_text(text: str) -> str:
    """Text without case, accents and possessives."""
    if not text.isascii():
        characters = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES))
        text = "".join(char for char in characters if not unicodedata.combining(char))
    return _POSSESSIVE.sub("", text.casefold())


def phrase_key(text: str) -> str:
    """What a phrase is known by; empty if it has no words."""
    return "".join(stemmed_words(text))


@dataclass(frozen=True)
class PhraseSpan:
    """A known phrase in a list of words."""

    start: int
    end: int
    key: str
    negated_at: int | None = None  # where the word is that negates it

    @property
    def rows(self) -> range:
        """Its words, those that negate it and those between."""
        rows = (self.start, self.end - 1, self.start if self.negated_at is None else self.negated_at)
        return range(min(rows), max(rows) + 1)


class Phrases(Protocol):
    """Which phrases are known, and whether longer ones begin like this."""

    same: dict[str, str]
    beginnings: set[str]


def find_phrases(words: Sequence[str], phrases: Phrases) -> Iterator[PhraseSpan]:
    """The known phrases from left to right, each as long as possible, none inside another and none that is negated."""
    return (span for span in find_phrases_and_negated(words, phrases) if span.negated_at is None)


def find_phrases_and_negated(words: Sequence[str], phrases: Phrases) -> Iterator[PhraseSpan]:
    """The known phrases, and those among them that are negated."""
    start, last = 0, None
    while start < len(words):
        # Most words begin no known phrase, and texts are long.
        span = _longest_phrase_at(words, start, phrases) if words[start] in phrases.beginnings else None
        if span is None:
            start += 1
            continue
        last = replace(span, negated_at=_negation_of(words, span, last))
        yield last
        start = span.end


def _longest_phrase_at(words: Sequence[str], start: int, phrases: Phrases) -> PhraseSpan | None:
    longest, key = None, ""
    for end in range(start + 1, len(words) + 1):
        key += words[end - 1]
        if key not in phrases.beginnings:
            break
        if key in phrases.same:
            longest = PhraseSpan(start, end, key)
    return longest


def _negation_of(words: Sequence[str], span: PhraseSpan, last: PhraseSpan | None) -> int | None:
    """Where a phrase is negated: right behind it, or before it with few words between."""
    if words[span.end : span.end + 1] == [_FREE] and not _FREE_OF & {*words[span.end + 1 : span.end + 2]}:
        return span.end
    for row in range(span.start - 1, max(span.start - 2 - _FARTHEST, -1), -1):
        if words[row] in _NEGATING:
            return row
        if words[row] == _FREE:
            return row if words[row + 1] in _FREE_OF else None
        if last is not None and row == last.end - 1:
            return last.negated_at if words[row + 1] in _CONJUNCTIONS else None
        if words[row] not in _separators():
            return None
    return None


@cache
def _separators() -> frozenset[str]:
    return _CONJUNCTIONS | frozenset(stemmed_words(_BETWEEN))


@cache
def _stem_word(word: str) -> str:
    if word in _NO_PLURALS or word.endswith("glasses"):
        return word
    return _stemmer()(_singular(word)) if word.isalpha() else word


def _singular(word: str) -> str:
    """Scarf for scarves, and knife for knives."""
    if match := _IN_VES.fullmatch(word):
        return f"{match[1] or match[2]}f"
    match = _IN_IVES.fullmatch(word)
    return word if match is None else f"{match[1]}fe"


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

    stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord
    return stem
