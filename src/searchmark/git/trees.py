"""The tree of a commit as a snapshot, and the difference between two."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from searchmark.errors import DamagedRepository
from searchmark.git.process import split_at_nul
from searchmark.git.repository import DIRECTORY, GITLINK, SYMLINK, Repository, TreeEntry, path_text

# What differs between trees that follow each other, for thousands of them through one git process.

_DIFF_TREE = ("diff-tree", "--stdin", "-r", "--raw", "-z", "--no-abbrev", "--no-renames")


class TreeStep(NamedTuple):
    """What is new or different in the later of two trees, and what is gone from the earlier one."""

    written: list[TreeEntry]
    removed: list[bytes]


def tree_steps(repository: Repository, trees: Sequence[str]) -> Iterator[TreeStep]:
    """The step to each tree from the one before it."""
    request = "".join(f"{before} {after}\n" for before, after in pairwise(trees) if before != after).encode()
    with repository.stream(*_DIFF_TREE, input=request) as output:
        answers = _read_steps(output)
        header, step = next(answers, (b"", None))
        for before, after in pairwise(trees):
            if step is not None and header == f"{before} {after}".encode():
                yield step
                header, step = next(answers, (b"", None))
            else:  # the same tree, or one whose files are the same
                yield TreeStep([], [])


def _read_steps(output: io.BufferedReader) -> Iterator[tuple[bytes, TreeStep]]:
    """What git says of each pair of trees, behind the line that names the two."""
    header, step = b"", TreeStep([], [])
    pieces = split_at_nul(output)
    for piece in pieces:
        *headers, change = piece.split(b"\n")
        if headers:
            if header:
                yield header, step
            header, step = headers[-1], TreeStep([], [])
        _, mode, _, blob, status = change.split(b" ")
        path = next(pieces)
        if status == b"D":
            step.removed.append(path)
        else:
            step.written.append(TreeEntry(int(mode, 8), blob.decode(), path))
    if header:
        yield header, step


# The tree of a commit as data, and the tree of another commit from it by reading only what differs.

PathTest = Callable[[str], bool]  # whether a path is to be searched

ObjectFetch = Callable[[Sequence[str]], Sequence[bytes]]  # trees that must be here

_Pair = tuple[bytes, str | None, str | None]  # a path, and the folder of this name in either tree

OWNER_MAY_RUN = 0o100

UNREAD_MODES = {SYMLINK: "is a link", GITLINK: "is a submodule"}

UNWANTED_REASON = "is not among the files that are searched"

ODD_REASON = "is not a path that may be written below a folder"

_REMEMBERED = 1024  # folders: a few megabytes


# Empty parts, "." and ".." lead elsewhere; ".git", in any spelling that some file system takes for it, holds commands: HFS+
# passes over some characters, NTFS over blanks and dots at the end and what follows a colon, and has short names.
_UNSEEN = "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]*"


_ODD_PART = re.compile(
    rf"(?:^|/)(?:\.{{0,2}}|{_UNSEEN}{_UNSEEN.join(('[.]', 'g', 'i', 't'))}{_UNSEEN}[ .]*(?::[^/]*)?|git~1[ .]*(?::[^/]*)?)(?:/|\Z)",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The files of one commit. ``versions`` names the content of each by its blob; equal names, equal content.

    Links, submodules and paths that must not be written are ``left_out``, each with its reason.
    """

    commit: str
    tree: str
    versions: Mapping[str, str] = field(repr=False)
    executable: frozenset[str] = field(repr=False)
    left_out: Mapping[str, str] = field(repr=False)


EMPTY_SNAPSHOT = Snapshot("", "", {}, frozenset(), {})


@dataclass(frozen=True)
class _SnapshotBuilder:
    """A snapshot while it is made."""

    versions: dict[str, str]
    executable: set[str]
    left_out: dict[str, str]
    include: PathTest

    @classmethod
    def of(cls, snapshot: Snapshot, include: PathTest) -> _SnapshotBuilder:
        return cls(dict(snapshot.versions), set(snapshot.executable), dict(snapshot.left_out), include)

    def drop(self, path: str) -> None:
        self.versions.pop(path, None)
        self.executable.discard(path)
        self.left_out.pop(path, None)

    def take(self, entry: TreeEntry) -> None:
        path = path_text(entry.path)
        self.drop(path)
        reason = (
            UNREAD_MODES.get(entry.mode)
            or (ODD_REASON if is_odd_path(path) else None)
            or (None if self.include(path) else UNWANTED_REASON)
        )
        if reason is not None:
            self.left_out[path] = reason
            return
        self.versions[path] = entry.blob
        if entry.mode & OWNER_MAY_RUN:
            self.executable.add(path)

    def finish(self, commit: str, tree: str) -> Snapshot:
        return Snapshot(commit, tree, self.versions, frozenset(self.executable), self.left_out)


def is_odd_path(path: str) -> bool:
    """Whether a path is one that no snapshot holds."""
    return _ODD_PART.search(path) is not None


def everything(_: str) -> bool:
    """Wants every file."""
    return True


def apply_difference(before: Snapshot, commit: str, tree: str, folders: FolderReader, include: PathTest = everything) -> Snapshot:
    """The snapshot of another commit: the one at hand, which may be that of nothing, with what differs between the two trees."""
    draft = _SnapshotBuilder.of(before, include)
    entries, paths = tree_difference(before.tree or None, tree, folders)
    for path in paths:  # first, since a file may have given way to a folder of its name
        draft.drop(path_text(path))
    for entry in entries:
        draft.take(entry)
    return draft.finish(commit, tree)


class _TreeFormat(NamedTuple):
    """How Git stores a folder: for each entry mode, blank, name, NUL, and the hash in bytes.

    Those bytes may be any, a NUL and a newline among them, so an entry ends by its length and by nothing else.
    """

    folder: re.Pattern[bytes]
    entry: re.Pattern[bytes]
    name: re.Pattern[bytes]

    @classmethod
    def of(cls, hash_bytes: int) -> _TreeFormat:
        entry, name = rb"[0-7]+ [^\0]+\0.{%d}" % hash_bytes, rb"[0-7]+ ([^\0]+)\0.{%d}" % hash_bytes
        # Nothing is given back once it has matched: a damaged folder is refused in one pass, whatever it holds.
        return cls(*(re.compile(pattern, re.DOTALL) for pattern in (b"(?>%s)*+" % entry, entry, name)))


_FORMATS = {40: _TreeFormat.of(20), 64: _TreeFormat.of(32)}  # by the length of a hash in text


class FolderReader:
    """The folders of trees, each as the set of its entries, by their names.

    Along a walk the later tree of one step is the earlier one of the next, so folders are remembered for a while.
    """

    def __init__(self, fetch: ObjectFetch, repository: str) -> None:
        self._read, self._repository = fetch, repository
        self._known: dict[str, frozenset[bytes]] = {}

    def entries(self, trees: Set[str]) -> dict[str, frozenset[bytes]]:
        """Some folders, all that are not known in one request: waiting for git is what costs most."""
        known_folders = {tree: entries for tree in trees if (entries := self._known.get(tree)) is not None}
        unknown = list(trees - known_folders.keys())
        new_folders = {tree: self._parse(tree, content) for tree, content in zip(unknown, self._read(unknown), strict=True)}
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known |= new_folders
        return known_folders | new_folders

    def _parse(self, tree: str, content: bytes) -> frozenset[bytes]:
        entries = _parse_folder(_FORMATS[len(tree)], content)
        if entries is None:
            raise DamagedRepository(f"{self._repository}: the tree {tree} is damaged; check the repository with git fsck")
        return entries


def tree_difference(before: str | None, after: str, folders: FolderReader) -> tuple[list[TreeEntry], list[bytes]]:
    """What is new or different in the second tree, and what is gone from the first.

    Level by level, and only folders that differ are read: the cost grows with the change and not with the tree.
    """
    new_entries: list[TreeEntry] = []
    gone_paths: list[bytes] = []
    pairs: list[_Pair] = [(b"", before, after)] if before != after else []
    while pairs:
        entries = folders.entries({name for _, *both in pairs for name in both if name})
        level, pairs = pairs, []
        for prefix, *both in level:
            old, new = (entries[name] if name else frozenset[bytes]() for name in both)
            # Entries are compared as the bytes that they are, and only those few that differ are taken apart.
            only_before = dict(map(_parse_entry, old - new))
            for (name, is_folder), (mode, content) in map(_parse_entry, new - old):
                # A file that became a folder is no edit: the one is gone and the other has come.
                _, former = only_before.pop((name, is_folder), (mode, None))
                if is_folder:
                    pairs.append((prefix + name + b"/", former, content))
                else:
                    new_entries.append(TreeEntry(mode, content, prefix + name))
            pairs += [(prefix + name + b"/", content, None) for (name, is_folder), (_, content) in only_before.items() if is_folder]
            gone_paths += [prefix + name for name, is_folder in only_before if not is_folder]
    return new_entries, gone_paths


def _parse_folder(form: _TreeFormat, content: bytes) -> frozenset[bytes] | None:
    """The entries of one folder as Git stores them; None if they make no sense."""
    if not form.folder.fullmatch(content):
        return None
    entries, names = form.entry.findall(content), form.name.findall(content)
    # One name twice: which of them would be checked out? One with a slash could be that of a file in another folder.
    twice = len(set(names)) < len(entries)
    return None if twice or any(b"/" in name and not is_odd_path(path_text(name)) for name in names) else frozenset(entries)


def _parse_entry(entry: bytes) -> tuple[tuple[bytes, bool], tuple[int, str]]:
    """Name, and whether it is a folder; mode and object."""
    end = entry.index(b"\0")
    mode, _, name = entry[:end].partition(b" ")
    kind = int(mode, 8)
    return (name, kind == DIRECTORY), (kind, entry[end + 1 :].hex())
