"""Which cases stem from one piece of work and are not independent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from searchmark.git.log import LoggedCommit, MalformedCommit, message_text
from searchmark.git.mining.drafts import Draft, request_number
from searchmark.git.mining.messages import is_telling, to_singular
from searchmark.records.file_kinds import word_set

_FEWEST_WORDS = 2  # that messages which differ in one word have in common

_DAYS = 30  # between two commits on the same files that are taken for one piece of work

_LONGEST_BRANCH = 50  # commits of a merged branch that is no pull request: a longer one is a line of its own

_MERGED_BRANCH = re.compile(r"^Merged? (?:remote-tracking )?branch '([^']+)'", re.IGNORECASE)

_LONG_LIVED = re.compile(r"master|main|trunk|develop|default|stable|mainline|.*maintenance.*|.*\d\.x", re.IGNORECASE)

_WORD = re.compile(r"`[^`]*`|\S+")

_MARKS = ",;:.!?'\"()[]"

_NO_MARKS = str.maketrans(dict.fromkeys(_MARKS + "`", " "))

_NAME = re.compile(r"[_./\\()`\d]|[a-z][A-Z]")

_NAME_SIGN = "_"  # what names, paths and numbers are in the wording of a family

_UPGRADES = word_set("bump bumps bumped bumping update updates updated upgrade upgrades upgraded pin pins pinned")


class CommitTraits(NamedTuple):
    """What a selected commit may share with others; ``merges`` are those that brought it in or that it is."""

    commit: str
    time: int
    request: int | None
    merges: tuple[str, ...]
    family: str
    files: tuple[str, ...]


class MergedBranches:
    """Says of each commit which merge brought it in; to be fed every commit, children first.

    Of several merges on its way to the main line the innermost counts: what a pull request brings into a release branch is
    of that pull request, and not of the merge of the release branch.
    """

    def __init__(self) -> None:
        self._ways: dict[str, tuple[int, int, str]] = {}  # commits yet to come: how many merges deep, since when, by which
        self._read = 0
        self._commits: Counter[str] = Counter()
        self._merges: dict[str, tuple[int | None, str]] = {}  # number of the pull request, and the subject

    def merge_of(self, commit: LoggedCommit | MalformedCommit) -> str:
        """The merge that brought this commit in; empty on the main line."""
        way = self._ways.pop(commit.hash, (0, 0, ""))
        self._commits[way[2]] += 1
        self._read += 1
        for number, parent in enumerate(commit.parents):
            # Of all ways the shortest counts, and of two merges the older one, which is read later.
            leading = way if number == 0 else (way[0] + 1, -self._read, commit.hash)
            self._ways[parent] = min(self._ways.get(parent, leading), leading)
        if len(commit.parents) > 1 and isinstance(commit, LoggedCommit):
            message = message_text(commit)[0]
            self._merges[commit.hash] = request_number(message), message.strip().partition("\n")[0]
        return way[2]

    def piece_of_work(self, merge: str) -> Hashable:
        """What the commits of a merge have in common; None if they are the work of many, as on a release branch."""
        request, subject = self._merges.get(merge, (None, ""))
        if request is not None:
            return "request", request
        match = _MERGED_BRANCH.match(subject)
        many = self._commits[merge] > _LONGEST_BRANCH or (match and _LONG_LIVED.fullmatch(match[1].rpartition("/")[2]))
        return None if many or not subject else ("merge", merge)


def traits_of(draft: Draft, merge: str) -> CommitTraits:
    commit, subject = draft.commit, draft.query.subject
    own = (commit.hash,) if len(commit.parents) > 1 else ()
    files = tuple(target.path for target in draft.reachable)
    return CommitTraits(
        commit.hash, commit.time, request_number(draft.message_and_guess[0]), (merge, *own), message_family(subject), files
    )


def origins_of(traits: Sequence[CommitTraits], branches: MergedBranches) -> dict[str, str]:
    """The origin of each of these commits, newest first: the oldest commit that it is bound to, perhaps itself."""
    clusters = _Clusters(len(traits))
    first_numbers: dict[Hashable, int] = {}
    for number, one in enumerate(traits):
        for bond in _shared_keys(one, branches):
            clusters.join(number, first_numbers.setdefault(bond, number))
    for earlier, later in (*_in_one_stretch(traits), *_in_nearly_the_same_words(traits)):
        clusters.join(earlier, later)
    return {one.commit: traits[clusters.last(number)].commit for number, one in enumerate(traits)}


def _shared_keys(one: CommitTraits, branches: MergedBranches) -> Iterable[Hashable]:
    yield "message", one.family
    if one.request is not None:
        yield "request", one.request
    for merge in one.merges:
        if (work := branches.piece_of_work(merge)) is not None:
            yield work


def _in_one_stretch(traits: Sequence[CommitTraits]) -> Iterable[tuple[int, int]]:
    """Pairs of commits that follow each other on exactly the same files within a month."""
    # Without the bound in time a file that is always edited would bind ten years of a project, and through pull requests
    # nearly everything else, into one cluster.
    by_files: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, one in enumerate(traits):
        by_files.setdefault(one.files, []).append((one.time, number))
    for commits in by_files.values():
        for (before, earlier), (after, later) in pairwise(sorted(commits)):
            if after - before <= _DAYS * 86_400:
                yield earlier, later


def _in_nearly_the_same_words(traits: Sequence[CommitTraits]) -> Iterable[tuple[int, int]]:
    """Pairs of commits on exactly the same files, however far apart, whose messages differ in one word: "Add X to the list"."""
    edits = Counter(one.files for one in traits)
    first_numbers: dict[int, int] = {}
    for number, one in enumerate(traits):
        words = near_wording(one.family)
        if edits[one.files] > 1 and len(words) > _FEWEST_WORDS:
            for variant in (words, *(words - {word} for word in words)):  # two that are the same without a word differ in one
                yield number, first_numbers.setdefault(hash((one.files, variant)), number)


class _Clusters:
    """Numbers, joined two by two."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def last(self, number: int) -> int:
        """The largest number of a cluster."""
        above = self._above
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    def join(self, one: int, other: int) -> None:
        one, other = self.last(one), self.last(other)
        self._above[min(one, other)] = max(one, other)


def same_wording(subject: str) -> str:
    """A subject without case and punctuation, so that a comma does not make two of one."""
    return " ".join(subject.translate(_NO_MARKS).casefold().split())


def near_wording(family: str) -> frozenset[str]:
    """What nearly identical messages share: the words of their family, whatever the order and the number."""
    return frozenset(map(to_singular, family.split()))


def message_family(subject: str) -> str:
    """What messages that follow one template have in common: their words, with one sign for names, paths and numbers.

    Where fewer than two of the words tell something, "Added x to y" might be about anything: the wording is the family.
    """
    if not _NAME.search(subject.rstrip(_MARKS)):
        return same_wording(subject)
    shape: list[str] = []
    for word in _WORD.findall(subject):
        bare = word.strip(_MARKS)
        part = _NAME_SIGN if _NAME.search(bare) else bare.casefold()
        if part and not (part == _NAME_SIGN and shape[-1:] == [_NAME_SIGN]):
            shape.append(part)
    if shape and shape[0] in _UPGRADES and shape[-2:] == ["to", _NAME_SIGN]:
        return f"{shape[0]} to {_NAME_SIGN}"  # whatever it is that gets another version
    return " ".join(shape) if sum(map(is_telling, shape)) > 1 else same_wording(subject)
