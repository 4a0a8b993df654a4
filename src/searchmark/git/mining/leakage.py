"""How much of the answer a query gives away, and the query without it.

Levels: L4 a path of a target or the end of one, L3 its base name, L2 the words of its stem, L1 one of its folders, L0 none
of these. A name that many files share gives little away, so the number of files that share it is kept beside the level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from searchmark.corpora.file_kinds import words
from searchmark.mining.tree_names import Spoken, TreeNames, stem_of, words_of_name

Level = Literal["L0", "L1", "L2", "L3", "L4"]
BLANK = "___"

_SHORTEST = 3  # letters that a stem or a folder must have to be told from a word by chance
_COMMON_FOLDER = 0.3  # share of files below a folder from which on its name tells nothing
_SHORTEST_COMPOUND = 6  # letters of a name that may be spelled in other words than its own: "in it" is not ``init``
_LONGEST_NAME = 5  # words of a name that is looked for in a query
_RARE = 5  # files that an identifier may occur in and still point somewhere
_TOKEN = re.compile(r"[\w.][\w./\\-]*\w|\w")
_PART = re.compile(r"\w+")
_QUOTED = re.compile(r"`+([^`]{2,80})`+")
_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|_+[A-Za-z]\w*|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\w*|[A-Za-z_]\w*(?=\(\)))"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_STOP = words(
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
    named = _Named.of(query)
    found = [_leak_of_target(named, target, tree) for target in targets]
    level: Level = max((leak.level for leak in found), default="L0")
    worst = [leak for leak in found if leak.level == level]
    names = tuple(dict.fromkeys(name for leak in worst for name in leak.names))
    sharing = [leak.files_sharing_name for leak in worst if leak.files_sharing_name is not None]
    return Leak(level, names, min(sharing) if sharing else None)


@dataclass(frozen=True)
class _Named:
    """The names in a query: whole, in parts, and the words of the parts in their order."""

    tokens: frozenset[str]
    parts: frozenset[str]
    spoken: Spoken
    has_paths: bool  # whether anything in it could be one

    @classmethod
    def of(cls, query: str) -> _Named:
        tokens = frozenset(token.lower().replace("\\", "/") for token in _TOKEN.findall(query))
        spoken = tuple(word for part in _PART.findall(query) for word in words_of_name(part))
        parts = frozenset(part for token in tokens for part in _PART.findall(token))
        return cls(tokens, parts, spoken, any("/" in token or "." in token for token in tokens))

    def says(self, name: Spoken) -> bool:
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
        spoken = self.spoken
        return frozenset(
            "".join(spoken[start : start + length]) for length in range(1, _LONGEST_NAME + 1) for start in range(len(spoken))
        )


def _leak_of_target(named: _Named, path: str, tree: TreeNames) -> Leak:
    target = path.lower()
    tokens, parts = named.tokens, named.parts
    *folders, name = target.split("/")
    stem = stem_of(name)
    # From the worst level down, and the first that applies decides: a path contains the name, the name the stem.
    for end in _ends(target) if named.has_paths else ():
        if end in tokens:
            return Leak("L4", (end,), 1)
    if name in tokens and "." in name:  # "makefile" without an ending is a word like any other, and left to the stem
        return Leak("L3", (name,), tree.basenames[name])
    if len(stem) >= _SHORTEST and (stem in parts or stem in tokens):
        return Leak("L2", (stem,), tree.stems[stem])
    spoken = words_of_name(stem_of(path.rpartition("/")[2]))
    if len("".join(spoken)) >= _SHORTEST and named.says(spoken):
        return Leak("L2", (stem,), max(tree.spoken[spoken], tree.compounds["".join(spoken)]))
    telling = [
        folder for folder in folders if _tells(folder, tree) and (folder in parts or named.says(words_of_name(folder) or (folder,)))
    ]
    return Leak("L1", tuple(telling), min(tree.folders[folder] for folder in telling)) if telling else Leak("L0")


def _ends(target: str) -> Iterable[str]:
    """A path and its ends of two segments and more, also without the file's ending, also as a dotted module."""
    name = target.rpartition("/")[2]
    bare = target[: len(target) - len(name)] + stem_of(name)
    dotted = bare.replace("/", ".")
    start, last = 0, len(target) - len(name)
    while start < last:
        yield target[start:]
        yield bare[start:]
        yield dotted[start:]
        start = target.index("/", start) + 1


def _tells(folder: str, tree: TreeNames) -> bool:
    return len(folder) >= _SHORTEST and tree.folders[folder] <= _COMMON_FOLDER * tree.files


def masked(query: str, tree: TreeNames) -> str:
    """The query with a blank for every name of a file or folder of the tree, whether it is a target or not."""
    return _without_spoken_names(_TOKEN.sub(lambda found: _blanked(found[0], tree), query), tree)


def _without_spoken_names(query: str, tree: TreeNames) -> str:
    """The query with a blank for every word, or row of words, that has the name of a file among its own words."""
    parts = list(_PART.finditer(query))
    spoken = [(word, number) for number, part in enumerate(parts) for word in words_of_name(part[0])]
    text, kept, start = "", 0, 0
    while start < len(spoken):
        length = _longest_name([word for word, _ in spoken[start : start + _LONGEST_NAME]], tree)
        first, last = parts[spoken[start][1]], parts[spoken[start + max(length, 1) - 1][1]]
        if length and last.end() > kept:
            text += query[kept : max(kept, first.start())] + (BLANK if first.start() >= kept else "")
            kept = last.end()
        start += max(length, 1)
    return text + query[kept:]


def _longest_name(said: Sequence[str], tree: TreeNames) -> int:
    """How many of these words, from the first on, are the name of a file or folder."""
    return next((length for length in range(len(said), 0, -1) if _is_spoken_name(tuple(said[:length]), tree)), 0)


def _is_spoken_name(said: Spoken, tree: TreeNames) -> bool:
    whole = "".join(said)
    if len(whole) >= _SHORTEST_COMPOUND:
        return tree.compounds[whole] > 0 or tree.spoken_folders[whole] > 0
    return len(whole) >= _SHORTEST and (tree.spoken[said] > 0 or (len(said) == 1 and tree.spoken_folders[whole] > 0))


def _blanked(token: str, tree: TreeNames) -> str:
    whole = token.lower().rstrip(".")  # a dot at the end is one of the sentence
    name = whole.rsplit("/", 1)[-1]
    if "." in name and tree.basenames[name] > 0:
        return BLANK + token[len(whole) :]
    return _PART.sub(lambda part: BLANK if _is_name(part[0].lower(), tree) else part[0], token)


def _is_name(word: str, tree: TreeNames) -> bool:
    return len(word) >= _SHORTEST and tree.has_name(word)


def identifiers_of(query: str) -> set[str]:
    """What reads as a name of code: in backticks, with underscores, in camel case, or called with ()."""
    quoted = {part for text in _QUOTED.findall(query) for part in _PART.findall(text) if len(part) >= _SHORTEST}
    return {name for name in quoted | set(_IDENTIFIER.findall(query)) if len(name) >= _SHORTEST and not name.isdigit()}


def rare_identifiers(query: str, inside: frozenset[bytes], tree: TreeNames) -> dict[str, int]:
    """The identifiers of a query that occur in a target and in few other files, with the number of files."""
    counted = {name: tree.identifiers[name.encode()] for name in sorted(identifiers_of(query)) if name.encode() in inside}
    return {name: files for name, files in counted.items() if 0 < files <= _RARE}


def words_inside(query: str, contents: Iterable[bytes]) -> frozenset[str]:
    """The words of a query that occur anywhere in the targets, inside other words too, as grep would see it."""
    texts = [content.lower() for content in contents]
    return frozenset(word for word in content_words(query) if any(word.encode() in text for text in texts))


def overlap(query: str, inside: Set[str]) -> float:
    """The share of a query's words that occur in the targets."""
    asked = content_words(query)
    return round(len(asked & inside) / len(asked), 3) if asked else 0.0


def content_words(text: str) -> set[str]:
    """The words of a text in lower case, identifiers in their parts, without those that every text has."""
    parts = {part.lower() for name in _PART.findall(text) for part in _HUMP.split(name)}
    return {word for word in parts if len(word) >= _SHORTEST and not word.isdigit()} - _STOP
