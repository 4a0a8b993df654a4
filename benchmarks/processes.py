"""A command as a user types it, watched from outside: its time, its processor time, and the memory of its processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.05  # seconds between two looks
SEARCHMARK = (sys.executable, "-m", "searchmark")


@dataclass
class Watched:
    """What a command took. Peaks are in megabytes: of the command itself, and of the largest process below it."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak: float = 0.0
    worker_peak: float = 0.0
    code: int = 0
    printed: str = field(default="", repr=False)


def watched(
    command: Sequence[str | Path], folder: Path, look: Callable[[float, float], None] = lambda *_: None, **environment: str
) -> Watched:
    """Run a command in a folder; ``look`` is told the memory of the command and of its worker each time that it is looked at."""
    before, start, seen = _children_seconds(), time.perf_counter(), Watched()
    with (folder / "printed.txt").open("w+") as printed:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdout=printed, stderr=printed, env=os.environ | environment
        )
        while process.poll() is None:
            own, below = _memory(process.pid), [_memory(child) for child in _descendants(process.pid)]
            seen.peak = max(seen.peak, own["VmHWM"])
            seen.worker_peak = max([seen.worker_peak, *(each["VmHWM"] for each in below)])
            look(own["VmRSS"], max((each["VmRSS"] for each in below), default=0.0))
            time.sleep(EVERY)
        printed.seek(0)
        seen.printed = printed.read()
    seen.seconds, seen.cpu_seconds, seen.code = time.perf_counter() - start, _children_seconds() - before, process.returncode
    return seen


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(pid: int) -> dict[str, float]:
    """Present and highest memory of a process, 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        lines = []
    named = dict(line.split(":", 1) for line in lines)
    return {name: int(named.get(name, "0 kB").split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}


def _descendants(pid: int) -> Iterator[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return
    for child in children:
        yield child
        yield from _descendants(child)
