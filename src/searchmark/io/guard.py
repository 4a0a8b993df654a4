"""Whether caches are guarded here: the process is a worker of a built-in agent, and code of others runs beside it."""

from __future__ import annotations

import os
from functools import cache

GUARD = "SEARCHMARK_GUARD"  # the number of an open file, written before any of that code was started


@cache
def guard_file() -> int | None:
    """The file that the runner has given to this worker, if any; what a worker starts does not get it."""
    number = os.environ.get(GUARD)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return int(number)


def guarded_since() -> int | None:
    """When the guard began; whatever has changed since may be the work of others. None without one."""
    file = guard_file()
    return None if file is None else changed_at(file)


def changed_at(descriptor: int) -> int:
    """When a file was last written, renamed or touched, in nanoseconds, which nobody but the kernel can set."""
    return os.fstat(descriptor).st_ctime_ns
