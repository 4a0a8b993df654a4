"""Categories that say an attribute too: "men's shoes" are shoes, and for men.

If a catalogue has such a category, a query for men's shoes must not lose the men: the grades of all other items would depend on
whether one item is filed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from searchmark.labelling.lexicon import Lexicon
from searchmark.labelling.roles import CATEGORY, TYPE
from searchmark.labelling.words import PhraseSpan, known_phrases, words


@dataclass(frozen=True)
class Compound:
    """A phrase of the catalogue that ends in what it is a kind of: where that begins, and the attributes before it."""

    head: int
    attributes: tuple[PhraseSpan, ...]

    @property
    def is_all(self) -> bool:
        """Whether the attributes and the head are all that it says."""
        return sum(span.end - span.start for span in self.attributes) == self.head


def unfolded(span: PhraseSpan, found: Sequence[str], lexicon: Lexicon) -> list[PhraseSpan]:
    """The phrases that a phrase of a query is made of; itself as well if it has words that are known in it alone."""
    compound = _compound(found[span.start : span.end], lexicon)
    if compound is None:
        return [span]
    shifted = [replace(each, start=each.start + span.start, end=each.end + span.start) for each in compound.attributes]
    head = span.start + compound.head
    return [*shifted, PhraseSpan(head, span.end, "".join(found[head : span.end])) if compound.is_all else span]


def by_role(names: Iterable[str], lexicon: Lexicon) -> dict[str, set[str]]:
    """What is said about each attribute, with all that it is a kind of and all kinds of it."""
    said: dict[str, set[str]] = {}
    for name in names:
        for role in lexicon.roles.get(name, ()):
            said.setdefault(role, set()).update({name}, lexicon.broader(name), lexicon.narrower(name))
    return said


def contradicts(kind: str, asked: Mapping[str, set[str]], lexicon: Lexicon) -> bool:
    """Whether a category says another thing about an attribute than a query: women's shoes, where men's are asked for."""
    compound = _compound(words(lexicon.spelled[kind]), lexicon)
    if compound is None:
        return False
    names = {lexicon.name(span.key) for span in compound.attributes}
    said = {role: {name for name in names if role in lexicon.roles[name]} for name in names for role in lexicon.roles[name]}
    return any(role in asked and not asked[role] & own for role, own in said.items())


def _compound(found: Sequence[str], lexicon: Lexicon) -> Compound | None:
    key = "".join(found)
    name = lexicon.name(key)
    if key not in lexicon.of_catalogue or CATEGORY not in lexicon.roles.get(name, ()):
        return None
    head = next((row for row in range(1, len(found)) if lexicon.is_kind(name, lexicon.name("".join(found[row:])))), 0)
    spans = known_phrases(found[:head], lexicon)
    attributes = tuple(span for span in spans if _is_attribute(lexicon.roles.get(lexicon.name(span.key), set())))
    return Compound(head, attributes) if attributes else None


def _is_attribute(roles: set[str]) -> bool:
    return bool(roles) and not roles & {CATEGORY, TYPE}
