"""Runs agents on a suite, scores runs, evaluates, compares and gates them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from searchmark.config.run import CaseSelection, ExecutorSettings, ResumeSettings, RunSettings
from searchmark.config.strict import short_repr
from searchmark.errors import UsageError
from searchmark.formats.corpora.case_locations import (
    SearchScope,
    scope_of_agent,
    scope_of_corpus,
    snapshots_to_search,
)
from searchmark.formats.corpora.corpus import Corpus
from searchmark.formats.corpora.locator import locate_cases
from searchmark.io.plugins import plugins_forbidden
from searchmark.records.document import Document
from searchmark.records.provenance import RunLabel
from searchmark.records.run import Run
from searchmark.records.suite import Case, Suite

if TYPE_CHECKING:
    from searchmark.executors.pool import PoolSettings
    from searchmark.running.distribution import Supplies
    from searchmark.running.estimate import RunEstimate
    from searchmark.running.request import AgentJob, RunProgress, RunRequest
    from searchmark.running.result import RunResult


OnProgress: TypeAlias = "Callable[[RunProgress], None]"


@dataclass(frozen=True, eq=False)
class Experiment:
    """Agents to be asked the cases of a suite.

    With a ``resumption`` every answer is recorded as it arrives, so that an interrupted experiment can be resumed; without one
    nothing is written to disk.
    """

    suite: Suite
    agents: Sequence[Any]  # each whatever `load_agent` takes; one with modes is asked in all of them
    where: SearchScope = SearchScope()  # noqa: RUF009  # what is searched
    cases: CaseSelection = CaseSelection()  # noqa: RUF009  # which are asked
    options: RunSettings = RunSettings()  # how they are asked
    resumption: ResumeSettings | None = None
    repeats: int = 1  # runs of each agent
    # Files that a sandboxed agent must not see and that are no documents, beside those that the suite was read from.
    hidden: tuple[Path, ...] = ()
    # Who runs it: unless an executor is named, this process, or as many as ``options.jobs`` says.
    placement: ExecutorSettings = ExecutorSettings()  # noqa: RUF009  # frozen

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not self.agents or self.repeats < 1:
            raise UsageError("an experiment needs an agent at least, and asks it once at least")
        from searchmark.agents.registry import agents_in_modes, check_spec, load_agent

        object.__setattr__(self, "agents", tuple(agents_in_modes([load_agent(each) for each in self.agents])))
        self._executor()  # one that cannot be meant is refused at once
        for spec in self.agents:
            check_spec(spec, foreign=not self.options.no_exec, network=self.options.network)
        if self.where.snapshots and all(each.service is not None for each in self._searched.values()):
            first = self.agents[0].name
            raise UsageError(f"{first!r} searches what it has, and cannot be asked about an earlier state; leave out --snapshot")

    @property
    def labels(self) -> list[RunLabel]:
        """The labels of the runs to come, in their order."""
        repeats = range(1, self.repeats + 1)
        return [
            RunLabel(each.name, snapshot, repeat, each.qualified)
            for each in self.agents
            for repeat in repeats
            for snapshot in snapshots_to_search(self.suite, self._searched[each.name])
        ]

    @property
    def _answer_files(self) -> tuple[Path, ...]:
        """Files that tell what is right: those of the suite, whoever has read it, and whatever else was named."""
        return tuple(dict.fromkeys((*self.hidden, *self.suite.files)))

    @cached_property
    def _searched(self) -> dict[str, SearchScope]:
        """What each agent searches, by its name."""
        from searchmark.agents.registry import has_own_corpus

        # What an agent must not see is not a document either.
        where = replace(self.where, never=tuple(dict.fromkeys((*self.where.never, *self._answer_files))))
        return {each.name: scope_of_agent(self.suite, where, each.name, own_corpus=has_own_corpus(each)) for each in self.agents}

    @property
    def begun(self) -> bool:
        """Whether an earlier run of the same left answers that could be resumed."""
        from searchmark.running.journal import has_begun

        return any(map(has_begun, self._journals().values()))

    def run(self, on_progress: OnProgress = lambda _: None) -> RunResult:
        """Ask every agent every case, the agents taking turns."""
        # The runner is loaded when something is run: scoring a saved run must not wait for it.
        from searchmark.running.journal_files import failed_cases_journal
        from searchmark.running.runner import run_agents

        request = self._request()
        if not self.cases.last_failed and not request.resume:  # what failed before this run is not what failed last
            for path in request.journals.values():
                failed_cases_journal(path).unlink(missing_ok=True)
        with plugins_forbidden() if self.options.no_exec else nullcontext():
            return run_agents(request, on_progress)

    def plan(self, on_progress: OnProgress = lambda _: None) -> RunEstimate:
        """What a run would be like: every agent is asked a few cases where all would be asked, and nothing is written down."""
        from searchmark.running.estimate import estimate_run

        return estimate_run(self._request(), on_progress)

    def _request(self) -> RunRequest:
        from searchmark.running.journal_files import failed_cases, failed_cases_journal
        from searchmark.running.plan import select_cases_and_shard
        from searchmark.running.request import RunRequest

        journals = self._journals()
        only = failed_cases(journals.values()) if self.cases.last_failed else None
        suite, shard = select_cases_and_shard(self.suite, self.cases, self.options.seed, only)
        again = self.resumption or ResumeSettings()
        if only is not None:
            journals = {label: failed_cases_journal(path) for label, path in journals.items()}
        resume = (journals, again.wanted, again.retry_errors)
        jobs = self._jobs(suite)
        placed = self._executor(), self._supplies(), self.placement.ship
        return RunRequest(suite, jobs, self.options, *resume, self._answer_files, shard, *placed)

    @property
    def on_executor(self) -> bool:
        """Whether cases are asked by others than this process, many at the same time."""
        return self._executor() is not None

    def _executor(self) -> PoolSettings | None:
        """Who runs it, if not this process: one that is named, or as many processes as were asked for."""
        from searchmark.executors.pool import parse_executor, process_pool

        own = next((each.name for each in self.agents if not each.isolated), None)
        executor = self.placement.executor
        if executor is not None:
            if own is not None:
                raise UsageError(f"the agent {own!r} is an object of this process, which no executor can ask; put it into a module")
            return parse_executor(executor, foreign=not self.options.no_exec, network=self.options.network)
        return process_pool(self.options.jobs) if self.options.jobs > 1 and own is None else None

    def _supplies(self) -> Supplies:
        """How others come by what is searched here: what was named by its address is had from there everywhere."""
        from searchmark.running.distribution import Parcel, Supplies

        if self.placement.wheels and self.options.no_exec:
            raise UsageError("--wheel brings code that is not built in, and --no-exec allows none; leave out one of the two")
        addresses = {path: address for where in self._searched.values() for path, address in where.addresses().items()}
        wheels = tuple(Parcel.of_wheel(Path(wheel)) for wheel in self.placement.wheels)
        return Supplies(addresses, wheels, self.options.network)

    @property
    def first_case(self) -> Case:
        """The first of the cases that are asked, in the order of the suite."""
        from searchmark.running.plan import select_cases

        return select_cases(self.suite, replace(self.cases, last_failed=False), self.options.seed).cases[0]

    def debug(self, on_error: Callable[[BaseException], None] = lambda _: None) -> RunResult:
        """Ask the only agent the first case, in this process: nothing isolates it, and what it raises is raised.

        Calls of ``breakpoint()`` stop in the debugger, and what the agent prints is seen. ``on_error`` is called with what it
        raises, before it is closed.
        """
        from searchmark.running.runner import debug_case

        suite = self.suite.only({self.first_case.id})
        jobs = self._jobs(suite)
        if len(jobs) != 1:
            raise UsageError(f"one agent is debugged at a time, and here are {len(jobs)}; name one")
        return debug_case(jobs[0], suite, self.options, on_error)

    def _journals(self) -> dict[RunLabel, Path]:
        if self.resumption is None:
            return {}
        from searchmark.running.journal_files import journal_path

        folder = Path(self.resumption.journal_folder)
        return {label: journal_path(folder, self.suite, label, self.cases, self.options.seed) for label in self.labels}

    def _jobs(self, suite: Suite) -> tuple[AgentJob, ...]:
        from searchmark.running.request import AgentJob

        specs = {spec.name: spec for spec in self.agents}
        targets = {label: (self._searched[label.agent], label.snapshot) for label in self.labels}
        network = self.options.network
        locations = {target: locate_cases(suite, *target, network=network) for target in dict.fromkeys(targets.values())}
        return tuple(AgentJob(specs[label.agent], locations[targets[label]], label) for label in self.labels)


def run_suite(
    suite: Suite,
    agent: Any,
    corpus: str | PathLike[str] | Corpus | Iterable[Document | Mapping[str, Any]] | None = None,
    options: RunSettings = RunSettings(),
    *,
    where: SearchScope | None = None,
) -> Run:
    """Ask one agent every case; nothing is written to disk.

    The corpus is a path, a `Corpus`, or a list of documents.
    The agent is a name, a class, an instance, or a function ``(query, k)`` that returns hits. What a worker can import
    runs in a process of its own; anything else runs in this one, where no deadline is enforced, and the run says so.
    """
    from searchmark.agents.registry import agent_in_one_mode, load_agent

    if where is not None and corpus is not None:
        raise UsageError("corpus and where both say what is searched; give one of them")
    scope = where or scope_of_corpus(corpus)
    spec = agent_in_one_mode(load_agent(agent))
    return Experiment(suite, (spec,), scope, options=options).run().runs[0]
