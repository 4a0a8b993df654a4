"""What an executor's worker does with a block of cases: asks them with an agent that it keeps alive between blocks."""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import monotonic

from searchmark.agents.registry import register_secrets_of
from searchmark.errors import PoolGone, UsageError
from searchmark.executors.packing import stop_event
from searchmark.formats.corpora.locations import Location
from searchmark.io.plugins import plugins_forbidden
from searchmark.io.secrets import environment_secrets, secrets_in, without_measured_texts
from searchmark.records.provenance import RunLabel, WorkerOutput
from searchmark.running.blocks import Assignment, BlockResult, CaseBlock, localize_steps, pause_before_start, refuse_other_code
from searchmark.running.corpus_inspector import CaseExistence, open_inspector
from searchmark.running.distribution import InstalledVersion, refuse_other_version
from searchmark.running.journal import encode_compact
from searchmark.running.plan import Step
from searchmark.running.run_builder import environment, with_corpus_ids
from searchmark.running.sandbox.launch import choose_sandbox, launch_on_executor
from searchmark.running.session import CaseAsker, SearchOutcome, WorkerEvent
from searchmark.running.worker.process_tree import hide_memory_for_good

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
        self._asker = CaseAsker(assignment.spec, options, self._launch, last, self._inspector, self._record, self._note)
        self._until_the_end.callback(self._asker.session.abandon)

    def load(self, assignment: Assignment) -> None:
        """Load the agent; other code than that of the run is refused. One that cannot be made here is said with its first block."""
        try:
            code = self._asker.session.load()
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
        session = self._asker.session
        self.stop, self._count = stop_event(), 0
        self._inspector.turn_to(block.suite, [{step.case: step.location for step in block.steps}])
        self._refuse_other_corpora(block)
        session.begin_block(ever_ready=block.forced)
        if self._load_problem is not None and not block.forced:
            session.give_up_starting(self._load_problem)
        self._asker.expect(block.steps)
        with self._interrupted_on_stop():
            self._asker.ask(_steps_in_time(block.steps))
        self._inspector.find_changes()
        unable = session.given_up if not session.ever_ready else None
        return self._result(unable)

    @contextmanager
    def _interrupted_on_stop(self) -> Iterator[None]:
        """What nobody waits for any more is ended with its worker, and each that is started instead: no thread can be."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(POLL_SECONDS):
                if self.stop.is_set():
                    self._asker.session.interrupt()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def close(self) -> BlockResult:
        """End the agent in good order, and say what there is still to say."""
        self._count = 0
        with self._until_the_end:
            self._asker.session.close()
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
        now = {each.stream: each for each in self._asker.session.printed()}
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


class _IdleAgents:
    """The agents that live in this process and are not being asked right now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[BlockAgent, threading.Event] = {}  # each with what tells that it is idle no more
        self._failed: Counter[BlockAgentKey] = Counter()  # starts since the last one that succeeded

    def take(self, block: CaseBlock) -> BlockAgent:
        """One that can be asked this block: an idle one of its run, or a new one."""
        key = block.assignment.run, block.assignment.label
        with self._lock:
            alike = [each for each in self._idle if each.key == key]
            agent = next((each for each in reversed(alike) if each.fits(block)), None)
            leftover = alike if agent is None else []  # a sandbox that shows something else is of no use any more
            for each in (*leftover, *([agent] if agent else [])):
                self._idle.pop(each).set()
        for each in leftover:
            each.close()
        return agent or self._start(block, key)

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

    def count_start(self, key: BlockAgentKey, *, failed: bool) -> None:
        """Whether an agent that was asked a block could be started for it."""
        with self._lock:
            self._failed[key] = self._failed[key] + 1 if failed else 0

    def give_back(self, agent: BlockAgent) -> None:
        busy = threading.Event()
        with self._lock:
            self._idle[agent] = busy
        threading.Thread(target=self._attend, args=(agent, busy), daemon=True).start()

    def _attend(self, agent: BlockAgent, busy: threading.Event) -> None:
        """End an agent of a run that was stopped, or of one that nobody hears of any more."""
        until = monotonic() + IDLE_SECONDS
        while not busy.wait(POLL_SECONDS):
            if agent.stop.is_set() or monotonic() > until:
                self._end_if_idle(agent)
                return

    def _end_if_idle(self, agent: BlockAgent) -> None:
        with self._lock:
            idle = self._idle.pop(agent, None) is not None
        if idle:
            agent.close()

    def take_run(self, run: str) -> list[BlockAgent]:
        """Those of a run, which are nobody's from here on."""
        with self._lock:
            self._failed = Counter({key: failed for key, failed in self._failed.items() if key[0] != run})
            own = [each for each in self._idle if each.key[0] == run]
            for each in own:
                self._idle.pop(each).set()
        return own


_IDLE_AGENTS = _IdleAgents()  # of this process: agents outlive the calls that ask them


def warm_up(version: InstalledVersion) -> None:
    """Whoever does this has what a block needs imported and read by the time that the first one comes."""
    refuse_other_version(version)


def run_block(block: CaseBlock) -> BlockResult:
    """Ask the cases of a block in this process, with an agent that stays alive for the next one."""
    refuse_other_version(block.assignment.installed)
    supplies = block.assignment.supplies
    supplies.refuse_missing()
    block = replace(block, steps=localize_steps(supplies, block.steps))
    agent = _IDLE_AGENTS.take(block)
    try:
        result = agent.ask(block)
    except BaseException:
        agent.abandon()
        raise
    _IDLE_AGENTS.count_start(agent.key, failed=result.unable is not None)
    if result.unable is None and not agent.stop.is_set():
        _IDLE_AGENTS.give_back(agent)
    else:
        agent.close()
    return result


def end_run(run: str) -> list[tuple[RunLabel, BlockResult]]:
    """End all agents of a run in this process; what each of them had still to say."""
    return [(agent.key[1], agent.close()) for agent in _IDLE_AGENTS.take_run(run)]
