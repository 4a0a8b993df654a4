"""Tasks side by side, a process each, and their results in the order in which they were given."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

from searchmark.errors import EXIT_INTERRUPTED, SearchmarkError, UsageError, os_error_sentence
from searchmark.files.private_folders import remove_left_folders
from searchmark.files.store import collector_paused

Task = TypeVar("Task")
Result = TypeVar("Result")
News = TypeVar("News")
Work = Callable[[Task, Callable[[News], None]], Result]  # it tells its news while it is at work


class _Told(NamedTuple, Generic[News]):
    """What a process says on its way."""

    news: News


class _Done(NamedTuple, Generic[Result]):
    """What a process has made."""

    result: Result


class _Failed(NamedTuple):
    """What a process says instead of a result; ``defect`` if that is no fault of the user's."""

    reason: str
    defect: bool = False


class _Worker(NamedTuple):
    """A process and the number of its task."""

    number: int
    process: SpawnProcess


def side_by_side(
    work: Work[Task, News, Result], tasks: Sequence[Task], jobs: int, on_news: Callable[[int, News], None] | None = None
) -> list[Result]:
    """Do every task in a process of its own, ``jobs`` of them at a time; ``on_news`` hears which one tells what."""
    waiting, running = list(range(len(tasks))), dict[Connection, _Worker]()
    results: dict[int, Result] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number = waiting.pop(0)
                running.update([_started(number, work, tasks[number], on_news is not None)])
            for connection in wait(list(running)):
                worker = running[connection]  # type: ignore[index]  # these are our connections
                said: _Told[News] | _Done[Result] | _Failed = _heard(connection)  # type: ignore[arg-type]  # as above
                if isinstance(said, _Told):
                    if on_news is not None:
                        on_news(worker.number, said.news)
                    continue
                del running[connection]  # type: ignore[arg-type]  # as above
                worker.process.join()
                results[worker.number] = _result(said)
    finally:
        _stop(list(running.values()))
    return [results[number] for number in range(len(tasks))]


def _stop(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
        worker.process.join()
    if workers:
        with suppress(SearchmarkError):  # what made us stop them is what the user has to hear
            remove_left_folders()


def _started(number: int, work: Work[Task, News, Result], task: Task, tell: bool) -> tuple[Connection, _Worker]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(work, task, theirs, tell), daemon=True)
    process.start()
    theirs.close()
    return ours, _Worker(number, process)


def _heard(connection: Connection) -> _Told[News] | _Done[Result] | _Failed:
    try:
        said: _Told[News] | _Done[Result] | _Failed = connection.recv()
    except EOFError:
        return _Failed("a process that mined ended without a result; there may be too little memory, try --jobs 1")
    return said


def _result(said: _Done[Result] | _Failed) -> Result:
    if isinstance(said, _Failed):
        raise RuntimeError(said.reason) if said.defect else UsageError(said.reason)
    return said.result


def _work(work: Work[Task, News, Result], task: Task, connection: Connection, tell: bool) -> None:
    """What one process does. It ends quietly when it is told to, and cleans up behind itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which tells everybody; our parent tells us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_INTERRUPTED))
    Thread(target=_end_with_parent, daemon=True).start()
    on_news = (lambda news: _send(connection, _Told(news))) if tell else (lambda _: None)
    try:
        with collector_paused():
            _send(connection, _Done(work(task, on_news)))
    except SearchmarkError as error:
        _send(connection, _Failed(str(error)))
    except OSError as error:
        _send(connection, _Failed(os_error_sentence(error)))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:  # noqa: BLE001  # said by our parent, which has the user's ear
        _send(connection, _Failed(f"{type(error).__name__}: {error}", defect=True))


def _send(connection: Connection, said: _Told[News] | _Done[Result] | _Failed) -> None:
    """Tell our parent; one that was killed hears nothing, and no other user of the terminal needs to."""
    try:
        connection.send(said)
    except BrokenPipeError:
        sys.exit(EXIT_INTERRUPTED)


def _end_with_parent() -> None:
    """A parent that is killed cannot tell its processes, and nothing is left to hand a result to."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
