"""What to run, and what comes out of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.corpora.corpus import Survey
from searchmark.errors import UsageError
from searchmark.executors.choice import ExecutorChoice
from searchmark.options.run_options import RunOptions
from searchmark.records import Run, RunLabel, ShardIdentity, Suite
from searchmark.running.entrant import Entrant
from searchmark.running.journal import has_begun, set_aside
from searchmark.shipping.delivery import NOTHING_DELIVERED, Delivery


@dataclass(frozen=True)
class RunRequest:
    """What to run: a suite, and who is asked.

    ``journals`` says for each agent where its answers are written down; without it they live in memory only.
    ``resume`` continues what is there; ``retry`` asks again what ended in an error. ``hidden`` are files and folders that a
    sandboxed agent must not see, wherever they are: they tell the answers. Journals need not be named. ``shard`` is which part
    of all cases the suite has, if it is one. ``executor``: who runs it, if that is not this process; ``delivery``: how others come
    by what it needs.
    """

    suite: Suite
    entrants: tuple[Entrant, ...]
    options: RunOptions = RunOptions()
    journals: Mapping[RunLabel, Path] = field(default_factory=dict)
    resume: bool = False
    retry: bool = False
    hidden: tuple[Path, ...] = ()
    shard: ShardIdentity | None = None
    executor: ExecutorChoice | None = None
    delivery: Delivery = NOTHING_DELIVERED

    @property
    def labels(self) -> list[RunLabel]:
        return [entrant.label for entrant in self.entrants]

    @property
    def out_of_sight(self) -> tuple[Path, ...]:
        """What a sandbox hides: what tells the answers, and the journals with all that lies beside them."""
        return (*self.hidden, *self.journals.values(), *(path.parent for path in self.journals.values()))


@dataclass(frozen=True, eq=False)
class Ran:
    """What came out: one run per agent, and what was seen of the corpus, if there was one for all cases."""

    suite: Suite
    runs: tuple[Run, ...]
    survey: Survey | None


def refuse_duplicates(labels: Sequence[RunLabel]) -> None:
    twice = next((label.agent for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"duplicate agent name {twice!r}; rename one: --agent other={twice}")


def refuse_without_isolation() -> None:
    if sys.platform == "win32":
        raise UsageError("agents cannot be isolated on Windows, so they are not run; score saved runs instead (--run)")
    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        raise UsageError("agents cannot be isolated where /proc is not mounted: their processes could not be found")


def open_journals(request: RunRequest, opened: Callable[[RunLabel, Path, bool], None]) -> None:
    """Open them all, each told whether it is resumed; where a run is, an agent that had not begun begins now."""
    begun = {label: has_begun(path) for label, path in request.journals.items()}
    if request.resume:
        _refuse_changed(request.journals.values())
    for label, path in request.journals.items():
        opened(label, path, request.resume and begun[label])


def _refuse_changed(journals: Iterable[Path]) -> None:
    """Nothing is resumed that another process has changed."""
    changed = next((path for path in journals if set_aside(path).exists() and not path.exists()), None)
    if changed is not None:
        raise UsageError(
            f"{changed} cannot be resumed: another process changed it during the last run; run without --resume to start over "
            f"(it was kept as {set_aside(changed).name})"
        )
