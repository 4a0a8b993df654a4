"""Bars on a terminal, and a line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from searchmark.cli.output import harmless, remark
from searchmark.cli.terminal import Verbosity, is_live, verbosity
from searchmark.errors import shortened
from searchmark.records.provenance import RunLabel, display_names

if TYPE_CHECKING:
    from searchmark.running.request import RunProgress


# Progress where no terminal shows bars: a line on stderr every ten seconds, and none if all is done before.

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
            text = line()
            if text is not None:
                remark(text, LONGEST_LINE)

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
        self._latest: dict[RunLabel, RunProgress] = {}
        self._first: dict[RunLabel, int] = {}  # answers that a resumed run began with are no measure of speed
        self._begun = clock()
        self._lock = threading.Lock()

    def take(self, progress: RunProgress) -> None:
        with self._lock:
            self._first.setdefault(progress.label, progress.done)
            self._latest[progress.label] = progress

    def line(self) -> str | None:
        """The line for now; None before anything is known."""
        with self._lock:
            latest, done_at_start = list(self._latest.values()), sum(self._first.values())
        if not latest:
            return None
        finished, total = sum(each.done for each in latest), sum(each.total for each in latest)
        total += (len(self._names) - len(latest)) * max(each.total for each in latest)  # those that have not begun
        seconds = self._clock() - self._begun
        rate = (finished - done_at_start) / seconds if seconds > 0 else 0.0
        runs = [self._of(each) for each in latest[:MOST_RUNS]]
        more = [f"and {len(latest) - MOST_RUNS} more"] if len(latest) > MOST_RUNS else []
        speed = [f"{rate:.3g} cases/s", f"about {duration((total - finished) / rate)} left"] if rate > 0 else []
        return "; ".join((f"{duration(seconds)}: {', '.join([*runs, *more])}", *([", ".join(speed)] if speed else [])))

    def _of(self, progress: RunProgress) -> str:
        failed = f", {progress.failed} failed" if progress.failed else ""
        doing = f" ({progress.doing}{failed})" if progress.doing else f" ({failed[2:]})" if failed else ""
        return f"{self._names[progress.label]} {progress.done}/{progress.total}{doing}"


def duration(seconds: float) -> str:
    """A time span as people say it."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    minutes = seconds / MINUTE
    return f"{minutes:.0f} min" if minutes < 2 * MINUTE else f"{minutes / MINUTE:.0f} h"


# What is seen of an experiment while it runs.

LONGEST_NAME = 60


@contextmanager
def resumable(advice: str) -> Iterator[None]:
    """Says how to continue what Ctrl-C ends."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nsearchmark: {advice}", err=True)
        raise


@contextmanager
def progress_bars(labels: Sequence[RunLabel], *, together: bool = False) -> Iterator[Callable[[RunProgress], None]]:
    """Bars with rate, failures and time left on a terminal, else a line every ten seconds; neither if the user wants quiet.

    ``together``: one bar over all runs, where their cases are asked at the same time.
    """
    if not sys.stderr or verbosity() is Verbosity.QUIET:
        yield lambda _: None
        return
    if not is_live(sys.stderr):
        progress_line = ProgressLine(labels)
        with heartbeat(progress_line.line):
            yield progress_line.take
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} {task.fields[failed]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        names = [", ".join(display_names(labels))] * len(labels) if together else display_names(labels)
        rows = {name: bars.add_task(harmless(shortened(name, LONGEST_NAME)), total=None, rate="", failed="") for name in names}
        tasks = {label: rows[name] for label, name in zip(labels, names, strict=True)}
        latest: dict[RunLabel, RunProgress] = {}

        def report(progress: RunProgress) -> None:
            task = tasks[progress.label]
            latest[progress.label] = progress
            runs_of_task = [each for label, each in latest.items() if tasks[label] == task]
            failed = sum(each.failed for each in runs_of_task)
            speed = bars.tasks[task].speed
            bars.update(
                task,
                total=sum(each.total for each in runs_of_task),
                completed=sum(each.done for each in runs_of_task),
                rate=f"{speed:.3g} cases/s" if speed else "",
                failed=progress.doing or (f"{failed} failed" if failed else ""),
            )

        yield report


@contextmanager
def status_line(title: str) -> Iterator[Callable[[str], None]]:
    """What is being done now: on a terminal in a line that changes, else in a line every ten seconds."""
    if not sys.stderr or verbosity() is Verbosity.QUIET:
        yield lambda _: None
        return
    if not is_live(sys.stderr):
        latest = [title]
        with heartbeat(lambda: latest[0]):
            yield lambda what: latest.__setitem__(0, f"{title}, {what}")
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(title)) as status:
        yield lambda what: status.update(Text(f"{title}, {harmless(what)}"))
