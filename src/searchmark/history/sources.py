"""Which repositories are meant, as people write it: ``[NAME=]PATH``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import UsageError


@dataclass(frozen=True)
class RepositorySource:
    """A repository and what it is called; without a name of its own it is called like its folder."""

    path: str
    name: str | None = None

    @property
    def label(self) -> str:
        """What its cases call it."""
        if self.name is not None:
            return self.name
        folder = Path(self.path).resolve()
        own = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
        return own or "repository"


def parse_repository(text: str) -> RepositorySource:
    """``PATH`` or ``NAME=PATH``: a name ends at the first ``=`` and may hold slashes, as in ``org/project=../project``.

    A folder that is there wins, so a path with such a sign in it needs no name.
    """
    name, sign, path = text.partition("=")
    if text and (not sign or Path(text).is_dir()):
        return RepositorySource(text)
    if not name or not path:
        raise UsageError(f"{text!r} is not a repository; write PATH or NAME=PATH")
    return RepositorySource(path, name)


def parse_repositories(given: Sequence[RepositorySource | str]) -> list[RepositorySource]:
    """Several repositories, which must be called differently."""
    sources = [parse_repository(one) if isinstance(one, str) else one for one in given]
    twice = [label for label, count in Counter(source.label for source in sources).items() if count > 1]
    if twice:
        raise UsageError(f"duplicate repository name {twice[0]!r}; rename one with NAME=PATH")
    return sources
