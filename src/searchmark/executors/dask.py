"""Runs on a Dask cluster: one that exists, or one started for the run on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from pickle import PickleError
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from typing import Any, TypeVar

from searchmark.errors import PoolGone
from searchmark.executors.backends import ExecutorPool
from searchmark.executors.packing import cannot_load_error, error_text, pack_task, perform, stop_tasks_of, unpack_outcome
from searchmark.executors.pool import PoolSettings, ProcessLost
from searchmark.io.text import note

# Dask logs a lot to the user's terminal. What matters of it we say ourselves.

_SILENT = logging.CRITICAL + 1

_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")  # those that Dask gives a handler


@contextmanager
def _quiet() -> Iterator[None]:
    """Its handlers print nothing inside the block; handlers of others still get everything."""
    import distributed  # type: ignore[import-not-found,unused-ignore]  # an extra  # noqa: F401  # it sets up its handlers

    levels = {handler: handler.level for name in _LOGGERS for handler in logging.getLogger(name).handlers}
    for handler in levels:
        handler.setLevel(_SILENT)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)


# What runs in a Dask worker. Two functions travel as their code, not as their name: a scheduler reads them too, and need not have
# Searchmark; a worker that lacks it says so when they are called.

_WATCH_SECONDS = 5.0  # seconds between questions whether a client is still there

_watched_clients: set[str] = set()  # clients that this process watches already


def _sendable_task() -> Callable[[bytes, str], bytes]:
    def searchmark_task(package: bytes, client: str) -> bytes:
        from searchmark.executors.dask import perform_task

        return perform_task(package, client)

    return searchmark_task


def _sendable_aside() -> Callable[[bytes], Awaitable[bytes]]:
    """Done in a thread: the event loop of a worker must keep answering, or the worker is taken for dead."""

    async def searchmark_aside(package: bytes) -> bytes:
        import asyncio

        from searchmark.executors.packing import perform

        return await asyncio.to_thread(perform, package)

    return searchmark_aside


def perform_task(package: bytes, client: str) -> bytes:
    """Do a task of a client. One that is killed cannot say that its tasks should stop, and what these have started would stay."""
    from distributed import get_worker

    worker = get_worker()
    worker.loop.add_callback(_stop_when_gone, client, worker.scheduler)
    return perform(package)


async def _stop_when_gone(client: str, scheduler: Any) -> None:
    if client in _watched_clients:
        return
    _watched_clients.add(client)
    with suppress(Exception):  # a scheduler that is gone ends this process; one that takes no questions leaves things as they are
        while await _is_client_connected(client, scheduler):
            await asyncio.sleep(_WATCH_SECONDS)
        stop_tasks_of(client)
    _watched_clients.discard(client)


async def _is_client_connected(client: str, scheduler: Any) -> bool:
    from distributed.protocol.pickle import dumps  # type: ignore[import-not-found,unused-ignore]  # an extra

    def is_connected(dask_scheduler: Any) -> bool:  # it travels as its code, too
        return client in dask_scheduler.clients

    answer = await scheduler.run_function(function=dumps(is_connected))
    return bool(answer["result"])


# How a cluster of this machine is started. Each of its workers loads this module by its name before anything else.

_SAFE_PATH, _OURS = "PYTHONSAFEPATH", "searchmark"

_MAX_LOCAL_LOSSES = 2  # how often a task is tried again by a cluster of ours: so three losses are three

_STANDARD_ERROR = 2


@contextmanager
def _safe_path() -> Iterator[None]:
    """Inside the block, processes that are started as ``python -c`` do not import modules from the working directory."""
    if _SAFE_PATH in os.environ:
        yield
        return
    os.environ[_SAFE_PATH] = _OURS
    try:
        yield
    finally:
        os.environ.pop(_SAFE_PATH, None)


def dask_setup(_: object) -> None:
    """What Dask calls in a worker of a cluster of ours before it starts.

    One that is ended while it starts would print a traceback of Dask's. Nothing is lost: agents have their own streams, and the
    messages of a task come back with its result. Programs that agents start find their modules as usual.
    """
    if os.environ.get(_SAFE_PATH) == _OURS:
        del os.environ[_SAFE_PATH]
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), _STANDARD_ERROR)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Threads and processes that are started inside inherit it: Ctrl-C at a terminal, which tells everybody, is ours."""
    ensure_running()  # Python's resource tracker, which unblocks it when it is started
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _local_cluster(count: int) -> Any:
    from distributed import LocalCluster

    with _without_interrupts():
        return LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=None,  # what agents may use is bounded elsewhere
            silence_logs=_SILENT,
            preload=["searchmark.executors.dask"],
            scheduler_kwargs={"allowed_failures": _MAX_LOCAL_LOSSES},
        )


def _local_settings() -> Mapping[str, object]:
    """What a cluster of ours does differently.

    A worker that died is started again; where that takes long, on a busy machine, the cluster would go on with fewer. And its
    scheduler, which is in this process, would keep the last thousand messages to every worker, with the tasks that are in them.
    """
    return {"distributed.deploy.lost-worker-timeout": "1 hour", "distributed.admin.low-level-log-length": 10}


# The pool: Dask's own executor, with what an executor does not say.

Task = TypeVar("Task")

Result = TypeVar("Result")

_CONNECT_SECONDS = 10.0  # seconds until a scheduler that says nothing is not there

_STOP_SECONDS = 10.0  # seconds until a scheduler that says nothing more is left behind

_STOP_OURS = 60.0  # the same for a cluster of ours, whose workers may just be starting

_ABSENT_SECONDS = 20.0  # seconds without any worker until the user is told

_COUNT_SECONDS = 2.0  # seconds for which the number of threads is taken to stay the same


class DaskPool(ExecutorPool):
    """A pool that is a Dask cluster."""

    def __init__(self, choice: PoolSettings) -> None:
        super().__init__(choice.text)
        self.same_machine = choice.kind == "dask:local"
        self._task, self._aside = _sendable_task(), _sendable_aside()
        self._thread_count: tuple[float, int] = (-_COUNT_SECONDS, 0)
        self._last_with_workers = time.monotonic()
        self._cleanup = ExitStack()
        try:
            self._client = self._connect(choice)
        except BaseException:
            self.stop()
            raise
        self._key = self._client.id
        self._executor = self._client.get_executor(pure=False)

    def _connect(self, choice: PoolSettings) -> Any:
        from dask import config  # type: ignore[import-not-found,unused-ignore]  # an extra
        from distributed import Client

        for context in (_quiet(), _safe_path()):
            self._cleanup.enter_context(context)
        try:
            address: Any = f"{'tls' if choice.text.startswith('dask+tls') else 'tcp'}://{choice.target}"
            if self.same_machine:
                self._cleanup.enter_context(config.set(_local_settings()))
                address = _local_cluster(choice.count)
                self._cleanup.callback(_try, address.close, _STOP_OURS)
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            raise self._absence_error(choice, error) from error
        self._cleanup.callback(_try, client.close, _STOP_SECONDS)
        return client

    def _absence_error(self, choice: PoolSettings, error: Exception) -> PoolGone:
        if self.same_machine:
            return PoolGone(f"a Dask cluster of this machine cannot be started: {error_text(error)}", "use process:N instead")
        if choice.text.startswith("dask+tls"):
            advice = "both ends need Dask's TLS settings"
            return PoolGone(f"no Dask scheduler answers with TLS at {choice.target} ({error_text(error)})", advice)
        return PoolGone(f"no Dask scheduler answers at {choice.target}", "start one with 'dask scheduler', or check the address")

    @property
    def slots(self) -> int:
        """The threads of all workers that are there."""
        when, count = self._thread_count
        if time.monotonic() - when > _COUNT_SECONDS and not self._stopped:
            with suppress(Exception):  # of a scheduler that is gone: the caller that waits for a task gets the error
                count = sum(self._threads().values())
            self._thread_count = (time.monotonic(), count)
            self._note_absence(count)
        return count

    def _threads(self) -> Mapping[str, int]:
        """Of every worker that is there, by its address."""
        threads: Mapping[str, int] = self._client.sync(self._client.nthreads, callback_timeout=_STOP_SECONDS)
        return threads

    def _note_absence(self, count: int) -> None:
        """One that died may be started again, which takes seconds and is nothing to talk about."""
        now = time.monotonic()
        self._last_with_workers = now if count else self._last_with_workers
        if now - self._last_with_workers > _ABSENT_SECONDS:
            note(f"{self.name} has no workers; tasks wait until some come")

    def _hand_over(self, package: bytes, in_vain: int) -> Future[bytes]:
        try:
            future: Future[bytes] = self._executor.submit(self._task, package, self._key, **self._another_worker(in_vain))
        except Exception as error:
            raise self._translate(error) from error
        return future

    def _another_worker(self, in_vain: int) -> dict[str, Any]:
        """One worker after the other: a scheduler with little to do gives the same task to the same worker again and again."""
        with suppress(Exception):  # of a scheduler that is gone: the caller that waits for the task gets the error
            workers = sorted(self._threads()) if in_vain else []
            return {"workers": [workers[in_vain % len(workers)]], "allow_other_workers": True}
        return {}

    def _translate(self, error: BaseException) -> Exception:
        """Dask suspects every task that a worker was to do when it died, also one that was only waiting there."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return ProcessLost("the Dask worker that did it was lost", error.allowed_failures + 1, shared=True)
        if self._client.status != "running":
            return PoolGone(f"the scheduler of {self.name} is gone")
        return PoolGone(f"{self.name} has given up a task ({error_text(error)})")

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result]:
        try:
            replies = self._client.run(self._aside, pack_task(work, task, self._key), on_error="return")
        except Exception as error:
            raise self._translate(error) from error
        for worker, reply in replies.items():
            if isinstance(reply, ImportError | AttributeError | PickleError):
                raise cannot_load_error(reply, f" at {worker}")
        return [unpack_outcome(reply) for reply in replies.values() if isinstance(reply, bytes)]  # others are lost

    def stop(self) -> None:
        """Without waiting for anybody who does not answer."""
        if self._stopped:
            return
        self._stopped = True
        with self._cleanup:
            if self._running and self._client.status == "running":
                stop = self._client.run
                _try(self._client.sync, stop, stop_tasks_of, self._key, on_error="ignore", callback_timeout=_STOP_SECONDS)


def _try(do: Callable[..., object], *arguments: object, **options: object) -> None:
    """Do what may fail with a cluster that is gone, or not end in time."""
    with suppress(Exception):
        do(*arguments, **options)
