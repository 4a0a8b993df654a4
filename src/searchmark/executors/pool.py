"""What runs tasks: one protocol for processes of ours, clusters, and executors of others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class Lost(Exception):
    """What a future raises when the process that ran its task has ended.

    ``losses``: how many processes have ended in the middle of this task. ``shared``: other tasks ran in them too, and nobody
    knows which of them was the cause.
    """

    def __init__(self, reason: str, losses: int = 1, *, shared: bool = False) -> None:
        super().__init__(reason)
        self.losses, self.shared = losses, shared


class TaskPool(Protocol):
    """Runs work on tasks. What its futures raise is what the work raised, `Lost`, or `PoolGone`."""

    @property
    def name(self) -> str:
        """As the user wrote it."""
        ...

    @property
    def slots(self) -> int | None:
        """How many tasks run at once, now; None where that is not known."""
        ...

    @property
    def same_machine(self) -> bool:
        """Whether all of its processes are on this machine and see its files."""
        ...

    def submit(self, work: Callable[[Task], Result], task: Task, in_vain: int = 0) -> Future[Result]:
        """``in_vain``: so many processes could do nothing with it; another one is chosen, where there is a choice."""
        ...

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result] | None:
        """Do something short in every process that there is now; None where that cannot be done."""
        ...

    def stop(self) -> None:
        """Cancel what waits and end what runs, at once and for good. A second call does nothing."""
        ...
