"""The corpus: a named set of documents, how it is opened, selected from and written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from searchmark.config.inputs import CorpusInputSettings, FileSettings
from searchmark.config.strict import short_repr
from searchmark.errors import NothingEvaluated, UsageError, shortened
from searchmark.formats.corpora.folder import SKIP_REASONS, list_folder, refuse_file_settings, why_no_folder
from searchmark.formats.corpora.source import (
    DocumentFields,
    DocumentList,
    DocumentSource,
    FieldMapping,
    FolderListing,
    PathNames,
    searchable_text,
)
from searchmark.io.folders import OWNER_ONLY_FILE, cache_folder, make_once
from searchmark.io.network import NO_NETWORK, network_allowed
from searchmark.io.packed import inner_stem
from searchmark.io.paths import is_address, user_path
from searchmark.io.secrets import without_credentials
from searchmark.io.store import atomic_write, check_readable
from searchmark.records.document import Document
from searchmark.records.sentences import quote_name

if TYPE_CHECKING:
    from searchmark.records.suite import Suite

# What is searched: documents in JSON, JSONL or CSV files, a directory, the tree of a commit, or the documents of a suite.
#
# A corpus is streamed and never in memory as a whole: one pass reports its ids, duplicates and empty documents and takes its
# digest, and every further pass yields the documents one by one.


@dataclass(frozen=True)
class Survey:
    """What one pass over a corpus has seen: its ids, each once, and what is odd about it."""

    ids: Set[str]
    duplicates: int
    empty: int
    skipped: int
    digest: str
    folder: Path | None = None  # where the documents are as files, if they are
    files: FolderListing | None = field(default=None, compare=False, repr=False)  # which files of the folder they are
    fields: DocumentFields | None = field(default=None, compare=False, repr=False)  # reads what documents say of themselves

    def positions(self, ids: Set[str]) -> dict[str, int]:
        """Where these documents first come in the corpus, which is read again for it; empty where it cannot be."""
        positions: dict[str, int] = {}
        for position, document in enumerate(() if self.fields is None else self.fields.source.stream()):
            if document is not None and document.id in ids:
                positions.setdefault(document.id, position)
        return positions


class Corpus:
    """A named set of documents that can be read any number of times; an id counts the first time it occurs.

    A corpus pickles: what another process gets is the name and the source, and it looks for itself.
    """

    def __init__(self, name: str, source: DocumentSource) -> None:
        self.name = name
        self.source = source
        self._folder: Path | None = None
        self._folder_ns = 0
        self._making = threading.Lock()  # an agent may ask from several threads, and there is one folder

    @classmethod
    def of(cls, name: str, documents: Sequence[Document], versions: Mapping[str, str] | None = None) -> Corpus:
        """A corpus of documents in memory."""
        return cls(name, DocumentList(documents, versions))

    @classmethod
    def from_frame(cls, table: Any, name: str = "corpus", mapping: FieldMapping | Mapping[str, str] | None = None) -> Corpus:
        """A corpus from a DataFrame of pandas or polars or an Arrow table, one row per document.

        The columns are found by their usual names (id, title, text); ``mapping`` names others: {"id": "asin"}. All other
        columns are fields of the documents.
        """
        from searchmark.formats.corpora.documents import documents_of_frame

        return cls.of(name, documents_of_frame(table, mapping))

    def __reduce__(self) -> tuple[type[Corpus], tuple[str, DocumentSource]]:
        return Corpus, (self.name, self.source)

    def __repr__(self) -> str:
        return f"Corpus({quote_name(self.name)})"

    def __iter__(self) -> Iterator[Document]:
        """The documents, one by one; of several with one id only the first."""
        ids: set[str] = set()
        for document in self.source.stream():
            if document is not None and document.id not in ids:
                ids.add(document.id)
                yield document

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        """The documents with these ids, in any order; what is no text is left out."""
        if self.reads_by_id:
            yield from self.source.read(ids)
            return
        distinct = set(ids)
        yield from (document for document in self if document.id in distinct)

    @property
    def reads_by_id(self) -> bool:
        """Whether ``read`` takes less than a pass over everything."""
        return self.source.reads_by_id

    @property
    def versions(self) -> Mapping[str, str] | None:
        """A name for the content of each document, where that is known without reading it: equal names, equal content."""
        return self.source.versions

    @property
    def names(self) -> Iterable[str] | None:
        """The ids, where they are known without reading the documents; some of them may turn out to be no text."""
        return self.source.names()

    @property
    def origin(self) -> tuple[Path, str] | None:
        """The repository and the commit whose tree this is, if it is one."""
        return self.source.origin

    @property
    def folder(self) -> Path | None:
        """A folder with every document as a file, made when it is first asked for; None if there cannot be one."""
        with self._making:
            if self._folder is None:
                start = perf_counter_ns()
                self._folder = self.source.folder()
                self._folder_ns += perf_counter_ns() - start
            return self._folder

    @property
    def folder_if_made(self) -> Path | None:
        """The folder if anybody has asked for it; asking here makes none."""
        return self._folder

    @cached_property
    def path_names(self) -> PathNames | None:
        """How paths that agents print are called here; None where ids are no paths. No folder is made for this."""
        is_folder = self.origin is not None or self.folder is not None  # that of a commit would have to be made
        return PathNames(lambda: self._folder) if is_folder else None

    @property
    def folder_ns(self) -> int:
        """Nanoseconds that the folder has taken to make: our own work, which no agent is charged for."""
        return self._folder_ns

    @cached_property
    def survey(self) -> Survey:
        """One pass over everything, which keeps only the ids. None in the stream is something that was skipped."""
        ids: set[str] = set()
        duplicates = empty = skipped = total = 0
        for document in self.source.stream():
            if document is None:
                skipped += 1
                continue
            if document.id in ids:
                duplicates += 1
                continue
            ids.add(document.id)
            empty += not (document.text.strip() or (document.title or "").strip())
            total += _document_digest(document)
        # A sum of digests does not depend on the order, and is taken without holding them all.
        if not ids:
            raise NothingEvaluated(f"the corpus {self.name!r} holds no documents{_why_empty(self.source.chosen_files, skipped)}")
        folder = self.folder if self.origin is None else None  # that of a commit would have to be made
        digest = f"{total % (1 << 256):064x}"
        return Survey(ids, duplicates, empty, skipped, digest, folder, self.source.chosen_files, DocumentFields(self.source))


@dataclass(frozen=True, eq=False)
class Changes:
    """The step from one state of a corpus to the next: what there is to search from now on, and what is different.

    ``written`` names documents that are new or have another content, ``removed`` those that are gone. A written one that
    ``corpus.read`` does not give is no text, or no longer: forget what was known about it.
    """

    corpus: Corpus
    written: tuple[str, ...]
    removed: tuple[str, ...]

    __repr__ = short_repr


def _document_digest(document: Document) -> int:
    fields = (
        json.dumps(document.fields, sort_keys=True, default=str) if document.fields else ""
    )  # they are searched and filtered by
    content = "\0".join((document.id, document.title or "", document.text, fields)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest())


def _why_empty(files: FolderListing | None, skipped: int) -> str:
    skips = () if files is None else files.left_out
    left_out = [f"{each.count} {SKIP_REASONS[each.reason]}, like {each.examples[0]!r}" for each in skips]
    left_out += [f"{skipped} that hold no text"] if skipped else []
    return f": left out are {'; '.join(left_out)}" if left_out else ""


def load_corpus(
    path: str | PathLike[str],
    mapping: FieldMapping | None = None,
    files: FileSettings | FolderListing | None = None,
    never: Iterable[Path] = (),
) -> Corpus:
    """A corpus from a file or a directory; ``mapping`` says which fields are what, ``files`` which files are documents.

    A file may be named by its address, ``https://host/corpus.jsonl#sha256=HEX``; it is then downloaded once.

    ``never`` are files of a directory that are no documents: the suite that is asked, for one.
    """
    from searchmark.formats.corpora.documents import FileSource, find_collection
    from searchmark.formats.corpora.folder import DirectorySource

    location = local_path(path, network=network_allowed())
    check_readable(location)
    file = find_collection(location) if location.is_dir() else location
    if file is not None:
        if isinstance(files, FileSettings):
            refuse_file_settings(why_no_folder(location, file), files)
        name = location.resolve().name if file.is_dir() else inner_stem(file)
        return Corpus(name, FileSource(file, mapping or FieldMapping()))
    if mapping is not None and mapping.named:
        raise UsageError(
            f"{location} is a directory of files, which have no fields that a mapping could name; leave the mapping out"
        )
    listing = files if isinstance(files, FolderListing) else list_folder(location, files or FileSettings(), never)
    return Corpus(location.resolve().name, DirectorySource(location, listing))


def open_corpus(choice: CorpusInputSettings) -> Corpus:
    """The corpus that was named."""
    if choice.corpus is None:
        raise UsageError("there is nothing to search; name documents with --corpus")
    return load_corpus(choice.corpus, FieldMapping.parse(choice.mapping), choice.files, choice.never)


def corpus_of(suite: Suite) -> Corpus:
    """The documents that the cases of a suite contain."""
    documents = [document for case in suite.cases for document in case.documents]
    if not documents:
        raise NothingEvaluated(f"the suite {suite.name!r} has no documents of its own")
    return Corpus.of(suite.name, documents)


# A corpus as ``corpus.jsonl`` of a BEIR folder, written document by document.

BEIR_CORPUS_FILE = "corpus.jsonl"

RESERVED_FIELDS = frozenset({"_id", "id", "title", "text"})  # names that mean something there, whatever they meant before


@dataclass(frozen=True)
class CorpusWriteResult:
    """How many documents were written, and how many of their fields could not be, since their names are taken."""

    documents: int
    lost_fields: int

    def losses(self) -> Iterator[str]:
        if self.lost_fields:
            yield f"fields of documents that are called {', '.join(sorted(RESERVED_FIELDS))}: {self.lost_fields}"


def write_corpus(corpus: Corpus, folder: Path) -> CorpusWriteResult:
    """Write every document once; what is read from the file is what was written."""
    documents = lost_fields = 0
    with atomic_write(folder / BEIR_CORPUS_FILE) as file:
        for document in corpus:
            fields = {name: value for name, value in document.fields.items() if name not in RESERVED_FIELDS}
            record = {"_id": document.id, "title": document.title or "", "text": document.text, **fields}
            file.write(json.dumps(record, default=str).encode("ascii") + b"\n")
            documents += 1
            lost_fields += len(document.fields) - len(fields)
    return CorpusWriteResult(documents, lost_fields)


# A corpus seen through a selection: some fields of its documents, and only the documents that a filter lets through.

OWN_FIELDS = ("id", "title", "text")  # what every document may have, beside its fields

FIELD_LIST_MARK = " "  # a title in which nothing is found; without one, the id would be searched in its place

VALUES_SHOWN = 10  # values in a message


@dataclass(frozen=True)
class DocumentSelection:
    """Which fields are searched (None: title, text and id, as usual), and which values a document must have in others."""

    fields: tuple[str, ...] | None = None
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Sequence[str] | None, filters: Mapping[str, Any]) -> DocumentSelection:
        """From the options of an agent; what cannot be is a ValueError of one sentence."""
        if fields is not None and (not fields or len(set(fields)) < len(fields)):
            raise ValueError(f"fields is {list(fields)}, and must name one field or more, none of them twice")
        return cls(
            None if fields is None else tuple(fields), {name: _filter_values(name, value) for name, value in filters.items()}
        )

    def __bool__(self) -> bool:
        return self.fields is not None or bool(self.filter)

    @property
    def ids(self) -> bool:
        """Whether ids are searched."""
        return self.fields is None or "id" in self.fields

    @property
    def keeps_lines(self) -> bool:
        """Whether a line of what is searched is the same line of the text."""
        return self.fields is None or set(self.fields) <= set(OWN_FIELDS)

    def describe(self) -> dict[str, Any]:
        """What is selected; nothing if everything is."""
        fields = {} if self.fields is None else {"fields": list(self.fields)}
        return fields | ({"filter": {name: list(values) for name, values in self.filter.items()}} if self.filter else {})

    def corpus(self, corpus: Corpus) -> Corpus:
        """What is seen of a corpus; a field that no document has is refused, and so is a filter that lets none through."""
        if not self:
            return corpus
        _check_selection(self, corpus)
        return self._seen(corpus)

    def changes(self, changes: Changes) -> Changes:
        """What is seen of the next state; a document that is filtered out from now on is written and cannot be read."""
        return Changes(self._seen(changes.corpus), changes.written, changes.removed) if self else changes

    def document(self, document: Document) -> Document | None:
        """What is seen of a document; None if it is filtered out."""
        for name, admitted in self.filter.items():
            if not any(_normalize_value(value) in admitted for value in field_values(document, name)):
                return None
        if self.fields is None:
            return document
        title = document.title if "title" in self.fields else None
        texts = [field_text(document, name) for name in self.fields if name not in ("id", "title")]
        return replace(document, title=title or (None if self.ids else FIELD_LIST_MARK), text="\n".join(filter(None, texts)))

    def _seen(self, corpus: Corpus) -> Corpus:
        return Corpus(corpus.name, SelectedSource(corpus, self))


@dataclass(frozen=True, eq=False)
class SelectedSource(DocumentSource):
    """The documents of a corpus, as far as they are selected. The names of their contents are not those of what is seen."""

    whole: Corpus
    selection: DocumentSelection

    def stream(self) -> Iterator[Document]:
        return self._selected(self.whole)

    @property
    def reads_by_id(self) -> bool:
        return self.whole.reads_by_id

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        return self._selected(self.whole.read(ids))

    def names(self) -> Iterable[str] | None:
        return None if self.selection.filter else self.whole.names

    def _selected(self, documents: Iterable[Document]) -> Iterator[Document]:
        return (view for document in documents if (view := self.selection.document(document)) is not None)


def field_text(document: Document, name: str) -> str:
    """A field as text to search: lists line by line, nothing for nothing."""
    return searchable_text({"id": document.id, "title": document.title, "text": document.text}.get(name, document.fields.get(name)))


def field_values(document: Document, name: str) -> list[str]:
    """The values of a field, each of them where it holds a list."""
    value = document.fields.get(name)
    values = value if name not in OWN_FIELDS and isinstance(value, list) else [field_text(document, name)]
    return [text for each in values if (text := searchable_text(each).strip())]


def _filter_values(name: str, value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(each, str | int | float) and _normalize_value(searchable_text(each)) for each in values):
        raise ValueError(f"filter: {name} is {shortened(repr(value), 60)}, and must be a value or a list of values")
    return tuple(_normalize_value(searchable_text(each)) for each in values)


def _normalize_value(value: str) -> str:
    return value.strip().casefold()


def _check_selection(selection: DocumentSelection, corpus: Corpus) -> None:
    """Documents are read until every field was seen and one got through the filter: mostly the first few."""
    missing = dict.fromkeys((*(selection.fields or ()), *selection.filter))
    names: dict[str, None] = dict.fromkeys(OWN_FIELDS)
    values: dict[str, dict[str, None]] = {name: {} for name in selection.filter}
    admitted = False
    for document in corpus:
        names.update(dict.fromkeys(document.fields))
        missing = {name: None for name in missing if not field_values(document, name)}
        for name, distinct_values in values.items():
            distinct_values.update(dict.fromkeys(field_values(document, name)))
        admitted = admitted or selection.document(document) is not None
        if admitted and not missing:
            return
    if missing:
        raise UsageError(f"no document of {corpus.name} has the field {next(iter(missing))!r}; available: {', '.join(names)}")
    conditions = "; ".join(f"{name}: {', '.join(each)}" for name, each in selection.filter.items())
    there = []  # so that the right one can be chosen
    for name, each in values.items():
        more = f" and {len(each) - VALUES_SHOWN} more" if len(each) > VALUES_SHOWN else ""
        there.append(f"values of {name}: {', '.join(shortened(value, 40) for value in sorted(each)[:VALUES_SHOWN])}{more}")
    raise UsageError(f"no document of {corpus.name} gets through the filter ({conditions}); {'; '.join(there)}")


# Corpora by address: downloaded once into the cache and checked against their digest.


LARGEST_DOWNLOAD = 16 << 30  # bytes

LONGEST_DOWNLOAD_SECONDS = 3600.0

_RETRIES = 3

_SCHEMES = ("https", "http")

_DIGEST = re.compile(r"sha256=([0-9a-fA-F]{64})")

_SHOWN = 200

_LONGEST_NAME = 200


@dataclass(frozen=True)
class _CorpusAddress:
    """Where a file is, and what it must be."""

    url: str
    digest: str
    name: str


def local_path(corpus: str | PathLike[str], *, network: bool) -> Path:
    """What is named as a corpus, on this machine: a path as it is, and an address as the file that was downloaded from there."""
    text = os.fspath(corpus)
    return download_corpus(text, network=network) if is_address(text) else user_path(text)


def download_corpus(address: str, *, network: bool) -> Path:
    """The file at ``URL#sha256=HEX``, downloaded if it is not here yet; without ``network`` that is an error."""
    download = _parse_address(address)
    file = (cache_folder() / "downloads" / download.digest / download.name).absolute()
    if not _is_whole(file, download.digest) and not (network and network_allowed()):
        raise UsageError(f"{download.url} was not downloaded here before, and {NO_NETWORK}; run it once without them")
    return make_once(file, lambda target: _download(download, target), lambda copy: _is_whole(copy, download.digest))


def _parse_address(address: str) -> _CorpusAddress:
    url, _, fragment = address.partition("#")
    if without_credentials(url) != url:  # so that no sentence shows it
        raise UsageError(
            "the address of a corpus holds a user, a password or a token, which would end up in files; name one that needs none"
        )
    short = shortened(url, _SHOWN)
    try:
        parts = urlsplit(url)
        valid = parts.scheme.lower() in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        valid = False
    if not valid or not url.isprintable():
        raise UsageError(f"{short!r} is not the address of a corpus; write https://host/corpus.jsonl#sha256=HEX, or a path")
    digest = _DIGEST.fullmatch(fragment)
    if digest is None:
        raise UsageError(
            f"{short} names no digest, by which a corpus is known; write {short}#sha256=HEX with the 64 digits that sha256sum "
            "prints of the file"
        )
    return _CorpusAddress(url, digest[1].lower(), _file_name(parts.path, short))


def _file_name(path: str, short: str) -> str:
    """The last part of the path: its ending says how the file is read."""
    name = unquote(path).rpartition("/")[2]
    if not name.strip(".") or name.startswith(".") or not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
        raise UsageError(f"{short} names no file; the address of a corpus ends with the name of a file, as corpus.jsonl")
    return name


def _is_whole(file: Path, digest: str) -> bool:
    """Whether a file is there and is what was named: anybody could have changed it since."""
    try:
        file_stat = file.stat()
        return _digest(file, file_stat.st_size, file_stat.st_mtime_ns) == digest
    except OSError:
        return False


@lru_cache(maxsize=64)
def _digest(file: Path, _: int, __: int) -> str:
    """The digest of a file; size and time are a part of the question."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _download(address: _CorpusAddress, file: Path) -> None:
    from searchmark.io.http import ClientSettings, HttpClient, Request, prepare_request

    options = ClientSettings(
        timeout_seconds=LONGEST_DOWNLOAD_SECONDS,
        retries=_RETRIES,
        max_response_bytes=LARGEST_DOWNLOAD,
        follow_redirects=True,
        leave_host=True,
    )
    request = prepare_request(address.url, Request("GET"), {"Accept": "*/*", "Accept-Encoding": "identity"})
    client = HttpClient(address.url, options)
    try:
        with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY_FILE), "w+b") as content:
            client.ask(request, content)
            content.flush()
            os.fsync(content.fileno())
            content.seek(0)
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    finally:
        client.close()
    if digest != address.digest:
        raise UsageError(
            f"{address.url} has the SHA-256 digest {digest}, not {address.digest}; nothing is kept: name the digest of the file "
            "that you mean"
        )
