"""What a pool is, how a text such as `process:4` names one, and tasks in order of completion, retried when a process dies."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from secrets import token_hex
from typing import Any, Generic, Literal, TypeVar

from searchmark.errors import PoolGone, SearchmarkError, UsageError
from searchmark.executors.packing import pack_task

PoolKind = Literal["process", "dask:local", "dask", "code"]

# Where work is to run, read once from its text.
#
#     process:N                processes of this machine
#     dask:local:N             a Dask cluster of this machine, started for this
#     dask://host:port         a Dask scheduler that is running somewhere (dask+tls:// with encryption, as Dask is configured)
#     module:attr file.py:attr Python code: a `concurrent.futures.Executor`, or what returns one
#
# Reading a text imports nothing and connects to nothing.

_MAX_PROCESSES = 1024  # processes of one machine; more is a slip of the finger

_FORMS: tuple[tuple[PoolKind, re.Pattern[str]], ...] = (
    ("process", re.compile(r"process:(\d{1,9})")),
    ("dask:local", re.compile(r"dask:local:(\d{1,9})")),
    ("dask", re.compile(r"dask(?:\+tls)?://((?:\[[0-9a-fA-F:.]+\]|[^\s:/@\[\]]+):\d{1,5})/?")),
    ("code", re.compile(r"(?!process:|dask:)((?:[^:\s]+|.+\.py):[^\W\d]\w*(?:\.[^\W\d]\w*)*)")),
)

_FORMS_TEXT = "write process:N, dask:local:N, dask://host:port, or module:attr for a concurrent.futures.Executor of your own"


@dataclass(frozen=True)
class PoolSettings:
    """Where work is to run, and its text as the user wrote it."""

    kind: PoolKind
    text: str
    target: str  # the number of processes, the address of a scheduler, or a module (or ``.py`` file) and its attribute

    @property
    def count(self) -> int:
        """Of the processes of this machine that it is."""
        return int(self.target)


def process_pool(count: int) -> PoolSettings:
    """So many processes of this machine."""
    return PoolSettings("process", f"process:{count}", str(count))


def parse_executor(text: str, *, foreign: bool, network: bool) -> PoolSettings:
    """What a text means; refused where code of others (``foreign``) or the ``network`` would be needed and is not allowed."""
    choice = _parse_executor_text(text)
    if choice.kind == "code" and not foreign:
        raise UsageError(f"the executor {text!r} is code that is not built in, and --no-exec allows none; use process:N")
    if choice.kind in {"dask", "dask:local"}:
        if not (foreign and network):
            raise UsageError(f"the executor {text!r} uses the network, which --offline and --no-exec do not allow; use process:N")
        if find_spec("distributed") is None:
            raise UsageError(f"the executor {text!r} needs Dask, which is not installed; install: pip install 'searchmark[dask]'")
    return choice


def _parse_executor_text(text: str) -> PoolSettings:
    for kind, form in _FORMS:
        if found := form.fullmatch(text):
            target = found[1]
            if kind in {"process", "dask:local"} and not 1 <= int(target) <= _MAX_PROCESSES:
                raise UsageError(f"{text!r} is not an executor: N is the number of processes, from 1 to {_MAX_PROCESSES}")
            return PoolSettings(kind, text.rstrip("/"), target)
    raise UsageError(f"{text!r} is not an executor; {_FORMS_TEXT}")


# What runs tasks: the same for processes of ours, clusters, and executors of others.

Task = TypeVar("Task")

Result = TypeVar("Result")

Hear = Callable[[Any], None]


class ProcessLost(Exception):
    """What a future raises when the process that ran its task has ended.

    ``losses``: how many processes have ended in the middle of this task. ``shared``: other tasks ran in them too, and nobody
    knows which of them was the cause.
    """

    def __init__(self, reason: str, losses: int = 1, *, shared: bool = False) -> None:
        super().__init__(reason)
        self.losses, self.shared = losses, shared


class TaskLacks(SearchmarkError):
    """What work raises where its machine lacks something: the task comes again, and brings it along."""

    def __init__(self, missing: tuple[Any, ...]) -> None:
        super().__init__(missing)
        self.missing = missing


class TaskPool:
    """Runs work on tasks. What its futures raise is what the work raised, `ProcessLost`, or `PoolGone`."""

    same_machine: bool  # whether all of its processes are on this machine and see its files

    def __init__(self, name: str) -> None:
        self.name = name  # as the user wrote it
        self._key = token_hex(8)
        self._stopped = False

    @property
    def slots(self) -> int | None:
        """How many tasks run at once, now; None where that is not known."""
        raise NotImplementedError

    def submit(self, work: Callable[..., Result], task: Task, in_vain: int = 0, hear: Hear | None = None) -> Future[Result]:
        """``in_vain``: so many processes could do nothing with it; another one is chosen, where there is a choice.

        With ``hear`` the work gets a second argument, to tell what it is at. It is heard before the result where processes of
        ours do the work, and nowhere else.
        """
        package = pack_task(work, task, self._key, tells=hear is not None)
        self._refuse_stopped()
        return self._start(package, in_vain, hear)

    def _start(self, package: bytes, in_vain: int, hear: Hear | None) -> Future[Any]:
        raise NotImplementedError

    def _refuse_stopped(self) -> None:
        if self._stopped:
            raise PoolGone(f"{self.name} has been stopped")

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result] | None:
        """Do something short in every process that there is now; None where that cannot be done."""
        raise NotImplementedError

    def stop(self) -> None:
        """Cancel what waits and end what runs, at once and for good. A second call does nothing."""
        raise NotImplementedError


# Tasks and what became of them, in the order in which they are done. One coordinator sees to retries and to the end.
#
# A task whose process has ended is done again, before anything new, until it has cost so many processes that it is to
# blame. Where several tasks ran and nobody knows which of them was the cause, each is done again by itself.

_MOST_LOSSES = 3

_TASKS_WITHOUT_KNOWN_SIZE = 64  # tasks on their way where nobody knows how many run at once

_POLL_SECONDS = 2.0  # seconds after which a pool is asked anew how many run at once: processes of a cluster come and go


@dataclass(frozen=True)
class TaskDone(Generic[Task, Result]):
    """A task and its result."""

    task: Task
    result: Result


@dataclass(frozen=True)
class TaskLost(Generic[Task]):
    """A task that has ended every process that it was given to, ``losses`` of them, and how the last one ended."""

    task: Task
    losses: int
    reason: str


@dataclass(frozen=True)
class _Attempt(Generic[Task]):
    """A task that waits or is on its way, how many processes it has ended, and how many could do nothing with it."""

    task: Task
    work: Callable[..., Any]
    losses: int = 0
    in_vain: int = 0
    alone: bool = False  # so that nobody else can be to blame


class RetryingTasks(Generic[Task, Result]):
    """Iterating does the tasks and yields what became of each; ``add`` more of them at any time before the end.

    Tasks are drawn when there is room for them: twice as many are on their way as run at once. ``on_news`` hears which task
    tells what, in the thread that iterates. ``bring`` makes work that brings what a task lacks.
    Whatever ends the iteration early stops the pool: an error that the work raises, Ctrl-C, or a consumer that leaves.
    """

    def __init__(
        self,
        pool: TaskPool,
        work: Callable[..., Result],
        tasks: Iterable[Task] = (),
        *,
        on_news: Callable[[Task, Any], None] | None = None,
        bring: Callable[[Task, tuple[Any, ...], Callable[..., Result]], Callable[..., Result]] | None = None,
    ) -> None:
        self._events: SimpleQueue[Future[Result] | tuple[Task, Any]] = SimpleQueue()
        self._pool, self._work, self._tasks = pool, work, iter(tasks)
        self._on_news, self._bring = on_news, bring
        self._retries: deque[_Attempt[Task]] = deque()
        self._additions: deque[_Attempt[Task]] = deque()
        self._running: dict[Future[Result], _Attempt[Task]] = {}

    def add(self, task: Task, in_vain: int = 0) -> None:
        """One more task, which comes before those that are still to be drawn; so many processes could do nothing with it."""
        self._additions.append(_Attempt(task, self._work, in_vain=in_vain))

    def __iter__(self) -> Iterator[TaskDone[Task, Result] | TaskLost[Task]]:
        try:
            while self._launch():
                future = self._next_done()
                outcome = None if future is None else self._outcome(future, self._running.pop(future))
                if outcome is not None:
                    yield outcome
        except BaseException:
            self._pool.stop()
            raise

    def _next_done(self) -> Future[Result] | None:
        """One that is done; None if it is time to look around. News are heard on the way."""
        try:
            event = self._events.get(timeout=_POLL_SECONDS)
        except Empty:
            return None
        if isinstance(event, Future):
            return event
        if self._on_news is not None:
            self._on_news(*event)
        return None

    def _launch(self) -> bool:
        """Send off as many as there is room for; whether any are on their way."""
        window = self._window
        while len(self._running) < window and not self._one_is_alone():
            attempt = self._next()
            if attempt is None:
                break
            hear = None if self._on_news is None else partial(self._post, attempt.task)
            future = self._pool.submit(attempt.work, attempt.task, attempt.in_vain, hear)
            self._running[future] = attempt
            future.add_done_callback(self._events.put)
        return bool(self._running)

    def _post(self, task: Task, news: Any) -> None:
        """In a thread of the pool; it is heard in that which iterates."""
        self._events.put((task, news))

    @property
    def _window(self) -> int:
        return _TASKS_WITHOUT_KNOWN_SIZE if self._pool.slots is None else max(2, 2 * self._pool.slots)

    def _one_is_alone(self) -> bool:
        return len(self._running) == 1 and any(attempt.alone for attempt in self._running.values())

    def _next(self) -> _Attempt[Task] | None:
        if self._retries:
            return None if self._retries[0].alone and self._running else self._retries.popleft()
        if self._additions:
            return self._additions.popleft()
        return next((_Attempt(task, self._work) for task in self._tasks), None)

    def _outcome(self, future: Future[Result], attempt: _Attempt[Task]) -> TaskDone[Task, Result] | TaskLost[Task] | None:
        try:
            return TaskDone(attempt.task, future.result())
        except TaskLacks as error:
            if self._bring is None:
                raise
            self._retries.append(replace(attempt, work=self._bring(attempt.task, error.missing, self._work)))
            return None
        except ProcessLost as error:
            losses = attempt.losses + (0 if error.shared and not attempt.alone else error.losses)
            if losses >= _MOST_LOSSES:
                return TaskLost(attempt.task, losses, str(error))
            self._retries.append(replace(attempt, losses=losses, alone=error.shared or attempt.alone))
            return None
