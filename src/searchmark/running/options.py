"""How to run, as one object."""

from __future__ import annotations

from dataclasses import dataclass

INITIALISE_FACTOR = 20


@dataclass(frozen=True)
class RunOptions:
    """All that decides how cases are asked; see docs/running.md for each.

    ``num_runs`` counts the searches per case: one cold, the others warm. ``initialize_timeout_seconds`` is twenty times
    the deadline of a query unless it is given. ``foreign`` False refuses arms that are not built in.
    """

    num_runs: int = 3
    timeout_seconds: float = 30.0
    initialize_timeout_seconds: float | None = None
    depth: int = 100
    seed: int = 0
    randomize_order: bool = True
    warm_up: bool = True
    max_failures: int = 10
    memory_limit_mb: int | None = None
    jobs: int = 1
    block: int = 25
    foreign: bool = True

    @property
    def initialize_seconds(self) -> float:
        if self.initialize_timeout_seconds is not None:
            return self.initialize_timeout_seconds
        return self.timeout_seconds * INITIALISE_FACTOR
