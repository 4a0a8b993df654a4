"""Runs all agents of a request: by workers of this process, or on an executor. The answers are the same either way.

The way from "run this" to "ask this": `run_agents`, for each agent a `CaseLoop`, and the worker's `Session`. On an executor,
`run_on_executor` hands out blocks of cases, and there a `BlockAgent` asks them, also through a `Session`. Either way a `RunBuilder`
turns the answers into a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from secrets import token_hex
from typing import Any

from searchmark.config.run import RunSettings
from searchmark.errors import SearchmarkError, UsageError
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import PoolSettings, ProcessLost, RetryingTasks, TaskLost, TaskPool
from searchmark.io.folders import private_folder
from searchmark.records.answers import AnswerDetails
from searchmark.records.provenance import PARENT, RunLabel, WorkerOutput
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.running.blocks import (
    Assignment,
    BlockResult,
    CaseBlock,
    StartRetries,
    block_size,
    end_run,
    looks_at_machine,
    refuse_missing_secrets,
    run_block,
    split_by_history,
    suite_of_steps,
    warm_up,
)
from searchmark.running.corpus_inspector import CorpusInspector, open_inspector
from searchmark.running.distribution import Supplies, check_machines, commits_in, send_parcels
from searchmark.running.journal import parse_record
from searchmark.running.plan import Step, order_cases, split_into_blocks, turns
from searchmark.running.request import (
    AgentJob,
    RunProgress,
    RunRequest,
    open_journals,
    refuse_duplicates,
    refuse_without_process_isolation,
)
from searchmark.running.result import RunResult
from searchmark.running.run_builder import RunBuilder, WorkerSummary, count_failures_in_a_row, run_from_entries, with_corpus_ids
from searchmark.running.sandbox.launch import GuardedCaches, Launch, guard_caches
from searchmark.running.sandbox.mechanisms import Sandbox, choose_sandbox
from searchmark.running.session import SearchOutcome, Session, WorkerEvent, outcome_of_reply
from searchmark.running.worker.client import KEPT_OUTPUT
from searchmark.running.worker.process_tree import hide_memory_meanwhile
from searchmark.running.worker.server import Server


def run_agents(request: RunRequest, report: Callable[[RunProgress], None] = lambda _: None) -> RunResult:
    """Ask every agent every case, the agents taking turns; the answers come in the order of the suite.

    All agents are made ready before the first is asked, so that it is said at once which of them cannot start. Each has its index
    then, as all have after their first block, and has answered its unmeasured search: nothing is done that is not done anyway.
    """
    refuse_without_process_isolation()
    refuse_duplicates(request.labels)
    if request.executor is not None:
        return run_on_executor(request, request.executor, report)
    options = request.options
    sandbox = choose_sandbox(options.sandbox, request.out_of_sight)
    with ExitStack() as until_the_end:
        until_the_end.enter_context(hide_memory_meanwhile())
        inspector = until_the_end.enter_context(open_inspector(request.suite, [job.locations for job in request.agents]))
        caches = until_the_end.enter_context(guard_caches([each.spec for each in request.agents], sandbox))
        agent_runs = {}
        for job in request.agents:
            agent_runs[job.label] = CaseLoop(job, request, inspector, report, sandbox, caches.guard)
            until_the_end.callback(agent_runs[job.label].abandon)
        for agent_run in agent_runs.values():
            agent_run.load(alone=len(agent_runs) == 1)
        open_journals(request, lambda label, path, resume: agent_runs[label].open_journal(path, resume=resume, retry=request.retry))
        for agent_run in agent_runs.values():
            agent_run.make_ready()
        for number in range(-(-len(request.suite) // options.block)):
            for label in turns(request.labels, number):
                agent_runs[label].run(number)
        for agent_run in agent_runs.values():
            agent_run.close()
        inspector.find_changes()
        tampering = caches.tampering()
        runs = tuple(agent_run.result(tampering) for agent_run in agent_runs.values())
        return RunResult(request.suite, runs, inspector.survey, _missing(agent_runs))


def _missing(agents: Mapping[RunLabel, CaseLoop | AgentBlocks]) -> dict[RunLabel, str]:
    """The agents that could not be started for want of something, each with what it is."""
    return {label: agent.builder.missing for label, agent in agents.items() if agent.builder.missing is not None}


class CaseLoop:
    """One agent, asked block by block by a worker of this process; its answers go to a `RunBuilder`."""

    def __init__(
        self,
        job: AgentJob,
        request: RunRequest,
        inspector: CorpusInspector,
        report: Callable[[RunProgress], None],
        sandbox: Sandbox | None,
        guard: int | None,
    ) -> None:
        self.builder = RunBuilder(job, request, inspector, report)
        options = request.options
        self._inspector = inspector
        steps, last = self.builder.steps, self.builder.steps[-1]
        self._blocks = list(split_into_blocks(steps, options.block))
        launch = Launch.of(job.spec, job.locations, sandbox, guard).with_code(job.spec, request.supplies.unpack_wheels(), None)
        self.builder.sandbox = launch.text
        self._session = Session(job.spec, options, launch, last, self.builder.note)
        self._session.expect(steps)

    def load(self, *, alone: bool) -> None:
        """Start a worker and load the agent. One that cannot be loaded is refused; among others it fails, and they do not."""
        self.builder.report("loading")
        try:
            self.builder.load(self._session)
        except UsageError as error:
            if alone:
                raise
            self._break(error)

    def open_journal(self, path: Path, *, resume: bool, retry: bool) -> None:
        self.builder.open_journal(path, resume=resume, retry=retry)
        self._session.begin_block(ever_ready=self.builder.ever_ready)

    def make_ready(self) -> None:
        """Start the agent, build its index and warm it up for its first case."""
        if self.builder.broken is not None or not self.builder.unanswered:
            return
        with self._failing_alone():
            self.builder.report("preparing")
            self._session.make_ready(chain.from_iterable(map(self._unanswered_steps, range(len(self._blocks)))), self._inspector)
            self._session.pass_over(0)  # what failed before this case counts when blocks are asked, and not twice

    def run(self, number: int) -> None:
        """Ask what has not been answered yet of one block."""
        if self.builder.broken is not None:
            return
        with self._failing_alone():
            self._session.ask_cases(self._unanswered_steps(number), self._inspector, self.builder.record)

    def _unanswered_steps(self, number: int) -> Iterator[Step]:
        """The steps to ask; failures known from before count in their places between the others."""
        session = self._session
        for step in self._blocks[number]:
            entry = self.builder.answers.get(step.case)
            if entry is None:
                yield step
            elif session.given_up is None:
                session.pass_over(count_failures_in_a_row(entry, session.failures_in_a_row))

    @contextmanager
    def _failing_alone(self) -> Iterator[None]:
        """Whatever is unexpected about one agent ends this agent only; what we refuse on purpose ends the run."""
        try:
            yield
        except SearchmarkError:
            raise
        except Exception as error:  # noqa: BLE001  # nobody can list what is unexpected
            self._break(error)

    def _break(self, error: Exception) -> None:
        self.builder.fail(error)
        with suppress(Exception):
            self._session.abandon()

    def close(self) -> None:
        if self.builder.broken is None:
            with self._failing_alone():
                self._session.close()

    def abandon(self) -> None:
        self._session.abandon()
        self.builder.let_go()

    def result(self, cache: str | None) -> Run:
        """All answers, in the order of the suite, when all agents have ended."""
        outputs = tuple(self._session.printed())
        return self.builder.result(WorkerSummary(1, outputs, cache, tuple(self._inspector.changed)))


# The same on an executor: answers are written down as their blocks come home, so that whatever ends this process, what came is
# kept. In the end they are what one worker would have got that asks case after case.


class AgentBlocks:
    """Blocks of one agent, and what came home of them."""

    def __init__(
        self, run: str, builder: RunBuilder, request: RunRequest, inspector: CorpusInspector, pool: TaskPool, supplies: Supplies
    ) -> None:
        self.run, self.builder = run, builder
        self._request, self._inspector, self._pool, self._supplies = request, inspector, pool, supplies
        self._ids: dict[str, str] = {}
        self._starts = StartRetries()
        self._workers: set[str] = set()
        self._host: int | None = None  # of the last answers
        self._printed: dict[str, WorkerOutput] = {}
        self._changed: dict[str, None] = {}
        self._over = False

    def load(self, *, alone: bool) -> None:
        """Load the agent here once, to know its code: a worker that has another one is refused."""
        request, job = self._request, self.builder.job
        self.builder.report("loading")
        sandbox = choose_sandbox(request.options.sandbox, request.out_of_sight)
        launch = Launch.of(job.spec, job.locations, sandbox).with_code(job.spec, request.supplies.unpack_wheels(), None)
        session = Session(job.spec, request.options, launch)
        self.builder.sandbox = launch.text
        try:
            self.builder.load(session)
        except UsageError as error:
            if alone:
                raise
            self.builder.fail(error)
        finally:
            session.abandon()

    def blocks(self) -> Iterator[CaseBlock]:
        """All cases that have no answer yet, block by block, until the agent is left alone."""
        builder, request = self.builder, self._request
        if builder.broken is not None or not builder.unanswered:
            return
        builder.report("preparing")
        size = block_size(builder.unanswered, self._pool.slots, request.options.block)
        assignment = self.assignment()
        waiting = ((place, step) for place, step in enumerate(builder.steps) if not builder.knows(step))
        for stretch in split_by_history(waiting, size):
            if self._over:
                return
            steps = tuple(step for _, step in stretch)
            yield self._starts.hand_out(CaseBlock(assignment, stretch[0][0], suite_of_steps(request.suite, steps), steps))

    def assignment(self) -> Assignment:
        """What all of its blocks have in common."""
        builder, request = self.builder, self._request
        return Assignment(
            self.run,
            builder.job.label,
            builder.job.spec,
            tuple(job.spec for job in request.agents),
            request.options,
            builder.code,
            request.out_of_sight,
            Path.cwd(),
            self._supplies,
            {} if builder.job.label.snapshot == PARENT else self._inspector.shared_corpora(builder.job.locations),
        )

    def home(self, block: CaseBlock, result: BlockResult) -> list[CaseBlock]:
        """Take what came home; what is still to be asked is handed out again."""
        if self._over:
            return []
        if result.unable is not None:
            ready, able, slots = self.builder.ever_ready, len(self._workers), self._pool.slots or 0
            return [*self._starts.unable(block, result, ready=ready, able=able, slots=slots), *self._released_blocks()]
        self._starts.done(block)
        self.take(result, block)
        if self.builder.given_up() is not None:
            self._over = True
            return []
        rest = [self._starts.hand_out(block.rest(result.asked))] if result.asked < len(block.steps) else []
        return [*rest, *self._released_blocks()]

    def take(self, result: BlockResult, block: CaseBlock | None) -> None:
        """Write down answers and events, in their order."""
        builder = self.builder
        self._host = host = builder.host(result.environment)
        builder.sandbox = result.sandbox
        steps = {} if block is None else {step.case: step for step in block.steps}
        for line in result.lines.splitlines():
            match parse_record(json.loads(line), self._ids):
                case WorkerEvent() as event:
                    builder.note(event, host, None if block is None else block.place)
                case (case, entry):
                    builder.add(steps[case], entry, host)
        self._workers.add(result.worker)
        self._changed |= dict.fromkeys(result.changed)
        for output in result.printed:
            self._printed[output.stream] = _join_output(self._printed.get(output.stream), output)

    def _released_blocks(self) -> list[CaseBlock]:
        """Blocks that waited for a worker that is ready and free. If none ever will be, the agent is left alone.

        What it said then, and where it failed, is what came home last.
        """
        if self.builder.ever_ready:
            return self._starts.released(len(self._workers))
        if (hopeless := self._starts.hopeless) is not None:
            block, result = hopeless
            self.take(result, block)
            self._over = True
        return []

    def lost(self, loss: TaskLost[CaseBlock]) -> list[CaseBlock]:
        """A block that has ended too many workers is an error of all its cases."""
        reason = f"{loss.losses} workers ended while they asked the block of this case: {loss.reason}"
        self._record_all(loss.task, SearchOutcome("error", details=AnswerDetails(failure=reason, lost_workers=loss.losses)))
        self._starts.done(loss.task)
        return self._released_blocks()

    def _record_all(self, block: CaseBlock, outcome: SearchOutcome) -> None:
        for step in block.steps:
            existence = self._inspector.prefetch(step)()
            # Nobody knows where it was lost: a machine that has answered nothing must not look as if it had.
            self.builder.record(step, outcome, existence, self._host)

    def result(self, cache: str | None) -> Run:
        """All answers, in the order of the suite; ``cache`` says what others have changed in that of this machine."""
        slots = self._pool.slots or len(self._workers)
        summary = WorkerSummary(
            max(1, min(len(self._workers), slots)),
            tuple(self._printed.values()),
            cache,
            tuple(dict.fromkeys((*self._inspector.changed, *self._changed))),
        )
        return self.builder.result(summary)


def _join_output(before: WorkerOutput | None, more: WorkerOutput) -> WorkerOutput:
    """What was printed first is kept, and how much there was in all."""
    if before is None:
        return more
    return WorkerOutput(more.stream, before.bytes + more.bytes, (before.text + more.text)[:KEPT_OUTPUT])


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """A run that is about to begin: its agents are loaded, its journals open, and its machines have what they need."""

    pool: TaskPool
    agents: Mapping[RunLabel, AgentBlocks]
    inspector: CorpusInspector
    caches: GuardedCaches


def run_on_executor(request: RunRequest, executor: PoolSettings, report: Callable[[RunProgress], None]) -> RunResult:
    """Ask every agent every case on an executor; the answers come in the order of the suite."""
    with prepare_run(request, executor, report) as run:
        hand_out(run.pool, run.agents)
        run.inspector.find_changes()
        tampering = run.caches.tampering()
        runs = tuple(agent.result(tampering) for agent in run.agents.values())
        return RunResult(request.suite, runs, run.inspector.survey, _missing(run.agents))


@contextmanager
def prepare_run(request: RunRequest, executor: PoolSettings, report: Callable[[RunProgress], None]) -> Iterator[PreparedRun]:
    """Get everything ready."""
    with ExitStack() as until_the_end:
        until_the_end.enter_context(hide_memory_meanwhile())
        inspector = until_the_end.enter_context(open_inspector(request.suite, [each.locations for each in request.agents]))
        folder = until_the_end.enter_context(private_folder())
        sandbox = choose_sandbox(request.options.sandbox, request.out_of_sight)
        caches = until_the_end.enter_context(guard_caches([each.spec for each in request.agents], sandbox))
        pool = until_the_end.enter_context(open_executor(executor))
        for _ in range(pool.slots or 0) if pool.same_machine else ():
            pool.submit(warm_up, None)  # while agents are loaded here; what it says the first block will say again
        locations = list({id(each): each for job in request.agents for each in job.locations.values()}.values())
        supplies = request.supplies.with_bundles(commits_in(locations), folder) if request.ship else request.supplies
        agents: dict[RunLabel, AgentBlocks] = {}
        run = token_hex(8)  # not the id of the record: agents of a run that was killed are not asked by the one that resumes it
        for job in request.agents:
            builder = RunBuilder(job, request, inspector, report)
            until_the_end.callback(builder.let_go)
            agents[job.label] = AgentBlocks(run, builder, request, inspector, pool, supplies)
        for agent in agents.values():
            agent.load(alone=len(agents) == 1)
        open_journals(
            request, lambda label, path, resume: agents[label].builder.open_journal(path, resume=resume, retry=request.retry)
        )
        if not pool.same_machine:
            refuse_missing_secrets(job.spec for job in request.agents)
            send_parcels(pool, supplies)
            assignments = [agent.assignment() for agent in agents.values() if agent.builder.broken is None]
            if assignments:  # some agent could be loaded
                check_machines(pool, looks_at_machine(supplies, assignments, locations), "the run")
        yield PreparedRun(pool, agents, inspector, caches)


def hand_out(pool: TaskPool, agents: Mapping[RunLabel, AgentBlocks], work: Callable[[CaseBlock], BlockResult] = run_block) -> None:
    """Hand out blocks until every case has its answer, and end all agents, wherever they live."""
    completion: RetryingTasks[CaseBlock, BlockResult] = RetryingTasks(
        pool, work, alternate_agents(agents), bring=lambda block, parcels, work: block.assignment.supplies.bring(parcels, work)
    )
    for outcome in completion:
        agent = agents[outcome.task.assignment.label]
        again = agent.lost(outcome) if isinstance(outcome, TaskLost) else agent.home(outcome.task, outcome.result)
        for block in again:
            completion.add(block, block.in_vain)
    for run in {agent.run for agent in agents.values()}:
        for label, result in _end_agents(pool, run):
            agents[label].take(result, None)


def _end_agents(pool: TaskPool, run: str) -> Iterator[tuple[RunLabel, BlockResult]]:
    """End all agents of a run, wherever they live, in this process too, where threads may have asked them."""
    yield from end_run(run)
    with suppress(SearchmarkError, ProcessLost):  # all answers are home: a worker that is gone has nothing more to say
        for results in pool.everywhere(end_run, run) or ():
            yield from results


def alternate_agents(agents: Mapping[RunLabel, AgentBlocks]) -> Iterator[CaseBlock]:
    """One block of each agent after the other, each coming first equally often, until none has any left."""
    waiting = {label: agent.blocks() for label, agent in agents.items()}
    for number in count():
        labels: Sequence[RunLabel] = [label for label in agents if label in waiting]
        if not labels:
            return
        for label in turns(labels, number):
            block = next(waiting[label], None)
            if block is None:
                del waiting[label]
            else:
                yield block


# One case asked in this process, so that the agent prints where the program prints and a debugger stops in it. Nothing protects the
# program from the agent: it has no process of its own, no deadline, no sandbox, and every environment variable.


def debug_case(job: AgentJob, suite: Suite, options: RunSettings, on_error: Callable[[BaseException], None]) -> RunResult:
    """Ask the only case of a suite once. What the agent raises is raised, after ``on_error`` and the closing of the agent."""
    (step,) = order_cases(suite, job.locations, options.seed)
    server = Server(job.spec)
    with open_inspector(suite, [job.locations]) as inspector:
        existence = inspector.prefetch(step)()
        try:
            reply = _ask_once(server, step, options, passages=existence.judges_passages)
        except BaseException as error:
            on_error(error)
            with suppress(Exception):  # it has failed already
                server.perform({"op": "close"})
            raise
        entry = with_corpus_ids(step, outcome_of_reply(reply), existence, frozenset())
        return RunResult(suite, (run_from_entries(job.label, suite.table.ids, {step.case: entry}),), inspector.survey)


def _ask_once(server: Server, step: Step, options: RunSettings, *, passages: bool) -> dict[str, Any]:
    """The reply to the one search; the agent is closed after it."""
    limits = {"memory_limit_mb": None, "foreign": not options.no_exec, "network": options.network}
    server.perform({"op": "load", "agent": None, **limits})
    server.perform({"op": "prepare", "location": step.location.to_plain()})
    server.perform({"op": "reset"})
    request = {"request": step.request} if step.request else {}
    reply = server.perform({"op": "search", "query": step.query, "depth": options.depth, "passages": passages, **request})
    server.perform({"op": "close"})
    return reply
