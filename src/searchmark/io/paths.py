"""Through all folders below one, however deep they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path


def walk(top: str | Path, onerror: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives, to any depth: before Python 3.12 that one calls itself for every level."""
    waiting = [os.fspath(top)]
    while waiting:
        parent = waiting.pop()
        try:
            with os.scandir(parent) as found:
                entries = [(entry.name, _is_folder(entry)) for entry in found]
        except OSError as error:
            if onerror is not None:
                onerror(error)
            continue
        folders = [name for name, is_folder in entries if is_folder]
        yield parent, folders, [name for name, is_folder in entries if not is_folder]
        below = [os.path.join(parent, name) for name in reversed(folders)]  # noqa: PTH118  # there may be many
        waiting += [path for path in below if not os.path.islink(path)]  # noqa: PTH114  # as above


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False
