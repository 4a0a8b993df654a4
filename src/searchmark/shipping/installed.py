"""Which version of Searchmark a process runs: a run takes place in one version alone."""

from __future__ import annotations

import hashlib
import platform
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from searchmark.errors import UsageError


@dataclass(frozen=True)
class Installed:
    """What is installed. Two copies of one version may differ, as checkouts do, hence the digest of all code."""

    version: str
    python: str
    code: str


@cache
def installed() -> Installed:
    """What this process runs."""
    from importlib.metadata import version

    seen, folder = hashlib.sha256(), Path(__file__).parents[1]
    for file in sorted(folder.rglob("*.py")):
        seen.update(f"{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes())
    return Installed(version("searchmark"), ".".join(platform.python_version_tuple()[:2]), seen.hexdigest())


def refuse_other_version(wanted: Installed) -> None:
    """A worker with another version would give other answers, or the same ones by chance."""
    here, host = installed(), socket.gethostname()
    if here == wanted:
        return
    if here.python != wanted.python:
        raise UsageError(f"{host} has Python {here.python}, not {wanted.python}; use the same one everywhere")
    what = f"Searchmark {here.version}, not {wanted.version}" if here.version != wanted.version else "other code of Searchmark"
    raise UsageError(f"{host} has {what}; install the same one everywhere")
