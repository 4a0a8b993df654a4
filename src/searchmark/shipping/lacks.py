"""What a machine lacks, said by the machine itself, and what becomes of it: nothing is begun before all of them have it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from searchmark.errors import SearchmarkError, UsageError
from searchmark.executors.pool import TaskPool
from searchmark.history.repository import open_repository
from searchmark.records.shown import listed
from searchmark.shipping.supplies import Supplies, lacking

SHOWN = 3  # of many things that are lacking


def sentences_of(look: Callable[[], object]) -> Iterator[str]:
    """What is wrong, with the machine where it is."""
    try:
        look()
    except SearchmarkError as error:
        host = socket.gethostname()
        yield str(error) if str(error).startswith(host) else f"{host}: {error}"


def refuse_missing(supplies: Supplies, path: Path, commits: Iterable[str]) -> None:
    """The repository of this path must be here, with all of these commits."""
    with open_repository(supplies.path(path)) as repository:
        missing = sorted(repository.missing(f"{commit}^{{commit}}" for commit in commits))
    if missing:
        named = listed([each.removesuffix("^{commit}") for each in missing], SHOWN)
        raise lacking(f"{len(missing)} commits of {path.name}: {named}")


def refuse_lacks(pool: TaskPool, lacks: Iterable[str], who: str) -> None:
    """End it with all that machines have said; ``who`` needs it."""
    said = dict.fromkeys(lacks)
    if said:
        raise UsageError(f"not all machines of {pool.name} have what {who} needs: {'; '.join(said)}")
