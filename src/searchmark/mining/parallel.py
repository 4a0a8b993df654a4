"""Several repositories at once, a process each. Rows wait on disk until it is their turn, so order never changes."""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from searchmark.config import DatasetConfig
from searchmark.errors import EXIT_INTERRUPTED, SearchmarkError, UsageError
from searchmark.files.store import collector_paused
from searchmark.mining.cases import Row
from searchmark.mining.gold_sets import Mined, OnProgress, Progress, mine

_Workers = dict[Connection, tuple[int, SpawnProcess]]


def mine_side_by_side(mined: Sequence[Mined], options: DatasetConfig, jobs: int, on_progress: OnProgress | None) -> Iterator[Row]:
    """The rows of all repositories, in the order in which they were given."""
    with TemporaryDirectory(prefix="searchmark-rows-") as folder:
        files = [Path(folder) / f"{place}.jsonl" for place in range(len(mined))]
        _run_all(mined, options, jobs, files, on_progress)
        for file in files:
            with file.open(encoding="ascii") as lines:
                yield from map(json.loads, lines)


def _run_all(
    mined: Sequence[Mined], options: DatasetConfig, jobs: int, files: Sequence[Path], on_progress: OnProgress | None
) -> None:
    waiting, running = list(range(len(mined))), _Workers()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                place = waiting.pop(0)
                running.update([_start(place, mined[place], options, files[place], on_progress is not None)])
            for connection in wait(list(running)):
                _listen(connection, running, mined, on_progress)  # type: ignore[arg-type]  # these are our connections
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def _start(place: int, mined: Mined, options: DatasetConfig, file: Path, tell: bool) -> tuple[Connection, tuple[int, SpawnProcess]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(mined, options, file, theirs, tell), daemon=True)
    process.start()
    theirs.close()
    return ours, (place, process)


def _listen(connection: Connection, running: _Workers, mined: Sequence[Mined], on_progress: OnProgress | None) -> None:
    place, process = running[connection]
    try:
        kind, said = connection.recv()
    except EOFError:
        kind, said = "failed", f"the process that mined {mined[place].source.path} ended without a word"
    if kind == "progress":
        if on_progress is not None:
            on_progress(Progress(*said))
        return
    del running[connection]
    process.join()
    if kind == "failed":
        raise UsageError(said)
    mined[place].about, mined[place].newest = said


def _work(mined: Mined, options: DatasetConfig, file: Path, connection: Connection, tell: bool) -> None:
    """What one process does. It ends quietly when it is told to, and cleans up behind itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which tells everybody; our parent tells us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_INTERRUPTED))
    try:
        _send(connection, "done", _mined(mined, options, file, connection if tell else None))
    except SearchmarkError as error:
        _send(connection, "failed", str(error))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _mined(mined: Mined, options: DatasetConfig, file: Path, connection: Connection | None) -> tuple[dict[str, Any], int | None]:
    on_progress = None if connection is None else lambda progress: _send(connection, "progress", tuple(progress))
    with file.open("w", encoding="ascii") as lines, collector_paused():
        for row in mine(mined, options, None, on_progress):
            lines.write(json.dumps(row) + "\n")
    return mined.about, mined.newest


def _send(connection: Connection, kind: str, said: Any) -> None:
    connection.send((kind, said))
