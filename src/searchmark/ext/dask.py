"""Dask: a scheduler that is running somewhere, or a cluster of this machine that lives as long as the pool."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, suppress
from pickle import PickleError
from typing import Any, TypeVar

from searchmark.errors import PoolGone, shortened
from searchmark.executors.choice import DaskChoice, LocalDaskChoice
from searchmark.executors.dask_quiet import SILENT, quiet
from searchmark.executors.dask_startup import safe_start
from searchmark.executors.dask_worker import STARTS, aside_performer, performer
from searchmark.executors.loop_thread import LoopThread
from searchmark.executors.packing import not_loaded, packed, unpacked
from searchmark.executors.pool import Lost
from searchmark.executors.stopping import stop_tasks_of
from searchmark.files.notes import note

Task = TypeVar("Task")
Result = TypeVar("Result")

_CONNECT = 10.0  # seconds until a scheduler that says nothing is not there
_STOP = 10.0  # seconds until a scheduler that says nothing more is left behind
_STOP_OURS = 60.0  # the same for a cluster of ours, whose workers may just be starting
_ABSENT = 20.0  # seconds without any worker until the user hears of it
_COUNTED = 2.0  # seconds for which the number of threads is taken to stay the same
_LOCAL_LOSSES = 2  # how often a task is tried again by a cluster of ours: so three losses are three


class DaskPool:
    """A pool that is a Dask cluster. Its client lives in an event loop of its own."""

    def __init__(self, choice: DaskChoice | LocalDaskChoice) -> None:
        self.name = choice.text
        self.same_machine = isinstance(choice, LocalDaskChoice)
        self._choice = choice
        self._perform, self._perform_aside = performer(), aside_performer()
        self._starts: dict[str, list[bool]] = {}  # of every task on its way: whether each worker that started it does several
        self._submitted = 0
        self._stopped = False
        self._cluster: Any = None
        self._client: Any = None
        self._counted: tuple[float, int] = (-_COUNTED, 0)
        self._attended = time.monotonic()
        self._until_the_end = ExitStack()
        self._until_the_end.enter_context(quiet())
        self._until_the_end.enter_context(safe_start())
        self._loop = LoopThread()
        try:
            self._loop.run(self._connect())
        except BaseException:
            self.stop()
            raise

    async def _connect(self) -> None:
        from distributed import Client  # type: ignore[import-not-found,unused-ignore]  # an extra

        try:
            where = await self._place()
            self._client = await Client(where, asynchronous=True, timeout=_CONNECT, set_as_default=False)
        except Exception as error:
            raise self._not_there(error) from error
        self._key: str = self._client.id
        self._client.subscribe_topic(STARTS, self._count_start)

    async def _place(self) -> Any:
        if isinstance(self._choice, DaskChoice):
            return f"{'tls' if self._choice.encrypted else 'tcp'}://{self._choice.address}"
        self._until_the_end.enter_context(_settings())
        self._cluster = await _local_cluster(self._choice.count)
        return self._cluster

    def _not_there(self, error: Exception) -> PoolGone:
        if isinstance(self._choice, LocalDaskChoice):
            return PoolGone(f"a Dask cluster of this machine cannot be started: {_said(error)}", "use process:N instead")
        if self._choice.encrypted:
            advice = "both ends need Dask's TLS settings"
            return PoolGone(f"no Dask scheduler answers with TLS at {self._choice.address} ({_said(error)})", advice)
        advice = "start one with 'dask scheduler', or check the address"
        return PoolGone(f"no Dask scheduler answers at {self._choice.address}", advice)

    def _count_start(self, event: tuple[float, dict[str, Any]]) -> None:
        if (starts := self._starts.get(event[1]["key"])) is not None:
            starts.append(event[1]["shared"])

    @property
    def slots(self) -> int:
        """The threads of all workers that are there."""
        when, count = self._counted
        if time.monotonic() - when > _COUNTED and not self._stopped:
            with suppress(Exception):  # of a scheduler that is gone: whoever waits for a task will hear of it
                count = self._loop.run(self._threads())
            self._counted = (time.monotonic(), count)
            self._note_absence(count)
        return count

    def _note_absence(self, count: int) -> None:
        """One that died may be started again, which takes seconds and is nothing to talk about."""
        now = time.monotonic()
        self._attended = now if count else self._attended
        if now - self._attended > _ABSENT:
            note(f"{self.name} has no workers; tasks wait until some come")

    async def _threads(self) -> int:
        return sum((await asyncio.wait_for(self._client.nthreads(), _STOP)).values())

    def submit(self, work: Callable[[Task], Result], task: Task, in_vain: int = 0) -> Future[Result]:
        if self._stopped:
            raise PoolGone(f"{self.name} has been stopped")
        self._submitted += 1
        return self._loop.start(self._result(packed(work, task, self._key), f"searchmark-{self._key}-{self._submitted}", in_vain))

    async def _result(self, package: bytes, key: str, in_vain: int) -> Any:
        self._starts[key] = []
        future = None
        try:
            wish = await self._another_worker(in_vain) if in_vain else {}
            future = self._client.submit(self._perform, package, key, self._key, key=key, pure=False, **wish)
            return unpacked(await self._came(future, key))
        finally:
            del self._starts[key]
            if future is not None:
                future.release()

    async def _another_worker(self, in_vain: int) -> dict[str, Any]:
        """One worker after the other: a scheduler with little to do gives the same task to the same worker again and again."""
        with suppress(Exception):  # of a scheduler that is gone: whoever waits for the task will hear of it
            workers = sorted(await asyncio.wait_for(self._client.nthreads(), _STOP))
            return {"workers": [workers[in_vain % len(workers)]], "allow_other_workers": True}
        return {}

    async def _came(self, future: Any, key: str) -> bytes:
        """What came back. As work raises nothing in there, any exception is about the cluster."""
        from distributed import KilledWorker  # type: ignore[import-not-found,unused-ignore]  # an extra

        try:
            came: bytes = await future
        except KilledWorker:
            starts = self._starts[key]
            shared = any(starts) or not starts  # one that was only waiting there may be innocent
            raise Lost("the Dask worker that did it was lost", max(1, len(starts)), shared=shared) from None
        except (ImportError, AttributeError, PickleError) as error:
            raise not_loaded(error) from error
        except (Exception, asyncio.CancelledError) as error:
            raise self._gone(error) from error
        return came

    def _gone(self, error: BaseException) -> PoolGone:
        if self._client.status != "running":
            return PoolGone(f"the scheduler of {self.name} is gone")
        return PoolGone(f"{self.name} has given up a task ({_said(error)})")

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result]:
        package = packed(work, task, self._key)
        return self._loop.run(self._everywhere(package))

    async def _everywhere(self, package: bytes) -> list[Any]:
        try:
            came = await self._client.run(self._perform_aside, package, on_error="return")
        except Exception as error:
            raise self._gone(error) from error
        for worker, said in came.items():
            if isinstance(said, ImportError | AttributeError | PickleError):
                raise not_loaded(said, f" at {worker}")
        return [unpacked(outcome) for outcome in came.values() if isinstance(outcome, bytes)]  # others are lost

    def stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        with self._until_the_end:
            try:
                self._loop.run(self._disconnect())
            finally:
                self._loop.close()

    async def _disconnect(self) -> None:
        """Without waiting for anybody who does not answer."""
        if self._starts and self._client.status == "running":
            await _tried(self._client.run(stop_tasks_of, self._key, on_error="ignore"))
        if self._client is not None:
            await _tried(self._client.close())
        if self._cluster is not None:
            await _tried(self._cluster.close(), _STOP_OURS)


async def _tried(waiting: Awaitable[Any], longest: float = _STOP) -> None:
    with suppress(Exception):
        await asyncio.wait_for(waiting, longest)


async def _local_cluster(count: int) -> Any:
    from distributed import LocalCluster  # type: ignore[import-not-found,unused-ignore]  # an extra

    return await LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit=None,  # what agents may use is bounded elsewhere
        silence_logs=SILENT,
        preload=["searchmark.executors.dask_startup"],
        scheduler_kwargs={"allowed_failures": _LOCAL_LOSSES},
        asynchronous=True,
    )


def _settings() -> AbstractContextManager[object]:
    """What a cluster of ours does otherwise.

    A worker that died is started again. Where that takes long, on a busy machine, a cluster would have fewer from then on. And its
    scheduler, which is in this process, would keep the last thousand messages to every worker, with the tasks that are in them.
    """
    from dask import config  # type: ignore[import-not-found,unused-ignore]  # an extra

    ours: AbstractContextManager[object] = config.set(
        {"distributed.deploy.lost-worker-timeout": "1 hour", "distributed.admin.low-level-log-length": 10}
    )
    return ours


def _said(error: BaseException) -> str:
    return shortened(" ".join(f"{type(error).__name__}: {error}".split()), 300)
