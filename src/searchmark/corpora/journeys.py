"""Time travel: one worker on its way through the commits of a repository, each a corpus with its changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from searchmark.corpora import Changes
from searchmark.corpora.exports import Export
from searchmark.corpora.snapshots import Snapshots, changes
from searchmark.corpora.trees import NOTHING, Snapshot, Wanted, everything
from searchmark.git import open_repository
from searchmark.private_folders import private_folder


@dataclass
class Journey:
    """Where a worker is. The folder is made for the first agent that asks for it, and moves along from then on."""

    snapshots: Snapshots
    until_the_end: ExitStack
    here: Snapshot = NOTHING
    export: Export | None = None

    def go(self, revision: str) -> Changes:
        """Go to a commit. To begin with, all of its files are written."""
        before, self.here = self.here, self.snapshots.at(revision, near=self.here)
        if self.export is not None:
            self.export.show(self.here)
        here = self.here
        return changes(before, here, self.snapshots.corpus(here, lambda: self._folder(here)))

    def _folder(self, snapshot: Snapshot) -> Path:
        if self.export is None:
            folder = self.until_the_end.enter_context(private_folder())
            self.export = Export(folder, self.snapshots.objects)
        return self.export.show(snapshot)


@contextmanager
def open_journey(path: str | os.PathLike[str], wanted: Wanted = everything) -> Iterator[Journey]:
    """A journey through a repository, which is only read; at the end nothing is left of it on disk."""
    with open_repository(path) as repository, Snapshots(repository, wanted) as snapshots, ExitStack() as until_the_end:
        yield Journey(snapshots, until_the_end)
