"""From a choice to a pool; what is not chosen is not imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from searchmark.executors.choice import CodeChoice, DaskChoice, ExecutorChoice, LocalDaskChoice, ProcessChoice
from searchmark.executors.pool import TaskPool


@contextmanager
def opened(choice: ExecutorChoice) -> Iterator[TaskPool]:
    """A pool that is stopped at the end, however that comes."""
    pool = _opened(choice)
    try:
        yield pool
    finally:
        pool.stop()


def _opened(choice: ExecutorChoice) -> TaskPool:
    match choice:
        case ProcessChoice(count):
            from searchmark.executors.processes import ProcessPool

            return ProcessPool(count)
        case LocalDaskChoice() | DaskChoice():
            from searchmark.executors.dask_cluster import DaskPool

            return DaskPool(choice)
        case CodeChoice():
            from searchmark.executors.foreign import ForeignPool

            return ForeignPool(choice)
