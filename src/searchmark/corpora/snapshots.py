"""Git trees as corpora: any commit of a repository, and the step from one to the next.

Contents are the bytes that were committed. No filter, line ending or attribute is applied, nothing is checked out, and
nothing is written to the repository. The same files lie in an export of the commit (`exports`), under the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.directory import decoded
from searchmark.history.objects import AT_ONCE, ObjectStore
from searchmark.history.repository import FULL_HASH, Repository
from searchmark.history.trees import FolderReader, Snapshot, Wanted, damaged, everything, snapshot_of, stepped
from searchmark.records import Document


class SnapshotReader:
    """The snapshots of one repository, and what has been learnt about their contents.

    ``binary`` and ``missing`` hold the blobs that were found to be no text, or not to be here, so that none is read
    for that twice. A blob is missing in a partial clone; nothing is ever fetched. Paths that are not ``wanted`` are left
    out of every snapshot.
    """

    def __init__(self, repository: Repository, wanted: Wanted = everything) -> None:
        self.repository = repository
        self._wanted = wanted
        self.objects = ObjectStore(repository)
        self._folders = FolderReader(self.objects.read)
        self.binary: set[str] = set()
        self.missing: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.objects.close()

    def at(self, revision: str, near: Snapshot | None = None) -> Snapshot:
        """The snapshot of a commit. From one ``near`` by, it takes milliseconds, however many files there are."""
        commit, tree = self._commit(revision)
        if near is not None and near.tree:
            return stepped(near, commit, tree, self._folders, self._wanted)
        return snapshot_of(commit, tree, self.repository.tree(commit), self._wanted)

    def _commit(self, revision: str) -> tuple[str, str]:
        """The full hashes of a commit and its tree. A full hash needs no further process to be understood."""
        (content,) = self.objects.read([revision]) if FULL_HASH.fullmatch(revision) else [None]
        if content is None or not content.startswith(b"tree "):
            revision = self.repository.commit(revision)
            (content,) = self.objects.read([revision])
        if content is None:
            raise damaged(revision)
        return revision, content[len(b"tree ") : content.index(b"\n")].decode()

    def corpus(self, snapshot: Snapshot, place: Callable[[], Path] | None = None) -> Corpus:
        """The text files of a snapshot. ``versions`` names all its files, texts or not, since that takes no reading."""
        versions = snapshot.versions

        def read(ids: Sequence[str]) -> Iterator[Document]:
            return filter(None, self._documents((path, versions[path]) for path in ids if path in versions))

        path = Path(self.repository.path).resolve()
        name = f"{path.name.removesuffix('.git')}@{snapshot.commit[:12]}"
        return Corpus(name, lambda: self._everything(snapshot), place, read, versions, (path, snapshot.commit))

    def _everything(self, snapshot: Snapshot) -> Iterator[Document | None]:
        """All documents in the order of a directory, and None for whatever is left out."""
        yield from (None for _ in snapshot.left_out)
        yield from self._documents((path, snapshot.versions[path]) for path in sorted(snapshot.versions, key=_walked))

    def _documents(self, files: Iterable[tuple[str, str]]) -> Iterator[Document | None]:
        rest = iter(files)
        while window := list(islice(rest, AT_ONCE)):
            texts = self._texts({blob for _, blob in window})
            yield from (None if (text := texts.get(blob)) is None else Document(path, text) for path, blob in window)

    def _texts(self, blobs: set[str]) -> dict[str, str]:
        """The texts among some blobs."""
        wanted = sorted(blobs - self.binary - self.missing)
        texts: dict[str, str] = {}
        for blob, content in zip(wanted, self.objects.read(wanted), strict=True):
            text = None if content is None else decoded(content)
            if text is not None:
                texts[blob] = text
            else:
                (self.missing if content is None else self.binary).add(blob)
        return texts


def _walked(path: str) -> str:
    """Sorts paths as a walk over folders meets them: first the files of a folder, then its folders, each by name."""
    folders, _, name = path.rpartition("/")
    return ("\1" + folders.replace("/", "\0\1") + "\0" if folders else "") + "\0" + name


def changes(before: Snapshot, after: Snapshot, corpus: Corpus) -> Changes:
    """The step to ``corpus``, which is that of the later snapshot."""
    old, new = before.versions, after.versions
    written = sorted(path for path, blob in new.items() if old.get(path) != blob)
    removed = sorted(old.keys() - new.keys())
    return Changes(corpus, tuple(written), tuple(removed))
