"""The files of a commit in a folder that another process keeps: what an agent gets that must not see the repository."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.directory import decoded
from searchmark.corpora.document_source import DocumentSource
from searchmark.corpora.snapshots import changed, corpus_name, walked
from searchmark.history.repository import path_bytes
from searchmark.history.trees import Snapshot
from searchmark.records import Document


@dataclass(frozen=True, eq=False)
class ExportedSource(DocumentSource):
    """The files of a commit as they lie in ``shown``, whatever the repository at ``path`` holds.

    ``blobs`` names the content of each; ``left_out`` is how many there are that no snapshot holds. The folder moves on with
    the commits, so this can be read for as long as no other commit is searched.
    """

    shown: Path
    path: Path
    commit: str
    blobs: Mapping[str, str] = field(repr=False)
    left_out: int

    @classmethod
    def of(cls, shown: Path, path: Path, snapshot: Snapshot) -> ExportedSource:
        return cls(shown, path, snapshot.commit, snapshot.versions, len(snapshot.left_out))

    def to_plain(self) -> dict[str, Any]:
        paths = {"shown": str(self.shown), "path": str(self.path)}
        return paths | {"commit": self.commit, "blobs": dict(self.blobs), "left_out": self.left_out}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> ExportedSource:
        return cls(Path(data["shown"]), Path(data["path"]), data["commit"], data["blobs"], data["left_out"])

    def stream(self) -> Iterator[Document | None]:
        yield from (None for _ in range(self.left_out))
        yield from map(self._document, sorted(self.blobs, key=walked))

    @property
    def reads_by_id(self) -> bool:
        return True

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        return filter(None, (self._document(path) for path in ids if path in self.blobs))

    def _document(self, path: str) -> Document | None:
        with open(os.path.join(os.fsencode(self.shown), path_bytes(path)), "rb") as file:  # noqa: PTH118, PTH123  # a name of any bytes
            text = decoded(file.read())
        return None if text is None else Document(path, text)

    def folder(self) -> Path:
        return self.shown

    @property
    def versions(self) -> Mapping[str, str]:
        return self.blobs

    @property
    def origin(self) -> tuple[Path, str]:
        return self.path, self.commit

    def changes_since(self, before: ExportedSource | None) -> Changes:
        """The step from another commit of the repository, or from nothing."""
        written, removed = changed({} if before is None else before.blobs, self.blobs)
        return Changes(Corpus(corpus_name(self.path, self.commit), self), written, removed)
