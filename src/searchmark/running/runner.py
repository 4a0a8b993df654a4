"""Suite and agents become runs: every case of every agent is asked, judged by nobody, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.corpora.corpus import Survey
from searchmark.errors import UsageError
from searchmark.options.run_options import RunOptions
from searchmark.records import Run, RunLabel, Suite
from searchmark.running.agent_run import AgentRun, Progress
from searchmark.running.cache_guarding import guarded_caches
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.entrant import Entrant
from searchmark.running.journal import has_begun, set_aside
from searchmark.running.plan import turns
from searchmark.running.sandbox.launch import sandbox_of
from searchmark.running.worker.process_tree import not_dumpable


@dataclass(frozen=True)
class RunRequest:
    """What to run: a suite, and who is asked.

    ``journals`` says for each agent where its answers are written down; without it they live in memory only.
    ``resume`` continues what is there; ``retry`` asks again what ended in an error. ``hidden`` are files and folders that a
    sandboxed agent must not see, wherever they are: they tell the answers. Journals need not be named.
    """

    suite: Suite
    entrants: tuple[Entrant, ...]
    options: RunOptions = RunOptions()
    journals: Mapping[RunLabel, Path] = field(default_factory=dict)
    resume: bool = False
    retry: bool = False
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, eq=False)
class Ran:
    """What came out: one run per agent, and what was seen of the corpus, if there was one for all cases."""

    suite: Suite
    runs: tuple[Run, ...]
    survey: Survey | None


def run_agents(request: RunRequest, report: Callable[[Progress], None] = lambda _: None) -> Ran:
    """Ask every agent every case, the agents taking turns; the answers come in the order of the suite."""
    _refuse_without_isolation()
    labels = [entrant.label for entrant in request.entrants]
    _refuse_duplicates(labels)
    options = request.options
    journals = request.journals.values()
    sandbox = sandbox_of(options.sandbox, (*request.hidden, *journals, *(path.parent for path in journals)))
    with ExitStack() as until_the_end:
        until_the_end.enter_context(not_dumpable())
        inspector = until_the_end.enter_context(open_inspector(request.suite, [entrant.locations for entrant in request.entrants]))
        caches = until_the_end.enter_context(guarded_caches([each.spec for each in request.entrants], sandbox))
        agent_runs = {}
        for entrant in request.entrants:
            agent_runs[entrant.label] = AgentRun(entrant, request.suite, inspector, options, report, sandbox, caches.guard)
            until_the_end.callback(agent_runs[entrant.label].abandon)
        for agent_run in agent_runs.values():
            agent_run.load(alone=len(agent_runs) == 1)
        _open_journals(agent_runs, request)
        for number in range(-(-len(request.suite) // options.block)):
            for label in turns(labels, number):
                agent_runs[label].run(number)
        for agent_run in agent_runs.values():
            agent_run.close()
        inspector.find_changes()
        tampering = caches.tampering()
        return Ran(request.suite, tuple(agent_run.result(tampering) for agent_run in agent_runs.values()), inspector.survey)


def _refuse_duplicates(labels: Sequence[RunLabel]) -> None:
    twice = next((label.agent for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"duplicate agent name {twice!r}; rename one: --agent other={twice}")


def _refuse_without_isolation() -> None:
    if sys.platform == "win32":
        raise UsageError("agents cannot be isolated on Windows, so they are not run; score saved runs instead (--run)")
    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        raise UsageError("agents cannot be isolated where /proc is not mounted: their processes could not be found")


def _open_journals(agent_runs: Mapping[RunLabel, AgentRun], request: RunRequest) -> None:
    """Open them all; where a run is resumed, an agent that had not begun begins now."""
    begun = {label: has_begun(path) for label, path in request.journals.items()}
    if request.resume:
        _refuse_changed(request.journals.values())
    for label, path in request.journals.items():
        agent_runs[label].open_journal(path, resume=request.resume and begun[label], retry=request.retry)


def _refuse_changed(journals: Iterable[Path]) -> None:
    """Nothing is resumed that another process has changed."""
    changed = next((path for path in journals if set_aside(path).exists() and not path.exists()), None)
    if changed is not None:
        raise UsageError(
            f"{changed} cannot be resumed: another process changed it during the last run; run without --resume to start over "
            f"(it was kept as {set_aside(changed).name})"
        )
