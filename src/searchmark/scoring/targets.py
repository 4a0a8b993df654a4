"""What a missing target could have meant: ids of the corpus that are nearly the same, and what would make many of them fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice, takewhile
from types import MappingProxyType
from urllib.parse import unquote

MOST_IDS, MOST_TARGETS = 100_000, 1000  # that are looked at: reports wait for this
COMMON_START, MOST_ALIKE = 2, 300  # characters in which a similar last part begins alike, and how many such parts are looked at
LEAST_ALIKE = 0.75  # of the characters of both last parts, in the same order: a typing error or a word more, which a person accepts
COMMON_FOLDERS = 2  # that two paths must share if they begin in different ones
LONGEST = 200  # characters of last parts that are compared sign by sign, which takes the square of their length
SHORTEST = 4  # characters of a last part that says something: "1" or "en" may be anything

_EXTENSION = re.compile(r"(?<=[^/.\n])\.[A-Za-z]\w{0,9}$", re.MULTILINE)
_BLANKS = re.compile(r"^[ \t]+|[ \t]+$", re.MULTILINE)
_LAST_SLASH = re.compile(r"/+$", re.MULTILINE)
_FRAGMENT = re.compile(r"#.*")
_SEPARATORS = re.compile(r"[-_ .:/\\]+")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_NUMBERS = re.compile(r"\d+")

# What may have happened to ids on their way into a suite, and a form in which both are the same; of many, one a line.
FORMS: dict[str, Callable[[str], str]] = {
    "upper and lower case ignored": str.casefold,
    "extensions left out": lambda text: _EXTENSION.sub("", text),
    "backslashes written as slashes": lambda text: text.replace("\\", "/"),
    "blanks around them left out": lambda text: _BLANKS.sub("", text),
    "slashes at their end left out": lambda text: _LAST_SLASH.sub("", text),
    "leading zeros left out": lambda text: _ZEROS.sub("", text),
    "percent signs decoded": unquote,
    "what is behind # left out": lambda text: _FRAGMENT.sub("", text),
    "separators and case ignored": lambda text: _SEPARATORS.sub("", text).casefold(),
}


@dataclass(frozen=True)
class Remedy:
    """What would make missing targets fit: what to do with them, and the id that each becomes."""

    words: str
    found: dict[str, str]

    def told(self, names: Sequence[str]) -> str:
        """What it would do for these names; of many different ones only the first were tried."""
        tried = set(islice(dict.fromkeys(names), MOST_TARGETS))
        fitting = sum(each in self.found for each in names if each in tried)
        of = "them" if len(tried) < MOST_TARGETS else f"the {len(tried)} that were tried"
        return f"{self.words}, {fitting if of == 'them' else len(self.found)} of {of} would be found"

    def shown(self, names: Sequence[str], there: str = "the corpus") -> str:
        """One of the names beside what is there, and what the change would do for all of them."""
        name = next(iter(self.found))
        return f"{beside(name, self.found[name], there)}; {self.told(names)}"


class NearIds:
    """The ids of a corpus, by all that some missing targets may have in common with them."""

    def __init__(self, ids: Iterable[str], missing: Iterable[str]) -> None:
        self._ids = sorted(ids)[:MOST_IDS]  # sets have another order in every process
        self._missing = list(islice(dict.fromkeys(missing), MOST_TARGETS))

    def remedy(self, fewest: int) -> Remedy | None:
        """What would make most of the missing targets fit, if anything does so for half of them, and for so many at least."""
        best = max(self.remedies, key=lambda each: len(each.found), default=None)
        return best if best is not None and len(best.found) >= max(len(self._missing) / 2, fewest) else None

    def shown(self, *names: str, both_sides: bool, known: Mapping[str, str] = MappingProxyType({})) -> str:
        """Missing names, each with the id that it most likely means.

        Where no id is near to any and ``both_sides`` are wanted, with one that shows how ids are written. ``known`` are those
        of which it is known what they mean.
        """
        nearest = [known.get(name) or self.nearest(name) for name in names]
        shown = ", ".join(map(beside, names, nearest))
        return shown if any(nearest) or not self._ids or not both_sides else f"{shown}; ids there are like {self._ids[0]!r}"

    def nearest(self, target: str) -> str | None:
        """The id that a missing target most likely means; None where a person would see none that is near."""
        changed = (each.found[target] for each in self.remedies if target in each.found)
        return next(changed, None) or self._alike(target)

    def renamed(self, target: str) -> str | None:
        """The only id with the same last part as a missing target, if there is exactly one and it is near."""
        tail = _tail(target)
        found = self._by_tail.get(tail, [])
        unique = len(found) == 1 and found[0] != target and len(tail) >= SHORTEST
        return found[0] if unique and _are_near(target, found[0]) else None

    @cached_property
    def remedies(self) -> list[Remedy]:
        """All that makes any of them fit, up to what does so for all."""
        remedies: list[Remedy] = []
        for each in self._changes():
            remedies.append(each)
            if len(each.found) == len(self._missing):
                break
        return remedies

    def _changes(self) -> Iterator[Remedy]:
        yield from self._prefixes()
        for words, form in FORMS.items():
            forms = dict(zip(self._missing, _formed(form, self._missing), strict=True))
            names, wanted = _formed(form, self._ids), set(forms.values())
            if wanted.isdisjoint(names):
                continue
            ids = _unique((name, each) for name, each in zip(names, self._ids, strict=True) if name in wanted)
            found = {target: each for target, name in forms.items() if (each := ids.get(name)) is not None}
            if found:
                yield Remedy(f"with {words}", found)

    def _prefixes(self) -> Iterator[Remedy]:
        """One prefix that all targets lack, or that all have too many: the most frequent of each."""
        lacking, surplus = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
        for target in self._missing:
            for each in self._by_tail.get(_tail(target), ()):
                if each != target and each.endswith(target):
                    lacking.setdefault(each[: -len(target)], {})[target] = each
                elif each != target and target.endswith(each):
                    surplus.setdefault(target[: -len(each)], {})[target] = each
        for words, found in (("added", lacking), ("left out", surplus)):
            if found:
                prefix = max(found, key=lambda each: (len(found[each]), each))
                yield Remedy(f"with the prefix {prefix!r} {words}", found[prefix])

    @cached_property
    def _by_tail(self) -> dict[str, list[str]]:
        tails: dict[str, list[str]] = {}
        for each in self._ids:
            tails.setdefault(_tail(each), []).append(each)
        return tails

    def _alike(self, target: str) -> str | None:
        """The near id with the most similar last part. Who differs in numbers alone is another document."""
        tail = _tail(target)
        begins, bare = tail[:COMMON_START], _EXTENSION.sub("", tail)
        if not SHORTEST <= len(tail) <= LONGEST:
            return None
        names = (each for each in self._by_tail if each.startswith(begins) and len(each) <= LONGEST)
        similar = (each for each in names if _NUMBERS.sub("0", each) != _NUMBERS.sub("0", tail))
        ids = ((tail, each) for tail in similar for each in self._by_tail[tail] if _are_near(target, each))
        # Of several with one name the one with the most folders in common comes last, and stays.
        found = sorted(islice(ids, MOST_ALIKE), key=lambda each: _common_folders(target, each[1]))
        by_name = {_EXTENSION.sub("", tail): each for tail, each in found}
        return next((by_name[each] for each in get_close_matches(bare, by_name, 1, LEAST_ALIKE)), None)


def beside(name: str, nearest: str | None, there: str = "the corpus") -> str:
    """What is looked for, with what is there in its stead."""
    return repr(name) if nearest is None else f"{name!r} ({there} has {nearest!r})"


def _common_folders(one: str, other: str) -> int:
    """How many folders two paths have in common from the top."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)))


def _tail(text: str) -> str:
    """The last part of a path or a qualified id."""
    return text[max(map(text.rfind, "/:#|\\")) + 1 :] or text


def _are_near(one: str, other: str) -> bool:
    """Whether two ids may lie in one project: in one folder at the top, under several common ones, or where there is none."""
    folders, others = (each.split("/")[:-1] for each in (one, other))
    return not folders or not others or folders[0] == others[0] or len(set(folders) & set(others)) >= COMMON_FOLDERS


def _formed(form: Callable[[str], str], ids: Sequence[str]) -> list[str]:
    """All ids in this form: at once, which is much faster, unless one of them has several lines."""
    lines = form("\n".join(ids)).split("\n")
    return lines if len(lines) == len(ids) else [form(each) for each in ids]


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """The id of each form; None where several ids have it."""
    ids: dict[str, str | None] = {}
    for form, each in pairs:
        ids[form] = None if form in ids else each
    return ids
