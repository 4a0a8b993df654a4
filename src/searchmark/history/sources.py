"""Which repositories are meant, as people write it: ``[NAME=]PATH`` or ``[NAME=]URL@COMMIT``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.history.addresses import RepositoryAddress, parse_address, refuse_scp_form
from searchmark.options.addresses import is_address


@dataclass(frozen=True)
class RepositorySource:
    """A repository and what it is called; without a name of its own it is called like its folder.

    One that lies elsewhere has an ``address``, and becomes a folder where it is needed (`clones.resolved`): until then its
    ``path`` is the address itself.
    """

    path: str
    name: str | None = None
    address: RepositoryAddress | None = None

    @property
    def label(self) -> str:
        """What its cases call it."""
        if self.name is not None:
            return self.name
        if self.address is not None:
            return self.address.name
        folder = Path(self.path).resolve()
        own = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
        return own or "repository"

    @property
    def written(self) -> str:
        """Where it is, as files say it: the same on every machine if it is an address."""
        return self.path if self.address is None else str(self.address)


def parse_repository(text: str) -> RepositorySource:
    """``PATH`` or ``NAME=PATH``: a name ends at the first ``=`` and may hold slashes, as in ``org/project=../project``.

    A folder that is there wins, so a path with such a sign in it needs no name. In place of the path may be ``URL@COMMIT``.
    """
    name, sign, path = text.partition("=")
    if is_address(text):
        return _elsewhere(text)
    if text and (not sign or Path(text).is_dir()):
        return _here(text)
    if not name or not path:
        raise UsageError(f"{text!r} is not a repository; write PATH or NAME=PATH")
    return _elsewhere(path, name) if is_address(path) else _here(path, name)


def _here(path: str, name: str | None = None) -> RepositorySource:
    if not Path(path).is_dir():
        refuse_scp_form(path)
    return RepositorySource(path, name)


def _elsewhere(text: str, name: str | None = None) -> RepositorySource:
    address = parse_address(text)
    return RepositorySource(str(address), name, address)


def parse_repositories(given: Sequence[RepositorySource | str]) -> list[RepositorySource]:
    """Several repositories, which must be called differently."""
    sources = [parse_repository(one) if isinstance(one, str) else one for one in given]
    twice = [label for label, count in Counter(source.label for source in sources).items() if count > 1]
    if twice:
        raise UsageError(f"duplicate repository name {twice[0]!r}; rename one with NAME=PATH")
    return sources
