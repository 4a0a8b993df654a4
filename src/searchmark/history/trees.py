"""The tree of a commit as data, and the tree of another commit from it by reading only what differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from searchmark.errors import UsageError
from searchmark.history.repository import DIRECTORY, GITLINK, SYMLINK, TreeEntry, path_text

Wanted = Callable[[str], bool]  # whether a path is to be searched
Read = Callable[[Sequence[str]], Sequence[bytes | None]]
_Pair = tuple[bytes, str | None, str | None]  # a path, and the folder that stands there in either tree
_Entry = tuple[bytes, bytes, bytes]  # mode, name and object, for instance (b"100644", b"README.md", twenty bytes)

OWNER_MAY_RUN = 0o100
KINDS = {SYMLINK: "is a link", GITLINK: "is a submodule"}
UNWANTED = "is none of the files that are searched"
ODD = "is no path that may be written below a folder"
# How Git stores an entry, by the length of a hash in text: the hash itself is in bytes, which are half as many.
_ENTRY = {length: rb"([0-7]+) ([^\0]+)\0(.{%d})" % (length // 2) for length in (40, 64)}
# Empty parts, "." and ".." lead elsewhere; ".git", in any spelling that some file system takes for it, holds commands.
_ODD_PART = re.compile(r"(?:^|/)(?:\.{0,2}|\.git)(?:/|\Z)", re.IGNORECASE)


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


NOTHING = Snapshot("", "", {}, frozenset(), {})


@dataclass(frozen=True)
class _Draft:
    """A snapshot while it is made."""

    versions: dict[str, str]
    executable: set[str]
    left_out: dict[str, str]
    wanted: Wanted

    @classmethod
    def of(cls, snapshot: Snapshot, wanted: Wanted) -> _Draft:
        return cls(dict(snapshot.versions), set(snapshot.executable), dict(snapshot.left_out), wanted)

    def drop(self, path: str) -> None:
        self.versions.pop(path, None)
        self.executable.discard(path)
        self.left_out.pop(path, None)

    def take(self, entry: TreeEntry) -> None:
        path = path_text(entry.path)
        self.drop(path)
        reason = KINDS.get(entry.mode) or (ODD if _ODD_PART.search(path) else None) or (None if self.wanted(path) else UNWANTED)
        if reason is not None:
            self.left_out[path] = reason
            return
        self.versions[path] = entry.blob
        if entry.mode & OWNER_MAY_RUN:
            self.executable.add(path)

    def finished(self, commit: str, tree: str) -> Snapshot:
        return Snapshot(commit, tree, self.versions, frozenset(self.executable), self.left_out)


def everything(_: str) -> bool:
    """Wants every file."""
    return True


def snapshot_of(commit: str, tree: str, entries: Iterable[TreeEntry], wanted: Wanted = everything) -> Snapshot:
    """A snapshot from the list of everything in it; files that are not wanted are left out."""
    draft, count = _Draft.of(NOTHING, wanted), 0
    for count, entry in enumerate(entries, 1):  # noqa: B007  # the last number is how many there were
        draft.take(entry)
    folders = {path.rpartition("/")[0] for path in draft.versions}
    if len(draft.versions) + len(draft.left_out) < count or not folders.isdisjoint(draft.versions):
        raise damaged(tree)
    return draft.finished(commit, tree)


def stepped(before: Snapshot, commit: str, tree: str, read: Read, wanted: Wanted = everything) -> Snapshot:
    """The snapshot of another commit: the one at hand with what differs between the two trees."""
    draft = _Draft.of(before, wanted)
    written, removed = difference(before.tree, tree, read)
    for path in removed:  # first, since a file may have given way to a folder of its name
        draft.drop(path_text(path))
    for entry in written:
        draft.take(entry)
    return draft.finished(commit, tree)


def difference(before: str, after: str, read: Read) -> tuple[list[TreeEntry], list[bytes]]:
    """What is new or different in the second tree, and what is gone from the first.

    Level by level, and only folders that differ are read: the cost grows with the change and not with the tree.
    """
    written: list[TreeEntry] = []
    removed: list[bytes] = []
    pairs: list[_Pair] = [(b"", before, after)] if before != after else []
    while pairs:
        names = list({name for _, *both in pairs for name in both if name})
        contents = dict(zip(names, read(names), strict=True))
        level, pairs = pairs, []
        for prefix, *both in level:
            old, new = (_entries(name, contents) for name in both)
            gone = _by_name(old - new)
            for (name, is_folder), (mode, content) in _by_name(new - old).items():
                _, former = gone.pop((name, is_folder), (mode, None))
                if is_folder:
                    pairs.append((prefix + name + b"/", former, content))
                else:
                    written.append(TreeEntry(mode, content, prefix + name))
            pairs += [(prefix + name + b"/", content, None) for (name, is_folder), (_, content) in gone.items() if is_folder]
            removed += [prefix + name for name, is_folder in gone if not is_folder]
    return written, removed


def _entries(tree: str | None, contents: Mapping[str, bytes | None]) -> set[_Entry]:
    """The entries of one folder as Git stores them; none if it is not there on this side."""
    if tree is None:
        return set()
    content = contents[tree]
    entry = _ENTRY[len(tree)]
    if content is None or not re.fullmatch(b"(?>%s)*+" % entry, content, re.DOTALL):
        raise damaged(tree)
    entries = re.findall(entry, content, re.DOTALL)
    if len({name for _, name, _ in entries}) < len(entries):
        raise damaged(tree)
    return set(entries)


def _by_name(entries: Iterable[_Entry]) -> dict[tuple[bytes, bool], tuple[int, str]]:
    """Name, and whether it is a folder -> mode and object."""
    return {(name, (kind := int(mode, 8)) == DIRECTORY): (kind, identity.hex()) for mode, name, identity in entries}


def damaged(tree: str) -> UsageError:
    return UsageError(f"the tree {tree} is damaged or not here; git fsck says more about the repository")
