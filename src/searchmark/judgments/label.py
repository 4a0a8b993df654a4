"""Grades items of a catalogue for queries, by rules over fields, titles and descriptions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from searchmark.agents.lexical.words import (
    LONGEST_PHRASE,
    PhraseSpan,
    find_phrases,
    find_phrases_and_negated,
    phrase_key,
    stemmed_words,
    written_words,
)
from searchmark.errors import FormatError, NothingEvaluated, UsageError, shortened
from searchmark.formats.corpora.corpus import Corpus
from searchmark.formats.suites.labels import ListedQuery
from searchmark.io.store import read_utf8
from searchmark.records.document import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Which phrases mean the same, which is a kind of which, and what each is said about (a color, a material, a type of product).
#
# A file has one phrase or relation per line: ``a = b`` are synonyms, ``a < b`` says that every a is a b. ``[color]`` begins a
# section, whose phrases are values of that attribute; before the first section there are relations only.

SHIPPED = Path(__file__).with_name("fashion.txt")

_SECTION = re.compile(r"\[\s*([\w-]+)\s*\]")


@dataclass
class Lexicon:
    """Phrases by what they are known by; filled from files first, then with the values of a catalogue."""

    spelled: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)  # how the catalogue first wrote a value, by its name
    roles: dict[str, set[str]] = field(default_factory=dict)  # of one name per group of synonyms
    same: dict[str, str] = field(default_factory=dict)  # every known phrase, and a synonym of it that is nearer to the one name
    beginnings: set[str] = field(default_factory=set)
    of_catalogue: set[str] = field(default_factory=set)  # phrases that no file names
    _broader: dict[str, set[str]] = field(default_factory=dict)

    def name(self, key: str) -> str:
        """The one name of all synonyms of a phrase."""
        while (next_name := self.same.get(key, key)) != key:
            key = next_name
        return key

    def add(self, text: str, role: str | None = None) -> str:
        """Make a phrase known, as a value of a role if one is given; its name, empty if it has no words or is too long."""
        key = phrase_key(text)
        if not 0 < len(key) <= LONGEST_PHRASE:
            return ""
        if key not in self.same:
            self.same[key] = key
            self.beginnings.update(key[:end] for end in range(1, len(key) + 1))
        self.spelled.setdefault(key, " ".join(text.split()))
        name = self.name(key)
        if role is not None:
            self.roles.setdefault(name, set()).add(role)
        return name

    def shown(self, name: str) -> str:
        """A value as the catalogue writes it, or else as a file of words does."""
        return self.written.get(name) or self.spelled[name]

    def make_same(self, first: str, second: str) -> None:
        name, other = self.name(first), self.name(second)
        if name == other:
            return
        self.same[other] = name
        self.roles.setdefault(name, set()).update(self.roles.pop(other, ()))
        self._broader.setdefault(name, set()).update(self._broader.pop(other, ()))

    def make_kind(self, narrow: str, broad: str) -> None:
        self._broader.setdefault(self.name(narrow), set()).add(broad)

    def add_value(self, text: str, role: str) -> str:
        """Add a value of a catalogue: "trail boots" are boots, where boots are known as something of the same role or a type."""
        words = stemmed_words(text)
        is_new = (key := "".join(words)) not in self.same
        name = self.add(text, role)
        if not name:
            return ""
        if is_new:
            self.of_catalogue.add(key)
        self.written.setdefault(name, " ".join(text.split()))
        for start in range(1, len(words)):
            head = self.name("".join(words[start:]))
            if head != name and self.roles.get(head, set()) & {role, "type"}:
                self.make_kind(name, head)
                break
        return name

    def broader(self, name: str) -> set[str]:
        """All that a phrase is a kind of, itself left out."""
        return _reachable_names(name, self._parents())

    def narrower(self, name: str) -> set[str]:
        """All that are kinds of it, itself left out."""
        children: dict[str, set[str]] = {}
        for child, parents in self._parents().items():
            for parent in parents:
                children.setdefault(parent, set()).add(child)
        return _reachable_names(name, children)

    def is_kind(self, name: str, head: str) -> bool:
        """Whether a phrase was declared a kind of this one; cheaper than following all relations."""
        return head in map(self.name, self._broader.get(name, ()))

    def _parents(self) -> dict[str, set[str]]:
        """By the names of today: synonyms may have been joined since a relation was noted."""
        parents: dict[str, set[str]] = {}
        for child, broad in self._broader.items():
            parents.setdefault(self.name(child), set()).update(map(self.name, broad))
        return parents


def _reachable_names(name: str, steps: dict[str, set[str]]) -> set[str]:
    reachable: set[str] = set()
    waiting = [name]
    while waiting:
        for neighbour in steps.get(waiting.pop(), ()):
            if neighbour not in reachable and neighbour != name:
                reachable.add(neighbour)
                waiting.append(neighbour)
    return reachable


def read_lexicon(own: Path | None = None) -> Lexicon:
    """The shipped words of fashion, and those of a file of the user's."""
    lexicon = Lexicon()
    for path in (SHIPPED, own):
        if path is not None:
            _read_into(lexicon, path)
    return lexicon


def value_folder() -> Callable[[str], str]:
    """What makes values of a catalogue equal that differ in case, punctuation or number, or are synonyms for a type of product."""
    lexicon = read_lexicon()

    def fold(value: str) -> str:
        key = phrase_key(value)
        name = lexicon.name(key)
        return name if TYPE in lexicon.roles.get(name, ()) else key or value

    return fold


def count_phrases(path: Path) -> int:
    """How many phrases a file names."""
    return len({phrase_key(text) for _, _, parts, _ in _lines(path) for text in parts})


def _read_into(lexicon: Lexicon, path: Path) -> None:
    for number, role, parts, sign in _lines(path):
        names = [lexicon.add(text, role) for text in parts]
        if not all(names):
            raise FormatError(path, f"line {number}", f"a phrase has words, and at most {LONGEST_PHRASE} letters")
        for name, following in pairwise(names):
            if sign == "=":
                lexicon.make_same(names[0], following)
            else:
                lexicon.make_kind(name, following)


@cache
def _lines(path: Path) -> list[tuple[int, str | None, list[str], str]]:
    """The relations of a file: number of the line, section, phrases, and the sign between them."""
    return list(_parse_lines(path, read_utf8(path, pipe=True).split("\n")))


def _parse_lines(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, str | None, list[str], str]]:
    role: str | None = None
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if section := _SECTION.fullmatch(text):
            role = section[1].lower()
            continue
        sign = "=" if "=" in text else "<"
        parts = [part.strip() for part in text.split(sign)]
        if ("=" in text and "<" in text) or not all(parts):
            raise FormatError(path, f"line {number}", "cannot be read; write 'sneakers = running shoes' or 'loafers < shoes'")
        if len(parts) == 1 and role is None:
            raise FormatError(path, f"line {number}", "one phrase alone says nothing before the first section, such as [color]")
        yield number, role, parts, sign


# Which field of a catalogue says what: the category, the brand, and attributes such as color and material.

CATEGORY, BRAND, TYPE, AUDIENCE = "category", "brand", "type", "audience"


# The usual names of fields, the most specific first.
USUAL: dict[str, tuple[str, ...]] = {
    CATEGORY: ("category", "categories", "product_category", "main_category"),
    BRAND: ("brand", "brand_name", "maker", "manufacturer", "vendor", "store"),
    "color": ("color", "colour", "colors", "colours", "base_colour"),
    "material": ("material", "materials", "fabric"),
    AUDIENCE: ("gender", "audience", "gender_affinity", "target_audience", "age_group"),
    TYPE: ("type", "style", "product_type", "article_type", "subcategory"),
    "pattern": ("pattern", "print"),
    "cut": ("cut", "fit", "neckline", "sleeve", "length"),
    "use": ("use", "usage", "occasion", "season", "activity"),
}


# What single letters mean in a field about people, and nowhere else.
_LETTERS = {"f": "women", "w": "women", "m": "men", "u": "unisex"}

_PARTS = re.compile(r"\s*(?:[>/|;,&\n]|\band\b)\s*", re.IGNORECASE)

_NOTHING = frozenset({"", "-", "n/a", "na", "none", "null", "unknown"})


@dataclass(frozen=True)
class Roles:
    """The field of each role; None where the catalogue has none, so that only titles are searched for it."""

    fields: Mapping[str, str | None]

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(role for role in self.fields if role not in (CATEGORY, BRAND))

    def is_filled(self, role: str, record: Mapping[str, Any]) -> bool:
        """Whether an item's field says anything, even if that cannot be read."""
        field = self.fields[role]
        return field is not None and _says_something(record.get(field))

    def values(self, role: str, record: Mapping[str, Any]) -> list[str]:
        """What an item's field says, part by part; nothing if it is empty or absent."""
        field = self.fields[role]
        texts = [] if field is None else [text for text in _value_texts(record.get(field)) if text.strip().lower() not in _NOTHING]
        if role == AUDIENCE:
            return [_LETTERS.get(part.lower(), part) for text in texts for part in _parts(text)]
        return texts if role == BRAND else [part for text in texts for part in _parts(text)]


def parse_roles(assignments: tuple[str, ...], names: Iterable[str], sections: Iterable[str]) -> Roles:
    """The fields that were named (``category=style,brand=maker``; ``color=`` for none), and the usual ones of a catalogue."""
    field_names = set(names)
    fields_by_role = dict(_chosen_fields(assignments, field_names))
    fields_in_use = set(fields_by_role.values())
    roles = dict.fromkeys((*USUAL, *sections, *fields_by_role))
    for role in roles:
        usual = next((name for name in USUAL.get(role, (role,)) if name in field_names and name not in fields_in_use), None)
        roles[role] = fields_by_role.get(role, usual)
    return Roles(roles)


def _chosen_fields(assignments: tuple[str, ...], field_names: set[str]) -> Iterator[tuple[str, str | None]]:
    for item in ",".join(assignments).split(",") if assignments else ():
        role, separator, name = (part.strip() for part in item.partition("="))
        if not separator or not role:
            raise UsageError(f"--fields {item!r} cannot be read; write it like category=style,brand=maker")
        if name and name not in field_names:
            field_list = shortened(", ".join(sorted(field_names)), 300)
            raise UsageError(f"--fields {item}: no item has the field {name!r}; the fields are {field_list}")
        yield role.lower(), name or None


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_says_something, value))
    return value is not None and str(value).strip().lower() not in _NOTHING


def _value_texts(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _value_texts(part)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _parts(text: str) -> list[str]:
    return [part for part in _PARTS.split(text) if part]


# An inverted index of the items: for each role and value the items that have it, and where it was found.

Miner = Callable[[list[str], Lexicon], Iterator[tuple[str, str]]]

Origin = Literal["field", "title", "description"]

ORIGINS: tuple[Origin, ...] = ("field", "title", "description")


# Of these an item has one, so a description that names several is believed the first time only.
_ONE_EACH = frozenset({CATEGORY, TYPE, AUDIENCE, BRAND, "color", "material"})


# What a product is comes before these words in a title: "dress with belt".
_HEAD_ENDS = frozenset({"with", "for", "featur", "in", "from", "w"})


@dataclass(frozen=True)
class ItemValue:
    """A value of a role, by the name of its phrase, and where it was found."""

    role: str
    name: str
    origin: Origin


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items in their order, what each has, and which fields were empty."""

    items: Sequence[Document]
    lexicon: Lexicon
    roles: Roles
    postings: Mapping[ItemValue, NDArray[np.int64]]
    origins: Mapping[str, Mapping[Origin, int]]  # per role, how many items have it from where
    unusable: Mapping[str, int]  # per role, in how many items its field is filled with what is no value

    @cached_property
    def ids(self) -> list[str]:
        return [item.id for item in self.items]

    @cached_property
    def rows(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.ids)}

    def values_of(self, role: str) -> list[str]:
        """The values of a role that some item has, as they are written."""
        return sorted({self.lexicon.shown(value.name) for value in self.postings if value.role == role})


def read_catalogue(documents: Iterable[Document], lexicon: Lexicon, roles: Roles) -> Catalogue:
    """Look at every item: its fields first, then its title and at last its description, for what is still unknown."""
    import numpy as np

    items = list(documents)
    if not items:
        raise NothingEvaluated("the catalogue holds no items")
    names_by_text: dict[tuple[str, str], list[str]] = {}
    from_fields = [_from_fields(item, lexicon, roles, names_by_text) for item in items]
    _values_are_types(from_fields, lexicon)
    postings: dict[ItemValue, list[int]] = {}
    origins: dict[str, dict[Origin, int]] = {role: dict.fromkeys(ORIGINS, 0) for role in roles.fields}
    for row, (item, names_by_role) in enumerate(zip(items, from_fields, strict=True)):
        values = _complete_values(item, names_by_role, lexicon, roles)
        for value in values:
            postings.setdefault(value, []).append(row)
        for role, origin in {(value.role, value.origin) for value in values}:
            origins[role][origin] += 1
    arrays = {value: np.array(postings[value], np.int64) for value in sorted(postings, key=lambda v: (v.role, v.name, v.origin))}
    unusable = {role: sum(names_by_role.get(role) == [] for names_by_role in from_fields) for role in roles.fields}
    return Catalogue(items, lexicon, roles, arrays, origins, unusable)


def _from_fields(
    item: Document, lexicon: Lexicon, roles: Roles, names_by_text: dict[tuple[str, str], list[str]]
) -> dict[str, list[str]]:
    """The names of all values that the filled fields of an item have; ``names_by_text`` remembers them, since few are different."""
    names_by_role: dict[str, list[str]] = {role: [] for role in roles.fields if roles.is_filled(role, item.fields)}
    for role in names_by_role:
        for text in roles.values(role, item.fields):
            names = names_by_text.get((role, text))
            if names is None:
                names = names_by_text[role, text] = _names(text, role, lexicon)
            names_by_role[role] += names
    return names_by_role


def _names(text: str, role: str, lexicon: Lexicon) -> list[str]:
    """The names of a value and of what is within it; a category that names people is none."""
    if role == CATEGORY and AUDIENCE in lexicon.roles.get(lexicon.name(phrase_key(text)), ()):
        return []
    inner = [] if role in (CATEGORY, BRAND) else _inner(text, role, lexicon)
    return list(filter(None, (lexicon.add_value(text, role), *inner)))


def _inner(text: str, role: str, lexicon: Lexicon) -> list[str]:
    """Shorter phrases of the same role within a value: heather grey is grey."""
    words = stemmed_words(text)
    if len(words) == 1:
        return []
    # The value itself is known by now and would be the longest phrase, so its words are looked at one by one.
    return [name for name in map(lexicon.name, words) if role in lexicon.roles.get(name, ())]


def _values_are_types(from_fields: Iterable[Mapping[str, Sequence[str]]], lexicon: Lexicon) -> None:
    """A title may name a category where its field is empty; any type of product would do as well."""
    for roles in lexicon.roles.values():
        if TYPE in roles:
            roles.add(CATEGORY)
    for names_by_role in from_fields:
        for name in names_by_role.get(CATEGORY, ()):
            lexicon.roles[name].add(TYPE)


def _complete_values(item: Document, names_by_role: Mapping[str, Sequence[str]], lexicon: Lexicon, roles: Roles) -> list[ItemValue]:
    values = [ItemValue(role, name, "field") for role, names in names_by_role.items() for name in dict.fromkeys(names)]
    unknown = {role for role in roles.fields if role not in names_by_role}
    texts: tuple[tuple[Origin, str | None, Miner], ...] = (
        ("title", item.title, _from_title),
        ("description", item.text, _from_description),
    )
    for origin, text, miner in texts:
        if unknown and text:
            more = dict.fromkeys(
                ItemValue(role, name, origin) for role, name in miner(stemmed_words(text), lexicon) if role in unknown
            )
            values += more
            unknown -= {value.role for value in more}
    return values


def _from_title(words: list[str], lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Everything that a title names; what the product is, is the last thing before "with" or "for"."""
    head = next((row for row, word in enumerate(words) if row and word in _HEAD_ENDS), len(words))
    spans = list(find_phrases(words, lexicon))
    last = {role: name for span, role, name in _with_roles(spans, lexicon) if role in (CATEGORY, TYPE) and span.end <= head}
    yield from last.items()
    yield from ((role, name) for _, role, name in _with_roles(spans, lexicon) if role not in (CATEGORY, TYPE))


def _from_description(words: list[str], lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    past_roles: set[str] = set()
    for _, role, name in _with_roles(find_phrases(words, lexicon), lexicon):
        if role not in _ONE_EACH or role not in past_roles:
            past_roles.add(role)
            yield role, name


def _with_roles(spans: Iterable[PhraseSpan], lexicon: Lexicon) -> Iterator[tuple[PhraseSpan, str, str]]:
    for span in spans:
        name = lexicon.name(span.key)
        yield from ((span, role, name) for role in sorted(lexicon.roles.get(name, ())))


# Categories that say an attribute too: "men's shoes" are shoes, and for men.
#
# If a catalogue has such a category, a query for men's shoes must not lose the men: the grades of all other items would
# depend on whether one item is filed there.


@dataclass(frozen=True)
class Compound:
    """A phrase of the catalogue that ends in what it is a kind of: where that begins, and the attributes before it."""

    head: int
    attributes: tuple[PhraseSpan, ...]

    @property
    def is_all(self) -> bool:
        """Whether the attributes and the head are all that it says."""
        return sum(span.end - span.start for span in self.attributes) == self.head


def unfold_phrase(span: PhraseSpan, words: Sequence[str], lexicon: Lexicon) -> list[PhraseSpan]:
    """The phrases that a phrase of a query is made of; itself as well if it has words that are known in it alone."""
    compound = _compound(words[span.start : span.end], lexicon)
    if compound is None:
        return [span]
    attributes = [replace(each, start=each.start + span.start, end=each.end + span.start) for each in compound.attributes]
    head = span.start + compound.head
    return [*attributes, PhraseSpan(head, span.end, "".join(words[head : span.end])) if compound.is_all else span]


def attributes_by_role(names: Iterable[str], lexicon: Lexicon) -> dict[str, set[str]]:
    """The values of each attribute, with all that each is a kind of and all kinds of it."""
    names_by_role: dict[str, set[str]] = {}
    for name in names:
        for role in lexicon.roles.get(name, ()):
            names_by_role.setdefault(role, set()).update({name}, lexicon.broader(name), lexicon.narrower(name))
    return names_by_role


def contradicts(kind: str, query_attributes: Mapping[str, set[str]], lexicon: Lexicon) -> bool:
    """Whether a category has another value of an attribute than a query: women's shoes, where the query is for men's."""
    compound = _compound(stemmed_words(lexicon.spelled[kind]), lexicon)
    if compound is None:
        return False
    names = {lexicon.name(span.key) for span in compound.attributes}
    own_attributes = {
        role: {name for name in names if role in lexicon.roles[name]} for name in names for role in lexicon.roles[name]
    }
    return any(role in query_attributes and not query_attributes[role] & own for role, own in own_attributes.items())


def _compound(words: Sequence[str], lexicon: Lexicon) -> Compound | None:
    key = "".join(words)
    name = lexicon.name(key)
    if key not in lexicon.of_catalogue or CATEGORY not in lexicon.roles.get(name, ()):
        return None
    head = next((row for row in range(1, len(words)) if lexicon.is_kind(name, lexicon.name("".join(words[row:])))), 0)
    spans = find_phrases(words[:head], lexicon)
    attributes = tuple(span for span in spans if _is_attribute(lexicon.roles.get(lexicon.name(span.key), set())))
    return Compound(head, attributes) if attributes else None


def _is_attribute(roles: set[str]) -> bool:
    return bool(roles) and not roles & {CATEGORY, TYPE}


# Grades of items for a query, by what both name.
#
#     3  the category and at least two attributes
#     2  the category, or two attributes
#     1  one attribute, or the brand alone
#     0  otherwise
#
# A phrase of the query counts once: as the category if it names that, otherwise as an attribute. A phrase may also name a
# kind of the category (a t-shirt, among shirts). If the item is of that kind, the phrase counts as both; if the item is known
# to be of another kind (a polo shirt), it does not count at all, and if nothing says of which kind it is, as the category.

ENOUGH_ATTRIBUTES = 2

_LARGEST_SIGNATURE = 1 << 62


# Rules by name with the grade of each, the best first.
RULES = {"category and attributes": 3, "category": 2, "two attributes": 2, "one attribute": 1, "brand": 1, "none": 0}


@dataclass(frozen=True)
class PhraseMatch:
    """A phrase of the query that an item meets, by which value of which role, and where that was found."""

    phrase: str
    role: str
    value: str
    origin: Origin
    broader: bool = False  # the value is what the phrase is a kind of


@dataclass(frozen=True)
class RuleVerdict:
    """The grade of items, the rule that gave it, and what was matched."""

    grade: int
    rule: str
    matches: tuple[PhraseMatch, ...]


@dataclass(frozen=True, eq=False)
class GradedItems:
    """All items with a grade for one query: the verdicts, and for each of these rows of the catalogue which one."""

    verdicts: Sequence[RuleVerdict]
    rows: NDArray[np.int64]
    verdict_of: NDArray[np.int64]


@dataclass(frozen=True)
class ParsedQuery:
    """A query, taken apart: the phrases that are known, those that are negated, and the words that are not known."""

    spans: tuple[PhraseSpan, ...]
    texts: tuple[str, ...]
    negated: tuple[str, ...]
    unknown: tuple[str, ...]
    roles: tuple[frozenset[str], ...]

    @property
    def type(self) -> str:
        """What kind of query it is, by the most telling thing that it names."""
        all_roles = frozenset[str]().union(*self.roles)
        attributes = any(roles and not roles & {CATEGORY, BRAND, AUDIENCE} for roles in self.roles)
        kinds = (
            (BRAND, BRAND in all_roles),
            (AUDIENCE, AUDIENCE in all_roles),
            ("attribute", attributes),
            (CATEGORY, CATEGORY in all_roles),
        )
        return next((kind for kind, applies in kinds if applies), "other")


def parse_query(text: str, catalogue: Catalogue) -> ParsedQuery:
    """The known phrases of a query, and what each of them may be: what no item could have is nothing."""
    stems, words, lexicon = stemmed_words(text), written_words(text), catalogue.lexicon
    phrases = list(find_phrases_and_negated(stems, lexicon))
    spans = tuple(part for span in phrases if span.negated_at is None for part in unfold_phrase(span, stems, lexicon))
    negations = tuple(" ".join(words[span.start : span.end]) for span in phrases if span.negated_at is not None)
    covered_rows = {row for span in phrases for row in span.rows}
    unknown = tuple(word for row, word in enumerate(words) if row not in covered_rows)
    roles = tuple(frozenset(lexicon.roles.get(lexicon.name(span.key), ())) for span in spans)
    return ParsedQuery(spans, tuple(" ".join(words[span.start : span.end]) for span in spans), negations, unknown, roles)


def grade_items(query: ParsedQuery, catalogue: Catalogue) -> GradedItems:
    """The grades of all items that meet any phrase of the query."""
    import numpy as np

    attributes = attributes_by_role((catalogue.lexicon.name(span.key) for span in query.spans), catalogue.lexicon)
    slots = [slot for row in range(len(query.spans)) for slot in _slots(query, row, attributes, catalogue) if slot.matches]
    codes = np.zeros((len(slots), len(catalogue.items)), np.int32)
    for each, slot in zip(codes, slots, strict=True):
        for code in range(len(slot.matches), 0, -1):  # the best is written last
            each[slot.rows[code - 1]] = code
    rows = np.flatnonzero(codes.any(axis=0))
    firsts, verdict_of = _distinct(codes[:, rows], [len(slot.matches) + 1 for slot in slots])
    verdicts = [
        _verdict([slot.matches[code - 1] for slot, code in zip(slots, codes[:, rows[at]], strict=True) if code]) for at in firsts
    ]
    return GradedItems(verdicts, rows, verdict_of)


def _distinct(codes: NDArray[np.int32], sizes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first column of every distinct one, and for each column which of these it is."""
    import numpy as np

    signature, largest = np.zeros(codes.shape[1], np.int64), 1
    for each, size in zip(codes, sizes, strict=True):
        if largest * size >= _LARGEST_SIGNATURE:
            _, signature = np.unique(signature, return_inverse=True)
            largest = codes.shape[1] + 1
        signature, largest = signature * size + each, largest * size
    _, firsts, inverse = np.unique(signature, return_index=True, return_inverse=True)
    return firsts.astype(np.int64), inverse.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _PhraseUse:
    """One way in which a phrase may count: the matches, best first, and the items that meet each."""

    matches: list[PhraseMatch]
    rows: list[NDArray[np.int64]]


def _slots(query: ParsedQuery, row: int, attributes: Mapping[str, set[str]], catalogue: Catalogue) -> Iterator[_PhraseUse]:
    """A phrase as category, and as anything else."""
    lexicon, text = catalogue.lexicon, query.texts[row]
    name = lexicon.name(query.spans[row].key)
    same = [name, *(each for each in sorted(lexicon.narrower(name)) if not contradicts(each, attributes, lexicon))]
    broader = sorted(lexicon.broader(name))
    other_kinds = _of_other_kinds({*same, *broader}, catalogue)
    as_category = [(CATEGORY, each, each in broader) for each in (*same, *broader)]
    as_other = [(role, each, False) for each in same for role in (*catalogue.roles.attributes, BRAND)]
    for candidates in (as_category, as_other):
        slot = _PhraseUse([], [])
        for role, each, is_broader in candidates:
            for origin in ORIGINS:
                rows = catalogue.postings.get(ItemValue(role, each, origin))
                if rows is not None and is_broader:
                    rows = rows[~other_kinds[rows]]
                if rows is not None:
                    slot.matches.append(PhraseMatch(text, role, lexicon.shown(each), origin, is_broader))
                    slot.rows.append(rows)
        yield slot


def _of_other_kinds(kinds: set[str], catalogue: Catalogue) -> NDArray[np.bool_]:
    """Which items a field or title says to be something else; descriptions mention all kinds of things."""
    import numpy as np

    types = {value: rows for value, rows in catalogue.postings.items() if value.role == TYPE and value.origin != "description"}
    is_other = np.zeros(len(catalogue.items), bool)
    for fits in (False, True):
        for value, rows in types.items():
            if (value.name in kinds) is fits:
                is_other[rows] = not fits
    return is_other


def _verdict(matches: list[PhraseMatch]) -> RuleVerdict:
    category = [match for match in matches if match.role == CATEGORY]
    category_phrases = {match.phrase for match in category if not match.broader}
    others = [match for match in matches if match.role != CATEGORY and match.phrase not in category_phrases]
    attributes = len({(match.role, match.value) for match in others if match.role != BRAND})
    if category and attributes >= ENOUGH_ATTRIBUTES:
        rule = "category and attributes"
    elif category:
        rule = "category"
    elif attributes >= ENOUGH_ATTRIBUTES:
        rule = "two attributes"
    else:
        rule = "one attribute" if attributes else "brand"
    return RuleVerdict(RULES[rule], rule, tuple(sorted((*category, *others), key=lambda match: match.role != CATEGORY)))


# A catalogue and a list of queries become graded labels, written with the rule that fired and what it saw.

GRADES = (0, 1, 2, 3)

NOTHING = RuleVerdict(0, "none", ())

HUMAN = "human"

Pair = tuple[str, str]  # ids of query and item


@dataclass(frozen=True, eq=False)
class Labels:
    """Every query with its grades."""

    catalogue: Catalogue
    queries: Mapping[str, ListedQuery]

    @cached_property
    def parsed(self) -> dict[str, ParsedQuery]:
        return {query.id: parse_query(query.text, self.catalogue) for query in self.queries.values()}

    @cached_property
    def all(self) -> dict[str, GradedItems]:
        """The grades of every query."""
        return {query: grade_items(parsed_query, self.catalogue) for query, parsed_query in self.parsed.items()}

    @cached_property
    def _ids_as_json(self) -> list[str]:
        return [_json(item) for item in self.catalogue.ids]

    def verdict(self, pair: Pair) -> RuleVerdict:
        """What the rule says of one pair."""
        grading, row = self.all[pair[0]], self.catalogue.rows[pair[1]]
        return next((grading.verdicts[of] for at, of in zip(grading.rows, grading.verdict_of, strict=True) if at == row), NOTHING)

    def type_of(self, query: str) -> str:
        return self.queries[query].type or self.parsed[query].type

    @cached_property
    def counts(self) -> dict[str, tuple[int, ...]]:
        """Per query, how many items have each grade."""
        import numpy as np

        counts = {}
        for query in self.queries:
            grading = self.all[query]
            grades = np.array([verdict.grade for verdict in grading.verdicts], np.int64)[grading.verdict_of]
            grade_counts = np.bincount(grades, minlength=len(GRADES)).tolist()
            counts[query] = (len(self.catalogue.items) - sum(grade_counts[1:]), *grade_counts[1:])
        return counts

    def lines(self, *, zeros: bool = False, human: Mapping[Pair, int] | None = None) -> Iterator[str]:
        """The lines of ``labels.jsonl``: by query in its order, then by item in the order of the catalogue."""
        for query in self.queries:
            judged = {self.catalogue.rows[item]: grade for (of, item), grade in (human or {}).items() if of == query}
            yield from self._lines_of(query, zeros, judged)

    def _lines_of(self, query: str, zeros: bool, judged: Mapping[int, int]) -> Iterator[str]:
        """Most lines of a query differ in the id alone, so the rest is made once per verdict."""
        grading, ids = self.all[query], self._ids_as_json
        about = {"query_id": query, "query": self.queries[query].text, "type": self.type_of(query)}
        begin = f'{_json(about)[:-1]}, "item_id": '
        ends = [f", {_json(_verdict_data(verdict))[1:]}\n" for verdict in (*grading.verdicts, NOTHING)]
        verdict_of = dict(zip(grading.rows.tolist(), grading.verdict_of.tolist(), strict=True))
        # A query that no item meets is judged too: without any line it would be no case, and its score of 0 would not count.
        for row in range(len(ids)) if zeros else sorted({*verdict_of, *judged}) or [0]:
            if row in judged:
                yield f"{begin}{ids[row]}, {_json({'grade': judged[row], 'rule': HUMAN})[1:]}\n"
            else:
                yield f"{begin}{ids[row]}{ends[verdict_of.get(row, -1)]}"


def label_queries(
    corpus: Corpus, queries: Mapping[str, ListedQuery], *, fields: tuple[str, ...] = (), synonyms: Path | None = None
) -> Labels:
    """Grade the items of a corpus for every query by what its fields, titles and descriptions say."""
    items = list(corpus)
    lexicon = read_lexicon(synonyms)
    names = {name for item in items for name in item.fields}
    sections = sorted({role for roles in lexicon.roles.values() for role in roles})
    return Labels(read_catalogue(items, lexicon, parse_roles(fields, names, sections)), queries)


def _verdict_data(verdict: RuleVerdict) -> dict[str, Any]:
    return {"grade": verdict.grade, "rule": verdict.rule, "matched": matches_by_role(verdict.matches)}


def matches_by_role(matches: Sequence[PhraseMatch]) -> dict[str, list[dict[str, str]]]:
    """What was matched, by role: the phrase of the query, the value that it met, and where that was found."""
    by_role: dict[str, list[dict[str, str]]] = {}
    for match in matches:
        by_role.setdefault(match.role, []).append({"query": match.phrase, "value": match.value, "from": match.origin})
    return by_role


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def rules_fired(labels: Labels) -> dict[str, int]:
    """How many pairs each rule has graded."""
    import numpy as np

    counts = dict.fromkeys(RULES, 0)
    for query in labels.queries:
        grading = labels.all[query]
        for verdict, count in zip(
            grading.verdicts, np.bincount(grading.verdict_of, minlength=len(grading.verdicts)).tolist(), strict=True
        ):
            counts[verdict.rule] += count
    counts["none"] = len(labels.queries) * len(labels.catalogue.items) - sum(counts.values())
    return counts
