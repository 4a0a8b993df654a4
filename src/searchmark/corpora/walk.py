"""Time travel: one worker on its way through the commits of a repository, each a corpus with its changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from searchmark.corpora.corpus import Changes
from searchmark.corpora.snapshots import SnapshotReader, changes
from searchmark.files.private_folders import private_folder
from searchmark.history.checkout import Checkout
from searchmark.history.repository import open_repository
from searchmark.history.trees import NOTHING, Snapshot, Wanted, everything


@dataclass
class HistoryWalk:
    """Where a worker is. The folder is made for the first agent that asks for it, and moves along from then on."""

    snapshots: SnapshotReader
    until_the_end: ExitStack
    here: Snapshot = NOTHING
    export: Checkout | None = None

    def move_to(self, revision: str) -> Changes:
        """Go to a commit. To begin with, all of its files are written."""
        before, self.here = self.here, self.snapshots.at(revision, near=self.here)
        if self.export is not None:
            self.export.sync_to(self.here)
        here = self.here
        return changes(before, here, self.snapshots.corpus(here, lambda: self._folder(here)))

    def _folder(self, snapshot: Snapshot) -> Path:
        if self.export is None:
            folder = self.until_the_end.enter_context(private_folder())
            self.export = Checkout(folder, self.snapshots.objects)
        return self.export.sync_to(snapshot)


@contextmanager
def open_walk(path: str | os.PathLike[str], wanted: Wanted = everything) -> Iterator[HistoryWalk]:
    """A journey through a repository, which is only read; at the end nothing is left of it on disk."""
    with open_repository(path) as repository, SnapshotReader(repository, wanted) as snapshots, ExitStack() as until_the_end:
        yield HistoryWalk(snapshots, until_the_end)
