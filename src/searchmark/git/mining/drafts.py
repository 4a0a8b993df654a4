"""A commit on its way to becoming a case: everything that a rule may ask about it, worked out when it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from searchmark.config import DatasetConfig
from searchmark.corpora.file_kinds import classify, excluded_by
from searchmark.history.log import Change, LoggedCommit, changes_of, message_text
from searchmark.history.repository import path_text
from searchmark.mining.messages import Wording
from searchmark.mining.queries import Query
from searchmark.mining.units import pull_request
from searchmark.options.corpus_choice import Kind

# What became of a file, seen from the parent commit.
TargetStatus = Literal["present", "deleted_or_renamed", "moved", "created"]

_LINKS = (b"120000", b"160000")


class KnownPath(NamedTuple):
    """A path as text, its kind, and whether it can be a target."""

    path: str
    kind: Kind
    wanted: bool


class PathBook(dict[bytes, KnownPath]):
    """What is known about paths; a history names the same ones again and again."""

    def __init__(self, options: DatasetConfig) -> None:
        super().__init__()
        self._excluded = excluded_by(options.exclude_patterns)
        self._wanted = frozenset(options.kinds)

    def __missing__(self, path: bytes) -> KnownPath:
        text = path_text(path)
        kind = classify(text)
        known = self[path] = KnownPath(text, kind, kind in self._wanted and not self._excluded(text))
        return known


@dataclass(frozen=True, slots=True)
class Target:
    """A changed file of a wanted kind and what the parent knows of it. ``blob`` is its content there, if it is there."""

    path: str
    status: TargetStatus
    blob: str | None
    new_blob: str | None = None
    moved_to: str | None = None


class Draft:
    """One commit, or one pull request, under examination."""

    def __init__(self, commit: LoggedCommit, book: PathBook, *, request: str | None = None, in_request: bool = False) -> None:
        self.commit = commit
        self.request = request  # what the pull request says, if this is one
        self.in_request = in_request  # whether a pull request makes the case of this commit
        self._book = book

    @property
    def unit(self) -> str:
        return "commit" if self.request is None else "pr"

    @cached_property
    def changes(self) -> list[Change]:
        return changes_of(self.commit)

    @cached_property
    def files(self) -> list[Change]:
        """The changes of file contents: no links, no submodules, no change of mode or type alone."""
        return [
            change
            for change in self.changes
            if change.old_mode not in _LINKS
            and change.new_mode not in _LINKS
            and change.old_blob != change.new_blob
            and change.status != b"T"
        ]

    @cached_property
    def moves(self) -> dict[bytes, bytes]:
        """Old path to new path of files that only moved: deleted and added with the same content."""
        if not any(change.status == b"A" for change in self.files):
            return {}
        added = {change.new_blob: change.path for change in self.files if change.status == b"A"}
        return {c.path: added[c.old_blob] for c in self.files if c.status == b"D" and c.old_blob in added}

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Every changed file that is of a wanted kind, reachable or not, in path order."""
        arrived = set(self.moves.values())  # the same content under another path: nothing was created there
        targets = []
        for change in self.files:
            known = self._book[change.path]
            if known.wanted and change.path not in arrived:
                targets.append(self._target(change, known.path))
        return tuple(targets)

    def _target(self, change: Change, path: str) -> Target:
        old, new = change.old_blob.decode(), change.new_blob.decode()
        if change.status == b"A":
            return Target(path, "created", None, new)
        if change.path in self.moves:
            return Target(path, "moved", old, moved_to=path_text(self.moves[change.path]))
        if change.status == b"D":
            return Target(path, "deleted_or_renamed", old)
        return Target(path, "present", old, new)

    @cached_property
    def reachable(self) -> tuple[Target, ...]:
        """The targets that a search at the parent can find and that the commit really changed."""
        return tuple(target for target in self.targets if target.status in ("present", "deleted_or_renamed"))

    @property
    def has_wanted_path(self) -> bool:
        book = self._book
        return any(book[path].wanted for path in self.commit.paths)

    def paths_but_tests_and_docs(self) -> int:
        return sum(self._book[path].kind not in ("test", "doc") for path in self.commit.paths)

    @property
    def changes_tests(self) -> bool:
        return any(self._book[path].kind == "test" for path in self.commit.paths)

    @cached_property
    def decoded(self) -> tuple[str, bool]:
        return message_text(self.commit)

    @property
    def message(self) -> str:
        """What is turned into a query: the commit's message, or title and description of the pull request."""
        return self.decoded[0] if self.request is None else self.request

    @cached_property
    def query(self) -> Query:
        return Query(self.message)

    @cached_property
    def wording(self) -> Wording:
        return Wording(self.query)


def request_of(commit: LoggedCommit) -> str | None:
    """What the pull request says that this merge has brought in."""
    return pull_request(message_text(commit)[0])
