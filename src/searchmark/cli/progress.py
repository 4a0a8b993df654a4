"""Progress where no terminal shows bars: a line on stderr every ten seconds, and none if all is done before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from searchmark.cli._output import remark
from searchmark.records import RunLabel, display_names

if TYPE_CHECKING:
    from searchmark.running.progress import Progress

EVERY = 10.0  # seconds
MINUTE = 60
LONGEST_LINE = 500
MOST_RUNS = 8  # that are named in one line


@contextmanager
def heartbeat(line: Callable[[], str | None]) -> Iterator[None]:
    """Say what ``line`` returns, as long as the work takes; the thread ends with it."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(EVERY):
            said = line()
            if said is not None:
                remark(said, LONGEST_LINE)

    thread = threading.Thread(target=beat, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class ProgressLine:
    """How far the runs are, in one line: cases of each, rate of all, time left."""

    def __init__(self, labels: Sequence[RunLabel], clock: Callable[[], float] = time.monotonic) -> None:
        self._names: Mapping[RunLabel, str] = dict(zip(labels, display_names(labels), strict=True))
        self._clock = clock
        self._latest: dict[RunLabel, Progress] = {}
        self._first: dict[RunLabel, int] = {}  # answers that a resumed run began with are no measure of speed
        self._begun = clock()
        self._lock = threading.Lock()

    def take(self, progress: Progress) -> None:
        with self._lock:
            self._first.setdefault(progress.label, progress.done)
            self._latest[progress.label] = progress

    def line(self) -> str | None:
        """The line for now; None before anything is known."""
        with self._lock:
            latest, done = list(self._latest.values()), sum(self._first.values())
        if not latest:
            return None
        finished, total = sum(each.done for each in latest), sum(each.total for each in latest)
        total += (len(self._names) - len(latest)) * max(each.total for each in latest)  # those that have not begun
        seconds = self._clock() - self._begun
        rate = (finished - done) / seconds if seconds > 0 else 0.0
        runs = [self._of(each) for each in latest[:MOST_RUNS]]
        more = [f"and {len(latest) - MOST_RUNS} more"] if len(latest) > MOST_RUNS else []
        speed = [f"{rate:.3g} cases/s", f"about {duration((total - finished) / rate)} left"] if rate > 0 else []
        return "; ".join((f"{duration(seconds)}: {', '.join([*runs, *more])}", *([", ".join(speed)] if speed else [])))

    def _of(self, progress: Progress) -> str:
        failed = f", {progress.failed} failed" if progress.failed else ""
        doing = f" ({progress.doing}{failed})" if progress.doing else f" ({failed[2:]})" if failed else ""
        return f"{self._names[progress.label]} {progress.done}/{progress.total}{doing}"


def duration(seconds: float) -> str:
    """A time span as people say it."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    minutes = seconds / MINUTE
    return f"{minutes:.0f} min" if minutes < 2 * MINUTE else f"{minutes / MINUTE:.0f} h"
