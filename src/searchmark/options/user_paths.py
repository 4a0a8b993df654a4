"""Paths as people write them: a leading ``~`` is their home also where no shell has seen it, as in files and notebooks."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path
from typing import Any

# [NAME=]~…: repositories and runs may be given a name.
_FROM_HOME = re.compile(r"([^=/\\]*=)?(~.*)", re.DOTALL)


def user_text(path: str) -> str:
    """The path, or ``NAME=PATH``, with the home of a user in place of a leading ``~``; a file called so is ``./~``.

    A user that does not exist is no error: then this is a name like any other.
    """
    found = _FROM_HOME.fullmatch(path)
    return path if found is None else (found[1] or "") + os.path.expanduser(found[2])  # noqa: PTH111  # Path would raise


def user_path(path: str | PathLike[str]) -> Path:
    """The same for a path that has no name beside it."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # as above


def expand_paths(record: object, *names: str) -> None:
    """Put the home of a user into fields of a frozen record while it is made: texts, tuples of texts, or nothing."""
    for name in names:
        object.__setattr__(record, name, _expanded(getattr(record, name)))


def _expanded(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_expanded, value))
    return user_text(value) if isinstance(value, str) else value
