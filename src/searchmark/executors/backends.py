"""Pools: processes of ours, and executors that users bring. Dask's pool is loaded by name from `ext`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import Pipe
from pickle import PickleError
from threading import Barrier, Lock
from typing import Any, TypeVar

from searchmark.errors import PoolGone, SearchmarkError, UsageError
from searchmark.executors.packing import cannot_load_error, error_text, pack_task, perform, stop_tasks_of, unpack_outcome
from searchmark.executors.pool import Hear, PoolSettings, ProcessLost, TaskPool
from searchmark.executors.process_main import GRACE
from searchmark.io.folders import remove_abandoned_folders
from searchmark.io.plugins import import_object, load_code

Task = TypeVar("Task")

Result = TypeVar("Result")


# From settings to a pool; what is not chosen is not imported.


@contextmanager
def open_executor(choice: PoolSettings) -> Iterator[TaskPool]:
    """A pool that is stopped at the end, however that comes."""
    pool = _make_pool(choice)
    try:
        yield pool
    finally:
        pool.stop()


def _make_pool(choice: PoolSettings) -> TaskPool:
    if choice.kind == "process":
        return ProcessPool(choice.count)
    if choice.kind == "code":
        return CustomPool(choice)
    dask: TaskPool = load_code("searchmark.executors.dask:DaskPool")(choice)
    return dask


# Tasks on any `concurrent.futures.Executor`: as bytes, there and back.


class ExecutorPool(TaskPool):
    """What pools have in common that hand their tasks to an executor."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._running: set[Future[bytes]] = set()

    def _start(self, package: bytes, in_vain: int, hear: Hear | None) -> Future[Any]:  # noqa: ARG002  # what is told stays there
        theirs, ours = self._hand_over(package, in_vain), Future[Any]()
        ours.set_running_or_notify_cancel()
        self._running.add(theirs)
        theirs.add_done_callback(partial(self._finish, ours))
        return ours

    def _hand_over(self, package: bytes, in_vain: int) -> Future[bytes]:
        raise NotImplementedError

    def _finish(self, ours: Future[Any], theirs: Future[bytes]) -> None:
        """Pass on what came back. As work raises nothing in there, any exception is about the executor or one of its processes."""
        self._running.discard(theirs)
        try:
            reply = theirs.result()
        except (ImportError, AttributeError, PickleError) as error:
            ours.set_exception(cannot_load_error(error))
        except (Exception, CancelledError) as error:  # noqa: BLE001  # raised again where the future is waited for
            ours.set_exception(self._translate(error))
        else:
            try:
                ours.set_result(unpack_outcome(reply))
            except Exception as error:  # noqa: BLE001  # likewise
                ours.set_exception(error)

    def _translate(self, error: BaseException) -> Exception:
        """What an error of the executor means: `ProcessLost` or `PoolGone`."""
        raise NotImplementedError


class CustomPool(ExecutorPool):
    """A pool that is somebody's executor.

    What a factory has made is ours: it is shut down at the end, and made anew when it is broken. Somebody's instance is not.
    """

    def __init__(self, choice: PoolSettings) -> None:
        super().__init__(choice.text)
        self._executor_or_factory = _load_executor(choice)
        self._ours = not isinstance(self._executor_or_factory, Executor)
        self._executor = self._make_executor() if self._ours else self._executor_or_factory
        self.same_machine = type(self._executor) in {ThreadPoolExecutor, ProcessPoolExecutor}

    @property
    def slots(self) -> int | None:
        """What the executors of Python itself say, and those that are made like them."""
        most = getattr(self._executor, "_max_workers", None)
        return most if isinstance(most, int) and most > 0 else None

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> None:  # noqa: ARG002  # no executor has a way to do this
        return None

    def _hand_over(self, package: bytes, in_vain: int) -> Future[bytes]:  # noqa: ARG002  # there is no choice
        try:
            return self._executor.submit(perform, package)
        except BrokenExecutor as error:
            if not self._ours:
                raise self._gone_error(error) from error
            self._executor.shutdown(wait=False)
            self._executor = self._make_executor()
            return self._executor.submit(perform, package)
        except RuntimeError as error:  # its owner has shut it down
            raise self._gone_error(error) from error

    def _translate(self, error: BaseException) -> Exception:
        if isinstance(error, CancelledError) or (isinstance(error, BrokenExecutor) and not self._ours):
            return self._gone_error(error)
        return ProcessLost(error_text(error), shared=isinstance(error, BrokenExecutor))

    def stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        stop_tasks_of(self._key)  # it may use threads of this process
        futures = self._running.copy()
        for future in futures:
            future.cancel()
        if self._ours:
            _shut_down(self._executor, at_work=any(not future.done() for future in futures))

    def _make_executor(self) -> Executor:
        try:
            executor = self._executor_or_factory()
        except Exception as error:
            raise UsageError(f"the executor {self.name!r} cannot be made: {error_text(error)}") from error
        if not isinstance(executor, Executor):
            raise UsageError(f"{self.name!r} returns {type(executor).__name__}, which is not a concurrent.futures.Executor")
        return executor

    def _gone_error(self, error: BaseException) -> PoolGone:
        reason = "it has cancelled its tasks" if isinstance(error, CancelledError) else error_text(error)
        return PoolGone(f"the executor {self.name!r} is gone ({reason})")


def _load_executor(choice: PoolSettings) -> Any:
    module, _, attribute = choice.target.rpartition(":")
    try:
        value = import_object(module, attribute)
    except Exception as error:
        raise UsageError(f"the executor {choice.text!r} cannot be loaded: {error_text(error)}") from error
    if not isinstance(value, Executor) and not callable(value):
        raise UsageError(f"{choice.text!r} is {type(value).__name__}, neither a concurrent.futures.Executor nor what returns one")
    return value


def _shut_down(executor: Executor, at_work: bool) -> None:
    """Without waiting for tasks that are at work: those of processes are ended, those of threads have been told."""
    processes = list((getattr(executor, "_processes", None) or {}).values()) if isinstance(executor, ProcessPoolExecutor) else []
    executor.shutdown(wait=not at_work, cancel_futures=True)
    for process in processes if at_work else []:
        process.terminate()


# Processes of our own on this machine. Each does one task at a time; one that dies costs the task that it was doing.
#
# A ProcessPoolExecutor of Python's would break as a whole with one of them, without saying how it ended; its processes run the
# user's own program once more, take a signal that ends them for an error of their task, and outlive a parent that was killed. That
# of loky does not run the program again, and has the other three faults.


class _Process:
    """A program of ours, started when it is needed, and our end of its pipe."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        # -P: a file in the working directory must not pass for a module of ours or of Python's.
        command = [sys.executable, "-P", "-m", "searchmark.executors.process_main", str(theirs.fileno())]
        with theirs:
            self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])  # noqa: S603  # our own
        self.busy = False
        with suppress(OSError):  # of one that has ended already, which will be seen
            self._connection.send(sys.path)

    def perform(self, package: bytes, hear: Hear | None) -> bytes:
        self.busy = True
        try:
            self._connection.send_bytes(package)
            while (message := self._connection.recv())[0]:
                if hear is not None:
                    hear(message[1])
        except (EOFError, OSError):
            self._connection.close()
            raise ProcessLost(self._ending()) from None
        self.busy = False
        outcome: bytes = message[1]
        return outcome

    def _ending(self) -> str:
        status = self.end(time.monotonic() + GRACE)
        if status >= 0:
            return f"the process that did it ended with exit code {status}"
        hint = "; there may be too little memory" if status == -signal.SIGKILL else ""
        return f"the process that did it was ended by {signal.Signals(-status).name}{hint}"

    def end(self, until: float) -> int:
        """Wait for its end, and kill it when the time is up or nobody wants to wait any more."""
        try:
            with suppress(subprocess.TimeoutExpired):
                self.popen.wait(max(0.0, until - time.monotonic()))
        finally:
            self.popen.kill()  # does nothing to one that has ended
        return self.popen.wait()


class ProcessPool(TaskPool):
    """So many processes, and as many threads, each of which waits for one of them at a time."""

    same_machine = True

    def __init__(self, count: int) -> None:
        super().__init__(f"process:{count}")
        self._count = count
        self._threads = ThreadPoolExecutor(count)
        self._idle: deque[_Process | None] = deque([None] * count)  # the longest waiter is next, so that none is forgotten
        self._processes: list[_Process] = []
        self._barrier = Barrier(count)
        self._lock = Lock()

    @property
    def slots(self) -> int:
        return self._count

    def _start(self, package: bytes, in_vain: int, hear: Hear | None) -> Future[Any]:  # noqa: ARG002  # they take turns
        return self._threads.submit(self._perform, package, hear)

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result]:
        package = pack_task(work, task, self._key)
        self._refuse_stopped()
        futures = [self._threads.submit(self._perform, package, together=True) for _ in range(self._count)]
        return [future.result() for future in futures]

    def _perform(self, package: bytes, hear: Hear | None = None, *, together: bool = False) -> Any:
        process = self._idle.popleft()  # there are as many as threads
        try:
            if together:  # each of them waits for the others, so that no process does two
                self._barrier.wait()
            process = self._alive(process)
            return unpack_outcome(process.perform(package, hear))
        finally:
            self._idle.append(process)

    def _alive(self, process: _Process | None) -> _Process:
        """The process, or a new one: one that ended between two tasks has cost nobody anything."""
        with self._lock:
            self._refuse_stopped()
            if process is None or process.popen.poll() is not None:
                try:
                    process = _Process()
                except OSError as error:
                    raise UsageError(f"a process cannot be started: {error.strerror}; use fewer of them") from error
                self._processes = [each for each in self._processes if each.popen.poll() is None] + [process]
            return process

    def stop(self) -> None:
        with self._lock:
            self._stopped, already = True, self._stopped
        if already:
            return
        with ExitStack() as ends:  # also of somebody who will not wait for them
            for process in self._processes:
                ends.callback(process.end, time.monotonic() + GRACE)
            self._barrier.abort()
            self._threads.shutdown(wait=False, cancel_futures=True)
            busy = any(process.busy for process in self._processes)
            for process in self._processes:
                process.popen.terminate()
        self._threads.shutdown()
        if busy:  # one of them may have left something behind
            with suppress(SearchmarkError):  # what made us stop is what the user has to hear
                remove_abandoned_folders()
