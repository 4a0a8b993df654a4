"""Ways to change a query: slips of letters, words, identifiers, synonyms."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, permutations
from pathlib import Path
from types import MappingProxyType

from searchmark.agents.lexical.analyser import STOP_WORDS
from searchmark.errors import FormatError, shortened
from searchmark.io.store import read_utf8
from searchmark.records.file_kinds import word_set

# Pseudo-random numbers that are the same on every machine: digests of what is varied and a counter.


class Draws:
    """A separate series of numbers for each seed, case and kind, so that no other case or kind changes it."""

    def __init__(self, seed: int, case: str, kind: str) -> None:
        self._key = hashlib.blake2b(json.dumps([seed, kind, case]).encode("ascii"), digest_size=16).digest()
        self._count = 0

    def below(self, bound: int) -> int:
        """The next number from 0 up to ``bound``, without that."""
        number = hashlib.blake2b(self._key + self._count.to_bytes(8, "little"), digest_size=8).digest()
        self._count += 1
        return int.from_bytes(number, "little") * bound >> 64

    def order(self, count: int) -> Iterator[int]:
        """The numbers from 0 up to ``count``, each once, in a random order that is worked out lazily."""
        swaps: dict[int, int] = {}  # Fisher and Yates' shuffle, which keeps only what it has moved
        for place in range(count):
            other = place + self.below(count - place)
            yield swaps.get(other, other)
            swaps[other] = swaps.get(place, place)


def rewrite_stretches(query: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The query with new texts in some stretches, given in their order: from where, to where, what."""
    pieces, position = list[str](), 0
    for start, end, text in changes:
        pieces += [query[position:start], text]
        position = end
    return "".join((*pieces, query[position:]))


# Names as programs write them (camelCase, snake_case), taken apart and put together.

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
    yield rewrite_stretches(query, [(start, end, _spaced(parts)) for start, end, parts in names])
    for number in draws.order(len(names)):
        start, end, parts = names[number]
        yield rewrite_stretches(query, [(start, end, _spaced(parts))])


def joined_identifiers(query: str, draws: Draws) -> Iterator[str]:
    """Two or three words as one name, or a name in the other style."""
    groups = [*((start, end, tuple(parts)) for start, end, parts in _names(query)), *_word_groups(query)]
    for number in draws.order(2 * len(groups)):
        start, end, parts = groups[number // 2]
        yield rewrite_stretches(query, [(start, end, _snake(parts) if number % 2 else _camel(parts))])


def _names(query: str) -> list[tuple[int, int, list[str]]]:
    names = ((*word.span(), parts_of(word[0])) for word in _NAME.finditer(query))
    return [each for each in names if len(each[2]) > 1]


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


# Function words that decide what a query asks for: without "not" it asks for the opposite.
#
# No variant loses one of them, and where one is, the words keep their order: it is about what follows it.

NEGATING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "english": word_set(
            "no not nor neither never none without cannot except excluding but non don't doesn't isn't aren't can't won't"
        ),
        "dutch": word_set("niet niets geen zonder noch nooit behalve"),
        "french": word_set("pas non ne n ni sans aucun aucune jamais sauf"),
        "german": word_set("nicht nichts kein keine keinem keinen keiner keines ohne weder nie außer"),
        "italian": word_set("non né senza nessun nessuno nessuna mai tranne"),
        "portuguese": word_set("não nem sem nunca nenhum nenhuma exceto"),
        "spanish": word_set("no ni sin nada nunca ningún ninguna excepto salvo"),
    }
)


# Words that compare or relate: the side of a price, a date, a place, a change.
_COMPARING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "english": word_set("under over above below before after until since between against than more most only off from into"),
        "dutch": word_set("onder over voor na tussen tegen tot dan meer alleen"),
        "french": word_set("sous sur avant depuis entre contre moins plus jusqu"),
        "german": word_set("unter über vor nach seit bis zwischen gegen nur"),
        "italian": word_set("prima dopo tra fra fino contro più"),
        "portuguese": word_set("sob sobre antes após até desde entre contra mais apenas só"),
        "spanish": word_set("bajo sobre antes tras hasta desde entre contra más solo sólo"),
    }
)

DECIDING: Mapping[str, frozenset[str]] = MappingProxyType({each: NEGATING[each] | _COMPARING[each] for each in NEGATING})

ANY_NEGATION = frozenset().union(*NEGATING.values())  # which language a query is in is not known everywhere


# Changes of single letters: slips on a keyboard, case, accents, and words that are not finished.

FEWEST_LETTERS = 3  # of a word that gets a slip: a shorter one would become another word

FEWEST_TO_DROP = 4  # of one that loses a letter

_LETTERS = re.compile(r"[^\W\d_]+")

_DIGIT = re.compile(r"\d")

_LAST_WORD = re.compile(r"(\w+)\W*\Z")


# The letters of a US keyboard, and how far each row is shifted to the right, in keys.
_ROWS = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))

_PLACES = {key: (column + shift, row) for row, (keys, shift) in enumerate(_ROWS) for column, key in enumerate(keys)}


# Letters whose accent is part of them, so that no decomposition takes it off.
_BARE = {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "AE", "œ": "oe", "ß": "ss"}


def _nearby_keys(key: str) -> str:
    column, row = _PLACES[key]
    beside = (
        other
        for other, (its_column, its_row) in _PLACES.items()
        if (its_row == row and abs(its_column - column) == 1) or (abs(its_row - row) == 1 and abs(its_column - column) < 1)
    )
    return "".join(sorted(beside))


NEIGHBOURS = {key: _nearby_keys(key) for key in _PLACES}

_MOST_NEIGHBOURS = max(map(len, NEIGHBOURS.values()))


def typos(query: str, draws: Draws) -> Iterator[str]:
    """One letter is that of a key beside the right one."""
    places = [place for place in _places(query, FEWEST_LETTERS) if query[place].lower() in NEIGHBOURS]
    for pick in draws.order(len(places) * _MOST_NEIGHBOURS):
        place, number = places[pick // _MOST_NEIGHBOURS], pick % _MOST_NEIGHBOURS
        near = NEIGHBOURS[query[place].lower()]
        if number < len(near):
            letter = near[number].upper() if query[place].isupper() else near[number]
            yield f"{query[:place]}{letter}{query[place + 1 :]}"


def transpositions(query: str, draws: Draws) -> Iterator[str]:
    """Two letters beside each other have changed places."""
    pairs = [
        place for start, end in _words(query, FEWEST_LETTERS) for place in range(start, end - 1) if query[place] != query[place + 1]
    ]
    for number in draws.order(len(pairs)):
        place = pairs[number]
        yield f"{query[:place]}{query[place + 1]}{query[place]}{query[place + 2 :]}"


def dropped_letters(query: str, draws: Draws) -> Iterator[str]:
    """One letter is missing."""
    places = _places(query, FEWEST_TO_DROP)
    for number in draws.order(len(places)):
        yield f"{query[: places[number]]}{query[places[number] + 1 :]}"


def letter_cases(query: str, draws: Draws) -> Iterator[str]:
    """Small letters, capitals, a capital at the beginning of every word, or of the first."""
    title_case = _LETTERS.sub(lambda word: word[0][:1].upper() + word[0][1:].lower(), query)
    spellings = (query.lower(), query.upper(), title_case, query[:1].upper() + query[1:].lower())
    yield from (spellings[number] for number in draws.order(len(spellings)))


def without_accents(query: str, _: Draws) -> Iterator[str]:
    """Latin letters without their accents; other scripts keep their marks, which are letters of theirs."""
    bare = "".join(map(_bare, unicodedata.normalize("NFC", query)))
    if bare != unicodedata.normalize("NFC", query):
        yield bare


def truncations(query: str, draws: Draws) -> Iterator[str]:
    """The last word is not finished; at least half of it is there. A number that is not finished is another one."""
    match = _LAST_WORD.search(query)
    if match is None or len(match[1]) < FEWEST_LETTERS or _DIGIT.search(match[1]) or match[1].lower() in ANY_NEGATION:
        return
    fewest = (len(match[1]) + 1) // 2
    for number in draws.order(len(match[1]) - fewest):
        yield query[: match.start(1) + fewest + number]


def _bare(letter: str) -> str:
    if letter in _BARE:
        return _BARE[letter]
    parts = unicodedata.normalize("NFD", letter)
    return parts[0] if len(parts) > 1 and unicodedata.name(parts[0], "").startswith("LATIN ") else letter


def _words(query: str, fewest: int) -> Iterator[tuple[int, int]]:
    """Words that may get a slip: "hot" for "not" would turn a query round."""
    words = (word for word in _LETTERS.finditer(query) if word[0].lower() not in ANY_NEGATION)
    return (word.span() for word in words if len(word[0]) >= fewest)


def _places(query: str, fewest: int) -> list[int]:
    return [place for start, end in _words(query, fewest) for place in range(start, end)]


# Files of words that stand for each other, and what they make of a query.
#
# One entry per line: ``a = b`` or ``a, b, c`` go both ways, ``a => b, c`` goes one way, as in the synonym files of Solr and
# Elasticsearch. ``#`` begins a comment. Lines that say something else in a file for ``searchmark label`` (``a < b``,
# ``[color]``) are passed over and counted.

_PHRASE_WORD = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}]\w+)*")

_OF_LABELS = re.compile(r"\[.*\]\Z|[^=,]*<")

LONGEST_PHRASE = 8  # words

LEAST_TRANSLATED = 0.5  # of the words of a query that are no function words: "attach um screenshot" is English

Key = tuple[str, ...]


@dataclass(frozen=True)
class PhraseTable:
    """What each phrase, as lower-cased words, may be replaced by; ``skipped_lines`` counts lines that say something else."""

    replacements: Mapping[Key, tuple[str, ...]]
    skipped_lines: int = 0

    def matches(self, query: str) -> list[tuple[int, int, tuple[str, ...]]]:
        """Where phrases of the table are in a query, the longest at each place, none over another."""
        words = list(_PHRASE_WORD.finditer(query))
        keys = [word[0].casefold() for word in words]
        matches, place = [], 0
        while place < len(words):
            lengths = range(min(LONGEST_PHRASE, len(words) - place), 0, -1)
            count = next((n for n in lengths if tuple(keys[place : place + n]) in self.replacements), 0)
            if count:
                options = self.replacements[tuple(keys[place : place + count])]
                matches.append((words[place].start(), words[place + count - 1].end(), options))
            place += count or 1
        return matches


def read_phrases(path: Path, *, one_way: bool = False) -> PhraseTable:
    """The phrases of a file; with ``one_way`` only what comes first on a line is replaced, as in a glossary."""
    table: dict[Key, dict[str, None]] = {}
    skipped_lines = 0
    for number, line in enumerate(read_utf8(path).splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if _OF_LABELS.match(text):
            skipped_lines += 1
            continue
        for source, target in _pairs(path, number, text, one_way):
            table.setdefault(source, {})[target] = None
    if not table:
        raise FormatError(path, None, "holds no phrases; write one entry per line, such as: ticket = issue")
    return PhraseTable({source: tuple(targets) for source, targets in table.items()}, skipped_lines)


def replaced_once(query: str, draws: Draws, table: PhraseTable) -> Iterator[str]:
    """One phrase by another that means the same."""
    options = [(start, end, text) for start, end, texts in table.matches(query) for text in texts]
    for number in draws.order(len(options)):
        start, end, text = options[number]
        yield f"{query[:start]}{text}{query[end:]}"


def replaced_throughout(query: str, draws: Draws, table: PhraseTable, language: str) -> Iterator[str]:
    """Every phrase that is known by one of its translations, first by the first of each; nothing where too little is known."""
    matches = table.matches(query)
    content_words = [word.start() for word in _PHRASE_WORD.finditer(query) if word[0].lower() not in STOP_WORDS[language]]
    covered_places = [place for place in content_words if any(start <= place < end for start, end, _ in matches)]
    if not covered_places or len(covered_places) < LEAST_TRANSLATED * len(content_words):
        return
    yield rewrite_stretches(query, [(start, end, texts[0]) for start, end, texts in matches])
    for _ in range(max(len(texts) for _, _, texts in matches) - 1):
        yield rewrite_stretches(query, [(start, end, texts[draws.below(len(texts))]) for start, end, texts in matches])


def _pairs(path: Path, number: int, text: str, one_way: bool) -> Iterator[tuple[Key, str]]:
    left, arrow, right = text.partition("=>")
    sides = (left, right) if arrow else tuple(text.split("=")) if "=" in text else (text,)
    groups = [[" ".join(each.split()) for each in side.split(",") if each.strip()] for side in sides]
    if not all(groups) or (len(groups) == 1 and len(groups[0]) == 1):
        reason = f"{shortened(text, 60)!r} names one phrase; write both sides: ticket = issue"
        raise FormatError(path, f"line {number}", reason)
    if arrow or (one_way and len(groups) > 1):
        sources, targets = groups[0], [phrase for group in groups[1:] for phrase in group]
    else:
        everything = [phrase for group in groups for phrase in group]
        sources, targets = (everything[:1] if one_way else everything), everything
    for source in sources:
        key = tuple(word[0].casefold() for word in _PHRASE_WORD.finditer(source))
        if not 0 < len(key) <= LONGEST_PHRASE:
            raise FormatError(path, f"line {number}", f"{shortened(source, 60)!r} must have 1 to {LONGEST_PHRASE} words")
        yield from ((key, target) for target in targets if target.casefold() != source.casefold())


# English nouns in the other number, by their endings; the commonest irregular ones are listed.

_IRREGULAR = {
    "child": "children", "person": "people", "man": "men", "woman": "women", "foot": "feet", "tooth": "teeth", "mouse": "mice",
    "goose": "geese", "half": "halves", "knife": "knives", "life": "lives", "leaf": "leaves", "shelf": "shelves",
    "wife": "wives", "index": "indexes", "vertex": "vertices", "matrix": "matrices", "analysis": "analyses", "basis": "bases",
    "criterion": "criteria", "hypothesis": "hypotheses", "axis": "axes", "bus": "buses", "status": "statuses",
    "alias": "aliases", "canvas": "canvases", "virus": "viruses", "bonus": "bonuses", "focus": "focuses", "corpus": "corpora",
}  # fmt: skip

_SINGULAR = {plural: singular for singular, plural in _IRREGULAR.items()}


# Words that end like a plural, or have none.
_ALWAYS_ALIKE = frozenset(
    {
        "series", "species", "news", "always", "perhaps", "plus", "minus", "less", "across", "lens", "gas", "is", "was",
        "has", "this", "as", "us", "yes", "its", "jeans", "pants", "trousers", "shorts", "glasses", "scissors", "headphones",
        "sheep", "fish", "information", "software", "hardware", "equipment", "clothing", "jewelry", "jewellery", "data",
    }
)  # fmt: skip

_NO_NOUN = re.compile(r"(?:ing|ed|ly|ize|ise|ify|able|ible|ful|ous|est|less)\Z")


def other_number(word: str) -> str | None:
    """The plural of a singular and the singular of a plural; None for what has no other number, or does not look like a noun."""
    lower = word.lower()
    if not (word.isascii() and word.isalpha()) or len(word) < FEWEST_LETTERS or lower in _ALWAYS_ALIKE:
        return None
    if word[1:] != lower[1:] or _NO_NOUN.search(lower):
        return None  # an abbreviation or an identifier; a verb, adjective or adverb
    other = _IRREGULAR.get(lower) or _SINGULAR.get(lower) or _regular(lower)
    return other[:1].upper() + other[1:] if word[0].isupper() else other


def is_singular(word: str) -> bool:
    """Whether a word is written as one of a thing."""
    return word.lower() in _IRREGULAR or not (word.lower() in _SINGULAR or _ends_as_plural(word.lower()))


def _ends_as_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _regular(word: str) -> str:
    if _ends_as_plural(word):
        if word.endswith("ies") and len(word) > len("ties"):
            return f"{word[:-3]}y"
        if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
            return word[:-2]
        return word[:-1]
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "sh", "ch", "x", "z")) else f"{word}s"


# Changes of whole words: their order, their number, and function words that come or go.

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
        yield from (_join_tokens(tokens, orders[number]) for number in draws.order(len(orders)))
        return
    for _ in range(_DRAWN_ORDERS):
        yield _join_tokens(tokens, list(draws.order(len(tokens))))


def other_numbers(query: str, draws: Draws) -> Iterator[str]:
    """One noun in the other number. Nouns are guessed: the last word before a function word, or before the end."""
    tokens = query.split()
    nouns = [place for place in _last_of_runs(tokens) if _change_number(tokens[place]) is not None]
    for number in draws.order(len(nouns)):
        place = nouns[number]
        before = tokens[:place]
        if before and before[-1].lower() in _ARTICLES and is_singular(_core(tokens[place])):
            before = before[:-1]  # "an issue" becomes "issues"
        yield " ".join((*before, _change_number(tokens[place]) or "", *tokens[place + 1 :]))


def without_stop_words(query: str, draws: Draws, language: str) -> Iterator[str]:
    """Without all function words that decide nothing, and then without one of them."""
    tokens = query.split()
    words = [_core(token).lower() for token in tokens]
    stops = [place for place, word in enumerate(words) if word in STOP_WORDS[language] - DECIDING[language]]
    if not stops or STOP_WORDS[language].issuperset(words):
        return
    yield " ".join(token for place, token in enumerate(tokens) if place not in stops)
    for number in draws.order(len(stops)):
        yield " ".join((*tokens[: stops[number]], *tokens[stops[number] + 1 :]))


def with_stop_words(query: str, draws: Draws, language: str) -> Iterator[str]:
    """One function word more, in front of a word that is none and comes after none."""
    tokens, words, stop_words = query.split(), ADDED[language], STOP_WORDS[language]
    is_content = [bool(_core(token)) and _core(token).lower() not in stop_words for token in tokens]
    places = [place for place, tells in enumerate(is_content) if tells and (place == 0 or is_content[place - 1])]
    for number in draws.order(len(places) * len(words)):
        place = places[number // len(words)]
        yield " ".join((*tokens[:place], words[number % len(words)], *tokens[place:]))


def _join_tokens(tokens: Sequence[str], order: Sequence[int]) -> str:
    return " ".join(tokens[place] for place in order)


def _core(token: str) -> str:
    """A word without the marks around it."""
    match = _CORE.search(token)
    return match[0] if match else ""


def _change_number(token: str) -> str | None:
    """A word in the other number, with the marks that were around it."""
    core = _core(token)
    new_core = other_number(core) if core and core.lower() not in _NUMBERS else None
    return None if new_core is None else token.replace(core, new_core, 1)


def _last_of_runs(tokens: Sequence[str]) -> Iterator[int]:
    """The last word of every run of words that are no function words; a single one before an article is a verb."""
    stops = STOP_WORDS[ENGLISH]
    for is_stop, run in groupby(range(len(tokens)), lambda place: _core(tokens[place]).lower() in stops):
        places = list(run)
        following = places[-1] + 1
        verb = len(places) == 1 and following < len(tokens) and _core(tokens[following]).lower() in _DETERMINERS
        if not is_stop and not verb:
            yield places[-1]
