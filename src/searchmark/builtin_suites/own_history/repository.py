"""Find the repository of ``builtin:own-history``: a full clone of Searchmark's own, around here or around the package."""

from __future__ import annotations

import os
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.history.git import ask
from searchmark.history.repository import open_repository

NAME = "searchmark"
LAST_COMMIT = "e6de8e113ce84b049c09084f4a8ef3303fef542a"


def located() -> str:
    """The clone that the working directory lies in, or else that of the package, as ``NAME=PATH``."""
    shallow = None
    for folder in (Path.cwd(), Path(__file__).parent):
        top = _top(folder)
        if top is None:
            continue
        with open_repository(top) as repository:
            if not repository.missing([f"{LAST_COMMIT}^{{commit}}"]) and not repository.shallow:
                return f"{NAME}={top}"
            shallow = shallow or (top if repository.shallow else None)
    here = "there is none here" if shallow is None else f"{shallow} is a shallow one (git fetch --unshallow gets the rest)"
    raise UsageError(
        f"builtin:own-history is searched in a full clone of Searchmark's repository, and {here}; run it inside of one, "
        f"or name one with --repo {NAME}=PATH"
    )


def _top(folder: Path) -> Path | None:
    answer = ask(folder, "rev-parse", "--show-toplevel")
    return None if answer.returncode else Path(os.fsdecode(answer.stdout.removesuffix(b"\n")))
