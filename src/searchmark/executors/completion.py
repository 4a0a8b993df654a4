"""Tasks and what became of them, in the order in which they are done. One coordinator sees to retries and to the end.

A task whose process has ended is done again, before anything new, until it has cost so many processes that it is to
blame. Where several tasks ran and nobody knows which of them was the cause, each is done again by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from searchmark.executors.pool import Lost, TaskPool
from searchmark.executors.telling import Telling

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST_LOSSES = 3
_UNKNOWN = 64  # tasks on their way where nobody knows how many run at once
_LOOK = 2.0  # seconds after which a pool is asked anew how many run at once: processes of a cluster come and go


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
    losses: int = 0
    in_vain: int = 0
    alone: bool = False  # so that nobody else can be to blame


class Completion(Generic[Task, Result]):
    """Iterating does the tasks and yields what became of each; ``add`` more of them at any time before the end.

    Tasks are drawn when there is room for them: at most ``window`` are on their way, twice as many as run at once unless
    told. News of work that tells some are heard in the thread that iterates. Whatever ends the iteration early stops the pool: an
    error that the work raises, Ctrl-C, or a consumer that leaves.
    """

    def __init__(
        self,
        pool: TaskPool,
        work: Callable[[Task], Result],
        tasks: Iterable[Task] = (),
        *,
        window: int | None = None,
        most_losses: int = MOST_LOSSES,
    ) -> None:
        self._landed: SimpleQueue[Future[Result] | Callable[[], None]] = SimpleQueue()
        self._pool, self._tasks = pool, iter(tasks)
        self._work = work.posted(self._landed.put) if isinstance(work, Telling) else work
        self._given_window, self._most_losses = window, most_losses
        self._again: deque[_Attempt[Task]] = deque()
        self._added: deque[_Attempt[Task]] = deque()
        self._flying: dict[Future[Result], _Attempt[Task]] = {}

    def add(self, task: Task, in_vain: int = 0) -> None:
        """One more task, which comes before those that are still to be drawn; so many processes could do nothing with it."""
        self._added.append(_Attempt(task, in_vain=in_vain))

    def __iter__(self) -> Iterator[TaskDone[Task, Result] | TaskLost[Task]]:
        try:
            while self._launched():
                landed = self._next_landed()
                outcome = None if landed is None else self._outcome(landed, self._flying.pop(landed))
                if outcome is not None:
                    yield outcome
        except BaseException:
            self._pool.stop()
            raise

    def _next_landed(self) -> Future[Result] | None:
        """One that is done; None if it is time to look around. News are heard on the way."""
        try:
            landed = self._landed.get(timeout=_LOOK)
        except Empty:
            return None
        if isinstance(landed, Future):
            return landed
        landed()
        return None

    def _launched(self) -> bool:
        """Send off as many as there is room for; whether any are on their way."""
        window = self._window
        while len(self._flying) < window and not self._one_is_alone():
            attempt = self._next()
            if attempt is None:
                break
            future = self._pool.submit(self._work, attempt.task, attempt.in_vain)
            self._flying[future] = attempt
            future.add_done_callback(self._landed.put)
        return bool(self._flying)

    @property
    def _window(self) -> int:
        if self._given_window is not None:
            return self._given_window
        return _UNKNOWN if self._pool.slots is None else max(2, 2 * self._pool.slots)

    def _one_is_alone(self) -> bool:
        return len(self._flying) == 1 and any(attempt.alone for attempt in self._flying.values())

    def _next(self) -> _Attempt[Task] | None:
        if self._again:
            return None if self._again[0].alone and self._flying else self._again.popleft()
        if self._added:
            return self._added.popleft()
        return next((_Attempt(task) for task in self._tasks), None)

    def _outcome(self, future: Future[Result], attempt: _Attempt[Task]) -> TaskDone[Task, Result] | TaskLost[Task] | None:
        try:
            return TaskDone(attempt.task, future.result())
        except Lost as lost:
            losses = attempt.losses + (0 if lost.shared and not attempt.alone else lost.losses)
            if losses >= self._most_losses:
                return TaskLost(attempt.task, losses, str(lost))
            self._again.append(replace(attempt, losses=losses, alone=lost.shared or attempt.alone))
            return None
