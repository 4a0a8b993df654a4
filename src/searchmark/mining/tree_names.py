"""The tree that a case is searched in, as names and identifiers; it moves from parent to parent by what differs.

Neighbours in a history differ in a few files, so thousands of trees cost little more than the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from searchmark.history.repository import ObjectReader, Repository, nul_ended
from searchmark.mining.drafts import PathBook

_LINKS = (b"120000", b"160000")
_NO_NAME = bytes(code if bytes([code]).isalnum() or code == ord("_") else ord(" ") for code in range(256))
_LARGEST = 1_000_000  # bytes of a file that is searched for identifiers


def identifiers_in(content: bytes, wanted: frozenset[bytes]) -> frozenset[bytes]:
    """Those of the wanted identifiers that stand in this content as whole words."""
    return frozenset(wanted.intersection(content[:_LARGEST].translate(_NO_NAME).split())) if wanted else frozenset()


class Snapshot:
    """The files of one tree: how many share a base name, a stem or a folder, and how many contain an identifier."""

    def __init__(self, reader: ObjectReader, book: PathBook, wanted: frozenset[bytes]) -> None:
        self.files = 0
        self.basenames: Counter[str] = Counter()
        self.stems: Counter[str] = Counter()
        self.folders: Counter[str] = Counter()
        self.identifiers: Counter[bytes] = Counter()
        self._inside: dict[bytes, frozenset[bytes]] = {}
        self._reader = reader
        self._book = book
        self._wanted = wanted

    def apply(self, gone: Sequence[bytes], come: Sequence[tuple[bytes, str]]) -> None:
        """Take files out and put files in, given as path and blob."""
        for path in gone:
            self._count(path, -1)
            self.identifiers.subtract(self._inside.pop(path, ()))
        for path, _ in come:
            self._count(path, 1)
        read = [(path, blob) for path, blob in come if self._wanted and self._book[path].wanted]
        for (path, _), content in zip(read, self._reader.read_all(blob for _, blob in read), strict=True):
            found = self._inside[path] = identifiers_in(content or b"", self._wanted)
            self.identifiers.update(found)

    def _count(self, path: bytes, by: int) -> None:
        *folders, name = self._book[path].path.lower().split("/")
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


def snapshots(repository: Repository, commits: Sequence[str], snapshot: Snapshot) -> Iterator[Snapshot]:
    """The same snapshot again and again, each time as the tree of the next commit."""
    trees = _trees(repository, commits)
    if not trees:
        return
    entries = [entry for entry in repository.tree(trees[0]) if entry.is_file]
    snapshot.apply([], [(entry.path, entry.blob) for entry in entries])
    yield snapshot
    for difference in _differences(repository, trees):
        snapshot.apply(difference.gone, difference.come)
        yield snapshot


def _trees(repository: Repository, commits: Sequence[str]) -> list[str]:
    asked = "".join(f"{commit}^{{tree}}\n" for commit in commits).encode()
    return repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", input=asked).decode().split()


class _Difference(NamedTuple):
    """What goes and what comes between two trees."""

    trees: bytes
    gone: list[bytes]
    come: list[tuple[bytes, str]]


def _differences(repository: Repository, trees: Sequence[str]) -> Iterator[_Difference]:
    """The difference between each tree and the next one; of pairs without any Git says nothing."""
    pairs = [f"{old} {new}" for old, new in pairwise(trees)]
    asked = "".join(f"{pair}\n" for pair in pairs).encode()
    with repository.stream("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", input=asked) as output:
        told = _parsed(nul_ended(output))
        following = next(told, None)
        for pair in pairs:
            if following is not None and following.trees == pair.encode():
                yield following
                following = next(told, None)
            else:
                yield _Difference(pair.encode(), [], [])


def _parsed(tokens: Iterator[bytes]) -> Iterator[_Difference]:
    current: _Difference | None = None
    for token in tokens:
        trees, _, meta = token.rpartition(b"\n")
        if trees:  # the names of the two trees stand before their first change, and those of equal pairs before them
            if current is not None:
                yield current
            current = _Difference(trees.rpartition(b"\n")[2], [], [])
        old_mode, new_mode, _, new_blob, status = meta[1:].split(b" ")
        path = next(tokens)
        if current is not None and status != b"A" and old_mode not in _LINKS:
            current.gone.append(path)
        if current is not None and status != b"D" and new_mode not in _LINKS:
            current.come.append((path, new_blob.decode()))
    if current is not None:
        yield current
