"""Peak and present memory of this process alone.

The kernel's ru_maxrss of a child begins with what its parent had at the fork; VmHWM begins with the program itself.
"""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path


def peak_megabytes() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def present_megabytes() -> float:
    """What this process has now, after it has let go of what nobody needs."""
    gc.collect()
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
