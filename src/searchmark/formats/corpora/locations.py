"""Where a case is searched: documents that it brings along, a folder or file, a commit of a repository, or a service.

A location is plain data, so that it can be told to any process, compared, and written down. Whether two of them can be
travelled between, what tells their states apart and how they are opened is the business of each kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from searchmark.corpora.corpus import Corpus, load_corpus
from searchmark.corpora.field_mapping import FieldMapping
from searchmark.corpora.file_kinds import ChosenPaths
from searchmark.corpora.folder_files import FolderFiles, files_of, read_from, refuse_choice
from searchmark.corpora.folder_layouts import documents_in
from searchmark.files.plain_data import plain_value
from searchmark.options.corpus_choice import CorpusChoice
from searchmark.records import Document

Plain = dict[str, Any]


class _Located:
    """What all kinds of locations answer; most of them have no history, so that is what is said here."""

    kind: ClassVar[str]

    def same_history(self, other: Location) -> bool:  # noqa: ARG002  # what has no history shares none
        """Whether an agent that is ready for the other can follow the changes to this one."""
        return False


@dataclass(frozen=True)
class Documents(_Located):
    """Documents that a case or a program brings along. They are told apart by ``digest``, since texts are long."""

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
class Folder(_Located):
    """A directory of files, of which ``files`` are documents, or one file with documents, whose fields ``mapping`` names."""

    kind: ClassVar[str] = "folder"

    name: str
    path: Path
    mapping: FieldMapping = FieldMapping()  # frozen
    files: FolderFiles = FolderFiles()  # noqa: RUF009  # frozen

    @classmethod
    def found(cls, name: str, path: Path, choice: CorpusChoice) -> Folder:
        """What lies there now, so that whoever is told of it searches the same files."""
        file = documents_in(path) if path.is_dir() else path
        if file is not None:
            refuse_choice(read_from(path, file), choice.files)
        files = files_of(path, choice.files, choice.never) if file is None else FolderFiles()
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
        given = data["mapping"]
        texts = None if given["text"] is None else tuple(given["text"])
        mapping = FieldMapping(given["id"], given["title"], texts, given["table"])
        return cls(data["name"], Path(data["path"]), mapping, FolderFiles.from_plain(data["files"]))


@dataclass(frozen=True)
class Commit(_Located):
    """The tree of a commit, by its full hash; of these ``kinds`` of files only, if any are named, and none ``excluded``.

    ``excluded`` are patterns of a gold set; ``include`` and ``exclude`` are globs of whoever asks.
    """

    kind: ClassVar[str] = "commit"

    name: str
    path: Path
    commit: str
    kinds: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

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
    def wanted(self) -> ChosenPaths:
        """Which paths are searched."""
        return ChosenPaths(self.kinds, self.excluded, self.include, self.exclude)

    def open(self) -> Corpus:
        """The corpus of this commit alone; to visit several, a walk takes a fraction of the time."""
        from searchmark.corpora.snapshots import CommitSource, corpus_name

        return Corpus(corpus_name(self.path, self.commit), CommitSource(self.path, self.commit, self.wanted))

    def to_plain(self) -> Plain:
        return {"kind": self.kind} | asdict(self) | {"path": str(self.path)}

    @classmethod
    def from_plain(cls, data: Plain) -> Commit:
        choice = (tuple(data[name]) for name in ("kinds", "excluded", "include", "exclude"))
        return cls(data["name"], Path(data["path"]), data["commit"], *choice)


@dataclass(frozen=True)
class Remote(_Located):
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
    """Where a corpus that somebody holds is: the folder with the choice of its files or the file that it is read from, or else
    its documents themselves.

    ``never`` are files of a folder that are no documents.
    """
    from searchmark.corpora.directory import DirectorySource
    from searchmark.corpora.documents import FileSource

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
