"""Which phrases mean the same, which is a kind of which, and what each is said about (a color, a material, a type of product).

A file has one phrase or relation per line: ``a = b`` are synonyms, ``a < b`` says that every a is a b. ``[color]`` begins a
section, whose phrases are values of that attribute; before the first section there are relations only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.store import read_utf8
from searchmark.labelling.words import LONGEST_PHRASE, phrase, words

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
        key = phrase(text)
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
        kept, other = self.name(first), self.name(second)
        if kept == other:
            return
        self.same[other] = kept
        self.roles.setdefault(kept, set()).update(self.roles.pop(other, ()))
        self._broader.setdefault(kept, set()).update(self._broader.pop(other, ()))

    def make_kind(self, narrow: str, broad: str) -> None:
        self._broader.setdefault(self.name(narrow), set()).add(broad)

    def add_value(self, text: str, role: str) -> str:
        """Add a value of a catalogue: "trail boots" are boots, where boots are known as something of the same role or a type."""
        found = words(text)
        is_new = (key := "".join(found)) not in self.same
        name = self.add(text, role)
        if not name:
            return ""
        if is_new:
            self.of_catalogue.add(key)
        self.written.setdefault(name, " ".join(text.split()))
        for start in range(1, len(found)):
            head = self.name("".join(found[start:]))
            if head != name and self.roles.get(head, set()) & {role, "type"}:
                self.make_kind(name, head)
                break
        return name

    def broader(self, name: str) -> set[str]:
        """All that a phrase is a kind of, itself left out."""
        return _reached(name, self._parents())

    def narrower(self, name: str) -> set[str]:
        """All that are kinds of it, itself left out."""
        children: dict[str, set[str]] = {}
        for child, parents in self._parents().items():
            for parent in parents:
                children.setdefault(parent, set()).add(child)
        return _reached(name, children)

    def is_kind(self, name: str, head: str) -> bool:
        """Whether it was said of a phrase that it is a kind of this one; cheaper than all that follows from that."""
        return head in map(self.name, self._broader.get(name, ()))

    def _parents(self) -> dict[str, set[str]]:
        """By the names of today: synonyms may have been joined since a relation was noted."""
        parents: dict[str, set[str]] = {}
        for child, broad in self._broader.items():
            parents.setdefault(self.name(child), set()).update(map(self.name, broad))
        return parents


def _reached(name: str, steps: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        for found in steps.get(waiting.pop(), ()):
            if found not in reached and found != name:
                reached.add(found)
                waiting.append(found)
    return reached


def read_lexicon(own: Path | None = None) -> Lexicon:
    """The shipped words of fashion, and those of a file of the user's."""
    lexicon = Lexicon()
    for path in (SHIPPED, own):
        if path is not None:
            _read_into(lexicon, path)
    return lexicon


def count_phrases(path: Path) -> int:
    """How many phrases a file names."""
    return len({phrase(text) for _, _, parts, _ in _lines(path) for text in parts})


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
    return list(_parsed(path, read_utf8(path, pipe=True).split("\n")))


def _parsed(path: Path, lines: Iterable[str]) -> Iterator[tuple[int, str | None, list[str], str]]:
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
