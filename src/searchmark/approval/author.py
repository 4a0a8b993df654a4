"""Who approves: what the user's own Git would write into a commit."""

from __future__ import annotations

from pathlib import Path

from searchmark.errors import UsageError
from searchmark.history.git import own_setting


def author_of(path: Path) -> str:
    """Name and address for files in the folder of a path."""
    folder = path.absolute().parent
    name, address = own_setting(folder, "user.name"), own_setting(folder, "user.email")
    if not name and not address:
        raise UsageError("Git does not know who you are (user.name), so nothing can be approved; name the author with --author")
    return " ".join(filter(None, [name, f"<{address}>" if address else None]))
