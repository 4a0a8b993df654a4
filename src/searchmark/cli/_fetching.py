"""What comes over the network before anything is searched: repositories by address, and with ``--fetch`` what a clone lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from searchmark.cli._options import Command, option
from searchmark.cli._output import remark
from searchmark.errors import UsageError
from searchmark.history.sources import RepositorySource


def fetch_option(section: str) -> Callable[[Command], Command]:
    return option(section, "--fetch", is_flag=True, help="Fetch what a repository lacks that is a shallow clone.")


def fetch_rest(wanted: bool, repositories: Sequence[str], *, offline: bool) -> None:
    """Complete the shallow clones among repositories that the user has named."""
    if not wanted:
        return
    if offline:
        raise UsageError("--fetch uses the network, which --offline and --no-exec do not allow; leave one of them out")
    if not repositories:
        raise UsageError("--fetch completes a repository that you name; name it with --repo")
    from searchmark.history.fetching import complete

    for path in dict.fromkeys(repositories):
        if complete(path):
            remark(f"fetched: the rest of {path}")


def brought_here(sources: Sequence[RepositorySource], *, network: bool) -> list[RepositorySource]:
    """The repositories as folders of this machine. A clone may take minutes, so it is said before."""
    if not any(source.address for source in sources):
        return list(sources)
    from searchmark.history.clones import is_here, resolved

    for source in sources:
        if source.address is not None and network and not is_here(source.address):
            remark(f"fetching: {source.address}")
    return [resolved(source, network=network) for source in sources]
