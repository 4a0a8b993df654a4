"""Paths and addresses as people write them, and a walk of any depth."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

# Through all folders below one, however deep they are.


def walk(top: str | Path, onerror: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives, to any depth: before Python 3.12 that one calls itself for every level."""
    waiting = [os.fspath(top)]
    while waiting:
        parent = waiting.pop()
        try:
            with os.scandir(parent) as listing:
                entries = [(entry.name, _is_folder(entry)) for entry in listing]
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


# Data that lies elsewhere is named by its address, and told from a path by how that begins.

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: one is a drive


def is_address(text: object) -> bool:
    """Whether a text is the address of something, as ``https://host/corpus.jsonl``; whether it may be used is not said."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None


# Paths as people write them: a leading ``~`` is their home also where no shell has seen it, as in files and notebooks.

# [NAME=]~…: repositories and runs may be given a name.
_FROM_HOME = re.compile(r"([^=/\\]*=)?(~.*)", re.DOTALL)


def user_text(path: str) -> str:
    """The path, or ``NAME=PATH``, with the home of a user in place of a leading ``~``; a file called so is ``./~``.

    A user that does not exist is no error: then this is a name like any other.
    """
    match = _FROM_HOME.fullmatch(path)
    return path if match is None else (match[1] or "") + os.path.expanduser(match[2])  # noqa: PTH111  # Path would raise


def user_path(path: str | PathLike[str]) -> Path:
    """The same for a path that has no name beside it."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # as above


def expand_paths(record: object, *names: str) -> None:
    """Put the home of a user into fields of a frozen record while it is made: texts, tuples of texts, or nothing."""
    for name in names:
        object.__setattr__(record, name, _expand_value(getattr(record, name)))


def _expand_value(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_expand_value, value))
    return user_text(value) if isinstance(value, str) else value
