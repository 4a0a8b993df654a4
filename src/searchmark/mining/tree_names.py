"""The tree that a case is searched in, as names and identifiers; it moves from parent to parent by what differs.

Neighbours in a history differ in a few files, so thousands of trees cost little more than the first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

from searchmark.history.repository import Repository
from searchmark.history.tree_steps import TreeStep, tree_steps
from searchmark.mining.drafts import PathBook
from searchmark.mining.occurrences import NONE, Occurrences
from searchmark.mining.plurals import singular

_BETWEEN = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_AT_ONCE, _WRITTEN_AT_ONCE = 1_000, 5_000  # steps, and files in them, whose contents are read by one process


Spoken = tuple[str, ...]  # a name as the words that it is made of


class TreeNames:
    """How many files of a tree share a base name, a stem or a folder, and how many contain an identifier."""

    def __init__(self) -> None:
        self.files = 0
        self.basenames: Counter[str] = Counter()
        self.stems: Counter[str] = Counter()
        self.spoken: Counter[Spoken] = Counter()  # stems, word by word
        self.compounds: Counter[str] = Counter()  # their words in one
        self.folders: Counter[str] = Counter()
        self.spoken_folders: Counter[str] = Counter()  # their words in one
        self.identifiers: Counter[bytes] = Counter()

    def count(self, path: str, by: int = 1) -> None:
        """Count a file, or with -1 no longer."""
        spoken = words_of_name(stem_of(path.rpartition("/")[2]))
        *folders, name = path.lower().split("/")
        self.files += by
        self.spoken[spoken] += by
        self.compounds["".join(spoken)] += by
        self.basenames[name] += by
        self.stems[stem_of(name)] += by
        for folder in set(folders):
            self.folders[folder] += by
            self.spoken_folders["".join(words_of_name(folder))] += by

    def has_name(self, word: str) -> bool:
        """Whether a file or folder of the tree is named like this, with or without its ending."""
        return self.stems[word] > 0 or self.basenames[word] > 0 or self.folders[word] > 0


@lru_cache(maxsize=10_000)
def words_of_name(name: str) -> Spoken:
    """What a name is made of, in lower case and singular: ``_lru_cache`` and ``LRUCaches`` are both made of the same."""
    return tuple(singular(word.lower()) for word in _BETWEEN.split(name) if word)


def stem_of(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def names_along(repository: Repository, commits: Sequence[str], book: PathBook, wanted: frozenset[bytes]) -> Iterator[TreeNames]:
    """The names in the tree of each commit: one object, moved along, so look at it before the next one is asked for."""
    moving = _MovingNames(repository, book, wanted)
    trees = _trees(repository, commits)
    first = (TreeStep(list(repository.tree(tree)), []) for tree in trees[:1])
    for steps in _batched(chain(first, tree_steps(repository, trees))):
        moving.read(steps)
        for step in steps:
            moving.apply(step)
            yield moving.names


def _batched(steps: Iterable[TreeStep]) -> Iterator[list[TreeStep]]:
    """Steps whose contents are read together: many small ones, or a few that change much."""
    some: list[TreeStep] = []
    written = 0
    for step in steps:
        some.append(step)
        written += len(step.written)
        if len(some) == _AT_ONCE or written > _WRITTEN_AT_ONCE:
            yield some
            some, written = [], 0
    if some:
        yield some


def _trees(repository: Repository, commits: Iterable[str]) -> list[str]:
    asked = "".join(f"{commit}^{{tree}}\n" for commit in commits).encode()
    trees = repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", input=asked).decode().splitlines()
    lost = next((tree for tree in trees if tree.endswith(" missing")), None)
    if lost is not None:
        raise repository.lacks("tree", lost.removesuffix(" missing"))
    return trees


class _MovingNames:
    """The names of a tree, and for each of its files which identifiers are counted because of it."""

    def __init__(self, repository: Repository, book: PathBook, wanted: frozenset[bytes]) -> None:
        self.names = TreeNames()
        self._inside: dict[bytes, frozenset[bytes]] = {}
        self._occurrences = Occurrences(repository, wanted)
        self._book = book

    def read(self, steps: Iterable[TreeStep]) -> None:
        """Read what some steps write, all of it through one process."""
        self._occurrences.read(entry for step in steps for entry in step.written if entry.is_file and self._book[entry.path].wanted)

    def apply(self, step: TreeStep) -> None:
        """Become another tree. What is written may be new, or there already with another content."""
        for path in step.removed:
            self._drop(path)
        for entry in step.written:
            if not entry.is_file:  # a link may have taken the name of a file
                self._drop(entry.path)
                continue
            if entry.path not in self._inside:
                self._inside[entry.path] = NONE
                self.names.count(self._book[entry.path].path)
            if self._book[entry.path].wanted:
                self._recount(entry.path, self._occurrences.of(entry.blob))

    def _drop(self, path: bytes) -> None:
        if path in self._inside:
            self._recount(path, NONE)
            del self._inside[path]
            self.names.count(self._book[path].path, -1)

    def _recount(self, path: bytes, found: frozenset[bytes]) -> None:
        """Most edits leave the identifiers of a file as they are, so only what differs is counted."""
        before = self._inside[path]
        if found is before:
            return
        for name in found - before:
            self.names.identifiers[name] += 1
        for name in before - found:
            self.names.identifiers[name] -= 1
        self._inside[path] = found
