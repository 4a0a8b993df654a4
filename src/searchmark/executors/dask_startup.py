"""How the processes of Dask start on this machine: without files of the working directory, and in silence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAFE_PATH, OURS = "PYTHONSAFEPATH", "searchmark"
STANDARD_ERROR = 2


@contextmanager
def safe_start() -> Iterator[None]:
    """Meanwhile a file of the working directory cannot pass for a module of Python's, in what others start as ``python -c``."""
    if SAFE_PATH in os.environ:
        yield
        return
    os.environ[SAFE_PATH] = OURS
    try:
        yield
    finally:
        os.environ.pop(SAFE_PATH, None)


def dask_setup(_: object) -> None:
    """What Dask calls in a worker of a cluster of ours before it starts.

    One that is ended meanwhile would print a traceback of Dask's; agents have streams of their own, and what a task has to say
    comes home with its result. Programs that agents start find their modules as ever.
    """
    if os.environ.get(SAFE_PATH) == OURS:
        del os.environ[SAFE_PATH]
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), STANDARD_ERROR)
