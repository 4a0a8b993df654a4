"""Loaded by the workers of a cluster of ours before they start: one that is ended meanwhile would print a traceback of Dask's.

Agents have streams of their own, and what a task has to say comes home with its result.
"""

from __future__ import annotations

import os
from pathlib import Path

STANDARD_ERROR = 2


def dask_setup(_: object) -> None:
    """What Dask calls in the worker."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), STANDARD_ERROR)
