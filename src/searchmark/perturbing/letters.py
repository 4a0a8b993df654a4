"""Changes of single letters: slips on a keyboard, case, accents, and words that are not finished."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from searchmark.perturbing.draws import Draws
from searchmark.perturbing.meaning import ANY_NEGATION

FEWEST_LETTERS = 3  # of a word that gets a slip: a shorter one would become another word
FEWEST_TO_DROP = 4  # of one that loses a letter
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_LAST_WORD = re.compile(r"(\w+)\W*\Z")

# The letters of a US keyboard, and how far each row is shifted to the right, in keys.
_ROWS = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))
_PLACES = {key: (column + shift, row) for row, (keys, shift) in enumerate(_ROWS) for column, key in enumerate(keys)}
# Letters whose accent is part of them, so that no decomposition takes it off.
_BARE = {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "AE", "œ": "oe", "ß": "ss"}


def _near(key: str) -> str:
    column, row = _PLACES[key]
    beside = (
        other
        for other, (its_column, its_row) in _PLACES.items()
        if (its_row == row and abs(its_column - column) == 1) or (abs(its_row - row) == 1 and abs(its_column - column) < 1)
    )
    return "".join(sorted(beside))


NEIGHBOURS = {key: _near(key) for key in _PLACES}
_MOST_NEIGHBOURS = max(map(len, NEIGHBOURS.values()))


def typos(query: str, draws: Draws) -> Iterator[str]:
    """One letter is that of a key beside the right one."""
    places = [place for place in _places(query, FEWEST_LETTERS) if query[place].lower() in NEIGHBOURS]
    for drawn in draws.order(len(places) * _MOST_NEIGHBOURS):
        place, number = places[drawn // _MOST_NEIGHBOURS], drawn % _MOST_NEIGHBOURS
        near = NEIGHBOURS[query[place].lower()]
        if number < len(near):
            typed = near[number].upper() if query[place].isupper() else near[number]
            yield f"{query[:place]}{typed}{query[place + 1 :]}"


def transpositions(query: str, draws: Draws) -> Iterator[str]:
    """Two letters beside each other have changed places."""
    pairs = [
        place for start, end in _words(query, FEWEST_LETTERS) for place in range(start, end - 1) if query[place] != query[place + 1]
    ]
    for drawn in draws.order(len(pairs)):
        place = pairs[drawn]
        yield f"{query[:place]}{query[place + 1]}{query[place]}{query[place + 2 :]}"


def dropped_letters(query: str, draws: Draws) -> Iterator[str]:
    """One letter is missing."""
    places = _places(query, FEWEST_TO_DROP)
    for drawn in draws.order(len(places)):
        yield f"{query[: places[drawn]]}{query[places[drawn] + 1 :]}"


def cases(query: str, draws: Draws) -> Iterator[str]:
    """Small letters, capitals, a capital at the beginning of every word, or of the first."""
    titled = _WORD.sub(lambda word: word[0][:1].upper() + word[0][1:].lower(), query)
    written = (query.lower(), query.upper(), titled, query[:1].upper() + query[1:].lower())
    yield from (written[drawn] for drawn in draws.order(len(written)))


def without_accents(query: str, _: Draws) -> Iterator[str]:
    """Latin letters without their accents; other scripts keep their marks, which are letters of theirs."""
    bare = "".join(map(_bare, unicodedata.normalize("NFC", query)))
    if bare != unicodedata.normalize("NFC", query):
        yield bare


def truncations(query: str, draws: Draws) -> Iterator[str]:
    """The last word is not finished; at least half of it is there. A number that is not finished is another one."""
    found = _LAST_WORD.search(query)
    if found is None or len(found[1]) < FEWEST_LETTERS or _DIGIT.search(found[1]) or found[1].lower() in ANY_NEGATION:
        return
    fewest = (len(found[1]) + 1) // 2
    for drawn in draws.order(len(found[1]) - fewest):
        yield query[: found.start(1) + fewest + drawn]


def _bare(letter: str) -> str:
    if letter in _BARE:
        return _BARE[letter]
    parts = unicodedata.normalize("NFD", letter)
    return parts[0] if len(parts) > 1 and unicodedata.name(parts[0], "").startswith("LATIN ") else letter


def _words(query: str, fewest: int) -> Iterator[tuple[int, int]]:
    """Words that may get a slip: "hot" for "not" would turn a query round."""
    words = (word for word in _WORD.finditer(query) if word[0].lower() not in ANY_NEGATION)
    return (word.span() for word in words if len(word[0]) >= fewest)


def _places(query: str, fewest: int) -> list[int]:
    return [place for start, end in _words(query, fewest) for place in range(start, end)]
