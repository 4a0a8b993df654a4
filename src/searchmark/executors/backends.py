"""Executors of others: anything that is a `concurrent.futures.Executor`, or returns one.

What a factory has made is ours: it is shut down at the end, and made anew when it is broken. Somebody's instance is not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pickle import PickleError
from secrets import token_hex
from threading import Lock
from typing import Any, TypeVar

from searchmark.errors import PoolGone, UsageError, shortened
from searchmark.executors.choice import CodeChoice
from searchmark.executors.packing import not_loaded, packed, perform, unpacked
from searchmark.executors.pool import Lost
from searchmark.executors.stopping import stop_tasks_of
from searchmark.files.user_code import named_object

Task = TypeVar("Task")
Result = TypeVar("Result")


class ForeignPool:
    """A pool that is somebody's executor."""

    def __init__(self, choice: CodeChoice) -> None:
        self.name = choice.text
        self._found = _loaded(choice)
        self._ours = not isinstance(self._found, Executor)
        self._executor = self._made() if self._ours else self._found
        self._key = token_hex(8)
        self._flying: set[Future[Any]] = set()
        self._lock = Lock()
        self._stopped = False

    @property
    def slots(self) -> int | None:
        """What the executors of Python itself say, and those that are made like them."""
        most = getattr(self._executor, "_max_workers", None)
        return most if isinstance(most, int) and most > 0 else None

    @property
    def same_machine(self) -> bool:
        return type(self._executor) in {ThreadPoolExecutor, ProcessPoolExecutor}

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> None:  # noqa: ARG002  # no executor has a way to do this
        return None

    def submit(self, work: Callable[[Task], Result], task: Task, in_vain: int = 0) -> Future[Result]:  # noqa: ARG002  # no choice
        package = packed(work, task, self._key)
        if self._stopped:
            raise PoolGone(f"{self.name} has been stopped")
        theirs, ours = self._submitted(package), Future[Result]()
        with self._lock:
            self._flying.add(theirs)
        ours.set_running_or_notify_cancel()
        theirs.add_done_callback(lambda done: self._land(done, ours))
        return ours

    def _submitted(self, package: bytes) -> Future[bytes]:
        try:
            return self._executor.submit(perform, package)
        except BrokenExecutor as error:
            if not self._ours:
                raise self._gone(error) from error
            self._executor.shutdown(wait=False)
            self._executor = self._made()
            return self._executor.submit(perform, package)
        except RuntimeError as error:  # it has been shut down, by whoever owns it
            raise self._gone(error) from error

    def _land(self, theirs: Future[bytes], ours: Future[Any]) -> None:
        with self._lock:
            self._flying.discard(theirs)
        try:
            ours.set_result(unpacked(self._bytes(theirs)))
        except BaseException as error:  # noqa: BLE001  # it belongs to whoever waits for the future
            ours.set_exception(error)

    def _bytes(self, theirs: Future[bytes]) -> bytes:
        """What came back. As work raises nothing in there, any exception is about the executor or the process that it used."""
        try:
            return theirs.result()
        except (ImportError, AttributeError, PickleError) as error:
            raise not_loaded(error) from error
        except BrokenExecutor as error:
            raise (Lost(_said(error), shared=True) if self._ours else self._gone(error)) from error
        except CancelledError as error:
            raise self._gone(error) from error
        except Exception as error:
            raise Lost(_said(error)) from error

    def stop(self) -> None:
        with self._lock:
            self._stopped, stopped = True, self._stopped
            flying = list(self._flying)
        if stopped:
            return
        stop_tasks_of(self._key)  # it may use threads of this process
        for future in flying:
            future.cancel()
        if self._ours:
            _shut_down(self._executor, at_work=any(not future.done() for future in flying))

    def _made(self) -> Executor:
        try:
            made = self._found()
        except Exception as error:
            raise UsageError(f"the executor {self.name!r} cannot be made: {_said(error)}") from error
        if not isinstance(made, Executor):
            raise UsageError(f"{self.name!r} returns {type(made).__name__}, which is not a concurrent.futures.Executor")
        return made

    def _gone(self, error: BaseException) -> PoolGone:
        reason = "it has cancelled its tasks" if isinstance(error, CancelledError) else _said(error)
        return PoolGone(f"the executor {self.name!r} is gone ({reason})")


def _loaded(choice: CodeChoice) -> Any:
    try:
        found = named_object(choice.module, choice.attribute)
    except Exception as error:
        raise UsageError(f"the executor {choice.text!r} cannot be loaded: {_said(error)}") from error
    if not isinstance(found, Executor) and not callable(found):
        raise UsageError(f"{choice.text!r} is {type(found).__name__}, neither a concurrent.futures.Executor nor what returns one")
    return found


def _shut_down(executor: Executor, at_work: bool) -> None:
    """Without waiting for tasks that are at work: those of processes are ended, those of threads have been told."""
    processes = list((getattr(executor, "_processes", None) or {}).values()) if isinstance(executor, ProcessPoolExecutor) else []
    executor.shutdown(wait=not at_work, cancel_futures=True)
    for process in processes if at_work else []:
        process.terminate()


def _said(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}", 300)
