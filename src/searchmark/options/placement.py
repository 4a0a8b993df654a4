"""Where cases are asked, and how the machines there come by what they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from searchmark.options.option import Option
from searchmark.options.short_repr import short_repr
from searchmark.options.user_paths import expand_paths

EXECUTOR_HELP = "Where to run: process:N, dask:local:N, dask://host:port, or module:attr, a concurrent.futures.Executor."


@dataclass(frozen=True)
class Placement:
    """Who runs it, if not this process.

    ``ship``: repositories are sent along; ``wheels``: files with code of agents, sent along.
    """

    executor: Annotated[str | None, Option(EXECUTOR_HELP, metavar="WHERE", default="this process, or process:N by --jobs N")] = None
    ship: Annotated[
        bool,
        Option("Send repositories to the machines of the executor, instead of expecting them there at the same path.", ("--ship",)),
    ] = False
    wheels: Annotated[
        tuple[str, ...], Option("Wheel with the code of an agent, for every machine; repeatable.", ("--wheel",), "FILE")
    ] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        expand_paths(self, "wheels")
