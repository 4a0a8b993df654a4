"""New files of a project: all of them are written, or none, and what was there before is there again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.store import atomic_write, open_stored
from searchmark.starting.project import RESULTS

LARGEST_IGNORE = 1 << 20  # bytes
IGNORE = ".gitignore"
_IGNORED = f"{RESULTS}/"


@dataclass(frozen=True)
class NewFile:
    """A file by its path from the top of the project, and what it is for; ``grows`` is one that may be there already."""

    path: str
    content: bytes
    purpose: str
    grows: bool = False


def ignoring_results(folder: Path) -> NewFile | None:
    """The list of what Git ignores with the folder of results added; None where it is in it already."""
    path = folder / IGNORE
    before = b""
    if os.path.lexists(path):
        with open_stored(path) as file:
            before = file.read(LARGEST_IGNORE + 1)
    if len(before) > LARGEST_IGNORE:
        raise UsageError(f"{path} is larger than {LARGEST_IGNORE >> 20} MiB; add {_IGNORED} to it, and try again with less in it")
    if any(line.strip().strip(b"/") == RESULTS.encode() for line in before.splitlines()):
        return None
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    return NewFile(IGNORE, before + gap + f"{_IGNORED}\n".encode(), f"has {_IGNORED}, where reports go", grows=True)


def refuse_existing(folder: Path, paths: Sequence[str]) -> None:
    """Refuse to write over what is there."""
    there = [path for path in paths if os.path.lexists(folder / path)]
    if there:
        them = "it" if len(there) == 1 else "them"
        verb = "is" if len(there) == 1 else "are"
        raise UsageError(f"{', '.join(there)} {verb} there already, so nothing was written; --force replaces {them}")


def write_all(folder: Path, files: Sequence[NewFile]) -> None:
    """Write every file, or put everything back as it was; Ctrl-C is a reason like any other."""
    for file in files:
        _refuse_leading_out(folder, folder / file.path)
    before = {file.path: _content(folder / file.path) for file in files}
    made = list(dict.fromkeys(_missing_folders(folder, files)))
    try:
        for file in files:
            with atomic_write(folder / file.path) as written:
                written.write(file.content)
    except BaseException:
        for path, content in before.items():
            _put_back(folder / path, content)
        for path in sorted(made, reverse=True):
            with suppress(OSError):  # it was not made, or something else is in it
                (folder / path).rmdir()
        raise


def _refuse_leading_out(folder: Path, path: Path) -> None:
    """A project of others may come with links of any kind."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)) or path.is_symlink():
        raise UsageError(f"{path} is a link or leads out of {folder}, so nothing was written; remove it first")


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _missing_folders(folder: Path, files: Sequence[NewFile]) -> Iterator[str]:
    for file in files:
        yield from (str(parent) for parent in Path(file.path).parents if not (folder / parent).is_dir())


def _put_back(path: Path, content: bytes | None) -> None:
    with suppress(OSError):
        if content is None:
            path.unlink(missing_ok=True)
        elif path.read_bytes() != content:
            with atomic_write(path) as file:
                file.write(content)
