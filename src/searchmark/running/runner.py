"""Suite and agents become runs: every case of every agent is asked, judged by nobody, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.corpus import Survey
from searchmark.corpora.locations import Folder
from searchmark.errors import UsageError
from searchmark.records import Run, Suite
from searchmark.running.agent_run import AgentRun, Entrant, Progress
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.options import RunOptions
from searchmark.running.plan import turns


@dataclass(frozen=True)
class Request:
    """What to run: a suite, and who is asked.

    ``journals`` says for each agent where its answers are written down; without it they live in memory only.
    ``resume`` goes on with what is there; ``retry`` asks again what ended in an error.
    """

    suite: Suite
    entrants: tuple[Entrant, ...]
    options: RunOptions = RunOptions()
    journals: Mapping[str, Path] = field(default_factory=dict)
    resume: bool = False
    retry: bool = False


@dataclass(frozen=True, eq=False)
class Ran:
    """What came out: one run per agent, and what was seen of the corpus, if there was one for all cases."""

    runs: tuple[Run, ...]
    survey: Survey | None


def run_suite(suite: Suite, agent: AgentSpec, corpus: str | PathLike[str], options: RunOptions = RunOptions()) -> Run:
    """Ask one agent every case about one corpus, in a process of its own; nothing is written to disk."""
    path = Path(corpus).resolve()
    request = Request(suite, (Entrant(agent, dict.fromkeys(suite.table.ids, Folder(path.name, path))),), options)
    return run_agents(request).runs[0]


def run_agents(request: Request, report: Callable[[Progress], None] = lambda _: None) -> Ran:
    """Ask every agent every case, the agents taking turns; the answers come in the order of the suite."""
    _refuse_without_isolation()
    names = [entrant.spec.name for entrant in request.entrants]
    if len(set(names)) < len(names):
        raise UsageError(f"two agents have the same name: {', '.join(names)}; write one of them as NAME={names[0]}")
    options = request.options
    with ExitStack() as until_the_end:
        world = until_the_end.enter_context(open_inspector(request.suite, [entrant.locations for entrant in request.entrants]))
        teams = {}
        for entrant in request.entrants:
            teams[entrant.spec.name] = AgentRun(entrant, request.suite, world, options, report)
            until_the_end.callback(teams[entrant.spec.name].abandon)
        for team in teams.values():
            team.load()
        _open_journals(teams, request)
        for number in range(-(-len(request.suite) // options.block)):
            for name in turns(names, number):
                teams[name].run(number)
        for team in teams.values():
            team.close()
        world.changed_since_start()
        return Ran(tuple(team.result() for team in teams.values()), world.survey)


def _refuse_without_isolation() -> None:
    if sys.platform == "win32":
        raise UsageError("agents cannot be isolated on Windows, and are not run without; score saved runs instead (--run)")
    if sys.platform == "linux" and not Path("/proc/self/stat").exists():
        raise UsageError("agents cannot be isolated where /proc is not mounted: their processes could not be found")


def _open_journals(teams: Mapping[str, AgentRun], request: Request) -> None:
    """Open them all; where a run is resumed, an agent that had not begun begins now."""
    begun = {name: path.exists() and path.stat().st_size > 0 for name, path in request.journals.items()}
    if request.resume and not any(begun.values()):
        raise UsageError(f"there is nothing to go on with: {', '.join(map(str, request.journals.values()))} holds no run")
    for name, path in request.journals.items():
        teams[name].open_journal(path, resume=request.resume and begun[name], retry=request.retry)
