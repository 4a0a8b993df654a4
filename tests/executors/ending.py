"""Programs that use a pool, and what becomes of them and of their processes when they are ended."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from tests.conftest import ROOT

LONGEST = 120.0


def until(condition: Callable[[], bool]) -> None:
    """Come back when something is so, without keeping a processor busy that others need to bring it about."""
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline
        Event().wait(0.005)


@contextmanager
def program(executor: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The program with two slow tasks at work, in a process group of its own, as a shell would start it."""
    command = [sys.executable, "-m", "tests.executors.program", executor, str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    ) as process:
        until(lambda: (folder / "slow-2").exists() and (folder / "slow-4").exists())
        yield process
