"""Our own folder in a project: Git does not see what is in it."""

from __future__ import annotations

from pathlib import Path

from searchmark.files.store import atomic_write
from searchmark.options.experiment_options import OUR_FOLDER


def keep_out_of_git(folder: Path) -> None:
    """Have Git ignore our folder, once it is there; a folder of another name is the user's."""
    ignore = folder / ".gitignore"
    if folder.name == OUR_FOLDER and not ignore.exists():
        with atomic_write(ignore, private=True) as file:
            file.write(b"*\n")
