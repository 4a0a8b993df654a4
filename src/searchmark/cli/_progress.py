"""What is seen of an experiment while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from searchmark.cli._colour import is_live
from searchmark.cli._heartbeat import ProgressLine, heartbeat
from searchmark.cli._output import harmless
from searchmark.cli._verbosity import Verbosity, verbosity
from searchmark.errors import shortened
from searchmark.records import RunLabel, display_names

if TYPE_CHECKING:
    from searchmark.running.progress import Progress

LONGEST_NAME = 60


@contextmanager
def resumable(*, resumed: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        more = "" if resumed else " with --resume"
        click.echo(f"\nsearchmark: the answers so far are saved; run the same command{more} to continue", err=True)
        raise


@contextmanager
def progress_bars(labels: Sequence[RunLabel], *, together: bool = False) -> Iterator[Callable[[Progress], None]]:
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
        latest: dict[RunLabel, Progress] = {}

        def report(progress: Progress) -> None:
            task = tasks[progress.label]
            latest[progress.label] = progress
            shown = [each for label, each in latest.items() if tasks[label] == task]
            failed = sum(each.failed for each in shown)
            speed = bars.tasks[task].speed
            bars.update(
                task,
                total=sum(each.total for each in shown),
                completed=sum(each.done for each in shown),
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
