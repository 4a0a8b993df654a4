"""One repository that is mined by another process, here or on another machine: what it is told, and what it sends home."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from gzip import GzipFile
from io import BufferedReader, BytesIO
from pathlib import Path

from searchmark.config import DatasetConfig
from searchmark.errors import PoolGone
from searchmark.executors.stopping import stop_event
from searchmark.files.private_folders import private_folder
from searchmark.files.store import collector_paused
from searchmark.history.git import nul_ended
from searchmark.history.sources import RepositorySource
from searchmark.mining.decisions import Decisions
from searchmark.mining.mine import MiningFacts, MiningProgress, mine
from searchmark.mining.spool import Spool, SpoolWriter
from searchmark.shipping.installed import Installed, refuse_other_version
from searchmark.shipping.supplies import Parcel, Supplies, receive


@dataclass(frozen=True)
class RepositoryTask:
    """A repository to be mined; ``number`` is its place among all.

    ``path`` is where it is on the machine that all was started on, ``supplies`` how others come by it, and ``parcels`` what one of
    them has said that it lacks. ``installed`` is what each must have of ours.
    """

    number: int
    source: RepositorySource
    path: Path
    options: DatasetConfig
    decisions: Decisions
    installed: Installed
    supplies: Supplies
    parcels: tuple[tuple[Parcel, bytes], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class MinedElsewhere:
    """What came home of a repository: what is known of it, and its cases as they stand in a gold set, packed."""

    facts: MiningFacts
    rows: bytes = field(repr=False)


@dataclass(frozen=True)
class NotHere:
    """That a machine lacks what it would have to be sent."""

    missing: tuple[Parcel, ...]


def mine_task(task: RepositoryTask, tell: Callable[[MiningProgress], None]) -> MinedElsewhere | NotHere:
    """Mine a repository in this process, whoever wants it."""
    refuse_other_version(task.installed)
    receive(task.parcels)
    missing = task.supplies.missing()
    if missing:
        return NotHere(missing)
    stop = stop_event()

    def on_progress(news: MiningProgress) -> None:
        if stop.is_set():
            raise PoolGone("the executor that mined this repository has been stopped")
        tell(news)

    # Its name and what files say of its place are those of the machine that all was started on.
    here = replace(task.source, path=str(task.supplies.path(task.path)), name=task.source.label)
    with private_folder() as folder, collector_paused():
        mined = mine(here, task.options, folder, on_progress=on_progress, decisions=task.decisions)
        return MinedElsewhere(replace(mined.facts, path=task.source.written), packed_rows(mined.rows))


def packed_rows(rows: Iterable[bytes]) -> bytes:
    """Rows of a gold set for their way; none of them has a NUL, as they are JSON in ASCII."""
    packed = BytesIO()
    with GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for row in rows:
            file.write(row + b"\0")
    return packed.getvalue()


def unpacked_rows(packed: bytes, file: Path) -> Spool[bytes]:
    """The rows again, one by one into a file, where they wait."""
    with SpoolWriter[bytes](file) as spool, BufferedReader(GzipFile(fileobj=BytesIO(packed))) as rows:
        for row in nul_ended(rows):
            spool.add(row)
        return spool.finished()
