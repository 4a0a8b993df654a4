"""What is known about every item, turned around: for each role and value the items that have it, and where it was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from searchmark.errors import NothingEvaluated
from searchmark.labelling.lexicon import Lexicon
from searchmark.labelling.roles import AUDIENCE, BRAND, CATEGORY, TYPE, Roles
from searchmark.labelling.words import PhraseSpan, known_phrases, phrase, words
from searchmark.records import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    named: dict[tuple[str, str], list[str]] = {}
    from_fields = [_from_fields(item, lexicon, roles, named) for item in items]
    _values_are_types(from_fields, lexicon)
    postings: dict[ItemValue, list[int]] = {}
    origins: dict[str, dict[Origin, int]] = {role: dict.fromkeys(ORIGINS, 0) for role in roles.fields}
    for row, (item, known) in enumerate(zip(items, from_fields, strict=True)):
        found = _completed(item, known, lexicon, roles)
        for value in found:
            postings.setdefault(value, []).append(row)
        for role, origin in {(value.role, value.origin) for value in found}:
            origins[role][origin] += 1
    arrays = {value: np.array(postings[value], np.int64) for value in sorted(postings, key=lambda v: (v.role, v.name, v.origin))}
    unusable = {role: sum(known.get(role) == [] for known in from_fields) for role in roles.fields}
    return Catalogue(items, lexicon, roles, arrays, origins, unusable)


def _from_fields(item: Document, lexicon: Lexicon, roles: Roles, named: dict[tuple[str, str], list[str]]) -> dict[str, list[str]]:
    """The names of all values that the filled fields of an item have; ``named`` remembers them, since few are different."""
    found: dict[str, list[str]] = {role: [] for role in roles.fields if roles.is_filled(role, item.fields)}
    for role in found:
        for text in roles.values(role, item.fields):
            names = named.get((role, text))
            if names is None:
                names = named[role, text] = _names(text, role, lexicon)
            found[role] += names
    return found


def _names(text: str, role: str, lexicon: Lexicon) -> list[str]:
    """The names of a value and of what is within it; a category that names people is none."""
    if role == CATEGORY and AUDIENCE in lexicon.roles.get(lexicon.name(phrase(text)), ()):
        return []
    inner = [] if role in (CATEGORY, BRAND) else _inner(text, role, lexicon)
    return list(filter(None, (lexicon.add_value(text, role), *inner)))


def _inner(text: str, role: str, lexicon: Lexicon) -> list[str]:
    """Shorter phrases of the same role within a value: heather grey is grey."""
    found = words(text)
    if len(found) == 1:
        return []
    # The value itself is known by now and would be the longest phrase, so its words are looked at one by one.
    return [name for name in map(lexicon.name, found) if role in lexicon.roles.get(name, ())]


def _values_are_types(from_fields: Iterable[Mapping[str, Sequence[str]]], lexicon: Lexicon) -> None:
    """A title may name a category where its field is empty; any type of product would do as well."""
    for roles in lexicon.roles.values():
        if TYPE in roles:
            roles.add(CATEGORY)
    for known in from_fields:
        for name in known.get(CATEGORY, ()):
            lexicon.roles[name].add(TYPE)


def _completed(item: Document, known: Mapping[str, Sequence[str]], lexicon: Lexicon, roles: Roles) -> list[ItemValue]:
    found = [ItemValue(role, name, "field") for role, names in known.items() for name in dict.fromkeys(names)]
    unknown = {role for role in roles.fields if role not in known}
    for origin, text, mined in _texts(item):
        if unknown and text:
            more = dict.fromkeys(ItemValue(role, name, origin) for role, name in mined(words(text), lexicon) if role in unknown)
            found += more
            unknown -= {value.role for value in more}
    return found


def _texts(item: Document) -> tuple[tuple[Origin, str | None, Miner], ...]:
    return ("title", item.title, _from_title), ("description", item.text, _from_description)


def _from_title(found: list[str], lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """Everything that a title names; what the product is, is the last thing before "with" or "for"."""
    head = next((row for row, word in enumerate(found) if row and word in _HEAD_ENDS), len(found))
    spans = list(known_phrases(found, lexicon))
    last = {role: name for span, role, name in _with_roles(spans, lexicon) if role in (CATEGORY, TYPE) and span.end <= head}
    yield from last.items()
    yield from ((role, name) for _, role, name in _with_roles(spans, lexicon) if role not in (CATEGORY, TYPE))


def _from_description(found: list[str], lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for _, role, name in _with_roles(known_phrases(found, lexicon), lexicon):
        if role not in _ONE_EACH or role not in seen:
            seen.add(role)
            yield role, name


def _with_roles(spans: Iterable[PhraseSpan], lexicon: Lexicon) -> Iterator[tuple[PhraseSpan, str, str]]:
    for span in spans:
        name = lexicon.name(span.key)
        yield from ((span, role, name) for role in sorted(lexicon.roles.get(name, ())))
