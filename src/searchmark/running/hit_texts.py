"""What the documents of hits say, read from what was searched: documents, a folder, or the commit of each case.

Nothing but the corpus is read: an id comes from an agent, and may name any file of the machine.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

import numpy as np

from searchmark.corpora.case_locations import Where, locations_of, snapshots_of
from searchmark.corpora.corpus import Corpus
from searchmark.corpora.directory import DirectorySource, decoded
from searchmark.corpora.folder_files import FolderFiles
from searchmark.corpora.locations import Commit, Location, Remote
from searchmark.corpora.snapshots import SnapshotReader
from searchmark.errors import UsageError
from searchmark.history.repository import open_repository
from searchmark.history.trees import Snapshot
from searchmark.records import Document, Run, Suite
from searchmark.records.id_columns import texts_at

KEPT_BY_SERVICE = "--hit-texts reads what was searched, and a service keeps that to itself; leave it out"
LONGEST = 2000  # characters of a text that are kept
SHORTEST = 200  # the same where there are very many
MOST_CHARACTERS = 64_000_000  # that are kept of a corpus in one file
MOST_TEXTS = 10_000  # that are kept of folders and commits
_BYTES_READ = 4 * LONGEST + 8192  # enough for the longest text, and to see that a file is binary


def hit_texts(suite: Suite, where: Where, runs: Sequence[Run], limit: int | None) -> HitTexts:
    """The texts of the first ``limit`` hits of these runs; an error where it is not known what any of them searched."""
    known = [run for run in runs if run.provenance.service is None]
    if not known:
        raise UsageError(KEPT_BY_SERVICE)
    snapshots = dict.fromkeys(run.label.snapshot for run in known)
    try:
        locations = {each: _located(suite, where, each) for each in snapshots}
    except UsageError as error:
        raise UsageError(f"--hit-texts reads what was searched: {error}") from error
    if any(isinstance(location, Remote) for found in locations.values() for location in found.values()):
        raise UsageError(KEPT_BY_SERVICE)
    return HitTexts(locations, _Readers(frozenset(_shown_ids(known, limit))))


def _located(suite: Suite, where: Where, snapshot: str | None) -> Mapping[str, Location]:
    """A run that does not say which state it searched is taken to have searched the usual one."""
    return locations_of(suite, where, snapshot or snapshots_of(suite, where)[0])


def _shown_ids(runs: Iterable[Run], limit: int | None) -> Iterable[str]:
    for run in runs:
        rows, _ = run.first_rows(np.arange(len(run.case_ids)), run.longest if limit is None else limit)
        yield from texts_at(run.ids, rows)


@dataclass(frozen=True, eq=False)
class HitTexts:
    """What a hit says, by the snapshot that was searched, the case and the id."""

    locations: Mapping[str | None, Mapping[str, Location]]
    readers: _Readers

    def __call__(self, snapshot: str | None, case: str, hit: str) -> str | None:
        location = self.locations.get(snapshot, {}).get(case)
        return None if location is None else self.readers.read(location, hit)


class _Readers:
    """One reader for every corpus, made when its first text is asked for."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._histories: dict[object, _CommitTexts] = {}
        self._of_corpus = lru_cache(maxsize=8)(self._opened)

    def read(self, location: Location, hit: str) -> str | None:
        if isinstance(location, Commit):
            history = self._histories.get(location.history) or self._histories.setdefault(location.history, _CommitTexts(location))
            return history.read(location.commit, hit)
        return self._of_corpus(location)(hit)

    def _opened(self, location: Location) -> Callable[[str], str | None]:
        corpus = location.open()
        if corpus is None:
            return lambda _: None
        if isinstance(corpus.source, DirectorySource):
            return _FolderTexts(corpus.source.path.resolve(), corpus.source.files).read
        return _kept_texts(corpus, self._wanted).get


def _kept_texts(corpus: Corpus, wanted: frozenset[str]) -> Mapping[str, str]:
    """The beginnings of all texts that will be asked for: one pass, since such a corpus is not read by id."""
    length = max(SHORTEST, min(LONGEST, MOST_CHARACTERS // max(1, len(wanted))))
    return {document.id: _beginning(document, length) for document in corpus if document.id in wanted}


def _beginning(document: Document, length: int = LONGEST) -> str:
    whole = f"{document.title}\n\n{document.text}" if document.title else document.text
    return whole if len(whole) <= length else whole[:length] + "…"


@dataclass
class _Recent:
    """Texts by key; those that were not asked for lately are forgotten."""

    texts: OrderedDict[str, str | None] = field(default_factory=OrderedDict)

    def get(self, key: str, read: Callable[[], str | None]) -> str | None:
        if key not in self.texts:
            self.texts[key] = read()
            if len(self.texts) > MOST_TEXTS:
                self.texts.popitem(last=False)
        self.texts.move_to_end(key)
        return self.texts[key]


class _FolderTexts:
    """The files below a folder, and no others."""

    def __init__(self, path: Path, files: FolderFiles) -> None:
        self._path = path
        self._files = files
        self._recent = _Recent()

    def read(self, hit: str) -> str | None:
        return self._recent.get(hit, lambda: self._text(hit))

    def _text(self, hit: str) -> str | None:
        """None for a path that leaves the folder, also through a link, and for what is no document of it."""
        parts = PurePosixPath(hit).parts
        file = self._path.joinpath(*parts)
        if ".." in parts or self._files.reason(hit) is not None or self._path not in file.parents:
            return None
        try:
            if file.resolve() != file or not file.is_file():
                return None
            with file.open("rb") as opened:
                text = decoded(opened.read(_BYTES_READ))
        except (OSError, ValueError):  # a name that no file can have is no file
            return None
        return None if text is None else _beginning(Document(hit, text))


class _CommitTexts:
    """The commits of one repository: a step from one to the next reads only what differs, and a blob is read once."""

    def __init__(self, location: Commit) -> None:
        until_the_end = ExitStack()
        weakref.finalize(self, until_the_end.close)
        repository = until_the_end.enter_context(open_repository(location.path))
        self._reader = until_the_end.enter_context(SnapshotReader(repository, location.wanted))
        self._snapshot: Snapshot | None = None
        self._recent = _Recent()

    def read(self, commit: str, hit: str) -> str | None:
        if self._snapshot is None or self._snapshot.commit != commit:
            self._snapshot = self._reader.at(commit, self._snapshot)
        blob = self._snapshot.versions.get(hit)
        return None if blob is None else self._recent.get(blob, lambda: self._text(hit, blob))

    def _text(self, hit: str, blob: str) -> str | None:
        (document,) = self._reader.documents([(hit, blob)])
        return None if document is None else _beginning(document)
