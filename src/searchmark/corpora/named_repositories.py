"""The repositories that somebody has named, as folders of this machine, and which of them a case is from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.history.clones import resolved
from searchmark.history.sources import RepositorySource, parse_repository
from searchmark.options.addresses import is_address
from searchmark.records import Case


def repositories_named(given: Sequence[str], configured: str | None) -> list[RepositorySource]:
    """Those that were given, or else the one of a config, which has no name."""
    if given or configured is None:
        return [parse_repository(text) for text in given]
    return [parse_repository(configured) if is_address(configured) else RepositorySource(configured)]


def refuse_addresses(sources: Sequence[RepositorySource]) -> None:
    """What lies elsewhere has a history, and no files that could be searched as they lie there."""
    named = next((source for source in sources if source.address is not None), None)
    if named is not None:
        raise UsageError(f"{named.written} has no work tree to search; name a state of it: --snapshot head is the commit itself")


def folders_by_name(sources: Sequence[RepositorySource], *, network: bool) -> dict[str | None, Path]:
    """Folders by the names that were given to them, one at most without a name."""
    twice = next((name for name, count in Counter(source.name for source in sources).items() if count > 1), "")
    if twice != "":
        which = "two repositories have no name" if twice is None else f"duplicate repository name {twice!r}"
        raise UsageError(f"{which}; give each a name of its own: --repo NAME=PATH")
    return {source.name: Path(resolved(source, network=network).path) for source in sources}


def folder_of(case: Case, known: Mapping[str | None, Path]) -> Path:
    """The folder of the repository that a case is from."""
    name = case.fields.get("repository")
    path = known.get(name if isinstance(name, str) else None) or known.get(None)
    if path is None and name is None and len(known) == 1:
        path = next(iter(known.values()))
    if path is None:
        given = ", ".join(repr(each) for each in known if each is not None)
        wrong = f", not {given}" if given else ""
        raise UsageError(f"the case {case.id!r} is from repository {name!r}{wrong}; give its location with --repo {name}=PATH")
    return path.resolve()
