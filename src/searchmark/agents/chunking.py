"""What of a document becomes a vector: its id, its title, and its chunks, each under a key that its text alone decides."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from searchmark.agents.chunk_choice import Chunks, LineChunks
from searchmark.agents.recut import cut_again
from searchmark.records import Document

Lines = tuple[int, int] | None
_BREAK = re.compile(r"\n")


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
    """How documents are cut. ``by_id``: not at all, they are known by their ids."""

    chunks: Chunks
    paths: bool
    by_id: bool
    _versions: dict[str, KeyedVersion] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return "documents" if self.by_id else f"{self.chunks}{'+paths' if self.paths else ''}"

    def pieces(self, document: Document, *, again: bool = False) -> Pieces:
        """Duplicates count once, and what is blank does not count.

        ``again``: the document is likely to come once more with a few changes, and is remembered for that.
        """
        if self.by_id:
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
        found: dict[str, Lines] = dict.fromkeys([document.id] if self.by_id else self._heads(document))
        text = document.text
        breaks = [match.start() for match in _BREAK.finditer(text)]
        for start, end in [] if self.by_id else self.chunks.spans(text):
            chunk = text[start:end]
            if not chunk.isspace():
                begun, ended = end - len(chunk.lstrip()), start + len(chunk.rstrip())
                found.setdefault(chunk, (1 + bisect_left(breaks, begun), 1 + bisect_left(breaks, ended)))
        return list(found.values())

    def _heads(self, document: Document) -> list[str]:
        return [head for head in (document.id if self.paths else None, document.title) if head]

    def _cut(self, document: Document, last: KeyedVersion | None) -> tuple[KeyedVersion, dict[bytes, str]]:
        """The chunks of a document, and those of them that the last version may not have had, by key."""
        if last is None:
            last = KeyedVersion([], [])
        version = KeyedVersion([], [])
        fresh: dict[bytes, str] = {}
        for part in self._parts(document.text, last.chunks):
            keys = last.keys[part] if isinstance(part, slice) else [digest(chunk) for chunk in part]
            texts = last.chunks[part] if isinstance(part, slice) else part
            version.keys.extend(keys)
            version.chunks.extend(texts)
            if not isinstance(part, slice):
                fresh.update(zip(keys, texts, strict=True))
        return version, fresh

    def _parts(self, text: str, former: list[str]) -> list[slice | list[str]]:
        """Only content-defined borders stay where they were around an edit; all others are found again."""
        if isinstance(self.chunks, LineChunks):
            return cut_again(text, former, self.chunks.longest)
        return [[text[start:end] for start, end in self.chunks.spans(text)]]


BLANK = b""  # the key of chunks that say nothing


def digest(text: str) -> bytes:
    """A key that no other text has."""
    return BLANK if text.isspace() else hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
