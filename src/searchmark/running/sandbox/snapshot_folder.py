"""The folder through which a sandboxed agent sees a repository: the files of one commit at a time, and no history.

A case's answer lies in the commits after the one that it is searched at. So the agent is shown neither the objects of the
repository nor, before it is asked, the files of any later commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from searchmark.corpora.exported import ExportedSource
from searchmark.corpora.locations import Commit, Plain
from searchmark.corpora.snapshots import SnapshotReader
from searchmark.errors import UsageError
from searchmark.files.private_folders import private_folder
from searchmark.history.checkout import Checkout
from searchmark.history.objects import ranks_along_history
from searchmark.history.repository import open_repository

_READABLE = 0o755  # by the worker, which may have a user number of its own; no other user can enter the folder above


class SnapshotFolder:
    """One folder for the workers of a session, moved by the runner. ``commits``: those that will be shown, by repository."""

    def __init__(self, commits: Mapping[Path, Iterable[str]]) -> None:
        self.commits = commits
        self._ranks: dict[Path, dict[str, int]] = {}
        self._until_the_end = ExitStack()
        self._reading = ExitStack()
        self._history: object = None
        self._snapshots: SnapshotReader | None = None
        self._checkout: Checkout | None = None
        self._seen: set[tuple[Path, str]] = set()

    @cached_property
    def path(self) -> Path:
        folder = self._until_the_end.enter_context(private_folder())
        folder.chmod(_READABLE)
        return folder

    def reveals_later(self, location: Commit) -> bool:
        """Whether the worker has seen a commit that may stem from this one, where the answers would be found."""
        seen = {commit for path, commit in self._seen if path == location.path and commit != location.commit}
        if not seen:
            return False
        ranks = self._known_ranks(location.path)
        known = location.commit in ranks and seen <= ranks.keys()
        return not known or max(ranks[commit] for commit in seen) > ranks[location.commit]

    def forget_seen(self) -> None:
        """The next worker has seen nothing yet; the last one, and all that it could write to, is gone."""
        self._seen.clear()

    def show(self, location: Commit) -> Plain:
        """Make the folder hold the files of a commit; what the worker has to know about them."""
        snapshots, checkout = self._opened(location)
        self._seen.add((location.path, location.commit))
        snapshot = snapshots.at(location.commit, near=checkout.shown)
        return ExportedSource.of(checkout.sync_to(snapshot), location.path.resolve(), snapshot).to_plain()

    def _opened(self, location: Commit) -> tuple[SnapshotReader, Checkout]:
        if self._snapshots is None or self._checkout is None or self._history != location.history:
            self._reading.close()
            repository = self._reading.enter_context(open_repository(location.path))
            self._snapshots = self._reading.enter_context(SnapshotReader(repository, location.wanted))
            self._checkout = Checkout(self.path, self._snapshots.objects)
            self._history = location.history
        return self._snapshots, self._checkout

    def _known_ranks(self, path: Path) -> dict[str, int]:
        """Where the commits come in an order in which none comes before its ancestors; nothing where that cannot be known."""
        if path not in self._ranks:
            try:
                with open_repository(path) as repository:
                    self._ranks[path] = ranks_along_history(repository, self.commits[path])
            except UsageError:
                self._ranks[path] = {}
        return self._ranks[path]

    def close(self) -> None:
        self._snapshots = None
        self._reading.close()
        self._until_the_end.close()
