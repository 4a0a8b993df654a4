"""The state that a work tree is in: its commit, and whether anything in it is not committed."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.history.git import ask
from searchmark.history.repository import path_text

# What Git remembers of each file in its index: path, time and size.
_REMEMBERED = re.compile(r"([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n.*\n.*\n  size: (\d+)\tflags: [0-9a-f]+\n")


@dataclass(frozen=True)
class RepositoryState:
    """A commit, and whether the work tree differs from it; None if that cannot be said."""

    commit: str
    dirty: bool | None


def repository_state(folder: Path) -> RepositoryState | None:
    """The state of the work tree that a folder belongs to; None if it is none or git is missing.

    Files are told by size and time and never read, since reading them the way Git does would run its filters.
    """
    commit = _said(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    index = _said(folder, "ls-files", "--debug", "-z")
    staged = _said(folder, "diff-index", "--cached", "--name-only", "--ignore-submodules", "-z", "HEAD")
    untracked = _said(folder, "ls-files", "--others", "--exclude-standard", "--directory", "-z")
    if index is None or staged is None or untracked is None:
        return RepositoryState(commit.strip(), None)
    edited = any(_differs(folder / found[1], found) for found in _REMEMBERED.finditer(index))
    return RepositoryState(commit.strip(), edited or bool(staged) or bool(untracked))


def _said(folder: Path, *arguments: str) -> str | None:
    try:
        answer = ask(folder, *arguments)
    except (UsageError, OSError):
        return None
    return path_text(answer.stdout) if answer.returncode == 0 else None


def _differs(path: Path, remembered: re.Match[str]) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return True
    if stat.S_ISDIR(found.st_mode):  # a submodule, which has a state of its own
        return False
    seconds, nanoseconds, size = (int(remembered[group]) for group in (2, 3, 4))
    return (found.st_size, found.st_mtime_ns) != (size, seconds * 10**9 + nanoseconds)
