"""How agents are run: the section ``evaluation`` of the config file."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from searchmark.options.option import Option, check_fields
from searchmark.options.strict import strict_record

INITIALISE_FACTOR = 20
# Options that decide how work is done, not what comes out.
CHANGE_NO_ANSWER = ("jobs", "block", "max_failures", "no_exec", "offline")
LONGEST_TIMEOUT = 1_000_000
DEEPEST = 1_000_000
LARGEST_MEMORY_MB = 1 << 30


@strict_record
class RunOptions:
    """All that decides how cases are asked; see docs/running.md for each."""

    num_runs: Annotated[int, Ge(1), Option("Searches per case: one cold, the rest warm.")] = 3
    timeout_seconds: Annotated[
        float, Gt(0), Le(LONGEST_TIMEOUT), Option("Time limit of one search.", ("--timeout",), "SECONDS")
    ] = 30.0
    initialize_timeout_seconds: Annotated[
        float | None,
        Gt(0),
        Le(LONGEST_TIMEOUT),
        Option("Time limit for building an index.", ("--initialize-timeout",), "SECONDS", f"{INITIALISE_FACTOR} times --timeout"),
    ] = None
    depth: Annotated[int, Ge(1), Le(DEEPEST), Option("Number of hits to ask for and keep.")] = 100
    seed: Annotated[int, Option("Seed of the order of the cases and of --sample.")] = 0
    randomize_order: Annotated[bool, Option("Ask the cases in random order.")] = True
    warm_up: Annotated[bool, Option("Make one search that is not measured after each change of the index.")] = True
    max_failures: Annotated[int, Ge(1), Option("Stop asking an agent after N consecutive failures.")] = 10
    memory_limit_mb: Annotated[
        int | None,
        Ge(1),
        Le(LARGEST_MEMORY_MB),
        Option("Maximum memory of each process of an agent (Linux only).", ("--memory-limit",), "MB"),
    ] = None
    jobs: Annotated[int, Ge(1), Option("Number of parallel workers; with several, latencies are marked as under load.")] = 1
    block: Annotated[int, Ge(1), Option("Number of cases that an agent is asked before the next one takes its turn.")] = 25
    no_exec: Annotated[
        bool,
        Option("Run only built-in agents, and without network. Use this with config files you do not trust.", ("--no-exec",)),
    ] = False
    offline: Annotated[
        bool,
        Option(
            "Use no network, loopback included. Only --sandbox keeps the code of your own agent from it.",
            ("--offline",),
        ),
    ] = False
    sandbox: Annotated[
        Literal["off", "auto", "bubblewrap", "landlock"],
        Option("Keep agents from all files, processes and networks that they do not need (Linux only).", alone="auto"),
    ] = "off"

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def network(self) -> bool:
        """Whether the network may be used."""
        return not (self.offline or self.no_exec)

    @property
    def initialize_seconds(self) -> float:
        if self.initialize_timeout_seconds is not None:
            return self.initialize_timeout_seconds
        return self.timeout_seconds * INITIALISE_FACTOR
