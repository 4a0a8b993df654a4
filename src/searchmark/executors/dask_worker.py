"""What a Dask worker does of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from searchmark.executors.packing import perform
from searchmark.executors.stopping import stop_tasks_of

STARTS = "searchmark-starts"  # the topic under which the scheduler is told; it keeps the last thousand for all of us
_LOOK = 5.0  # seconds between questions whether a client is still there

_attended: set[str] = set()  # clients that somebody in this process looks after


def performer() -> Callable[[bytes, str, str], bytes]:
    """`perform_told`, but it travels as its code, not as its name: a scheduler reads it too, and need not have Searchmark."""

    def performed(package: bytes, key: str, client: str) -> bytes:
        from searchmark.executors.dask_worker import perform_told

        return perform_told(package, key, client)

    return performed


def aside_performer() -> Callable[[bytes], Awaitable[bytes]]:
    """`perform_aside`, in the same way: a worker that lacks Searchmark says so when it is called."""

    async def performed(package: bytes) -> bytes:
        from searchmark.executors.dask_worker import perform_aside

        return await perform_aside(package)

    return performed


def perform_told(package: bytes, key: str, client: str) -> bytes:
    """Do a task of a client, whose id is that of its pool. That it starts is known to the scheduler before it can end this process.

    Dask suspects every task that a worker was to do when it died. Only those that had started can be to blame, and for sure only
    where one runs at a time.
    """
    with suppress(Exception):  # a scheduler that is gone hears nothing, and needs no result
        _tell_start(key, client)
    return perform(package)


def _tell_start(key: str, client: str) -> None:
    from distributed import get_worker  # type: ignore[import-not-found,unused-ignore]  # an extra
    from distributed.utils import sync  # type: ignore[import-not-found,unused-ignore]  # as above

    worker = get_worker()
    sync(worker.loop, worker.scheduler.log_event, topic=STARTS, msg={"key": key, "shared": worker.state.nthreads > 1})
    worker.loop.add_callback(_stop_with, client, worker.scheduler)


async def perform_aside(package: bytes) -> bytes:
    """Do the work in a thread: the event loop of a worker has its own business, and one that says nothing is taken for dead."""
    return await asyncio.to_thread(perform, package)


async def _stop_with(client: str, scheduler: Any) -> None:
    """Stop the tasks of a client when it is gone: one that was killed cannot say so, and what its tasks have started would stay."""
    if client in _attended:
        return
    _attended.add(client)
    with suppress(Exception):  # a scheduler that is gone ends this process; one that takes no questions leaves things as they are
        while await _is_there(client, scheduler):
            await asyncio.sleep(_LOOK)
        stop_tasks_of(client)
    _attended.discard(client)


async def _is_there(client: str, scheduler: Any) -> bool:
    from distributed.protocol.pickle import dumps  # type: ignore[import-not-found,unused-ignore]  # an extra

    def known(dask_scheduler: Any) -> bool:  # it travels as its code, too
        return client in dask_scheduler.clients

    answer = await scheduler.run_function(function=dumps(known))
    return bool(answer["result"])
