"""Where a corpus is, as plain data that any process can open."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from searchmark.corpora.corpus import Corpus, FieldMapping, load_corpus
from searchmark.records import Document


@dataclass(frozen=True)
class Place:
    """A file or folder with the fields that matter in it, a commit of a repository, or documents at hand, under a name.

    ``stand`` tells states of one corpus apart, and documents that are at hand by their digest. With a ``commit`` the
    path is that of a repository, which is travelled by `journeys` and not opened here; only its files of these
    ``kinds`` are searched, if any are named, and none that a pattern has ``excluded``.
    """

    name: str
    path: str | None = None
    mapping: FieldMapping = FieldMapping()  # noqa: RUF009  # frozen
    documents: tuple[Document, ...] = field(default=(), compare=False)
    stand: str | None = None
    commit: str | None = None
    kinds: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def open(self) -> Corpus:
        if self.path is not None:
            return load_corpus(Path(self.path), self.mapping)
        return Corpus(self.name, lambda: self.documents)

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


def place_from_plain(data: dict[str, Any]) -> Place:
    """The place that ``Place.to_plain`` has described, after a journey as JSON."""
    text = data["mapping"]["text"]
    mapping = FieldMapping(data["mapping"]["id"], data["mapping"]["title"], None if text is None else tuple(text))
    documents = tuple(Document(**document) for document in data["documents"])
    return Place(
        data["name"], data["path"], mapping, documents, data["stand"], data["commit"], tuple(data["kinds"]), tuple(data["excluded"])
    )
