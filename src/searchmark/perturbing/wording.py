"""Changes of whole words: their order, their number, and function words that come or go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, permutations
from types import MappingProxyType

from searchmark.agents.lexical.stop_words import STOP_WORDS
from searchmark.perturbing.draws import Draws
from searchmark.perturbing.meaning import DECIDING
from searchmark.perturbing.plurals import is_singular, other_number

ENGLISH = "english"
_ALL_ORDERS_UP_TO = 5  # words, of which there are 120 orders; of more, so many are drawn
_DRAWN_ORDERS = 100
_CORE = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}-]\w+)*")
# What goes in front of nearly any word and changes nothing; none of them negates.
ADDED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        ENGLISH: ("the", "a", "of", "for", "in", "with"),
        "dutch": ("de", "het", "een", "van", "voor", "met"),
        "french": ("le", "la", "les", "de", "pour", "avec"),
        "german": ("der", "die", "das", "von", "für", "mit"),
        "italian": ("il", "la", "i", "di", "per", "con"),
        "portuguese": ("o", "a", "os", "de", "para", "com"),
        "spanish": ("el", "la", "los", "de", "para", "con"),
    }
)
_ARTICLES = frozenset({"a", "an"})
# What follows a verb and begins what it is done to: "create an issue".
_DETERMINERS = frozenset(
    {
        "a", "an", "the", "my", "your", "our", "their", "his", "her", "its", "this", "that", "these", "those", "all", "any",
        "each", "every", "some", "no",
    }
)  # fmt: skip
_NUMBERS = frozenset(
    {
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second", "third", "last",
        "next",
    }
)  # fmt: skip


def word_orders(query: str, draws: Draws, language: str) -> Iterator[str]:
    """The words in another order, unless one of them decides about its neighbours."""
    tokens = query.split()
    if any(_core(token).lower() in DECIDING[language] for token in tokens):
        return
    if len(tokens) <= _ALL_ORDERS_UP_TO:
        orders = list(permutations(range(len(tokens))))[1:]  # the first is the order that they have
        yield from (_joined(tokens, orders[drawn]) for drawn in draws.order(len(orders)))
        return
    for _ in range(_DRAWN_ORDERS):
        yield _joined(tokens, list(draws.order(len(tokens))))


def other_numbers(query: str, draws: Draws) -> Iterator[str]:
    """One noun in the other number. Nouns are guessed: the last word before a function word, or before the end."""
    tokens = query.split()
    nouns = [place for place in _last_of_runs(tokens) if _changed(tokens[place]) is not None]
    for drawn in draws.order(len(nouns)):
        place = nouns[drawn]
        kept = tokens[:place]
        if kept and kept[-1].lower() in _ARTICLES and is_singular(_core(tokens[place])):
            kept = kept[:-1]  # "an issue" becomes "issues"
        yield " ".join((*kept, _changed(tokens[place]) or "", *tokens[place + 1 :]))


def without_stop_words(query: str, draws: Draws, language: str) -> Iterator[str]:
    """Without all function words that decide nothing, and then without one of them."""
    tokens = query.split()
    said = [_core(token).lower() for token in tokens]
    stops = [place for place, word in enumerate(said) if word in STOP_WORDS[language] - DECIDING[language]]
    if not stops or STOP_WORDS[language].issuperset(said):
        return
    yield " ".join(token for place, token in enumerate(tokens) if place not in stops)
    for drawn in draws.order(len(stops)):
        yield " ".join((*tokens[: stops[drawn]], *tokens[stops[drawn] + 1 :]))


def with_stop_words(query: str, draws: Draws, language: str) -> Iterator[str]:
    """One function word more, in front of a word that is none and comes after none."""
    tokens, words, known = query.split(), ADDED[language], STOP_WORDS[language]
    telling = [bool(_core(token)) and _core(token).lower() not in known for token in tokens]
    places = [place for place, tells in enumerate(telling) if tells and (place == 0 or telling[place - 1])]
    for drawn in draws.order(len(places) * len(words)):
        place = places[drawn // len(words)]
        yield " ".join((*tokens[:place], words[drawn % len(words)], *tokens[place:]))


def _joined(tokens: Sequence[str], order: Sequence[int]) -> str:
    return " ".join(tokens[place] for place in order)


def _core(token: str) -> str:
    """A word without the marks around it."""
    found = _CORE.search(token)
    return found[0] if found else ""


def _changed(token: str) -> str | None:
    """A word in the other number, with the marks that were around it."""
    core = _core(token)
    changed = other_number(core) if core and core.lower() not in _NUMBERS else None
    return None if changed is None else token.replace(core, changed, 1)


def _last_of_runs(tokens: Sequence[str]) -> Iterator[int]:
    """The last word of every run of words that are no function words; a single one before an article is a verb."""
    stops = STOP_WORDS[ENGLISH]
    for is_stop, run in groupby(range(len(tokens)), lambda place: _core(tokens[place]).lower() in stops):
        places = list(run)
        following = places[-1] + 1
        verb = len(places) == 1 and following < len(tokens) and _core(tokens[following]).lower() in _DETERMINERS
        if not is_stop and not verb:
            yield places[-1]
