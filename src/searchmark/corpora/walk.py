"""A walk through the commits of a repository, one per worker: each a corpus with its changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from searchmark.corpora.corpus import Changes
from searchmark.corpora.snapshots import MovingFolder, SnapshotReader, changes
from searchmark.history.repository import open_repository
from searchmark.history.trees import NOTHING, Snapshot, Wanted, everything


@dataclass
class HistoryWalk:
    """Where a worker is. The folder is made for the first agent that asks for it, and moves along from then on."""

    snapshots: SnapshotReader
    folders: MovingFolder
    here: Snapshot = NOTHING

    def move_to(self, revision: str) -> Changes:
        """Go to a commit. To begin with, all of its files are written. After an error we are where we were."""
        after = self.snapshots.at(revision, near=self.here)
        self.folders.follow(after)  # before the agent hears of the step, so that none of it counts as its own time
        before, self.here = self.here, after
        return changes(before, self.here, self.snapshots.corpus(self.here, self.folders))


@contextmanager
def open_walk(path: str | os.PathLike[str], wanted: Wanted = everything) -> Iterator[HistoryWalk]:
    """A walk through a repository, which is only read; at the end nothing is left of it on disk."""
    with open_repository(path) as repository, SnapshotReader(repository, wanted) as snapshots, ExitStack() as until_the_end:
        yield HistoryWalk(snapshots, MovingFolder(snapshots.objects, until_the_end))
