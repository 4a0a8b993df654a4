"""No more requests per second than allowed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock


class RateLimit:
    """Gives every request its turn, in the order in which they ask; safe between threads."""

    def __init__(self, per_second: float | None, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._interval = 0.0 if per_second is None else 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._lock = Lock()
        self._next = -float("inf")

    def wait(self) -> float:
        """Wait for a turn; returns for how many seconds."""
        if not self._interval:
            return 0.0
        with self._lock:  # only the turn is reserved under the lock; waiting happens outside, or one would hold up all
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)
        return turn - now
