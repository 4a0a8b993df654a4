"""Blocks of cases for executors: how cases are split, what a machine must have, and how a worker there asks them."""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from time import monotonic, sleep

from searchmark.agents.registry import register_secrets_of
from searchmark.config.agents import AgentSpec
from searchmark.config.run import RunSettings
from searchmark.errors import PoolGone, UsageError
from searchmark.executors.packing import stop_event
from searchmark.formats.corpora.locations import Commit, Folder, Location
from searchmark.io.plugins import plugins_forbidden
from searchmark.io.secrets import environment_secrets, secrets_in, without_measured_texts
from searchmark.records.provenance import Environment, RunLabel, WorkerOutput
from searchmark.records.sentences import list_first
from searchmark.records.suite import Suite
from searchmark.running.corpus_inspector import CaseExistence, open_inspector
from searchmark.running.distribution import (
    MACHINES_SHOWN,
    NO_SUPPLIES,
    Look,
    Supplies,
    commits_in,
    lacking_error,
    refuse_missing_repository,
)
from searchmark.running.journal import encode_compact
from searchmark.running.plan import Step
from searchmark.running.run_builder import environment, with_corpus_ids
from searchmark.running.sandbox.launch import Launch, launch_on_executor
from searchmark.running.sandbox.mechanisms import choose_sandbox
from searchmark.running.sandbox.view import needs_of
from searchmark.running.session import SearchOutcome, Session, WorkerEvent
from searchmark.running.worker.process_tree import hide_memory_for_good

# The unit of work: some cases of one agent that follow each other in one history, and what comes home of them.

BLOCKS_PER_SLOT = 4  # for each worker at least, if there are cases enough: so the last blocks end at nearly the same time


@dataclass(frozen=True)
class Assignment:
    """What all blocks of one agent have in common."""

    run: str  # new for each start, also of a resumed run: an agent stays alive only between the blocks of one
    label: RunLabel
    spec: AgentSpec
    specs: tuple[AgentSpec, ...]  # of all agents that take part
    options: RunSettings
    code: str | None  # the digest that the agent's code must have
    hidden: tuple[Path, ...] = ()  # files that a sandboxed agent must not see
    folder: Path | None = None  # the working directory, where it exists
    supplies: Supplies = NO_SUPPLIES
    corpora: Mapping[str, str] = field(default_factory=dict)  # digests of what is searched, by name


@dataclass(frozen=True)
class CaseBlock:
    """Some cases to be asked one after the other."""

    assignment: Assignment
    place: int  # of its first case, in the order of all
    suite: Suite = field(repr=False)  # with these cases alone
    steps: tuple[Step, ...] = field(repr=False)
    forced: bool = False  # the agent was tried often enough: if it cannot be started here, these cases fail
    in_vain: int = 0  # how often it could not be started so far

    def rest(self, count: int) -> CaseBlock:
        """What is left of it when so many cases have been asked."""
        return replace(self, place=self.place + count, steps=self.steps[count:], in_vain=0)


@dataclass(frozen=True)
class BlockResult:
    """What came home of a block."""

    environment: Environment  # the machine
    worker: str  # the thread of a process there
    asked: int = 0  # the first so many cases
    lines: bytes = field(default=b"", repr=False)  # their answers and events as JSON, in their order
    unable: str | None = None  # why the agent could not be started, so that nothing was asked
    sandbox: str | None = None
    printed: tuple[WorkerOutput, ...] = ()  # by the agent since the block before
    changed: tuple[str, ...] = ()  # what others have changed meanwhile


def block_size(cases: int, slots: int | None, largest: int) -> int:
    """How many cases a block has: few enough that every worker gets some, as far as they are known, and not more than asked for."""
    return max(1, min(largest, cases // (slots * BLOCKS_PER_SLOT))) if slots else largest


def split_by_history(steps: Iterable[tuple[int, Step]], size: int) -> Iterator[list[tuple[int, Step]]]:
    """Stretches of at most this size, drawn when they are wanted; none of them leaves its history, where an index can follow."""
    for _, alike in groupby(steps, lambda pair: _history_of(pair[1].location)):
        while stretch := list(islice(alike, size)):
            yield stretch


def _history_of(location: Location) -> object:
    return location.history if isinstance(location, Commit) else type(location)


def suite_of_steps(suite: Suite, steps: Sequence[Step]) -> Suite:
    """The cases of some steps, as far as a worker needs to know them: their own documents are in their locations."""
    rows = [suite.table.index[step.case] for step in steps]
    cases = replace(suite.table.of_rows(rows), documents=None)
    return Suite(suite.name, cases, suite.judgments.of_cases(rows), suite.defaults)


def localize_steps(supplies: Supplies, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps with their locations on this machine; locations that are one stay one."""
    locations: dict[Location, Location] = {}
    local_steps = []
    for step in steps:
        if step.location not in locations:
            locations[step.location] = supplies.here(step.location)
        local_steps.append(replace(step, location=locations[step.location]))
    return tuple(local_steps)


# What every machine must have before the run: those that lack something say what.


def looks_at_machine(supplies: Supplies, assignments: Sequence[Assignment], locations: Sequence[Location]) -> Iterator[Look]:
    """Whether it has what this one has: what is searched, commits of cases, and each agent with its code, files and variables."""
    for path in dict.fromkeys(each.path for each in locations if isinstance(each, Folder)):
        yield partial(supplies.path, path, shipped=False)
    for path, commits in commits_in(locations).items():
        yield partial(refuse_missing_repository, supplies, path, commits)
    needs = [needs_of(each.spec) for each in assignments]
    files = dict.fromkeys(path.absolute() for each in needs for path in each.files if path.exists())
    variables = dict.fromkeys(name for each in needs for name in sorted(each.variables) if os.environ.get(name))
    yield partial(_refuse_missing_files, tuple(files))
    yield partial(_refuse_missing_variables, tuple(variables))
    for assignment in assignments:
        yield partial(refuse_unloadable_agent, assignment)


def _refuse_missing_files(files: Iterable[Path]) -> None:
    if absent := [str(path) for path in files if not path.exists()]:
        raise lacking_error(f"files that agents are configured with: {list_first(absent, MACHINES_SHOWN)}")


def _refuse_missing_variables(names: Iterable[str]) -> None:
    if unset := [name for name in names if not os.environ.get(name)]:
        shown = list_first(unset, MACHINES_SHOWN)
        raise lacking_error(f"environment variables: {shown}; set them where its worker is started")


def refuse_unloadable_agent(assignment: Assignment) -> None:
    """Load the agent in a worker, and end it: one that is not there, or has other code, is refused."""
    register_secrets_of(assignment.specs)
    launch = Launch.of(assignment.spec, {}).with_code(assignment.spec, assignment.supplies.code(), assignment.folder)
    session = Session(assignment.spec, assignment.options, launch)  # in no sandbox: nothing is searched
    try:
        refuse_other_code(assignment, session.load())
    finally:
        session.abandon()


def refuse_other_code(assignment: Assignment, code: str | None) -> None:
    if code != assignment.code:
        raise UsageError(
            f"{socket.gethostname()} has other code of the agent {assignment.spec.name!r} than the machine that started the run"
        )


def refuse_missing_secrets(specs: Iterable[AgentSpec]) -> None:
    """Secrets do not travel: every machine has its own, in the environment of its workers."""
    for spec in specs:
        if secrets_in(spec.options):
            raise UsageError(
                f"the config of the agent {spec.name!r} holds a secret, which is not sent to other machines; "
                "set a variable where the workers are started, and write ${NAME} or, for an agent of your own, read it there"
            )


# What becomes of a block whose agent could not be started where it was: another worker may be able to.
#
# An agent that locks its index, say, starts in one worker and in no other. A worker that cannot start it must not decide for those
# that can, however long these take to be ready.

MOST_STARTS = 3  # of one block while no worker has been ready anywhere

MAX_STARTS_WHILE_OTHERS_READY = 20  # the same where somebody is, at the least: every worker gets its turn twice

LONGEST_PAUSE = 5.0


def pause_before_start(failures: int) -> float:
    """Seconds that a worker waits before it starts an agent again, so that others who are ready get the block that comes next."""
    return min(LONGEST_PAUSE, 0.1 * 2 ** min(failures - 1, 10)) if failures else 0.0


class StartRetries:
    """Keeps blocks whose agent could not be started until a worker that can start it is free, or until it is known that none can.

    While nobody has been ready, the first block that has no answer decides: it is the agent that cannot be started, once all that
    were on their way when the first block was held have been tried too.
    """

    def __init__(self) -> None:
        self._out: set[int] = set()  # blocks on their way, by their places
        self._untried: set[int] = set()  # those of them that no worker has tried yet
        self._awaited: set[int] = set()  # those of these that may still show that the agent can be started
        self._waiting: dict[int, tuple[CaseBlock, BlockResult]] = {}

    def hand_out(self, block: CaseBlock) -> CaseBlock:
        """The block, which is on its way from here on."""
        self._out.add(block.place)
        self._untried.add(block.place)
        return block

    def done(self, block: CaseBlock) -> None:
        """It is known what became of its cases, or of some of them."""
        self._out.discard(block.place)
        self._note_try(block)

    def _note_try(self, block: CaseBlock) -> None:
        self._untried.discard(block.place)
        self._awaited.discard(block.place)

    def unable(self, block: CaseBlock, result: BlockResult, *, ready: bool, able: int, slots: int) -> list[CaseBlock]:
        """The block, to be handed out again; none if it is held.

        ``ready``: the agent was, somewhere, if only before this run was resumed. ``able``: how many of these workers can start it.
        """
        self._note_try(block)
        again = replace(block, in_vain=block.in_vain + 1)
        if again.in_vain >= (max(MAX_STARTS_WHILE_OTHERS_READY, 2 * slots) if able else MOST_STARTS):
            if ready:
                return [replace(again, forced=True)]
        elif not able:
            return [again]
        if not self._waiting:
            self._awaited = set(self._untried)
        self._out.discard(block.place)
        self._waiting[block.place] = again, result
        return []

    def released(self, able: int) -> list[CaseBlock]:
        """Blocks that were held, no more than there are workers who are able and have nothing else to do."""
        free = max(1, able) - len(self._out)
        places = sorted(self._waiting)[: max(0, free)]
        self._out.update(places)
        return [self._waiting.pop(place)[0] for place in places]

    @property
    def hopeless(self) -> tuple[CaseBlock, BlockResult] | None:
        """The first block and what was said when it was tried last, if nobody is left who could show that the agent starts."""
        first = min((*self._waiting, *self._out), default=None)
        return None if first is None or self._awaited else self._waiting.get(first)


# What a worker does with a block: asks its cases with an agent that it keeps alive between blocks.

MAX_BLOCK_SECONDS = 10.0  # a block that takes longer comes home with what it has: no more is lost than that, or than one case

IDLE_SECONDS = 300.0

POLL_SECONDS = 0.5  # between looks whether somebody wants this to end

MAX_SHARED_LOADS = 2  # this process also serves whoever hands out blocks, so that times may be seen as late as with two workers

BlockAgentKey = tuple[str, RunLabel]  # a run, and an agent of it


class BlockAgent:
    """One agent that lives between the blocks of a run. Not to be shared between threads."""

    def __init__(self, block: CaseBlock) -> None:
        assignment = block.assignment
        register_secrets_of(assignment.specs)  # before it is decided what an agent gets to know, and what is written down
        self.key: BlockAgentKey = assignment.run, assignment.label
        self._until_the_end = ExitStack()
        if assignment.options.no_exec:
            self._until_the_end.enter_context(plugins_forbidden())
        self.stop = stop_event()
        self._lines: list[str] = []
        self._count = 0
        self._output: dict[str, WorkerOutput] = {}
        locations = {step.case: step.location for step in block.steps}
        self._known = frozenset(locations.values())
        self._compared: set[Location] = set()
        self._load_problem: str | None = None
        self._sandboxed = assignment.options.sandbox != "off"
        sandbox = choose_sandbox(assignment.options.sandbox, assignment.hidden)
        self._inspector = self._until_the_end.enter_context(open_inspector(block.suite, [locations]))
        launch = self._until_the_end.enter_context(launch_on_executor(assignment.spec, assignment.specs, locations, sandbox))
        self._launch = launch.with_code(assignment.spec, assignment.supplies.code(), assignment.folder)
        options = replace(assignment.options, jobs=MAX_SHARED_LOADS)
        last = block.steps[-1]
        self._secrets = secrets_in(assignment.spec.options) | without_measured_texts(environment_secrets(), block.suite.texts())
        self._session = Session(assignment.spec, options, self._launch, last, self._note)
        self._until_the_end.callback(self._session.abandon)

    def load(self, assignment: Assignment) -> None:
        """Load the agent; other code than that of the run is refused. One that cannot be made here is said with its first block."""
        try:
            code = self._session.load()
        except UsageError as error:
            self._load_problem = str(error)
        else:
            refuse_other_code(assignment, code)

    def _refuse_other_corpora(self, block: CaseBlock) -> None:
        """What is searched is what the machine has that started the run; looked at when it is searched for the first time."""
        expected = block.assignment.corpora
        locations = {id(step.location): step.location for step in block.steps} if expected else {}
        new = {str(number): each for number, each in locations.items() if each not in self._compared}
        self._compared.update(new.values())
        for name, digest in self._inspector.shared_corpora(new).items():
            if expected.get(name, digest) != digest:
                raise UsageError(f"{socket.gethostname()} has other contents of {name} than the machine that started the run")

    def fits(self, block: CaseBlock) -> bool:
        """Whether it can be asked this block; in a sandbox only what was shown to it can be searched."""
        return not self._sandboxed or all(step.location in self._known for step in block.steps)

    def ask(self, block: CaseBlock) -> BlockResult:
        """Ask the cases of a block, as many as there is time for."""
        session = self._session
        self.stop, self._count = stop_event(), 0
        self._inspector.turn_to(block.suite, [{step.case: step.location for step in block.steps}])
        self._refuse_other_corpora(block)
        session.begin_block(ever_ready=block.forced)
        if self._load_problem is not None and not block.forced:
            session.give_up_starting(self._load_problem)
        session.expect(block.steps)
        session.ask_cases(_steps_in_time(block.steps), self._inspector, self._record)
        self._inspector.find_changes()
        unable = session.given_up if not session.ever_ready else None
        return self._result(unable)

    def interrupt(self) -> None:
        """Have what is being asked fail: it is ended with its worker, and each that is started instead, as no thread can be."""
        self._session.interrupt()

    def close(self) -> BlockResult:
        """End the agent in good order, and say what there is still to say."""
        self._count = 0
        with self._until_the_end:
            self._session.close()
            self._inspector.find_changes()
            return self._result(None)

    def abandon(self) -> None:
        """End the agent at once, whatever it is doing."""
        self._until_the_end.close()

    def _result(self, unable: str | None) -> BlockResult:
        """What has happened since the last one, its start included."""
        lines, self._lines = self._lines, []
        return BlockResult(
            environment(),
            f"{socket.gethostname()} {os.getpid()} {threading.get_ident()}",
            0 if unable else self._count,
            "\n".join(lines).encode(),
            unable,
            sandbox=self._launch.text,
            printed=self._new_output(),
            changed=tuple(self._inspector.changed),
        )

    def _record(self, step: Step, outcome: SearchOutcome, existence: CaseExistence) -> None:
        entry = with_corpus_ids(step, outcome, existence, self._secrets)
        self._lines.append(encode_compact(entry.to_plain(step.case)))
        self._count += 1

    def _note(self, event: WorkerEvent) -> None:
        self._lines.append(encode_compact(event.to_plain()))

    def _new_output(self) -> tuple[WorkerOutput, ...]:
        """What was printed since this was last asked."""
        now = {each.stream: each for each in self._session.printed()}
        before, self._output = self._output, now
        nothing = WorkerOutput("", 0, "")
        return tuple(
            WorkerOutput(name, each.bytes - before.get(name, nothing).bytes, each.text[len(before.get(name, nothing).text) :])
            for name, each in now.items()
        )


def _steps_in_time(steps: Sequence[Step]) -> Iterator[Step]:
    """One step after the other, until it is time to go home."""
    start, stop = monotonic(), stop_event()
    for number, step in enumerate(steps):
        if stop.is_set() or (number and monotonic() - start > MAX_BLOCK_SECONDS):
            return
        yield step


class _LivingAgents:
    """The agents of this process, which outlive the calls that ask them. A thread ends those that nobody waits for any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._agents: dict[BlockAgent, float | None] = {}  # since when each is idle; None while it is asked
        self._failed: Counter[BlockAgentKey] = Counter()  # starts since the last one that succeeded
        self._watcher: threading.Thread | None = None

    def take(self, block: CaseBlock) -> BlockAgent:
        """One that can be asked this block: an idle one of its run, or a new one."""
        key = block.assignment.run, block.assignment.label
        with self._lock:
            alike = [each for each, since in self._agents.items() if since is not None and each.key == key]
            agent = next((each for each in reversed(alike) if each.fits(block)), None)
            leftover = alike if agent is None else []  # a sandbox that shows something else is of no use any more
            for each in (*leftover, *([agent] if agent else [])):
                del self._agents[each]
        for each in leftover:
            each.close()
        agent = agent or self._start(block, key)
        with self._lock:
            self._agents[agent] = None
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
        return agent

    def _start(self, block: CaseBlock, key: BlockAgentKey) -> BlockAgent:
        if stop_event().wait(pause_before_start(self._failed[key])):
            raise PoolGone("the pool of this task has been stopped")
        hide_memory_for_good()
        agent = BlockAgent(block)
        try:
            agent.load(block.assignment)
        except BaseException:
            agent.abandon()
            raise
        return agent

    def give_back(self, agent: BlockAgent, result: BlockResult | None) -> None:
        """What came of its block is None if it could not be asked to the end."""
        with self._lock:
            del self._agents[agent]
            if result is not None:
                self._failed[agent.key] = 0 if result.unable is None else self._failed[agent.key] + 1
                if result.unable is None and not agent.stop.is_set():
                    self._agents[agent] = monotonic()
                    return
        if result is None:
            agent.abandon()
        else:
            agent.close()

    def _watch(self) -> None:
        """Look at all of them now and then: a run may have been stopped, or never be heard of again."""
        while True:
            sleep(POLL_SECONDS)
            with self._lock:
                if not self._agents:
                    self._watcher = None
                    return
                long_ago = monotonic() - IDLE_SECONDS
                busy = [each for each, since in self._agents.items() if since is None and each.stop.is_set()]
                idle = [
                    each for each, since in self._agents.items() if since is not None and (each.stop.is_set() or since < long_ago)
                ]
                for each in idle:
                    del self._agents[each]
            for each in busy:
                each.interrupt()
            for each in idle:
                with suppress(Exception):  # nobody hears of it, and the others have to be ended too
                    each.close()

    def take_run(self, run: str) -> list[BlockAgent]:
        """Those of a run, which are nobody's from here on."""
        with self._lock:
            self._failed = Counter({key: failed for key, failed in self._failed.items() if key[0] != run})
            own = [each for each, since in self._agents.items() if since is not None and each.key[0] == run]
            for each in own:
                del self._agents[each]
        return own


_AGENTS = _LivingAgents()


def warm_up(_: None) -> None:
    """Whoever does this has imported what a block needs by the time that the first one comes."""


def run_block(block: CaseBlock) -> BlockResult:
    """Ask the cases of a block in this process, with an agent that stays alive for the next one."""
    supplies = block.assignment.supplies
    supplies.refuse_missing()
    block = replace(block, steps=localize_steps(supplies, block.steps))
    agent = _AGENTS.take(block)
    result = None
    try:
        result = agent.ask(block)
    finally:
        _AGENTS.give_back(agent, result)
    return result


def end_run(run: str) -> list[tuple[RunLabel, BlockResult]]:
    """End all agents of a run in this process; what each of them had still to say."""
    return [(agent.key[1], agent.close()) for agent in _AGENTS.take_run(run)]
