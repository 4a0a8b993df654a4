"""Commits as corpora, and the step from one commit to the next."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from searchmark.formats.corpora.corpus import Changes, Corpus
from searchmark.formats.corpora.folder import decode_content
from searchmark.formats.corpora.source import DocumentSource
from searchmark.git.repository import FULL_HASH, ObjectStore, Repository, open_repository, path_bytes, window_items
from searchmark.git.trees import EMPTY_SNAPSHOT, FolderReader, PathTest, Snapshot, apply_difference, everything
from searchmark.git.worktree import Checkout
from searchmark.io.folders import private_folder
from searchmark.records.document import Document

# Git trees as corpora: any commit of a repository, and the step from one to the next.
#
# Contents are the bytes that were committed. No filter, line ending or attribute is applied, nothing is checked out, and
# nothing is written to the repository. The same files lie in a checkout of the commit (`history.checkout`), under the same ids.


class SnapshotReader:
    """The snapshots of one repository, and what has been learnt about their contents.

    ``binary`` holds the blobs that were found to be no text, so that none is read for that twice. One that is missing, as in
    a partial clone, or damaged is an error; nothing is ever fetched. Paths that are not ``wanted`` are left out of every
    snapshot.
    """

    def __init__(self, repository: Repository, wanted: PathTest = everything) -> None:
        self.repository = repository
        self.wanted = wanted
        self.objects = ObjectStore(repository)
        self._folders = FolderReader(self._trees, repository.path)
        self.binary: set[str] = set()
        self._sound: set[str] = set()
        self._broken: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.objects.close()

    def at(self, revision: str, near: Snapshot | None = None) -> Snapshot:
        """The snapshot of a commit. From one ``near`` by, it takes milliseconds, however many files there are."""
        commit, tree = self._commit(revision)
        return apply_difference(near or EMPTY_SNAPSHOT, commit, tree, self._folders, self.wanted)

    def problem(self, snapshot: Snapshot) -> str | None:
        """Why a snapshot cannot be searched as it was: contents are missing or damaged. None of them is looked at twice."""
        blobs = set(snapshot.versions.values())
        unknown = sorted(blobs - self._sound - self._broken.keys())
        self._broken |= self.objects.problems(unknown)
        self._sound.update(blob for blob in unknown if blob not in self._broken)
        broken_blobs = blobs & self._broken.keys()
        if not broken_blobs:
            return None
        first = min(path for path, blob in snapshot.versions.items() if blob in broken_blobs)
        kinds = {self._broken[blob] for blob in broken_blobs}
        return self._sentence(f"{len(broken_blobs)} of {len(blobs)}", snapshot.commit, first, kinds)

    def _sentence(self, how_many: str, commit: str, first: str, kinds: set[str]) -> str:
        path = self.repository.path
        if kinds == {"missing"}:
            return f"{path} lacks {how_many} contents of {commit[:12]}, such as {first!r}; {self.repository.why_lacking}"
        return f"{path} is damaged: {how_many} contents of {commit[:12]} cannot be read, such as {first!r}; check it with git fsck"

    def _commit(self, revision: str) -> tuple[str, str]:
        """The full hashes of a commit and its tree. A full hash needs no further process to be understood."""
        (content,) = self.objects.read([revision]) if FULL_HASH.fullmatch(revision) else [None]
        if content is None or not content.startswith(b"tree "):
            revision = self.repository.commit(revision)
            (content,) = self.objects.read([revision])
        if content is None:
            raise self.repository.lacks("commit", revision)
        return revision, content[len(b"tree ") : content.index(b"\n")].decode()

    def _trees(self, names: Sequence[str]) -> list[bytes]:
        contents = self.objects.read(names)
        missing = [name for name, content in zip(names, contents, strict=True) if content is None]
        if missing:
            raise self.repository.lacks("tree", missing[0])
        return [content for content in contents if content is not None]

    def corpus(self, snapshot: Snapshot, folders: MovingFolder | None = None) -> Corpus:
        """The text files of a snapshot. ``versions`` names all its files, texts or not, since that takes no reading."""
        path = Path(self.repository.path).resolve()
        return Corpus(corpus_name(path, snapshot.commit), SnapshotSource(self, snapshot, path, folders))

    def documents(self, files: Iterable[tuple[str, str]]) -> Iterator[Document | None]:
        """A document for each path and its blob; None for what is no text."""
        for window in window_items(files):  # so that memory holds a window of contents, not a tree
            no_texts = self.binary.intersection(blob for _, blob in window)
            contents = self.objects.contents(blob for _, blob in window if blob not in no_texts)
            yield from (None if blob in no_texts else self._document(path, blob, next(contents)) for path, blob in window)

    def _document(self, path: str, blob: str, content: bytes) -> Document | None:
        text = decode_content(content)
        if text is None:
            self.binary.add(blob)
            return None
        return Document(path, text)


def corpus_name(path: Path, commit: str) -> str:
    return f"{path.name.removesuffix('.git')}@{commit[:12]}"


@dataclass
class MovingFolder:
    """One folder for all the snapshots of a walk, made for the first agent that asks for it."""

    objects: ObjectStore
    until_the_end: ExitStack
    checkout: Checkout | None = None

    def at(self, snapshot: Snapshot) -> Path:
        if self.checkout is None:
            self.checkout = Checkout(self.until_the_end.enter_context(private_folder()), self.objects)
        return self.checkout.sync_to(snapshot)

    def follow(self, snapshot: Snapshot) -> None:
        """Follow the commit, if the folder is in use."""
        if self.checkout is not None:
            self.checkout.sync_to(snapshot)


@dataclass(frozen=True, eq=False)
class SnapshotSource(DocumentSource):
    """The files of a snapshot, through a reader that is open; in another process it opens the repository for itself."""

    reader: SnapshotReader
    snapshot: Snapshot
    path: Path
    folders: MovingFolder | None = None

    def __reduce__(self) -> tuple[type[CommitSource], tuple[Path, str, PathTest]]:
        return CommitSource, (self.path, self.snapshot.commit, self.reader.wanted)

    def stream(self) -> Iterator[Document | None]:
        """All documents in the order of a directory, and None for whatever is left out."""
        yield from (None for _ in self.snapshot.left_out)
        blobs = self.snapshot.versions
        yield from self.reader.documents((path, blobs[path]) for path in sorted(blobs, key=walk_order))

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        blobs = self.snapshot.versions
        return filter(None, self.reader.documents((path, blobs[path]) for path in ids if path in blobs))

    def folder(self) -> Path | None:
        return None if self.folders is None else self.folders.at(self.snapshot)

    @property
    def versions(self) -> Mapping[str, str]:
        return self.snapshot.versions

    @property
    def origin(self) -> tuple[Path, str]:
        return self.path, self.snapshot.commit


@dataclass(frozen=True, eq=False)
class CommitSource(DocumentSource):
    """The files of a commit by the path of its repository, which is opened when something is first asked for.

    It is closed, and a folder removed, when nothing refers to the source any more, or at the end of the process.
    """

    path: Path
    commit: str
    wanted: PathTest = everything

    @cached_property
    def _opened(self) -> SnapshotSource:
        until_the_end = ExitStack()
        weakref.finalize(self, until_the_end.close)
        repository = until_the_end.enter_context(open_repository(self.path))
        reader = until_the_end.enter_context(SnapshotReader(repository, self.wanted))
        return SnapshotSource(reader, reader.at(self.commit), self.path, MovingFolder(reader.objects, until_the_end))

    def __reduce__(self) -> tuple[type[CommitSource], tuple[Path, str, PathTest]]:
        return CommitSource, (self.path, self.commit, self.wanted)

    def stream(self) -> Iterator[Document | None]:
        yield from self._opened.stream()

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        yield from self._opened.read(ids)

    def folder(self) -> Path | None:
        return self._opened.folder()

    @property
    def versions(self) -> Mapping[str, str]:
        return self._opened.versions

    @property
    def origin(self) -> tuple[Path, str]:
        return self._opened.origin


def walk_order(path: str) -> str:
    """Sorts paths as a walk over folders meets them: first the files of a folder, then its folders, each by name."""
    folders, _, name = path.rpartition("/")
    return ("\1" + folders.replace("/", "\0\1") + "\0" if folders else "") + "\0" + name


def changes_between(before: Snapshot, after: Snapshot, corpus: Corpus) -> Changes:
    """The step to ``corpus``, which is that of the later snapshot."""
    return Changes(corpus, *changed_paths(before.versions, after.versions))


def changed_paths(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths whose content is new or different, and those that are gone."""
    upserts = sorted(path for path, blob in new.items() if old.get(path) != blob)
    deletions = sorted(old.keys() - new.keys())
    return tuple(upserts), tuple(deletions)


# The files of a commit in a folder that another process keeps: what an agent gets that must not see the repository.


@dataclass(frozen=True, eq=False)
class ExportedSource(DocumentSource):
    """The files of a commit, exported to a folder.

    The folder moves on with the commits, so this can be read for as long as no other commit is searched.
    """

    shown: Path  # the folder
    path: Path  # the repository, whatever it holds now
    commit: str
    blobs: Mapping[str, str] = field(repr=False)  # the content of each file, by its object id
    left_out: int  # how many files no snapshot holds

    @classmethod
    def of(cls, folder: Path, path: Path, snapshot: Snapshot) -> ExportedSource:
        return cls(folder, path, snapshot.commit, snapshot.versions, len(snapshot.left_out))

    def to_plain(self) -> dict[str, Any]:
        paths = {"shown": str(self.shown), "path": str(self.path)}
        return paths | {"commit": self.commit, "blobs": dict(self.blobs), "left_out": self.left_out}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> ExportedSource:
        return cls(Path(data["shown"]), Path(data["path"]), data["commit"], data["blobs"], data["left_out"])

    def stream(self) -> Iterator[Document | None]:
        yield from (None for _ in range(self.left_out))
        yield from map(self._document, sorted(self.blobs, key=walk_order))

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        return filter(None, (self._document(path) for path in ids if path in self.blobs))

    def _document(self, path: str) -> Document | None:
        with open(os.path.join(os.fsencode(self.shown), path_bytes(path)), "rb") as file:  # noqa: PTH118, PTH123  # a name of any bytes
            text = decode_content(file.read())
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
        upserts, deletions = changed_paths({} if before is None else before.blobs, self.blobs)
        return Changes(Corpus(corpus_name(self.path, self.commit), self), upserts, deletions)


# A walk through the commits of a repository, one per worker: each a corpus with its changes.


@dataclass
class HistoryWalk:
    """Where a worker is. The folder is made for the first agent that asks for it, and moves along from then on."""

    snapshots: SnapshotReader
    folders: MovingFolder
    here: Snapshot = EMPTY_SNAPSHOT

    def move_to(self, revision: str) -> Changes:
        """Go to a commit. To begin with, all of its files are written. After an error we are where we were."""
        after = self.snapshots.at(revision, near=self.here)
        self.folders.follow(after)  # before the agent hears of the step, so that none of it counts as its own time
        before, self.here = self.here, after
        return changes_between(before, self.here, self.snapshots.corpus(self.here, self.folders))


@contextmanager
def open_history_walk(path: str | os.PathLike[str], wanted: PathTest = everything) -> Iterator[HistoryWalk]:
    """A walk through a repository, which is only read; at the end nothing is left of it on disk."""
    with open_repository(path) as repository, SnapshotReader(repository, wanted) as snapshots, ExitStack() as until_the_end:
        yield HistoryWalk(snapshots, MovingFolder(snapshots.objects, until_the_end))
