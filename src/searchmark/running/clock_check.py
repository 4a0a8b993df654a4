"""What a worker says that a search took, held against the runner's own clock.

A search cannot take longer than the runner waited for it. It can well be shorter: requests and answers travel, answers are
taken apart, and on a busy machine the worker waits for a core. What none of that explains was spent by the agent outside the
clock, or the clock was changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.running.worker.in_process import Worker
from searchmark.running.worker.process_tree import own_wait_for_core

ALLOWED_NS = 50_000_000  # for everything around a search, whatever its size
ALLOWED_PER_HIT_NS = 20_000  # taken apart, compared, written as JSON
ALLOWED_PER_CHARACTER_NS = 100  # of the query: written, sent and read
UNKNOWN_WAIT_NS = 250_000_000  # where the kernel does not say how long a process has waited for a core
MANY, MUCH = 3, 0.02  # searches, and their share, that make times doubtful


@dataclass(frozen=True)
class Load:
    """What is asked for, as far as it takes time: hits, and how many workers share this process."""

    depth: int
    workers: int = 1

    def allowed_ns(self, query: str) -> int:
        return (ALLOWED_NS + self.depth * ALLOWED_PER_HIT_NS + len(query) * ALLOWED_PER_CHARACTER_NS) * self.workers


class ClockCheck:
    """One worker's clock. The kernel is asked for an explanation only where there is something to explain."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._waited: int | None = 0

    def begin(self, worker: Worker) -> None:
        """From here on: what worker and runner waited before, while it was started or prepared, explains nothing later."""
        self._waited = _waited_by_both(worker)

    def believes(self, reported_ns: int, worker: Worker, query: str = "") -> bool:
        """Whether a reported time is no more than passed here, and not so much less that nothing explains it."""
        hidden = worker.took_ns - worker.unseen_ns - reported_ns - self._load.allowed_ns(query)
        return hidden <= 0 or hidden <= self._explained(worker)

    def _explained(self, worker: Worker) -> int:
        """What worker and runner have waited for a core since this was last asked."""
        before, self._waited = self._waited, _waited_by_both(worker)
        return UNKNOWN_WAIT_NS if before is None or self._waited is None else self._waited - before


def _waited_by_both(worker: Worker) -> int | None:
    theirs = worker.waited_ns()
    return None if theirs is None else theirs + own_wait_for_core()


def doubtful(doubted: int, searches: int) -> bool:
    """Whether so many times of so many searches are more than bad luck: a machine may be suspended once."""
    return doubted >= max(MANY, MUCH * searches)
