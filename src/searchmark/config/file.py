"""The config that applies without being named: looked for from the working directory upwards, and obeyed only if it is the user's.

A project is the repository that the working directory lies in, or else that directory alone. A file above it, or one that
another user owns or may write, might be a stranger's: such a file is refused, not skipped, since it may as well be
the user's own.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from searchmark.config.parsing import PROJECT_FILE, project_section
from searchmark.config.sections import Config
from searchmark.errors import FormatError, UsageError
from searchmark.files.text_encoding import strict_text
from searchmark.files.toml_files import parse_toml

LARGEST = 1 << 20  # bytes of a config; others may have put a larger file there to be read
BENCHMARK_FILE = "benchmark_config.yaml"
NAMES = ("searchmark.yaml", "searchmark.yml", "searchmark.toml", BENCHMARK_FILE, PROJECT_FILE)
_SHARED = (BENCHMARK_FILE, PROJECT_FILE)  # names that files of other programs have too
_SECTION = re.compile(rb"^([A-Za-z_][\w-]*)[ \t]*:", re.MULTILINE)  # of YAML: a key at the beginning of a line


@dataclass(frozen=True)
class FoundConfig:
    """A config that may be obeyed: its file, its text, and the project that it is about."""

    file: Path
    text: str
    project: Path


def find_config(folder: Path) -> FoundConfig | None:
    """The nearest one, or None; one that may be a stranger's is refused."""
    project = _project_of(folder)
    for parent in (folder, *folder.parents):
        for file in (parent / name for name in NAMES):
            content = _content(file)
            if content is not None:
                return FoundConfig(file, _trusted(file, content, project), project)
    return None


def _project_of(folder: Path) -> Path:
    """The top of the repository, whose ``.git`` is a file in a worktree or a submodule."""
    return next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), folder)


@dataclass(frozen=True)
class _Opened:
    """What a file was when it was read, all from one descriptor."""

    content: bytes
    status: os.stat_result


def _content(file: Path) -> _Opened | None:
    """The file, if it is there and about us. A pipe is opened without waiting for its other end, and read no further."""
    if not os.path.lexists(file):
        return None
    try:
        opened = _opened(file)
    except OSError as error:
        if file.name in _SHARED:
            return None
        raise _refusal(file, f"cannot be read ({error.strerror})") from error
    return opened if file.name not in _SHARED or _is_ours(file.name, opened.content) else None


def _opened(file: Path) -> _Opened:
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return _Opened(b"", status)
        with open(handle, "rb", closefd=False) as reader:  # a descriptor, whose status is known
            return _Opened(reader.read(LARGEST + 1), status)
    finally:
        os.close(handle)


def _is_ours(name: str, content: bytes) -> bool:
    """Whether a file whose name does not tell is meant for us."""
    return _is_benchmark(content) if name == BENCHMARK_FILE else _is_project(content)


def _is_benchmark(content: bytes) -> bool:
    """Whether it lists agents, and has no section that we do not have. It is not parsed for that: if it is broken, that is told."""
    found = {name.decode() for name in _SECTION.findall(content[:LARGEST])}
    return "agents" in found and found <= {each.name for each in fields(Config)}


def _is_project(content: bytes) -> bool:
    """Whether a project file has something for us; one that is broken is not our business."""
    if b"searchmark" not in content or len(content) > LARGEST:  # most have nothing, and need not be understood for that
        return False
    try:
        return bool(project_section(parse_toml(Path(PROJECT_FILE), strict_text(PROJECT_FILE, content))))
    except FormatError:
        return False


def _trusted(file: Path, opened: _Opened, project: Path) -> str:
    for reason in _doubts(file, opened.status, project):
        raise _refusal(file, reason)
    return strict_text(file, opened.content)


def _doubts(file: Path, status: os.stat_result, project: Path) -> Iterator[str]:
    """Why a file may not be the user's own, the plainest reason first."""
    if not stat.S_ISREG(status.st_mode):
        yield "is not a regular file"
    if status.st_size > LARGEST:
        yield f"is larger than {LARGEST >> 20} MiB"
    if not file.is_relative_to(project):
        yield f"lies above the project {project}"
    target = Path(os.path.realpath(file))
    if not target.is_relative_to(os.path.realpath(project)):
        yield f"is a link to {target}, outside of the project {project}"
    if not os.path.samestat(target.stat(), status):
        yield "was replaced while it was read"
    if sys.platform != "win32":
        if status.st_uid != os.geteuid():
            yield "belongs to a different user"
        if status.st_mode & stat.S_IWOTH:
            yield "may be written by every user"
        if status.st_mode & stat.S_IWGRP and status.st_gid != _own_group():
            yield "may be written by a group that is not your primary one"


def _own_group() -> int:
    """The group that the account of this user has by default, whatever group this process was started with."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_gid
    except KeyError:  # a user without an account, as in containers
        return os.getgid()


def _refusal(file: Path, reason: str) -> UsageError:
    return UsageError(
        f"the config {file} was found and {reason}, so it is not obeyed: say --config {file} if you trust it, or --no-config"
    )
