"""Checks the search times that a worker reports against the runner's own clock.

A worker that hides time or changes its clock is found out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time_ns, thread_time_ns
from typing import Any

from searchmark.formats.corpora.locations import Commit, Location
from searchmark.running.worker.client import Worker
from searchmark.running.worker.process_tree import own_wait_for_core, wait_for_core_of_other_threads

ALLOWED_NS = 50_000_000  # for everything around a search, whatever its size

ALLOWED_PER_HIT_NS = 20_000  # taken apart, compared, written as JSON

ALLOWED_PER_CHARACTER_NS = 100  # of the query and of the ids: written, sent and read

USUAL_NS = 2_000_000  # the same, as it is on the whole: a tenth of a millisecond where nothing else runs

USUAL_PER_HIT_NS = 5_000

USUAL_PER_CHARACTER_NS = 25

TOLERATED_TOTAL_NS, TOLERATED_PER_SEARCH_NS = 50_000_000, 500_000  # beyond that, of all searches together: disks and locks

CLOCK_OVERHEAD_NS = 1_000_000_000  # to open a corpus, and to ask an agent for the size of its index and what it says of itself

UNKNOWN_WAIT_NS = 250_000_000  # where the kernel does not say how long a process has waited for a core

MIN_DOUBTED, MIN_DOUBTED_SHARE = 3, 0.02  # searches, and their share, that make times doubtful


@dataclass(frozen=True)
class Load:
    """What is asked for, as far as it takes time: hits, and how many workers share this process."""

    depth: int
    workers: int = 1

    def allowed_ns(self, characters: int) -> int:
        """How much a single search may take beside what is reported."""
        return (ALLOWED_NS + self.depth * ALLOWED_PER_HIT_NS + characters * ALLOWED_PER_CHARACTER_NS) * self.workers

    def usual_ns(self, characters: int) -> int:
        """How much searches take beside what is reported, all in all."""
        return (USUAL_NS + self.depth * USUAL_PER_HIT_NS + characters * USUAL_PER_CHARACTER_NS) * self.workers

    def tolerated_ns(self, searches: int) -> int:
        return (TOLERATED_TOTAL_NS + searches * TOLERATED_PER_SEARCH_NS) * self.workers


class ClockCheck:
    """The clock of one session's workers. The kernel is asked for an explanation only where there is something to explain."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._worker: Worker | None = None
        self._waits = _SharedCoreWaits() if load.workers > 1 else _CoreWaits()
        self._searches = 0
        self._excess = self._recent = 0  # of all searches beyond what is usual, and of those since the kernel was last asked
        self._explained = 0

    def begin(self, worker: Worker) -> None:
        """From here on: what worker and runner waited before, while it was started or prepared, explains nothing later."""
        if self._recent and worker is self._worker:
            self._explain()
        self._excess -= self._recent  # a worker that is gone cannot explain itself any more
        self._recent, self._worker = 0, worker
        self._waits.begin(worker)

    def believes(self, reply: Mapping[str, Any], worker: Worker, query: str) -> bool:
        """Whether the time of a search is not so much less than passed here that nothing explains it, nor all of them are."""
        self._searches += 1
        hidden_ns = worker.took_ns - worker.unseen_ns - int(reply["ns"])
        if hidden_ns <= USUAL_NS:  # nearly always: nothing has to be looked at
            return True
        characters = len(query) + sum(map(len, reply.get("ids", ())))
        allowed_ns = self._load.allowed_ns(characters)
        excess = min(hidden_ns, allowed_ns) - self._load.usual_ns(characters)
        if excess > 0:
            self._excess += excess
            self._recent += excess
            self._waits.note_own()
        return self._is_explained(hidden_ns - allowed_ns) and (excess <= 0 or self._are_explained())

    def believes_preparation(self, reply: Mapping[str, Any], worker: Worker, location: Location) -> bool:
        """The same of an index; what is said to be our own part of it is much only in a history that we walk through."""
        around, reported_ns = int(reply["around_ns"]), int(reply["ns"])
        ours = around if isinstance(location, Commit) else min(around, CLOCK_OVERHEAD_NS * self._load.workers)
        return self._is_explained(worker.took_ns - worker.unseen_ns - reported_ns - ours - self._load.allowed_ns(0))

    def _is_explained(self, beyond: int) -> bool:
        """Whether worker and runner have waited for a core that long, since this was last asked."""
        return beyond <= 0 or beyond <= self._explain()

    def _are_explained(self) -> bool:
        """Whether all searches together have hidden no more than waiting for a core explains."""
        if self._excess - self._explained > self._load.tolerated_ns(self._searches):
            self._explain()
        return self._excess - self._explained <= self._load.tolerated_ns(self._searches)

    def _explain(self) -> int:
        """What worker and runner have waited since this was last asked."""
        wait_ns = None if self._worker is None else self._waits.since_last(self._worker)
        # Where nobody knows, only single searches can be compared with the clock.
        more = self._recent if wait_ns is None else wait_ns
        self._explained = min(self._excess, self._explained + more)  # what is left over is no credit for later searches
        self._recent = 0
        return UNKNOWN_WAIT_NS if wait_ns is None else wait_ns


class _CoreWaits:
    """How long worker and runner have waited for a core. Those of a thread can be asked for only by itself.

    A thread also waits while another one of its process computes, since Python runs one at a time: an answer that has come is not
    seen as long as one that looks ahead in a history is busy. No longer than the others have computed, though.
    """

    def __init__(self) -> None:
        self._theirs: int | None = None
        self._own, self._thread, self._thread_waited, self._computed = 0, 0, 0, 0

    def begin(self, worker: Worker) -> None:
        self._theirs = worker.waited_ns()
        self._thread, self._thread_waited, self._computed = threading.get_ident(), own_wait_for_core(), _cpu_time_of_other_threads()
        self._own = 0

    def note_own(self) -> None:
        """What this thread has waited since it was last here; one that was never here has begun since."""
        thread, wait_ns, cpu_ns = threading.get_ident(), own_wait_for_core(), _cpu_time_of_other_threads()
        if thread == self._thread:
            self._own += max(0, cpu_ns - self._computed)
        self._own += wait_ns - self._thread_waited if thread == self._thread and wait_ns >= self._thread_waited else wait_ns
        self._thread, self._thread_waited, self._computed = thread, wait_ns, cpu_ns

    def since_last(self, worker: Worker) -> int | None:
        self.note_own()
        before, self._theirs = self._theirs, worker.waited_ns()
        own, self._own = self._own, 0
        return None if before is None or self._theirs is None else max(0, self._theirs - before) + own


class _SharedCoreWaits(_CoreWaits):
    """The same in a process that others share, each of which may hold the lock of the interpreter and wait for a core itself."""

    _others = 0

    def begin(self, worker: Worker) -> None:
        super().begin(worker)
        self._others = wait_for_core_of_other_threads()

    def note_own(self) -> None:
        """What all threads have waited since this was last asked; those that have ended are not there any more."""
        super().note_own()
        before, self._others = self._others, wait_for_core_of_other_threads()
        self._own += max(0, self._others - before)


def _cpu_time_of_other_threads() -> int:
    """How long the other threads of this process have computed."""
    return process_time_ns() - thread_time_ns()


def is_clock_doubtful(doubted: int, searches: int) -> bool:
    """Whether so many times of so many searches are more than bad luck: a machine may be suspended once."""
    return doubted >= max(MIN_DOUBTED, MIN_DOUBTED_SHARE * searches)
