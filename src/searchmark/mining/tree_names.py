"""The tree that a case is searched in, as names and identifiers; it moves from parent to parent by what differs.

Neighbours in a history differ in a few files, so thousands of trees cost little more than the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from searchmark.history.repository import ObjectReader, Repository, TreeEntry
from searchmark.history.trees import FolderReader, difference
from searchmark.mining.drafts import PathBook

_NO_NAME = bytes(code if bytes([code]).isalnum() or code == ord("_") else ord(" ") for code in range(256))
_LARGEST = 1_000_000  # bytes of a file that is searched for identifiers
_NONE: frozenset[bytes] = frozenset()


def identifiers_in(content: bytes, wanted: frozenset[bytes]) -> frozenset[bytes]:
    """Those of the wanted identifiers that occur in this content as whole words."""
    return wanted.intersection(content[:_LARGEST].translate(_NO_NAME).split()) if wanted else _NONE


class TreeNames:
    """How many files of a tree share a base name, a stem or a folder, and how many contain an identifier."""

    def __init__(self) -> None:
        self.files = 0
        self.basenames: Counter[str] = Counter()
        self.stems: Counter[str] = Counter()
        self.folders: Counter[str] = Counter()
        self.identifiers: Counter[bytes] = Counter()

    def count(self, path: str, by: int = 1) -> None:
        """Count a file, or with -1 no longer."""
        *folders, name = path.lower().split("/")
        self.files += by
        self.basenames[name] += by
        self.stems[stem_of(name)] += by
        for folder in set(folders):
            self.folders[folder] += by

    def has_name(self, word: str) -> bool:
        """Whether a file or folder of the tree is named like this, with or without its ending."""
        return self.stems[word] > 0 or self.basenames[word] > 0 or self.folders[word] > 0


def stem_of(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def names_along(
    repository: Repository, reader: ObjectReader, commits: Sequence[str], book: PathBook, wanted: frozenset[bytes]
) -> Iterator[TreeNames]:
    """The names in the tree of each commit: one object, moved along, so look at it before the next one is asked for."""
    moving = _MovingNames(reader, book, wanted)
    folders = FolderReader(lambda names: list(reader.read_all(names)))
    before: str | None = None
    for tree in _trees(repository, commits):
        if before is None:
            moving.apply(list(repository.tree(tree)), ())
        else:
            moving.apply(*difference(before, tree, folders))
        before = tree
        yield moving.names


def _trees(repository: Repository, commits: Iterable[str]) -> list[str]:
    asked = "".join(f"{commit}^{{tree}}\n" for commit in commits).encode()
    return repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", input=asked).decode().split()


class _MovingNames:
    """The names of a tree, and for each of its files which identifiers are counted because of it."""

    def __init__(self, reader: ObjectReader, book: PathBook, wanted: frozenset[bytes]) -> None:
        self.names = TreeNames()
        self._inside: dict[bytes, frozenset[bytes]] = {}
        self._reader = reader
        self._book = book
        self._wanted = wanted

    def apply(self, written: Sequence[TreeEntry], removed: Iterable[bytes]) -> None:
        """Become another tree. What is written may be new, or there already with another content."""
        for path in removed:
            self._drop(path)
        for entry in written:
            if not entry.is_file:  # a link may have taken the name of a file
                self._drop(entry.path)
            elif entry.path not in self._inside:
                self._inside[entry.path] = _NONE
                self.names.count(self._book[entry.path].path)
        read = [entry for entry in written if self._wanted and entry.is_file and self._book[entry.path].wanted]
        for entry, content in zip(read, self._reader.read_all(entry.blob for entry in read), strict=True):
            self._recount(entry.path, identifiers_in(content or b"", self._wanted))

    def _drop(self, path: bytes) -> None:
        if path in self._inside:
            self._recount(path, _NONE)
            del self._inside[path]
            self.names.count(self._book[path].path, -1)

    def _recount(self, path: bytes, found: frozenset[bytes]) -> None:
        """Most edits leave the identifiers of a file as they are, so only what differs is counted."""
        before = self._inside[path]
        for name in found - before:
            self.names.identifiers[name] += 1
        for name in before - found:
            self.names.identifiers[name] -= 1
        self._inside[path] = found
