"""Process families: who descends from whom, how much memory they take, and how to end all of them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LINUX = sys.platform == "linux"

_PR_SET_PDEATHSIG = 1

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4

_ARG_START, _ARG_END = 45, 46  # fields of /proc/PID/stat, counted from the one after the name

_PR_SET_CHILD_SUBREAPER = 36

TOKEN = "SEARCHMARK_WORKER"  # noqa: S105  # the name of a variable that marks a family, no secret

PATIENCE = 10.0

GENERATIONS = 4  # from whatever we have started to the worker, at most

_BLUR = 4 << 20  # bytes by which two accounts of the same memory differ: the kernel adds up in steps


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends. Elsewhere than on Linux they go to init."""
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends, however it ends."""
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before it could be asked
        os._exit(1)


@contextmanager
def hide_memory_meanwhile() -> Iterator[None]:
    """Meanwhile no other process of this user may read our memory, environment and open files; root may, whatever we do."""
    if not LINUX:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    before = libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_DUMPABLE, before, 0, 0, 0)


def hide_memory_for_good() -> None:
    """From here on no other process of this user may read or change this one, nor open its files; root may, whatever we do."""
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def hide_arguments(title: str) -> None:
    """Overwrite the command line that every process can read: it names the gold set. Ours has been read by now."""
    if not LINUX:
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        text = title.encode()[: end - start - 1]
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def parent_of_each_process() -> dict[int, int]:
    """The parent of every process there is."""
    if not LINUX:
        listing = subprocess.run(["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        return {int(pid): int(parent) for pid, parent in (line.split() for line in listing.splitlines())}
    parents = {}
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name of a program may hold blanks and brackets; what follows its last bracket cannot.
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return parents


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  # twice as fast as Path


def descendants(ancestor: int) -> list[int]:
    """All processes below one, the nearest first."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_of_each_process().items():
        children.setdefault(parent, []).append(pid)
    family: list[int] = []
    waiting = [ancestor]
    while waiting:
        below = children.get(waiting.pop(), [])
        family += below
        waiting += below
    return family


def kill_descendants(ancestor: int) -> None:
    """Kill every process below one, those that are born meanwhile included."""
    deadline = time.monotonic() + PATIENCE
    while (victims := descendants(ancestor)) and time.monotonic() < deadline:
        for pid in victims:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if ancestor == os.getpid():
            reap()
        else:
            time.sleep(0.001)


def wait_for_core(ancestor: int) -> int | None:
    """Nanoseconds that a worker was ready to run and had to wait, by the kernel's account; None where it keeps none.

    The worker is the eldest process below its keeper, which may be below a sandbox: of the eldest ones the most is taken.
    """
    waits = [_schedule_wait(f"/proc/{pid}/schedstat") for pid in _eldest_line(ancestor)]
    known_waits = [wait for wait in waits if wait is not None]
    return max(known_waits, default=None)


def own_wait_for_core() -> int:
    """The same of the thread that asks; 0 where nobody knows."""
    return _schedule_wait("/proc/thread-self/schedstat") or 0


def wait_for_core_of_other_threads() -> int:
    """The same of the other threads of this process."""
    try:
        threads = os.listdir("/proc/self/task")  # noqa: PTH208  # as above
    except OSError:
        return 0
    return sum(_schedule_wait(f"/proc/self/task/{thread}/schedstat") or 0 for thread in threads) - own_wait_for_core()


def _eldest_line(ancestor: int) -> list[int]:
    """The eldest child, its eldest child, and so on: pids grow, and nobody is older than the first."""
    line: list[int] = []
    below = children(ancestor)
    while below and len(line) < GENERATIONS:
        line.append(min(below))
        below = children(line[-1])
    return line


def children(pid: int) -> list[int]:
    """The children of a process: asked of itself where the kernel knows, since looking at all processes takes milliseconds."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  # as above
        return [int(child) for thread in threads for child in _read_proc_file(f"/proc/{pid}/task/{thread}/children").split()]
    except OSError:
        return [child for child, parent in parent_of_each_process().items() if parent == pid]


def _read_proc_file(file: str) -> bytes:
    with open(file, "rb", buffering=0) as stream:  # noqa: PTH123  # twice as fast as Path
        return stream.readall()


def _schedule_wait(file: str) -> int | None:
    try:
        return int(Path(file).read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return None


def reap() -> dict[int, int]:
    """Bury the dead; how each of them ended."""
    statuses = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            statuses[pid] = status
    return statuses


def kill_by_token(token: str) -> None:
    """Kill what carries this mark in its environment: a family that has lost its keeper."""
    if not LINUX:
        return
    mark = f"{TOKEN}={token}".encode()
    for pid in _pids():
        with contextlib.suppress(OSError):
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)


def describe_exit(status: int) -> str:
    """The end of a process in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(number).name}"
        return f"was killed by signal {number}"
    return f"exited with code {os.waitstatus_to_exitcode(status)}"


def peak_memory_bytes() -> int | None:
    """The most memory that this process has had at a time, and beside it the largest of all that it has started, in bytes."""
    own = _peak_of("self") if LINUX else _peak_by_usage(children=False)
    return None if own is None else own + max(_largest_alive(), _largest_ended(own))


def _largest_alive() -> int:
    """Of the descendants that are there now; elsewhere than on Linux, and under Landlock, they are known once they have ended."""
    with contextlib.suppress(OSError):
        return max((_peak_of(pid) or 0 for pid in _peak_below(os.getpid())), default=0) if LINUX else 0
    return 0


def _peak_below(ancestor: int) -> Iterator[int]:
    for child in children(ancestor):
        yield child
        yield from _peak_below(child)


def _largest_ended(own: int) -> int:
    """Of the descendants that have ended and were waited for.

    A process begins as a copy of the one that starts it, and the kernel counts that. So one that is no larger than we are may
    have been of any size, and is not counted.
    """
    peak = _peak_by_usage(children=True)
    return peak if peak > own + _BLUR else 0


def _peak_of(pid: int | str) -> int | None:
    with contextlib.suppress(OSError):
        for line in _read_proc_file(f"/proc/{pid}/status").splitlines():
            if line.startswith(b"VmHWM"):
                return int(line.split()[1]) * 1024
    return None


def _peak_by_usage(*, children: bool) -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def limit_memory(megabytes: int) -> None:
    """Refuse this process more memory of its own than this; an allocation beyond it fails."""
    import resource

    size = megabytes << 20
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
