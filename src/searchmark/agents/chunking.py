"""What of a document becomes a vector: its id, its title, and its chunks, each under a key that its text alone decides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from searchmark.agents.recut import cut_again
from searchmark.corpora.chunks import chunks
from searchmark.records import Document

Lines = tuple[int, int] | None


@dataclass(frozen=True)
class KeyedVersion:
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
    _versions: dict[str, KeyedVersion] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return "documents" if self.whole else f"content-defined/{self.longest}{'+paths' if self.paths else ''}"

    def pieces(self, document: Document, *, again: bool = False) -> Pieces:
        """Duplicates count once, and what is blank does not count.

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
        """The lines of each of the pieces; an id and a title have none."""
        places: dict[str, Lines] = dict.fromkeys([document.id] if self.whole else self._heads(document))
        first = 1
        for chunk in [] if self.whole else chunks(document.text, self.longest):
            if not chunk.isspace():
                places.setdefault(chunk, (first, first + chunk.rstrip().count("\n")))
            first += chunk.count("\n")
        return list(places.values())

    def _heads(self, document: Document) -> list[str]:
        return [head for head in (document.id if self.paths else None, document.title) if head]

    def _cut(self, document: Document, last: KeyedVersion | None) -> tuple[KeyedVersion, dict[bytes, str]]:
        """The chunks of a document, and those of them that the last version may not have had, by key."""
        if last is None:
            last = KeyedVersion([], [])
        version = KeyedVersion([], [])
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
