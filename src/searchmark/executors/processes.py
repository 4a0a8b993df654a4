"""Processes of our own on this machine. Each does one task at a time; one that dies costs the task that it was doing.

They are started when they are needed, as a program of ours: what the user's own program is, is not run again in them.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from queue import Empty, Queue
from secrets import token_hex
from threading import Barrier, Lock, Thread
from typing import Any, TypeVar

from searchmark.errors import PoolGone, SearchmarkError, UsageError
from searchmark.executors.packing import packed, unpacked
from searchmark.executors.pool import Lost
from searchmark.executors.process_main import GRACE
from searchmark.executors.telling import Telling
from searchmark.files.private_folders import remove_left_folders

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class _Job:
    """A task on its way. Those that every process does once wait for each other, so that none takes two."""

    package: bytes
    on_news: Callable[[Any], None] | None = None
    together: bool = False
    future: Future[Any] = field(default_factory=Future)


class _OwnProcess:
    """A process and our end of its pipe."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        # -P: a file in the working directory must not pass for a module of ours or of Python's.
        command = [sys.executable, "-P", "-m", "searchmark.executors.process_main", str(theirs.fileno())]
        with theirs:
            self._popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])  # noqa: S603  # our own
        self.busy = False
        with suppress(OSError):  # of one that has ended already, which will be seen
            self._connection.send(sys.path)

    def do(self, job: _Job) -> Any:
        self.busy = True
        try:
            self._connection.send((job.package, job.on_news is not None))
            while (said := self._connection.recv())[0]:
                if job.on_news is not None:
                    job.on_news(said[1])
        except (EOFError, OSError):
            raise Lost(self._ending()) from None
        self.busy = False
        return unpacked(said[1])

    def _ending(self) -> str:
        self.end(time.monotonic() + GRACE)
        status = self._popen.returncode
        if status >= 0:
            return f"the process that did it ended with exit code {status}"
        hint = "; there may be too little memory" if status == -signal.SIGKILL else ""
        return f"the process that did it was ended by {signal.Signals(-status).name}{hint}"

    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def tell_to_end(self) -> None:
        self._popen.terminate()

    def end(self, until: float) -> None:
        """Wait for its end, and see to it when the time is up."""
        try:
            self._popen.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def let_go(self) -> None:
        self._connection.close()


class ProcessPool:
    """So many processes, and a thread for each of them, which hands it one task after the other."""

    same_machine = True

    def __init__(self, count: int) -> None:
        self.name = f"process:{count}"
        self.slots = count
        self._key = token_hex(8)
        self._jobs: Queue[_Job | None] = Queue()  # whoever has waited longest is next; a SimpleQueue may forget one for good
        self._together = Barrier(count)
        self._starting = Lock()
        self._stopped = False
        self._processes: dict[int, _OwnProcess] = {}
        self._threads = [Thread(target=self._serve, args=(slot,), daemon=True) for slot in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[Task], Result], task: Task, in_vain: int = 0) -> Future[Result]:  # noqa: ARG002  # they take turns
        """The news of work that has some are heard before its result."""
        on_news = work.listener(task) if isinstance(work, Telling) else None
        return self._submitted(_Job(packed(work, task, self._key), on_news))

    def everywhere(self, work: Callable[[Task], Result], task: Task) -> list[Result]:
        package = packed(work, task, self._key)
        futures = [self._submitted(_Job(package, together=True)) for _ in range(self.slots)]
        return [future.result() for future in futures]

    def _submitted(self, job: _Job) -> Future[Any]:
        if self._stopped:
            raise PoolGone(f"{self.name} has been stopped")
        self._jobs.put(job)
        return job.future

    def _serve(self, slot: int) -> None:
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                try:
                    job.future.set_result(self._done(slot, job))
                except BaseException as error:  # noqa: BLE001  # it belongs to whoever waits for the future
                    job.future.set_exception(error)

    def _done(self, slot: int, job: _Job) -> Any:
        if job.together:
            self._together.wait()
        process = self._process(slot)
        try:
            return process.do(job)
        except Lost:
            self._forget(slot)
            raise

    def _process(self, slot: int) -> _OwnProcess:
        with self._starting:
            if self._stopped:
                raise PoolGone(f"{self.name} has been stopped")
            process = self._processes.get(slot)
            if process is None or process.has_ended():  # one that ended between two tasks has cost nobody anything
                self._processes[slot] = _started()
            return self._processes[slot]

    def _forget(self, slot: int) -> None:
        with self._starting:
            if not self._stopped:
                self._processes.pop(slot).let_go()

    def stop(self) -> None:
        with self._starting:
            self._stopped, stopped = True, self._stopped
        if not stopped:
            self._cancel_waiting()
            busy = _end(list(self._processes.values()))
            for thread in self._threads:
                thread.join()
            for process in self._processes.values():
                process.let_go()
            if busy:
                with suppress(SearchmarkError):  # what made us stop is what the user has to hear
                    remove_left_folders()

    def _cancel_waiting(self) -> None:
        self._together.abort()
        with suppress(Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.future.cancel()
        for _ in self._threads:
            self._jobs.put(None)


def _started() -> _OwnProcess:
    try:
        return _OwnProcess()
    except OSError as error:
        raise UsageError(f"a process cannot be started: {error.strerror}; use fewer of them") from error


def _end(processes: Sequence[_OwnProcess]) -> bool:
    """End them all at once; says whether one of them was at work, and may have left something behind."""
    busy = any(process.busy for process in processes)
    for process in processes:
        process.tell_to_end()
    until = time.monotonic() + GRACE
    for process in processes:
        process.end(until)
    return busy
