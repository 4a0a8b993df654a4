"""``--fetch``: what a shallow clone lacks comes over the network only if that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from searchmark.cli._options import Command, option
from searchmark.cli._output import remark
from searchmark.errors import UsageError


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
