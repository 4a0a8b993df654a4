"""A place where a case is searched, as plain data that can be sent to a worker. Kept light: every worker imports it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from searchmark.config.inputs import CorpusInputSettings
from searchmark.formats.corpora.corpus import Corpus, load_corpus
from searchmark.formats.corpora.documents import find_collection
from searchmark.formats.corpora.folder import list_folder, refuse_file_settings, why_no_folder
from searchmark.formats.corpora.source import FieldMapping, FolderListing
from searchmark.io.data import plain_value
from searchmark.records.document import Document
from searchmark.records.file_kinds import PathFilter

Plain = dict[str, Any]


class _LocationBase:
    """What all kinds of locations answer; most of them have no history, so that is what is said here."""

    kind: ClassVar[str]

    def same_history(self, other: Location) -> bool:  # noqa: ARG002  # what has no history shares none
        """Whether an agent that is ready for the other can follow the changes to this one."""
        return False


@dataclass(frozen=True)
class Documents(_LocationBase):
    """Documents of a case or a program. They are compared by ``digest``, since texts are long."""

    kind: ClassVar[str] = "documents"

    name: str
    documents: tuple[Document, ...] = field(compare=False, repr=False)
    digest: str

    @classmethod
    def of(cls, name: str, documents: Iterable[Document]) -> Documents:
        """What they say of themselves is made plain: an agent in another process gets the same as one in this."""
        documents = tuple(replace(each, fields=plain_value(each.fields)) if each.fields else each for each in documents)
        content = repr([(each.id, each.text, each.title, each.fields) for each in documents])
        return cls(name, documents, hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest())

    @property
    def identity(self) -> str:
        return f"documents {self.name} {self.digest}"

    def open(self) -> Corpus:
        return Corpus.of(self.name, self.documents)

    def to_plain(self) -> Plain:
        documents = [{"id": each.id, "text": each.text, "title": each.title, "fields": each.fields} for each in self.documents]
        return {"kind": self.kind, "name": self.name, "documents": documents, "digest": self.digest}

    @classmethod
    def from_plain(cls, data: Plain) -> Documents:
        return cls(data["name"], tuple(Document(**document) for document in data["documents"]), data["digest"])


@dataclass(frozen=True)
class Folder(_LocationBase):
    """A directory of files, of which ``files`` are documents, or one file with documents, whose fields ``mapping`` names."""

    kind: ClassVar[str] = "folder"

    name: str
    path: Path
    mapping: FieldMapping = FieldMapping()  # frozen
    files: FolderListing = FolderListing()  # noqa: RUF009  # frozen

    @classmethod
    def found(cls, name: str, path: Path, choice: CorpusInputSettings) -> Folder:
        """What is there now, so that other processes search the same files."""
        file = find_collection(path) if path.is_dir() else path
        if file is not None:
            refuse_file_settings(why_no_folder(path, file), choice.files)
        files = list_folder(path, choice.files, choice.never) if file is None else FolderListing()
        return cls(name, path, FieldMapping.parse(choice.mapping), files)

    @property
    def identity(self) -> str:
        """The name alone: where the folder lies changes no answer, and what it holds is told by its survey."""
        return f"folder {self.name}"

    def open(self) -> Corpus:
        return load_corpus(self.path, self.mapping, self.files)

    def to_plain(self) -> Plain:
        mapping, files = asdict(self.mapping), self.files.to_plain()
        return {"kind": self.kind, "name": self.name, "path": str(self.path), "mapping": mapping, "files": files}

    @classmethod
    def from_plain(cls, data: Plain) -> Folder:
        roles = data["mapping"]
        texts = None if roles["text"] is None else tuple(roles["text"])
        mapping = FieldMapping(roles["id"], roles["title"], texts, roles["table"])
        return cls(data["name"], Path(data["path"]), mapping, FolderListing.from_plain(data["files"]))


@dataclass(frozen=True)
class Commit(_LocationBase):
    """The tree of a commit."""

    kind: ClassVar[str] = "commit"

    name: str
    path: Path
    commit: str  # the full hash
    kinds: tuple[str, ...] = ()  # of files; all if none is named
    excluded: tuple[str, ...] = ()  # patterns of the gold set
    include: tuple[str, ...] = ()  # globs of the user
    exclude: tuple[str, ...] = ()  # globs of the user

    @property
    def _choice(self) -> tuple[tuple[str, ...], ...]:
        globs = (self.include, self.exclude)
        return (self.kinds, self.excluded, *(globs if any(globs) else ()))

    @property
    def identity(self) -> str:
        return " ".join(map(str, ("commit", self.name, self.commit, *self._choice)))

    @property
    def digest(self) -> str:
        """What names the searched files: the commit, or where only some are searched a digest of that choice with it."""
        if not any(self._choice):
            return self.commit
        return hashlib.sha256(repr((self.commit, *self._choice)).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def history(self) -> tuple[Path, tuple[tuple[str, ...], ...]]:
        """What all commits have in common that one walk can visit."""
        return self.path, self._choice

    def same_history(self, other: Location) -> bool:
        return isinstance(other, Commit) and self.history == other.history

    @property
    def wanted(self) -> PathFilter:
        """Which paths are searched."""
        return PathFilter(self.kinds, self.excluded, self.include, self.exclude)

    def open(self) -> Corpus:
        """The corpus of this commit alone; to visit several, a walk takes a fraction of the time."""
        from searchmark.formats.corpora.snapshots import CommitSource, corpus_name

        return Corpus(corpus_name(self.path, self.commit), CommitSource(self.path, self.commit, self.wanted))

    def to_plain(self) -> Plain:
        return {"kind": self.kind} | asdict(self) | {"path": str(self.path)}

    @classmethod
    def from_plain(cls, data: Plain) -> Commit:
        choice = (tuple(data[name]) for name in ("kinds", "excluded", "include", "exclude"))
        return cls(data["name"], Path(data["path"]), data["commit"], *choice)


@dataclass(frozen=True)
class Remote(_LocationBase):
    """A service, which searches what it has: there is no corpus of ours, and nothing is known about what exists there."""

    kind: ClassVar[str] = "remote"

    name: str

    @property
    def identity(self) -> str:
        return f"remote {self.name}"

    def open(self) -> None:
        """Nothing: there is no corpus to open."""

    def to_plain(self) -> Plain:
        return {"kind": self.kind, "name": self.name}

    @classmethod
    def from_plain(cls, data: Plain) -> Remote:
        return cls(data["name"])


Location = Documents | Folder | Commit | Remote


def location_of(corpus: Corpus, never: Iterable[Path] = ()) -> Documents | Folder:
    """Where a corpus in memory came from: the folder with the choice of its files or the file that it is read from, or else
    its documents themselves.

    ``never`` are files of a folder that are no documents.
    """
    from searchmark.formats.corpora.documents import FileSource
    from searchmark.formats.corpora.folder import DirectorySource

    match corpus.source:
        case DirectorySource(path, files):
            return Folder(corpus.name, path.resolve(), files=files.without(path.resolve(), never))
        case FileSource(path, mapping):
            return Folder(corpus.name, path.resolve(), mapping)
    return Documents.of(corpus.name, corpus)


_KINDS: Mapping[str, type[Documents | Folder | Commit | Remote]] = {each.kind: each for each in (Documents, Folder, Commit, Remote)}


def location_from_plain(data: Plain) -> Location:
    """The location that ``to_plain`` has described, also after it was sent as JSON."""
    return _KINDS[data["kind"]].from_plain(data)
