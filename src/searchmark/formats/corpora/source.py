"""Where the documents of a corpus come from: one method to write, and more to override where they help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.records import Document

if TYPE_CHECKING:
    from searchmark.corpora.folder_files import FolderFiles


class DocumentSource:
    """A source of documents. Override ``stream``, and ``read`` together with ``reads_by_id`` where reading some takes less.

    A source pickles, as the corpus over it does: it holds data about where the documents are, and no functions.
    """

    def stream(self) -> Iterable[Document | None]:
        """All documents, in an order that stays the same; None for something that was skipped."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it holds")

    @property
    def reads_by_id(self) -> bool:
        """Whether some documents can be had for less than a pass over all."""
        return False

    def read(self, ids: Sequence[str]) -> Iterable[Document]:  # only asked where reads_by_id
        """The documents with these ids, in any order; what is no text is left out."""
        raise NotImplementedError(f"{type(self).__name__} cannot read by id")

    def folder(self) -> Path | None:
        """A folder where every document lies as a file, under its id; None if there cannot be one."""
        return None

    @property
    def versions(self) -> Mapping[str, str] | None:
        """A name for the content of each document, where that is known without reading it: equal names, equal content."""
        return None

    def names(self) -> Iterable[str] | None:
        """The ids, where they are known without reading the documents; some of them may turn out to be no text."""
        return self.versions

    @property
    def chosen_files(self) -> FolderFiles | None:
        """Which files of the folder are documents, where the folder may hold others as well."""
        return None

    @property
    def origin(self) -> tuple[Path, str] | None:
        """The repository and the commit whose tree this is."""
        return None


@dataclass(frozen=True, eq=False)
class DocumentList(DocumentSource):
    """Documents in memory, with the names of their contents if these are known."""

    documents: Sequence[Document] = field(repr=False)
    known_versions: Mapping[str, str] | None = field(default=None, repr=False)

    def stream(self) -> Iterable[Document]:
        return self.documents

    @property
    def reads_by_id(self) -> bool:
        return True

    def read(self, ids: Sequence[str]) -> Iterable[Document]:
        return [self._by_id[each] for each in dict.fromkeys(ids) if each in self._by_id]

    @cached_property
    def _by_id(self) -> dict[str, Document]:
        # Backwards, so that of several documents with one id the first is the one that counts.
        return {document.id: document for document in reversed(self.documents)}

    def names(self) -> Iterable[str]:
        return self._by_id

    @property
    def versions(self) -> Mapping[str, str] | None:
        return self.known_versions
