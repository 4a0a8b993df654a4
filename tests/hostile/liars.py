"""Agents that report less time than they take, by amounts that could be chance in a single search."""

from __future__ import annotations

import time
from collections.abc import Iterator

from searchmark import Corpus, RetrievalAgent, RetrievalResult
from searchmark.running.worker import server


class HidesForty(RetrievalAgent):
    """Takes forty milliseconds, by a clock of its own."""

    def initialize(self, corpus: Corpus) -> None:
        ticks = iter(range(10**9))
        server.perf_counter_ns = lambda: next(ticks) * 1000  # type: ignore[assignment]  # that is the lie

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        time.sleep(0.04)
        return RetrievalResult(["f1.txt"])


class FailsSlowly(HidesForty):
    """Takes two tenths of a second to fail in every second search, and is fast otherwise."""

    asked = 0

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        self.asked += 1
        if self.asked % 2:
            time.sleep(0.2)
            raise OSError("nothing found")
        return RetrievalResult(["f1.txt"])


class SlowPath:
    """Searches for forty milliseconds where the clock runs for us: when a hit is read."""

    def __fspath__(self) -> str:
        time.sleep(0.04)
        return "f1.txt"


class HidesInHits(RetrievalAgent):
    """Yields what it still has to search for."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> Iterator[SlowPath]:
        yield SlowPath()


class BlamesUs(RetrievalAgent):
    """Indexes for two seconds where the clock runs for us: when it is asked how large its index is."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def index_bytes(self) -> int | None:
        time.sleep(2)
        return None

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"])
