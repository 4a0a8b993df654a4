"""Dask as its users start it: a scheduler and workers, processes of their own on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from searchmark.running.worker.process_tree import descendants
from tests.conftest import ROOT
from tests.executors.ending import until

DASK = str(Path(sys.executable).parent / "dask")
HIDING = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"')
# Dask gives up on workers that die while they start, with all others of the same program: whoever runs a cluster starts it again.
AGAIN = ("sh", "-c", 'while :; do "$@"; done', "sh")
TWO_WORKERS = ("--nworkers", "2", "--nthreads", "1")
THREE_WORKERS = ("--nworkers", "3", "--nthreads", "1")


@dataclass(frozen=True)
class Cluster:
    """Where it is, and its processes."""

    executor: str
    scheduler: subprocess.Popen[bytes]
    workers: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        """As Dask has it."""
        return self.executor.replace("dask", "tcp")


@contextmanager
def started(
    folder: Path,
    *,
    workers: tuple[str, ...] | None = TWO_WORKERS,
    path: Path = ROOT,
    scheduler_path: Path = ROOT,
    hidden: Path | None = None,
    **variables: str,
) -> Iterator[Cluster]:
    """A cluster whose workers and whose scheduler import modules from these paths, the workers as `running` has them.

    Without ``workers`` it has none.
    """
    port = free_port()
    with running("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", path=scheduler_path) as scheduler:
        until(lambda: _answers(port))
        if workers is None:
            yield Cluster(f"dask://127.0.0.1:{port}", scheduler, scheduler)
            return
        where = ("--local-directory", str(folder / "workers"), "--no-dashboard")
        more = {"path": path, "hidden": hidden, **variables}
        address = f"tcp://127.0.0.1:{port}"
        with running("worker", address, *workers, *where, again="--no-nanny" not in workers, **more) as processes:
            yield Cluster(f"dask://127.0.0.1:{port}", scheduler, processes)


@contextmanager
def running(
    *arguments: str, path: Path = ROOT, hidden: Path | None = None, again: bool = False, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Dask, in silence; everything that it has started ends with it. A ``hidden`` folder is empty for it."""
    nowhere = subprocess.DEVNULL
    environment = os.environ | {"PYTHONPATH": str(path)} | variables
    command = [*(AGAIN if again else ()), *(() if hidden is None else (*HIDING, str(hidden))), DASK, *arguments]
    with subprocess.Popen(
        command, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=environment, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


def worker_processes(cluster: Cluster) -> list[int]:
    """The processes that do the tasks; above them is one that starts them again when they end."""
    return [pid for pid in descendants(cluster.workers.pid) if b"spawn_main" in _command(pid)]


def agent_processes(cluster: Cluster) -> list[int]:
    """What agents live in, and what keeps them, below all workers."""
    return [pid for pid in descendants(cluster.workers.pid) if b"searchmark.running.worker.main" in _command(pid)]


def known_workers(cluster: Cluster) -> int:
    """How many the scheduler knows of."""
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        return len(client.nthreads())


def waiting_tasks(cluster: Cluster) -> int:
    """How many tasks the scheduler has."""
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        held: int = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        return held


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
