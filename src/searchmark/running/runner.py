"""Suite and agents become runs: every case of every agent is asked, judged by nobody, and nothing is lost."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from searchmark.agents.agent import AgentSpec
from searchmark.corpora import Survey
from searchmark.corpora.places import Place
from searchmark.errors import UsageError
from searchmark.latencies import latencies_of
from searchmark.records import STATUSES, Run, Suite
from searchmark.running.answers import Existing
from searchmark.running.environment import environment, git_state, without_secrets
from searchmark.running.journal import Entry, Journal
from searchmark.running.options import RunOptions
from searchmark.running.plan import Step, blocks, ordered, turns
from searchmark.running.session import Outcome, Session
from searchmark.running.world import World, open_world

RETRIED = ("error", "timeout", "not_run")


@dataclass(frozen=True)
class Progress:
    """How far a run has come, for whoever wants to show it."""

    agent: str
    done: int
    total: int
    failed: int


@dataclass(frozen=True)
class Entrant:
    """Who is asked, where each case is searched (visited in the order of this mapping), and what that is called."""

    spec: AgentSpec
    places: Mapping[str, Place]
    snapshot: str | None = None


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
    path = Path(corpus)
    place = Place(path.resolve().name, str(path.resolve()))
    request = Request(suite, (Entrant(agent, dict.fromkeys(suite.table.ids, place)),), options)
    return run_agents(request).runs[0]


def run_agents(request: Request, report: Callable[[Progress], None] = lambda _: None) -> Ran:
    """Ask every agent every case, the agents taking turns; the answers come in the order of the suite."""
    if sys.platform == "win32":
        raise UsageError("agents cannot be isolated on Windows, and are not run without; score saved runs instead (--run)")
    names = [entrant.spec.name for entrant in request.entrants]
    if len(set(names)) < len(names):
        raise UsageError(f"two agents have the same name: {', '.join(names)}; write one of them as NAME={names[0]}")
    teams: dict[str, _Team] = {}
    with ExitStack() as until_the_end:
        world = until_the_end.enter_context(open_world(request.suite, [entrant.places for entrant in request.entrants]))
        for entrant in request.entrants:
            teams[entrant.spec.name] = _Team(entrant, request, world, report)
            until_the_end.callback(teams[entrant.spec.name].abandon)
        for team in teams.values():
            team.load()
        for number in range(-(-len(request.suite) // request.options.block)):
            for name in turns(names, number):
                teams[name].run(number)
        for team in teams.values():
            team.close()
        return Ran(tuple(team.result() for team in teams.values()), world.survey)


class _Team:
    """One agent of a run: its journal and its workers, several if the work is to be done side by side."""

    def __init__(self, entrant: Entrant, request: Request, world: World, report: Callable[[Progress], None]) -> None:
        self._entrant, self._request, self._world, self._report = entrant, request, world, report
        spec = self._spec = entrant.spec
        steps = ordered(request.suite, entrant.places, request.options.seed, shuffled=request.options.randomize_order)
        self._blocks = list(blocks(steps, request.options.block))
        self._total = len(steps)
        self._lock = threading.Lock()
        self._sessions = [Session(spec, request.options, steps[-1].query) for _ in range(request.options.jobs)]
        path = request.journals.get(spec.name)
        self._journal = None if path is None else Journal(path, self._identity(), resume=request.resume)
        known = {} if self._journal is None else self._journal.entries
        self._entries = {case: entry for case, entry in known.items() if not request.retry or entry.outcome.status not in RETRIED}
        self._resumed = len(self._entries)
        self._failed = sum(entry.outcome.status in RETRIED for entry in self._entries.values())

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a journal to be gone on with."""
        options = asdict(self._request.options)
        for irrelevant in ("jobs", "block", "max_failures", "foreign"):
            del options[irrelevant]
        config = json.dumps(without_secrets(self._spec.config), sort_keys=True, default=str)
        return {
            "queries": self._request.suite.hashes["queries"],
            "corpus": self._world.digest(self._entrant.places),
            "agent": {"name": self._spec.name, "source": self._spec.source, "config": hashlib.sha256(config.encode()).hexdigest()},
            "options": options,
        }

    def load(self) -> None:
        if len(self._entries) < self._total:
            self._sessions[0].load()

    def run(self, number: int) -> None:
        """Ask what has not been answered yet of one block."""
        waiting = [step for step in self._blocks[number] if step.case not in self._entries]
        if len(self._sessions) == 1:
            for step in waiting:
                self._ask(self._sessions[0], step)
        elif waiting:
            self._side_by_side(waiting)

    def _side_by_side(self, waiting: list[Step]) -> None:
        steps = iter(waiting)

        def work(session: Session) -> None:
            while (step := self._next(steps)) is not None:
                self._ask(session, step)

        with ThreadPoolExecutor(len(self._sessions)) as pool:
            try:
                for done in [pool.submit(work, session) for session in self._sessions]:
                    done.result()
            except BaseException:
                list(steps)  # nobody begins another one
                for session in self._sessions:
                    session.abandon()
                raise

    def _next(self, steps: Iterable[Step]) -> Step | None:
        with self._lock:
            return next(iter(steps), None)

    def _ask(self, session: Session, step: Step) -> None:
        outcome = session.ask(step.query, step.place)
        with self._lock:
            entry = _settled(outcome, self._world.existing(step.place), self._world.unreachable(step))
            if self._journal is not None:
                self._journal.add(step.case, entry)
            self._entries[step.case] = entry
        failed = (
            sum(entry.outcome.status in RETRIED for entry in self._entries.values()) if outcome.status in RETRIED else self._failed
        )
        self._failed = failed
        self._report(Progress(self._spec.name, len(self._entries), self._total, failed))

    _failed = 0

    def close(self) -> None:
        for session in self._sessions:
            session.close()

    def abandon(self) -> None:
        for session in self._sessions:
            session.abandon()
        if self._journal is not None:
            self._journal.close()

    def result(self) -> Run:
        """All answers, in the order of the suite."""
        run = _assembled(self._spec.name, self._request.suite.table.ids, self._entries)
        return replace(run, metadata=self._metadata() | _prices(run))

    def _metadata(self) -> dict[str, Any]:
        sessions, options = self._sessions, self._request.options
        prepared = [each for session in sessions for each in session.preparations]
        sizes = [each.index_bytes for each in prepared if each.index_bytes is not None]
        memory = [session.peak_memory for session in sessions if session.peak_memory is not None]
        failed_to_start = next((s.given_up for s in sessions if s.given_up and not s.preparations), None)
        metadata = {
            "agent": {"source": self._spec.source, "config": without_secrets(self._spec.config)},
            "options": asdict(options),
            "suite": {
                "name": self._request.suite.name,
                "hashes": {**self._request.suite.hashes, "corpus": self._world.digest(self._entrant.places)},
            },
            "environment": environment(),
            "snapshot": self._entrant.snapshot,
            "candidates": _candidates(self._entrant.places),
            "repositories": {name: state for name, folder in self._world.folders.items() if (state := git_state(folder))},
            "index": {
                "seconds": sum(each.seconds for each in prepared),
                "initialised": sum(each.how == "initialised" for each in prepared),
                "updated": sum(each.how == "updated" for each in prepared),
                "bytes": max(sizes, default=None),
            },
            "index_bytes": max(sizes, default=None),
            "memory_bytes": max(memory, default=None),
            "start_seconds": [second for session in sessions for second in session.start_seconds],
            "restarts": sum(max(0, session.restarts) for session in sessions),
            "under_load": options.jobs if options.jobs > 1 else None,
            "resumed": self._resumed or None,
            "failure": failed_to_start,
            "output": sessions[0].output() or None,
        }
        return {key: value for key, value in metadata.items() if value is not None}


def _settled(outcome: Outcome, existing: Existing, unreachable: Sequence[str]) -> Entry:
    """The outcome with its hits under the names that the corpus has for them, and the targets that it lacks."""
    settled = [existing.settled(hit) for hit in outcome.ids]
    details = outcome.details | ({"unreachable": list(unreachable)} if unreachable else {})
    named = Outcome(outcome.status, tuple(hit for hit, _ in settled), outcome.scores, details)
    return Entry(named, tuple(exists for _, exists in settled))


def _candidates(places: Mapping[str, Place]) -> dict[str, list[str]] | None:
    """Which files could be found at all, where not all of them could."""
    place = next(iter(places.values()))
    return {"kinds": list(place.kinds), "excluded": list(place.excluded)} if place.kinds or place.excluded else None


def _prices(run: Run) -> dict[str, float]:
    """What an answer takes, in time and in whatever the agent is paid in: what decisions weigh against quality."""
    latencies = latencies_of(run)
    usual = latencies.get("warm") or latencies.get("cold")
    costs = [each["cost"] for each in run.details or () if "cost" in each]
    return ({} if usual is None else {"latency_ms": usual.p50}) | ({"cost": sum(costs)} if costs else {})


def _assembled(agent: str, cases: Sequence[str], entries: Mapping[str, Entry]) -> Run:
    outcomes = [entries[case].outcome for case in cases]
    sizes = [len(outcome.ids) for outcome in outcomes]
    scores = [score for outcome in outcomes for score in outcome.scores or [None] * len(outcome.ids)]
    dropped: dict[str, int] = {}
    for outcome in outcomes:
        counts = outcome.details.get("dropped", {}) | {"unreachable_targets": len(outcome.details.get("unreachable", ()))}
        for key, count in counts.items():
            dropped[key] = dropped.get(key, 0) + count
    return Run(
        agent=agent,
        case_ids=tuple(cases),
        starts=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        ids=[hit for outcome in outcomes for hit in outcome.ids],
        scores=np.array([np.nan if score is None else score for score in scores], np.float64),
        status=np.array([STATUSES.index(outcome.status) for outcome in outcomes], np.uint8),
        valid=np.array([exists for case in cases for exists in entries[case].valid], bool),
        dropped={key: count for key, count in dropped.items() if count},
        details=tuple(outcome.details for outcome in outcomes),
    )
