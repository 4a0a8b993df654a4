"""What of a document becomes a vector: its id, its title, and its chunks, each under a key that its text alone decides.

A document that changes again and again is cut only where it differs from its last version: borders between chunks depend
on the text around them, so the chunks of the common beginning and of the common end are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from searchmark.corpora.chunks import chunks
from searchmark.records import Document

Lines = tuple[int, int] | None

NEAR = 24  # chunks after a change that are looked for, before the end of the text is
TELLING = 24  # characters; what is shorter stands everywhere


@dataclass(frozen=True)
class Version:
    """The chunks of a text and their keys."""

    chunks: list[str]
    keys: list[bytes]


@dataclass(frozen=True)
class Pieces:
    """The keys of all pieces of a document, in order, and the texts of those that its last version may not have had."""

    keys: list[bytes]
    fresh: dict[bytes, str]


@dataclass(frozen=True)
class Cutting:
    """How documents are cut. ``whole``: not at all, they are known by their ids."""

    longest: int
    paths: bool
    whole: bool
    _versions: dict[str, Version] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return "documents" if self.whole else f"content-defined/{self.longest}{'+paths' if self.paths else ''}"

    def pieces(self, document: Document, *, again: bool = False) -> Pieces:
        """What stands twice counts once, and what is blank does not count.

        ``again``: the document is likely to come once more with a few changes, and is remembered for that.
        """
        if self.whole:
            return Pieces([digest(document.id)], {digest(document.id): document.id})
        version, fresh = self._cut(document, self._versions.get(document.id))
        if again:
            self._versions[document.id] = version
        heads = {digest(head): head for head in self._heads(document)}
        keys = dict.fromkeys((*heads, *version.keys))
        keys.pop(BLANK, None)
        fresh.pop(BLANK, None)
        return Pieces(list(keys), {**heads, **fresh})

    def forget(self, ids: Iterable[str]) -> None:
        """Documents that are gone."""
        for name in ids:
            self._versions.pop(name, None)

    def lines(self, document: Document) -> list[Lines]:
        """Where each of the pieces stands; an id and a title stand nowhere."""
        places: dict[str, Lines] = dict.fromkeys([document.id] if self.whole else self._heads(document))
        first = 1
        for chunk in [] if self.whole else chunks(document.text, self.longest):
            if not chunk.isspace():
                places.setdefault(chunk, (first, first + chunk.rstrip().count("\n")))
            first += chunk.count("\n")
        return list(places.values())

    def _heads(self, document: Document) -> list[str]:
        return [head for head in (document.id if self.paths else None, document.title) if head]

    def _cut(self, document: Document, last: Version | None) -> tuple[Version, dict[bytes, str]]:
        """The chunks of a document, and those of them that the last version may not have had, by key."""
        if last is None:
            last = Version([], [])
        version = Version([], [])
        fresh: dict[bytes, str] = {}
        for part in cut_again(document.text, last.chunks, self.longest):
            keys = last.keys[part] if isinstance(part, slice) else [digest(chunk) for chunk in part]
            texts = last.chunks[part] if isinstance(part, slice) else part
            version.keys.extend(keys)
            version.chunks.extend(texts)
            if not isinstance(part, slice):
                fresh.update(zip(keys, texts, strict=True))
        return version, fresh


BLANK = b""  # the key of chunks that say nothing


def digest(text: str) -> bytes:
    """A key that no other text has."""
    return BLANK if text.isspace() else hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def cut_again(text: str, former: Sequence[str], longest: int) -> list[slice | list[str]]:
    """The chunks of a text, given those of another: slices of the former ones and, between them, new ones.

    A former border stands as long as the blank line before it and the unindented character after it do. One before
    indented text is a cut within a long chunk, and stands only as long as that chunk is long.
    """
    result: list[slice | list[str]] = []
    first, position = 0, 0
    while first < len(former):
        same = _common(text, former, first, position)
        if position + same.size == len(text) and same.end == len(former):
            return [*result, slice(first, same.end)]
        border = _back_to_border(former, max(same.end - 1, first), first)
        result.append(slice(first, border))
        position += sum(map(len, former[first:border]))
        first, resumed = _next_common(text, former, same.end, position)
        result.append(chunks(text[position:resumed], longest))
        position = resumed
    return [*result, chunks(text[position:], longest)] if position < len(text) else result


class _Run(NamedTuple):
    end: int
    size: int


def _common(text: str, former: Sequence[str], first: int, position: int) -> _Run:
    """Up to which of the former chunks the text goes on in the same way."""
    start = position
    for number in range(first, len(former)):
        if not text.startswith(former[number], position):
            return _Run(number, position - start)
        position += len(former[number])
    return _Run(len(former), position - start)


def _back_to_border(former: Sequence[str], place: int, first: int) -> int:
    """The last place up to this one at which a chunk begins with unindented text."""
    while place > first and former[place][0].isspace():
        place -= 1
    return place


def _next_common(text: str, former: Sequence[str], changed: int, position: int) -> tuple[int, int]:
    """The next former chunk that stands in the text right behind its former neighbour, and where; else both ends."""
    for number in (*range(changed + 2, min(changed + 2 + NEAR, len(former))), len(former) - 1):
        neighbour, chunk = former[number - 1], former[number]
        if changed < number - 1 and len(neighbour) >= TELLING and not neighbour.isspace() and not chunk[0].isspace():
            place = text.find(neighbour, position) + len(neighbour)
            if place >= position + len(neighbour) and text.startswith(chunk, place):
                return number, place
    return len(former), len(text)
