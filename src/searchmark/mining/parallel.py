"""Several repositories at once, a process each, and their results in the order in which they were given."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NamedTuple

from searchmark.config import DatasetConfig
from searchmark.errors import EXIT_INTERRUPTED, SearchmarkError, UsageError
from searchmark.files.store import collector_paused
from searchmark.history.sources import RepositorySource
from searchmark.mining.mine import MinedRepository, MiningProgress, OnProgress, mine


class _MiningFailure(NamedTuple):
    """What a process says instead of a result."""

    reason: str


class _Worker(NamedTuple):
    """A process and the number of the repository that it mines."""

    number: int
    process: SpawnProcess


def mine_side_by_side(
    sources: Sequence[RepositorySource],
    options: DatasetConfig,
    folders: Sequence[Path],
    jobs: int,
    on_progress: OnProgress | None,
) -> list[MinedRepository]:
    """Mine every repository in a process of its own, ``jobs`` of them at a time; cases wait in the ``folders``."""
    waiting, running = list(range(len(sources))), dict[Connection, _Worker]()
    mined: dict[int, MinedRepository] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number = waiting.pop(0)
                running.update([_started(number, sources[number], options, folders[number], on_progress is not None)])
            for connection in wait(list(running)):
                worker = running[connection]  # type: ignore[index]  # these are our connections
                said = _heard(connection, sources[worker.number])  # type: ignore[arg-type]  # as above
                if isinstance(said, MiningProgress):
                    if on_progress is not None:
                        on_progress(said)
                    continue
                del running[connection]  # type: ignore[arg-type]  # as above
                worker.process.join()
                mined[worker.number] = _result(said)
    finally:
        for worker in running.values():
            worker.process.terminate()
            worker.process.join()
    return [mined[number] for number in range(len(sources))]


def _started(number: int, source: RepositorySource, options: DatasetConfig, folder: Path, tell: bool) -> tuple[Connection, _Worker]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(source, options, folder, theirs, tell), daemon=True)
    process.start()
    theirs.close()
    return ours, _Worker(number, process)


def _heard(connection: Connection, source: RepositorySource) -> MiningProgress | MinedRepository | _MiningFailure:
    try:
        said: MiningProgress | MinedRepository | _MiningFailure = connection.recv()
    except EOFError:
        return _MiningFailure(f"the process that mined {source.path} ended without a result")
    return said


def _result(said: MinedRepository | _MiningFailure) -> MinedRepository:
    if isinstance(said, _MiningFailure):
        raise UsageError(said.reason)
    return said


def _work(source: RepositorySource, options: DatasetConfig, folder: Path, connection: Connection, tell: bool) -> None:
    """What one process does. It ends quietly when it is told to, and cleans up behind itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which tells everybody; our parent tells us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_INTERRUPTED))
    try:
        with collector_paused():
            connection.send(mine(source, options, folder, None, connection.send if tell else None))
    except SearchmarkError as error:
        connection.send(_MiningFailure(str(error)))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
