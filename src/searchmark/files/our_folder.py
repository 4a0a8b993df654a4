"""Our own folder in a project: Git does not see what is in it, and nothing of it lies elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.folders import OWN_FILE
from searchmark.options.experiment_options import OUR_FOLDER


def refuse_leading_out(folder: Path) -> None:
    """Refuse a folder below the working directory that is elsewhere: a stranger's project may come with links of any kind."""
    target = Path(os.path.realpath(folder))
    if not target.is_relative_to(os.path.realpath(Path.cwd())):
        raise UsageError(f"{folder} leads out of the working directory, to {target}; remove the link, or name a different folder")


def keep_out_of_git(folder: Path) -> None:
    """Have Git ignore our folder, once it is there; a folder of another name is the user's."""
    if folder == Path(OUR_FOLDER):  # and was not named by the user
        refuse_leading_out(folder)
    if folder.name == OUR_FOLDER:
        with suppress(FileExistsError):  # a link that leads to nothing is there, too
            written = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWN_FILE)
            with os.fdopen(written, "wb") as file:
                file.write(b"*\n")
