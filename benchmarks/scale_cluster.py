"""A Dask cluster of many workers on one machine: a real scheduler, and workers that are played, many in one process.

    python benchmarks/scale_cluster.py tcp://127.0.0.1:8786 25

is a process with 25 workers in one event loop. Each is a whole Dask worker with a connection, a heartbeat and a thread of its own,
which gets its tasks from the scheduler and does them as any other. They are cheap because what they are given is to sleep, and
because they do not watch themselves: a worker looks at itself a hundred times a second, which many in one process cannot afford.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import dask
import psutil
from distributed import Client, Worker

PROCESSES = 4
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "5s",
}
FORGETFUL = {
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "10"
}  # a scheduler keeps the last 1000 messages to every worker, with tasks
PATIENCE = 120.0  # seconds until all workers are there


@dataclass(frozen=True)
class Cluster:
    """A scheduler with so many workers."""

    address: str
    scheduler: psutil.Process
    workers: int

    @property
    def executor(self) -> str:
        return f"dask://{self.address.removeprefix('tcp://')}"

    def scheduler_seconds(self) -> float:
        """Of processor time."""
        used = self.scheduler.cpu_times()
        return used.user + used.system

    def scheduler_megabytes(self) -> float:
        """At most."""
        lines = Path(f"/proc/{self.scheduler.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[Cluster]:
    """As long as it is needed, with all of its workers."""
    with ExitStack() as until_the_end:
        file = folder / f"scheduler-{workers}.json"
        program = Path(sys.executable).with_name("dask")
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file]
        scheduler = until_the_end.enter_context(_started([program, "scheduler", *options]))
        address = _address(file)
        shares = [workers // PROCESSES + (number < workers % PROCESSES) for number in range(PROCESSES)]
        for share in shares:
            until_the_end.enter_context(_started([sys.executable, __file__, address, share]))
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=PATIENCE)
        yield Cluster(address, scheduler, workers)


@contextmanager
def _started(command: list[str | Path | int]) -> Iterator[psutil.Process]:
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(each) for each in command], env=FORGETFUL | os.environ, **silent)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _address(file: Path) -> str:
    """Written by the scheduler when it is there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if file.exists() and file.stat().st_size:
            address: str = json.loads(file.read_text())["address"]
            return address
        time.sleep(0.05)
    raise TimeoutError(file)


async def play(address: str, workers: int) -> None:
    """Be so many workers until the scheduler is gone."""
    playing = await asyncio.gather(*(Worker(address, nthreads=1, memory_limit=0, dashboard=False) for _ in range(workers)))
    await asyncio.gather(*(worker.finished() for worker in playing))


if __name__ == "__main__":
    with dask.config.set(UNWATCHED):
        asyncio.run(play(sys.argv[1], int(sys.argv[2])))
