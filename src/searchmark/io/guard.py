"""Whether the cache is guarded in this process. Kept light: workers load it before they are confined."""

from __future__ import annotations

import os
from functools import cache

GUARD_VARIABLE = "SEARCHMARK_GUARD"  # the number of a file that the runner opened before any code of others was started


@cache
def guard_file() -> int | None:
    """The file that the runner has given to this worker, if any; what a worker starts does not get it."""
    number = os.environ.get(GUARD_VARIABLE)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return int(number)


def guard_start() -> int | None:
    """When the guard began; whatever has changed since may be the work of others. None without one."""
    file = guard_file()
    return None if file is None else change_time(file)


def change_time(descriptor: int) -> int:
    """When a file was last written, renamed or touched, in nanoseconds, which nobody but the kernel can set."""
    return os.fstat(descriptor).st_ctime_ns
