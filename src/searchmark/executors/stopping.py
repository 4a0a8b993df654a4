"""How work that runs in a thread learns that it should end: nobody can end a thread from outside.

A process of ours is told by SIGTERM instead, which ends it wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

from searchmark.errors import PoolGone

_MOST = 64  # pools whose events are kept: the processes of a cluster may live for months
_stops: dict[str, Event] = {}
_current: ContextVar[Event | None] = ContextVar("stop", default=None)


def stop_event() -> Event:
    """Set when the pool that the running task came from is stopped: ask it now and then, or wait for it."""
    return _current.get() or Event()


@contextmanager
def task_of(pool: str) -> Iterator[None]:
    """Meanwhile this thread works for a pool; one that has been stopped starts nothing more."""
    event = _event(pool)
    if event.is_set():
        raise PoolGone("the pool of this task has been stopped")
    before = _current.set(event)
    try:
        yield
    finally:
        _current.reset(before)


def stop_tasks_of(pool: str) -> None:
    """Tell all tasks of a pool that run in this process, and those that are about to."""
    _event(pool).set()


def _event(pool: str) -> Event:
    event = _stops.setdefault(pool, Event())
    if len(_stops) > _MOST:
        _stops.pop(next(iter(_stops)), None)
    return event
