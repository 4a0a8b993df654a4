"""How much of its answer a query gives away, and the query with those names masked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Literal

from searchmark.git.mining.drafts import PathBook
from searchmark.git.mining.messages import to_singular
from searchmark.git.repository import Repository, TreeEntry
from searchmark.git.trees import TreeStep, tree_steps
from searchmark.records.file_kinds import word_set

# Which identifiers occur in which contents, for the thousands of versions that the files of a history have.
#
# One version of a file differs from the next in a few lines, so most of it is never looked at twice.

NO_IDENTIFIERS: frozenset[bytes] = frozenset()

_NO_NAME = bytes(code if bytes([code]).isalnum() or code == ord("_") else ord(" ") for code in range(256))

_LETTERS = frozenset(bytes([code]) for code in range(256) if _NO_NAME[code] != ord(" "))

_LARGEST = 1_000_000  # bytes of a file that is searched for identifiers

_BYTES_KEPT = 32_000_000  # bytes of contents that later versions are compared with

_CONTENTS_REMEMBERED = 10_000  # contents whose identifiers are known, some kilobytes each


def identifiers_in(content: bytes, identifiers: frozenset[bytes]) -> frozenset[bytes]:
    """Those of the wanted identifiers that occur in this content as whole words."""
    return identifiers.intersection(content[:_LARGEST].translate(_NO_NAME).split()) if identifiers else NO_IDENTIFIERS


def search_few_identifiers(content: bytes, identifiers: frozenset[bytes]) -> frozenset[bytes]:
    """The same for a handful of identifiers, each of which is looked for: that is faster than to read the whole content."""
    return frozenset(name for name in identifiers if _has_word(content[:_LARGEST], name))


class Occurrences:
    """The wanted identifiers in contents, by the name of the content."""

    def __init__(self, repository: Repository, identifiers: frozenset[bytes]) -> None:
        self._repository = repository
        self._identifiers = identifiers
        self._known: dict[str, frozenset[bytes]] = {}
        self._versions = _LastVersions(identifiers)

    def read(self, entries: Iterable[TreeEntry]) -> None:
        """Read all contents that are not known, in the order of their paths' history; they are asked for next."""
        if not self._identifiers:
            return
        if len(self._known) > _CONTENTS_REMEMBERED:
            self._known.clear()
        unknown = {entry.blob: entry.path for entry in entries if entry.blob not in self._known}
        for (blob, path), content in zip(unknown.items(), self._repository.contents(unknown), strict=True):
            if content is None:  # a count without it would be lower, and nothing would say so
                raise self._repository.lacks("content", blob)
            self._known[blob] = self._versions.identifiers_in(path, content[:_LARGEST])

    def of(self, blob: str) -> frozenset[bytes]:
        return self._known[blob] if self._identifiers else NO_IDENTIFIERS


class _LastVersions:
    """The last contents of paths, as many as memory can bear, so that the next one is read only where it differs."""

    def __init__(self, identifiers: frozenset[bytes]) -> None:
        self._identifiers = identifiers
        self._last: dict[bytes, tuple[bytes, frozenset[bytes]]] = {}  # the one that was not seen for longest first
        self._size = 0

    def identifiers_in(self, path: bytes, content: bytes) -> frozenset[bytes]:
        before = self._last.pop(path, None)
        if before is None:
            identifiers = identifiers_in(content, self._identifiers)
        else:
            self._size -= len(before[0])
            identifiers = self._identifiers_after_change(*before, content)
        self._last[path] = (content, identifiers)
        self._size += len(content)
        while self._size > _BYTES_KEPT:
            self._size -= len(self._last.pop(next(iter(self._last)))[0])
        return identifiers

    def _identifiers_after_change(self, before: bytes, known_names: frozenset[bytes], after: bytes) -> frozenset[bytes]:
        """What is found in the later of two versions, if it is known what is in the earlier one."""
        old, new = (set(lines.split(b"\n")) for lines in differing_lines(before, after))
        removed_names = identifiers_in(b"\n".join(old - new), known_names)
        added_names = identifiers_in(b"\n".join(new - old), self._identifiers)
        lost_names = {name for name in removed_names - added_names if not _has_word(after, name)}
        return known_names if not lost_names and added_names <= known_names else (known_names - lost_names) | added_names


def _has_word(content: bytes, name: bytes) -> bool:
    """Whether a name occurs in a content as a whole word."""
    start = content.find(name)
    while start >= 0:
        end = start + len(name)
        if content[max(start - 1, 0) : start] not in _LETTERS and content[end : end + 1] not in _LETTERS:
            return True
        start = content.find(name, start + 1)
    return False


def differing_lines(one: bytes, other: bytes) -> tuple[bytes, bytes]:
    """What is between the first and the last line in which two contents differ, in either of them."""
    same = _common_start(one, other)
    start = one.rfind(b"\n", 0, same) + 1
    behind = _common_end(one, other, min(len(one), len(other)) - same)
    end = one.find(b"\n", len(one) - behind)
    end = len(one) if end < 0 else end
    return one[start:end], other[start : len(other) - len(one) + end]


def _common_start(one: bytes, other: bytes) -> int:
    """How many bytes are the same from the start, by halving: slices are compared at the speed of memory."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: bytes, other: bytes, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


# The tree that a case is searched in, as names and identifiers; it moves from parent to parent by what differs.
#
# Neighbours in a history differ in a few files, so thousands of trees cost little more than the first.

_WORD_BOUNDARY = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_STEPS_AT_ONCE, _FILES_AT_ONCE = 1_000, 5_000  # steps, and files in them, whose contents are read by one process

NameWords = tuple[str, ...]  # a name as the words that it is made of


class TreeNames:
    """How many files of a tree share a base name, a stem or a folder, and how many contain an identifier."""

    def __init__(self) -> None:
        self.files = 0
        self.basenames: Counter[str] = Counter()
        self.stems: Counter[str] = Counter()
        self.spoken: Counter[NameWords] = Counter()  # stems, word by word
        self.compounds: Counter[str] = Counter()  # their words in one
        self.folders: Counter[str] = Counter()
        self.spoken_folders: Counter[str] = Counter()  # their words in one
        self.identifiers: Counter[bytes] = Counter()

    def count(self, path: str, by: int = 1) -> None:
        """Count a file, or with -1 no longer."""
        words = words_of_name(stem_of(path.rpartition("/")[2]))
        *folders, name = path.lower().split("/")
        self.files += by
        self.spoken[words] += by
        self.compounds["".join(words)] += by
        self.basenames[name] += by
        self.stems[stem_of(name)] += by
        for folder in set(folders):
            self.folders[folder] += by
            self.spoken_folders["".join(words_of_name(folder))] += by

    def has_name(self, word: str) -> bool:
        """Whether a file or folder of the tree is named like this, with or without its ending."""
        return self.stems[word] > 0 or self.basenames[word] > 0 or self.folders[word] > 0


@lru_cache(maxsize=10_000)
def words_of_name(name: str) -> NameWords:
    """What a name is made of, in lower case and singular: ``_lru_cache`` and ``LRUCaches`` are both made of the same."""
    return tuple(to_singular(word.lower()) for word in _WORD_BOUNDARY.split(name) if word)


def stem_of(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def tree_names_along(
    repository: Repository, commits: Sequence[str], book: PathBook, identifiers: frozenset[bytes]
) -> Iterator[TreeNames]:
    """The names in the tree of each commit: one object, moved along, so look at it before the next one is asked for."""
    moving = _MovingNames(repository, book, identifiers)
    trees = _trees(repository, commits)
    first = (TreeStep(list(repository.tree(tree)), []) for tree in trees[:1])
    for steps in _batch_steps(chain(first, tree_steps(repository, trees))):
        moving.read(steps)
        for step in steps:
            moving.apply(step)
            yield moving.names


def _batch_steps(steps: Iterable[TreeStep]) -> Iterator[list[TreeStep]]:
    """Steps whose contents are read together: many small ones, or a few that change much."""
    batch: list[TreeStep] = []
    file_count = 0
    for step in steps:
        batch.append(step)
        file_count += len(step.written)
        if len(batch) == _STEPS_AT_ONCE or file_count > _FILES_AT_ONCE:
            yield batch
            batch, file_count = [], 0
    if batch:
        yield batch


def _trees(repository: Repository, commits: Iterable[str]) -> list[str]:
    request = "".join(f"{commit}^{{tree}}\n" for commit in commits).encode()
    trees = repository.run("cat-file", "--batch-check=%(objectname)", "--buffer", input=request).decode().splitlines()
    missing = next((tree for tree in trees if tree.endswith(" missing")), None)
    if missing is not None:
        raise repository.lacks("tree", missing.removesuffix(" missing"))
    return trees


class _MovingNames:
    """The names of a tree, and for each of its files which identifiers are counted because of it."""

    def __init__(self, repository: Repository, book: PathBook, identifiers: frozenset[bytes]) -> None:
        self.names = TreeNames()
        self._inside: dict[bytes, frozenset[bytes]] = {}
        self._occurrences = Occurrences(repository, identifiers)
        self._book = book

    def read(self, steps: Iterable[TreeStep]) -> None:
        """Read what some steps write, all of it through one process."""
        self._occurrences.read(
            entry for step in steps for entry in step.written if entry.is_file and self._book[entry.path].can_be_target
        )

    def apply(self, step: TreeStep) -> None:
        """Become another tree. What is written may be new, or there already with another content."""
        for path in step.removed:
            self._drop(path)
        for entry in step.written:
            if not entry.is_file:  # a link may have taken the name of a file
                self._drop(entry.path)
                continue
            if entry.path not in self._inside:
                self._inside[entry.path] = NO_IDENTIFIERS
                self.names.count(self._book[entry.path].path)
            if self._book[entry.path].can_be_target:
                self._recount(entry.path, self._occurrences.of(entry.blob))

    def _drop(self, path: bytes) -> None:
        if path in self._inside:
            self._recount(path, NO_IDENTIFIERS)
            del self._inside[path]
            self.names.count(self._book[path].path, -1)

    def _recount(self, path: bytes, identifiers: frozenset[bytes]) -> None:
        """Most edits leave the identifiers of a file as they are, so only what differs is counted."""
        before = self._inside[path]
        if identifiers is before:
            return
        for name in identifiers - before:
            self.names.identifiers[name] += 1
        for name in before - identifiers:
            self.names.identifiers[name] -= 1
        self._inside[path] = identifiers


# How much of the answer a query gives away, and the query without it.
#
# Levels: L4 a path of a target or the end of one, L3 its base name, L2 the words of its stem, L1 one of its folders, L0 none
# of these. A name that many files share gives little away, so the number of files that share it is kept beside the level.

Level = Literal["L0", "L1", "L2", "L3", "L4"]

MASK = "___"

_SHORTEST = 3  # letters that a stem or a folder must have to be told from a word by chance

_COMMON_FOLDER = 0.3  # share of files below a folder from which on its name tells nothing

_SHORTEST_COMPOUND = 6  # letters of a name that may be spelled in other words than its own: "in it" is not ``init``

_LONGEST_NAME = 5  # words of a name that is looked for in a query

_RARE_FILES = 5  # files that an identifier may occur in and still point somewhere

_TOKEN = re.compile(r"[\w.][\w./\\-]*\w|\w")

_PART = re.compile(r"\w+")

_QUOTED = re.compile(r"`+([^`]{2,80})`+")


_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|_+[A-Za-z]\w*|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\w*|[A-Za-z_]\w*(?=\(\)))"
)

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")


_STOP_WORDS = word_set(
    "the and for with from that this was were are not but its into when where which have has had can could should would will "
    "does did been being than then them they there their all any some more also only now use used using add added fix fixed make "
    "made new"
)


@dataclass(frozen=True)
class Leak:
    """What a query gives away of its targets, and how many files share the name that does."""

    level: Level
    names: tuple[str, ...] = ()
    files_sharing_name: int | None = None


def leak_of(query: str, targets: Iterable[str], tree: TreeNames) -> Leak:
    """The worst leak of a query."""
    query_names = _QueryNames.of(query)
    leaks = [_leak_of_target(query_names, target, tree) for target in targets]
    level: Level = max((leak.level for leak in leaks), default="L0")
    worst = [leak for leak in leaks if leak.level == level]
    names = tuple(dict.fromkeys(name for leak in worst for name in leak.names))
    sharing = [leak.files_sharing_name for leak in worst if leak.files_sharing_name is not None]
    return Leak(level, names, min(sharing) if sharing else None)


@dataclass(frozen=True)
class _QueryNames:
    """The names in a query: whole, in parts, and the words of the parts in their order."""

    tokens: frozenset[str]
    parts: frozenset[str]
    spoken: NameWords
    has_paths: bool  # whether anything in it could be one

    @classmethod
    def of(cls, query: str) -> _QueryNames:
        tokens = frozenset(token.lower().replace("\\", "/") for token in _TOKEN.findall(query))
        words = tuple(word for part in _PART.findall(query) for word in words_of_name(part))
        parts = frozenset(part for token in tokens for part in _PART.findall(token))
        return cls(tokens, parts, words, any("/" in token or "." in token for token in tokens))

    def says(self, name: NameWords) -> bool:
        """Whether the words of a name follow each other: "LRU cache", ``lru_caches`` and ``LRUCacheInfo`` all say one.

        So does "ratelimiter" for ``rate_limiter``, and "rate limiters" for ``ratelimiter``.
        """
        whole = "".join(name)
        if len(whole) >= _SHORTEST_COMPOUND and whole in self.compounds:
            return True
        if name[0] not in self.spoken:
            return False
        return any(self.spoken[start : start + len(name)] == name for start in range(len(self.spoken)))

    @cached_property
    def compounds(self) -> frozenset[str]:
        """Every few words that follow each other, as one."""
        words = self.spoken
        return frozenset(
            "".join(words[start : start + length]) for length in range(1, _LONGEST_NAME + 1) for start in range(len(words))
        )


def _leak_of_target(query_names: _QueryNames, path: str, tree: TreeNames) -> Leak:
    target = path.lower()
    tokens, parts = query_names.tokens, query_names.parts
    *folders, name = target.split("/")
    stem = stem_of(name)
    # From the worst level down, and the first that applies decides: a path contains the name, the name the stem.
    for end in _path_ends(target) if query_names.has_paths else ():
        if end in tokens:
            return Leak("L4", (end,), 1)
    if name in tokens and "." in name:  # "makefile" without an ending is a word like any other, and left to the stem
        return Leak("L3", (name,), tree.basenames[name])
    if len(stem) >= _SHORTEST and (stem in parts or stem in tokens):
        return Leak("L2", (stem,), tree.stems[stem])
    words = words_of_name(stem_of(path.rpartition("/")[2]))
    if len("".join(words)) >= _SHORTEST and query_names.says(words):
        return Leak("L2", (stem,), max(tree.spoken[words], tree.compounds["".join(words)]))
    folder_names = [
        folder
        for folder in folders
        if _is_telling_folder(folder, tree) and (folder in parts or query_names.says(words_of_name(folder) or (folder,)))
    ]
    return Leak("L1", tuple(folder_names), min(tree.folders[folder] for folder in folder_names)) if folder_names else Leak("L0")


def _path_ends(target: str) -> Iterable[str]:
    """A path and its ends of two segments and more, also without the file's ending, also as a dotted module."""
    name = target.rpartition("/")[2]
    bare = target[: len(target) - len(name)] + stem_of(name)
    as_module = bare.replace("/", ".")
    start, last = 0, len(target) - len(name)
    while start < last:
        yield target[start:]
        yield bare[start:]
        yield as_module[start:]
        start = target.index("/", start) + 1


def _is_telling_folder(folder: str, tree: TreeNames) -> bool:
    return len(folder) >= _SHORTEST and tree.folders[folder] <= _COMMON_FOLDER * tree.files


def mask_names(query: str, tree: TreeNames) -> str:
    """The query with a blank for every name of a file or folder of the tree, whether it is a target or not."""
    return _without_spoken_names(_TOKEN.sub(lambda match: _mask_token(match[0], tree), query), tree)


def _without_spoken_names(query: str, tree: TreeNames) -> str:
    """The query with a blank for every word, or row of words, that has the name of a file among its own words."""
    parts = list(_PART.finditer(query))
    words = [(word, number) for number, part in enumerate(parts) for word in words_of_name(part[0])]
    text, end, start = "", 0, 0
    while start < len(words):
        length = _longest_name([word for word, _ in words[start : start + _LONGEST_NAME]], tree)
        first, last = parts[words[start][1]], parts[words[start + max(length, 1) - 1][1]]
        if length and last.end() > end:
            text += query[end : max(end, first.start())] + (MASK if first.start() >= end else "")
            end = last.end()
        start += max(length, 1)
    return text + query[end:]


def _longest_name(words: Sequence[str], tree: TreeNames) -> int:
    """How many of these words, from the first on, are the name of a file or folder."""
    return next((length for length in range(len(words), 0, -1) if _is_spoken_name(tuple(words[:length]), tree)), 0)


def _is_spoken_name(words: NameWords, tree: TreeNames) -> bool:
    whole = "".join(words)
    if len(whole) >= _SHORTEST_COMPOUND:
        return tree.compounds[whole] > 0 or tree.spoken_folders[whole] > 0
    return len(whole) >= _SHORTEST and (tree.spoken[words] > 0 or (len(words) == 1 and tree.spoken_folders[whole] > 0))


def _mask_token(token: str, tree: TreeNames) -> str:
    whole = token.lower().rstrip(".")  # a dot at the end is one of the sentence
    name = whole.rsplit("/", 1)[-1]
    if "." in name and tree.basenames[name] > 0:
        return MASK + token[len(whole) :]
    return _PART.sub(lambda part: MASK if _is_name(part[0].lower(), tree) else part[0], token)


def _is_name(word: str, tree: TreeNames) -> bool:
    return len(word) >= _SHORTEST and tree.has_name(word)


def identifiers_of(query: str) -> set[str]:
    """What reads as a name of code: in backticks, with underscores, in camel case, or called with ()."""
    quoted_names = {part for text in _QUOTED.findall(query) for part in _PART.findall(text) if len(part) >= _SHORTEST}
    return {name for name in quoted_names | set(_IDENTIFIER.findall(query)) if len(name) >= _SHORTEST and not name.isdigit()}


def rare_identifiers(query: str, inside: frozenset[bytes], tree: TreeNames) -> dict[str, int]:
    """The identifiers of a query that occur in a target and in few other files, with the number of files."""
    file_counts = {name: tree.identifiers[name.encode()] for name in sorted(identifiers_of(query)) if name.encode() in inside}
    return {name: files for name, files in file_counts.items() if 0 < files <= _RARE_FILES}


def words_inside(query: str, contents: Iterable[bytes]) -> frozenset[str]:
    """The words of a query that occur anywhere in the targets, inside other words too, as grep would see it."""
    texts = [content.lower() for content in contents]
    return frozenset(word for word in content_words(query) if any(word.encode() in text for text in texts))


def overlap(query: str, inside: Set[str]) -> float:
    """The share of a query's words that occur in the targets."""
    words = content_words(query)
    return round(len(words & inside) / len(words), 3) if words else 0.0


def content_words(text: str) -> set[str]:
    """The words of a text in lower case, identifiers in their parts, without those that every text has."""
    parts = {part.lower() for name in _PART.findall(text) for part in _CAMEL_HUMP.split(name)}
    return {word for word in parts if len(word) >= _SHORTEST and not word.isdigit()} - _STOP_WORDS
