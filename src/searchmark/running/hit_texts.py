"""Documents of hits and targets, read from the corpora or commits that a run has searched."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

import numpy as np

from searchmark.errors import UsageError
from searchmark.formats.corpora.case_locations import SearchScope, snapshots_to_search
from searchmark.formats.corpora.corpus import Corpus
from searchmark.formats.corpora.folder import DirectorySource, decode_content
from searchmark.formats.corpora.locations import Commit, Location, Remote
from searchmark.formats.corpora.locator import locate_cases
from searchmark.formats.corpora.snapshots import SnapshotReader
from searchmark.formats.corpora.source import FolderListing
from searchmark.git.repository import open_repository
from searchmark.git.trees import Snapshot
from searchmark.records.columns import texts_at
from searchmark.records.document import Document
from searchmark.records.run import Run
from searchmark.records.suite import Suite

SERVICE_KEEPS_TEXTS = "--hit-texts reads what was searched, and a service keeps that to itself; leave it out"

LONGEST_TEXT = 2000  # characters of a text that are kept

SHORTEST_TEXT = 200  # the same where there are very many

_BETWEEN = "\n\n"  # title and text

MOST_CHARACTERS = 64_000_000  # that are kept of a corpus in one file

MOST_TEXTS = 10_000  # that are kept of folders and commits

_BYTES_READ = 4 * LONGEST_TEXT + 8192  # enough for the longest text, and to see that a file is binary


def load_hit_texts(suite: Suite, where: SearchScope, runs: Sequence[Run], limit: int | None) -> HitTexts:
    """The texts of the first ``limit`` hits of these runs; an error where it is not known what any of them searched."""
    return load_documents(suite, where, runs, lambda local_runs: _shown_ids(local_runs, limit))


def load_documents(suite: Suite, where: SearchScope, runs: Sequence[Run], ids: Callable[[list[Run]], Iterable[str]]) -> HitTexts:
    """The documents with these ids, of what the runs that are no services searched."""
    local_runs = [run for run in runs if run.provenance.service is None]
    if not local_runs:
        raise UsageError(SERVICE_KEEPS_TEXTS)
    snapshots = dict.fromkeys(run.label.snapshot for run in local_runs)
    try:
        locations = {each: _locate_cases(suite, where, each) for each in snapshots}
    except UsageError as error:
        raise UsageError(f"--hit-texts reads what was searched: {error}") from error
    if any(isinstance(location, Remote) for by_case in locations.values() for location in by_case.values()):
        raise UsageError(SERVICE_KEEPS_TEXTS)
    return HitTexts(locations, _DocumentReaders(frozenset(ids(local_runs))))


def _locate_cases(suite: Suite, where: SearchScope, snapshot: str | None) -> Mapping[str, Location]:
    """A run that does not say which state it searched is taken to have searched the usual one."""
    return locate_cases(suite, where, snapshot or snapshots_to_search(suite, where)[0])


def _shown_ids(runs: Iterable[Run], limit: int | None) -> Iterable[str]:
    for run in runs:
        rows, _ = run.first_rows(np.arange(len(run.case_ids)), run.longest if limit is None else limit)
        yield from texts_at(run.ids, rows)


@dataclass(frozen=True, eq=False)
class HitTexts:
    """What a hit says, by the snapshot that was searched, the case and the id."""

    locations: Mapping[str | None, Mapping[str, Location]]
    readers: _DocumentReaders

    def __call__(self, snapshot: str | None, case: str, hit: str) -> str | None:
        document = self.document(snapshot, case, hit)
        return None if document is None else _BETWEEN.join(filter(None, (document.title, document.text)))

    def document(self, snapshot: str | None, case: str, hit: str) -> Document | None:
        """The same with its title and fields, the text cut where it is long."""
        location = self.locations.get(snapshot, {}).get(case)
        return None if location is None else self.readers.read(location, hit)


class _DocumentReaders:
    """One reader for every corpus, made when its first document is asked for."""

    def __init__(self, ids: frozenset[str]) -> None:
        self._ids = ids
        self._histories: dict[object, _CommitDocuments] = {}
        self._of_corpus = lru_cache(maxsize=8)(self._open)

    def read(self, location: Location, hit: str) -> Document | None:
        if isinstance(location, Commit):
            history = self._histories.get(location.history) or self._histories.setdefault(
                location.history, _CommitDocuments(location)
            )
            return history.read(location.commit, hit)
        return self._of_corpus(location)(hit)

    def _open(self, location: Location) -> Callable[[str], Document | None]:
        corpus = location.open()
        if corpus is None:
            return lambda _: None
        if isinstance(corpus.source, DirectorySource):
            return _FolderDocuments(corpus.source.path.resolve(), corpus.source.files).read
        return _documents_by_id(corpus, self._ids).get


def _documents_by_id(corpus: Corpus, ids: frozenset[str]) -> Mapping[str, Document]:
    """The beginnings of all that will be asked for: one pass, since such a corpus is not read by id."""
    length = max(SHORTEST_TEXT, min(LONGEST_TEXT, MOST_CHARACTERS // max(1, len(ids))))
    return {document.id: _beginning(document, length) for document in corpus if document.id in ids}


def _beginning(document: Document, length: int = LONGEST_TEXT) -> Document:
    """What is kept of it: as many characters of title and text together, and fields that are short texts."""
    title = None if document.title is None else document.title[:length]
    room = length - (len(title) + len(_BETWEEN) if title else 0)
    text = document.text if len(document.text) <= room else document.text[: max(0, room)] + "…"
    fields = {name: value[:SHORTEST_TEXT] for name, value in document.fields.items() if isinstance(value, str)}
    return Document(document.id, text, title, fields)


@dataclass
class _RecentDocuments:
    """Documents by key; those that were not asked for lately are forgotten."""

    documents: OrderedDict[str, Document | None] = field(default_factory=OrderedDict)

    def get(self, key: str, load: Callable[[], Document | None]) -> Document | None:
        if key not in self.documents:
            self.documents[key] = load()
            if len(self.documents) > MOST_TEXTS:
                self.documents.popitem(last=False)
        self.documents.move_to_end(key)
        return self.documents[key]


class _FolderDocuments:
    """The files below a folder, and no others."""

    def __init__(self, path: Path, files: FolderListing) -> None:
        self._path = path
        self._files = files
        self._recent = _RecentDocuments()

    def read(self, hit: str) -> Document | None:
        return self._recent.get(hit, lambda: self._document(hit))

    def _document(self, hit: str) -> Document | None:
        """None for a path that leaves the folder, also through a link, and for what is no document of it."""
        parts = PurePosixPath(hit).parts
        file = self._path.joinpath(*parts)
        if ".." in parts or self._files.reason(hit) is not None or self._path not in file.parents:
            return None
        try:
            if file.resolve() != file or not file.is_file():
                return None
            with file.open("rb") as content:
                text = decode_content(content.read(_BYTES_READ))
        except (OSError, ValueError):  # a name that no file can have is no file
            return None
        return None if text is None else _beginning(Document(hit, text))


class _CommitDocuments:
    """The commits of one repository: a step from one to the next reads only what differs, and a blob is read once."""

    def __init__(self, location: Commit) -> None:
        until_the_end = ExitStack()
        weakref.finalize(self, until_the_end.close)
        repository = until_the_end.enter_context(open_repository(location.path))
        self._reader = until_the_end.enter_context(SnapshotReader(repository, location.wanted))
        self._snapshot: Snapshot | None = None
        self._recent = _RecentDocuments()

    def read(self, commit: str, hit: str) -> Document | None:
        if self._snapshot is None or self._snapshot.commit != commit:
            self._snapshot = self._reader.at(commit, self._snapshot)
        blob = self._snapshot.versions.get(hit)
        return None if blob is None else self._recent.get(blob, lambda: self._document(hit, blob))

    def _document(self, hit: str, blob: str) -> Document | None:
        (document,) = self._reader.documents([(hit, blob)])
        return None if document is None else _beginning(document)
