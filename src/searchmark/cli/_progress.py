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
from searchmark.records import RunLabel, display_names

if TYPE_CHECKING:
    from searchmark.running.agent_run import Progress


@contextmanager
def resumable(*, resumed: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        more = "" if resumed else " with --resume"
        click.echo(f"\nsearchmark: the answers so far are saved; run the same command{more} to continue", err=True)
        raise


@contextmanager
def progress_bars(labels: Sequence[RunLabel]) -> Iterator[Callable[[Progress], None]]:
    """Bars with rate, failures and time left on a terminal, else a line every ten seconds; neither if the user wants quiet."""
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
        named = zip(labels, display_names(labels), strict=True)
        tasks = {label: bars.add_task(harmless(name), total=None, rate="", failed="") for label, name in named}

        def report(progress: Progress) -> None:
            task = tasks[progress.label]
            speed = bars.tasks[task].speed
            bars.update(
                task,
                total=progress.total,
                completed=progress.done,
                rate=f"{speed:.3g} cases/s" if speed else "",
                failed=progress.doing or (f"{progress.failed} failed" if progress.failed else ""),
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
