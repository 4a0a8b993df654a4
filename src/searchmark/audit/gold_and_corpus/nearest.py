"""What a missing target could have meant: ids of the corpus that are nearly the same, and what would make many of them fit."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice, takewhile
from urllib.parse import unquote

MOST_IDS, MOST_TARGETS = 100_000, 1000  # that are looked at: reports wait for this
COMMON_START, MOST_ALIKE = 3, 2000  # characters in which a similar id begins alike, and how many such ids are looked at
LEAST_ALIKE = 0.6  # as difflib measures it

_EXTENSION = re.compile(r"(?<=[^/.])\.[A-Za-z]\w{0,9}$")
_SEPARATORS = re.compile(r"[-_ .:/\\]+")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_TAIL = re.compile(r"[^/:#|\\]+$")

# What may have happened to ids on their way into a suite, and a form in which both are the same.
FORMS: dict[str, Callable[[str], str]] = {
    "upper and lower case ignored": str.casefold,
    "extensions left out": lambda text: _EXTENSION.sub("", text),
    "backslashes written as slashes": lambda text: text.replace("\\", "/"),
    "blanks around them left out": str.strip,
    "leading zeros left out": lambda text: _ZEROS.sub("", text),
    "percent signs decoded": unquote,
    "what is behind # left out": lambda text: text.split("#", 1)[0],
    "separators and case ignored": lambda text: _SEPARATORS.sub("", text).casefold(),
}


@dataclass(frozen=True)
class Remedy:
    """What would make missing targets fit: what to do with them, and the id that each becomes."""

    words: str
    found: dict[str, str]


class NearIds:
    """The ids of a corpus, by all that missing targets may have in common with them."""

    def __init__(self, ids: Collection[str]) -> None:
        self._ids = sorted(islice(ids, MOST_IDS))

    def remedy(self, missing: Sequence[str], fewest: int) -> Remedy | None:
        """What would make most of the missing targets fit, if anything does so for half of them, and for so many at least."""
        looked_at = list(dict.fromkeys(missing))[:MOST_TARGETS]
        best = max(self._remedies(looked_at), key=lambda each: len(each.found), default=None)
        return best if best is not None and len(best.found) >= max(len(looked_at) / 2, fewest) else None

    def nearest(self, target: str) -> str | None:
        """The id that a missing target most likely means; None where none is near."""
        for remedy in self._remedies([target]):
            if target in remedy.found:
                return remedy.found[target]
        return self._alike(target)

    def renamed(self, target: str) -> str | None:
        """The only id with the same last part as a missing target, if there is exactly one; too common a part says nothing."""
        tail = _tail(target)
        found = self._by_tail.get(tail, [])
        return found[0] if len(found) == 1 and found[0] != target and len(tail) > 3 else None  # noqa: PLR2004  # "1" or "en" may be anything

    def _remedies(self, missing: Sequence[str]) -> Iterator[Remedy]:
        yield from self._prefixes(missing)
        for words, form in FORMS.items():
            wanted = {form(each) for each in missing}
            ids = _unique((form(each), each) for each in self._ids if form(each) in wanted)
            found = {each: ids[form(each)] for each in missing if ids.get(form(each)) is not None}
            if found:
                yield Remedy(f"with {words}", {target: str(each) for target, each in found.items()})

    def _prefixes(self, missing: Sequence[str]) -> Iterator[Remedy]:
        """One prefix that all targets lack, or that all have too many: the most frequent of each."""
        lacking, surplus = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
        for target in missing:
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
        """The most similar one of the ids that begin alike."""
        begins = target[:COMMON_START]
        first = bisect_left(self._ids, begins)
        around = takewhile(lambda each: each.startswith(begins), islice(self._ids, first, first + MOST_ALIKE))
        return next(iter(get_close_matches(target, list(around), 1, LEAST_ALIKE)), None) if len(target) >= COMMON_START else None


def _tail(text: str) -> str:
    """The last part of a path or a qualified id."""
    found = _TAIL.search(text)
    return found.group() if found else text


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """The id of each form; None where several ids have it."""
    ids: dict[str, str | None] = {}
    for form, each in pairs:
        ids[form] = None if form in ids else each
    return ids
