"""The protocol of a source of documents, and what sources share: mapping of fields, names of paths, the listing of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from searchmark.config.inputs import FieldNames, FileSettings
from searchmark.config.run import OUR_FOLDER
from searchmark.config.strict import short_repr
from searchmark.errors import FormatError, shortened
from searchmark.io.data import TOO_DEEP, is_too_deep
from searchmark.io.paths import walk
from searchmark.records.document import Document, field_texts
from searchmark.records.file_kinds import PathFilter
from searchmark.records.matching import folder_roots, relative_path, without_detours

# Where the documents of a corpus come from: one method to write, and more to override where they help.


class DocumentSource:
    """A source of documents. Override ``stream``, and ``read`` where reading some takes less than a pass over all.

    A source pickles, as the corpus over it does: it holds data about where the documents are, and no functions.
    """

    def stream(self) -> Iterable[Document | None]:
        """All documents, in an order that stays the same; None for something that was skipped."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it holds")

    @property
    def reads_by_id(self) -> bool:
        """Whether reading some documents costs less than a pass over all: unless told otherwise, if ``read`` is there."""
        return type(self).read is not DocumentSource.read

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
    def chosen_files(self) -> FolderListing | None:
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


# Which documents of a corpus have which values of a field, read once for each set of fields.


@dataclass(frozen=True, eq=False)
class FieldTable:
    """Of some fields: the ids of documents by value. A field that no document has is not in it."""

    ids: Mapping[str, Mapping[str, frozenset[str]]]

    def having(self, name: str, values: Iterable[str]) -> frozenset[str]:
        """The documents whose field has one of these values."""
        by_value = self.ids.get(name, {})
        return frozenset().union(*(by_value.get(value, frozenset()) for value in values))


@dataclass(frozen=True, eq=False)
class DocumentFields:
    """The fields of the documents of one source; nothing is read before it is asked for."""

    source: DocumentSource
    _known: dict[frozenset[str], FieldTable] = field(default_factory=dict)

    def table(self, names: Iterable[str]) -> FieldTable:
        """Who has which value of these fields; one pass over the documents, kept for the next time."""
        fields = frozenset(names)
        if fields not in self._known:
            self._known[fields] = self._read(fields)
        return self._known[fields]

    def _read(self, fields: frozenset[str]) -> FieldTable:
        ids: dict[str, dict[str, set[str]]] = {}
        seen_ids: set[str] = set()
        for document in self.source.stream():
            if document is None or document.id in seen_ids:  # an id counts the first time it occurs
                continue
            seen_ids.add(document.id)
            for name in fields & _field_names(document):
                by_value = ids.setdefault(name, {})
                for value in field_texts(value_of(document, name)):
                    by_value.setdefault(value, set()).add(document.id)
        return FieldTable({name: {value: frozenset(of) for value, of in by.items()} for name, by in ids.items()})


def _field_names(document: Document) -> set[str]:
    return {*document.fields, *(("title",) if document.title is not None else ())}


def value_of(document: Document, name: str) -> object:
    """What a document says of a field; its title may be asked for as well."""
    return document.fields.get(name, document.title if name == "title" else None)


# Which fields of a record are its id, its title and its text.

ID_NAMES = ("id", "_id", "doc_id", "docid", "item_id", "sku", "asin", "product_id")

TITLE_NAMES = ("title", "name", "summary")

TEXT_NAMES = ("text", "content", "contents", "body", "description")


@dataclass(frozen=True)
class FieldMapping:
    """Field names; None means the usual ones. Several texts are joined by line feeds, in this order.

    ``table`` is the one that is read of a database.
    """

    id: str | None = None
    title: str | None = None
    text: tuple[str, ...] | None = None
    table: str | None = None

    __repr__ = short_repr

    @classmethod
    def parse(cls, items: tuple[str, ...]) -> FieldMapping:
        """Read ``id=asin``, ``title=name``, ``text=bullets,description``; what is about suites and runs is left to them."""
        names = FieldNames.parse(items).corpus
        texts = tuple(names["text"].split(",")) if "text" in names else None
        return cls(names.get("id"), names.get("title"), texts, names.get("table"))

    @property
    def named(self) -> frozenset[str]:
        """The fields that were named, of which each should be found somewhere."""
        return frozenset(filter(None, (self.id, self.title, *(self.text or ()))))

    def document(self, record: dict[str, Any]) -> Document | str:
        """The document that a record describes, or the reason why it describes none."""
        id_field = self.id or next((name for name in ID_NAMES if name in record), None)
        if id_field is None or record.get(id_field) is None:
            names, id_names = shortened(", ".join(map(str, record)), 300), self.id or ", ".join(ID_NAMES)
            how = "name the right one with --map id=NAME, or call it id in the file"
            return f"has no id (looked for {id_names}); its fields are {names}: {how}"
        identity = record[id_field]
        if isinstance(identity, bool) or not (isinstance(identity, str) or hasattr(identity, "__index__")) or identity == "":
            return f"has the id {shortened(repr(identity), 60)}, which is neither text nor a whole number"
        deep = next((name for name, value in record.items() if isinstance(value, dict | list) and is_too_deep(value)), None)
        if deep is not None:
            return f"its field {deep!r} {TOO_DEEP}"
        title_field = self.title or next((name for name in TITLE_NAMES if name in record), None)
        texts = self.text or tuple(name for name in TEXT_NAMES if name in record)[:1]
        role_names = {id_field, title_field, *texts}
        return Document(
            id=identity,
            text="\n".join(filter(None, (searchable_text(record.get(name)) for name in texts))),
            title=searchable_text(record.get(title_field)) or None if title_field else None,
            fields={name: value for name, value in record.items() if name not in role_names},
        )


def searchable_text(value: Any) -> str:
    """Any value of a record as text to search: lists line by line, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(searchable_text, value)))
    if isinstance(value, dict):
        return "\n".join(filter(None, map(searchable_text, value.values())))
    return str(value)


GIT_ENTRY = ".git"  # a folder, or a file that says where it is

SKIPPED_FOLDERS = frozenset({GIT_ENTRY, OUR_FOLDER})

EXAMPLES_SHOWN = 3

SkipReason = Literal["ours", "ignored", "tools", "chosen"]


@dataclass(frozen=True)
class SkippedFiles:
    """What is left out for one reason: how many files and folders, a folder counting once, and the first of them."""

    reason: SkipReason
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class FolderListing:
    """The outcome: ``pruned`` paths, those of folders with a slash at the end, and a choice by name of all others."""

    choice: FileSettings = FileSettings()  # noqa: RUF009  # frozen
    pruned: Mapping[str, SkipReason] = field(default_factory=dict)
    left_out: tuple[SkippedFiles, ...] = ()
    problems: tuple[str, ...] = field(default=(), compare=False)  # of the process that listed

    def __hash__(self) -> int:
        return hash((self.choice, tuple(self.pruned), self.left_out))

    @cached_property
    def chosen(self) -> PathFilter:
        return PathFilter.of(self.choice)

    def reason(self, path: str) -> SkipReason | None:
        """Why a path below the folder is not a document; None if nothing speaks against it."""
        parts = path.split("/")
        if not SKIPPED_FOLDERS.isdisjoint(parts):
            return "ours" if OUR_FOLDER in parts else "ignored"
        above = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
        reason = next((self.pruned[each] for each in (*above, path) if each in self.pruned), None)
        return reason or (None if self.chosen(path) else "chosen")

    def below(self, folder: Path) -> Iterator[tuple[Path, str]]:
        """The files, in path order, each with its path below the folder; links to folders are among them."""
        for parent, folders, names in walk(folder, onerror=lambda error: refuse_unreadable(folder, error)):
            prefix = path_prefix(folder, parent)
            links = [name for name in folders if Path(parent, name).is_symlink()]
            folders_below = set(folders) - SKIPPED_FOLDERS - set(links)
            folders[:] = sorted(name for name in folders_below if f"{prefix}{name}/" not in self.pruned)
            for name in sorted([*names, *links]):
                path = prefix + name
                if name != GIT_ENTRY and path not in self.pruned and self.chosen(path):
                    yield Path(parent, name), path

    def without(self, folder: Path, never: Iterable[Path]) -> FolderListing:
        """The same without these files of the folder, those of them that would be documents."""
        below = [path.relative_to(folder).as_posix() for path in map(Path.resolve, never) if folder in path.parents]
        newly_left_out = [f"{path}/" if (folder / path).is_dir() else path for path in below if self.reason(path) is None]
        if not newly_left_out:
            return self
        previous = next((each for each in self.left_out if each.reason == "ours"), SkippedFiles("ours", 0, ()))
        ours = SkippedFiles("ours", previous.count + len(newly_left_out), (*previous.examples, *newly_left_out)[:EXAMPLES_SHOWN])
        left_out = (ours, *(each for each in self.left_out if each != previous))
        return FolderListing(self.choice, {**self.pruned, **dict.fromkeys(newly_left_out, ours.reason)}, left_out, self.problems)

    def to_plain(self) -> dict[str, Any]:
        return {"choice": asdict(self.choice), "pruned": dict(self.pruned), "left_out": [asdict(each) for each in self.left_out]}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> FolderListing:
        plain_choice = data["choice"]
        choice = FileSettings(
            tuple(plain_choice["include"]), tuple(plain_choice["exclude"]), tuple(plain_choice["kinds"]), plain_choice["ignore"]
        )
        left_out = tuple(SkippedFiles(each["reason"], each["count"], tuple(each["examples"])) for each in data["left_out"])
        return cls(choice, data["pruned"], left_out)


def path_prefix(folder: Path, parent: str) -> str:
    below = Path(parent).relative_to(folder).as_posix()
    return "" if below == "." else f"{below}/"


def refuse_unreadable(folder: Path, error: OSError) -> None:
    raise FormatError(folder, None, f"cannot be read: {error.strerror}") from error


# Paths as agents print them, under the names that the documents of a folder have.


class PathNames:
    """Makes paths relative to a folder, without ``./`` and ``a/../``; ``folder`` gives it once it is made.

    Nothing is looked up: whether there is such a document is for others to say.
    """

    def __init__(self, folder: Callable[[], Path | None]) -> None:
        self._folder_if_made = folder
        self._folder: Path | None = None
        self._roots: tuple[str, ...] = ()

    def name(self, path: str) -> str:
        folder = self._folder_if_made()
        if folder is not self._folder:
            self._folder, self._roots = folder, folder_roots(folder)
        if "://" in path:
            return path  # an address, which is nobody's path
        return relative_path(without_detours(path), self._roots)
