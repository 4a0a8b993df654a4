"""What a worker does with a block: it has the agent ask the cases, and sends home what became of them.

The agent lives in a process of its own below this one, as in every run, so that its deadlines are kept here, whoever runs this. It
stays alive between blocks, with its index; the next block goes on where it is. A run that ends says so. One that is stopped or
killed cannot: its agents end when the pool that their blocks came from does, or when nobody has asked them for a while.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import monotonic

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.locations import Location
from searchmark.errors import PoolGone, UsageError
from searchmark.executors.stopping import stop_event
from searchmark.records import Printed, RunLabel
from searchmark.registry import name_secrets_of
from searchmark.running.asking import Asker
from searchmark.running.cache_guarding import OwnCache, own_cache
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.environment import environment
from searchmark.running.events import WorkerEvent
from searchmark.running.journal_lines import JournalEntry, compact
from searchmark.running.plan import Step
from searchmark.running.sandbox.launch import Launch, sandbox_of
from searchmark.running.sandbox.needs import is_foreign
from searchmark.running.scaling.block import Assignment, BlockResult, CaseBlock, steps_here
from searchmark.running.scaling.machines import refuse_other_code
from searchmark.running.scaling.starts import pause_before_start
from searchmark.running.session import Session
from searchmark.running.worker.process_tree import hide_memory
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import secrets_in, unless_known
from searchmark.shipping.installed import Installed, refuse_other_version
from searchmark.shipping.supplies import receive

TAKE_HOME_SECONDS = 10.0  # a block that takes longer comes home with what it has: no more is lost than that, or than one case
IDLE_SECONDS = 300.0
LOOK_SECONDS = 0.5  # between looks whether somebody wants this to end
SHARED = 2  # this process also serves whoever hands out blocks, so that times may be seen as late as with two workers

Key = tuple[str, RunLabel]  # a run, and an agent of it


class HostedAgent:
    """One agent that lives between the blocks of a run. Not to be shared between threads."""

    def __init__(self, block: CaseBlock) -> None:
        assigned = block.assignment
        name_secrets_of(assigned.specs)  # before it is decided what an agent gets to know, and what is written down
        self.key: Key = assigned.run, assigned.label
        self._until_the_end = ExitStack()
        self.stop = stop_event()
        self._lines: list[str] = []
        self._asked = 0
        self._printed: dict[str, Printed] = {}
        locations = {step.case: step.location for step in block.steps}
        self._known = frozenset(locations.values())
        self._compared: set[Location] = set()
        self._not_made: str | None = None
        self._sandboxed = assigned.options.sandbox != "off"
        sandbox = sandbox_of(assigned.options.sandbox, assigned.hidden)
        self._inspector = self._until_the_end.enter_context(open_inspector(block.suite, [locations]))
        own = self._until_the_end.enter_context(own_cache(assigned.specs, sandbox))
        launch = Launch.of(assigned.spec, locations, sandbox) if own is None else _cached_apart(assigned.spec, locations, own)
        self._launch = launch.finding(assigned.spec, assigned.supplies.code(), assigned.folder)
        options = replace(assigned.options, jobs=SHARED)
        last = block.steps[-1]

        def opened(happened: Callable[[WorkerEvent], None], meanwhile: Callable[[], None]) -> Session:
            return Session(assigned.spec, options, last.query, happened, self._launch, meanwhile, last.request)

        secrets = secrets_in(assigned.spec.options) | unless_known(environment_secrets(), block.suite.texts())
        self._asker = Asker(opened, self._inspector, secrets, self._record, self._note)
        self._until_the_end.callback(self._asker.session.abandon)

    def load(self, assigned: Assignment) -> None:
        """Load the agent; other code than that of the run is refused. One that cannot be made here is said with its first block."""
        try:
            code = self._asker.session.load()
        except UsageError as error:
            self._not_made = str(error)
        else:
            refuse_other_code(assigned, code)

    def _refuse_other_corpora(self, block: CaseBlock) -> None:
        """What is searched is what the machine has that started the run; looked at when it is searched for the first time."""
        expected = block.assignment.corpora
        searched = {id(step.location): step.location for step in block.steps} if expected else {}
        new = {str(number): each for number, each in searched.items() if each not in self._compared}
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
        self.stop, self._asked = stop_event(), 0
        self._inspector.turn_to(block.suite, [{step.case: step.location for step in block.steps}])
        self._refuse_other_corpora(block)
        session.begin_block(ever_ready=block.forced)
        if self._not_made is not None and not block.forced:
            session.give_up_starting(self._not_made)
        self._asker.expect(block.steps)
        with self._ended_when_told():
            self._asker.ask(_in_time(block.steps))
        self._inspector.find_changes()
        unable = session.given_up if not session.ever_ready else None
        return self._result(unable)

    @contextmanager
    def _ended_when_told(self) -> Iterator[None]:
        """What nobody waits for any more is ended with its worker, and each that is started instead: no thread can be."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(LOOK_SECONDS):
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
        self._asked = 0
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
            _worker(),
            0 if unable else self._asked,
            "\n".join(lines).encode(),
            unable,
            sandbox=self._launch.text,
            printed=self._newly_printed(),
            changed=tuple(self._inspector.changed),
        )

    def _record(self, step: Step, entry: JournalEntry) -> None:
        self._lines.append(compact(entry.to_plain(step.case)))
        self._asked += 1

    def _note(self, event: WorkerEvent) -> None:
        self._lines.append(compact(event.to_plain()))

    def _newly_printed(self) -> tuple[Printed, ...]:
        """What was printed since this was last asked."""
        now = {each.stream: each for each in self._asker.session.printed()}
        before, self._printed = self._printed, now
        return tuple(_since(before[name], each) if name in before else each for name, each in now.items())


def _cached_apart(spec: AgentSpec, locations: Mapping[str, Location], own: OwnCache) -> Launch:
    """Beside code of others a built-in agent has a cache of its own; the others have theirs as ever."""
    launch = Launch.of(spec, locations, None, own.guard)
    return launch if is_foreign(spec) else replace(launch, environment={**launch.environment, "SEARCHMARK_CACHE": str(own.folder)})


def _worker() -> str:
    """Who is at work here."""
    return f"{socket.gethostname()} {os.getpid()} {threading.get_ident()}"


def _since(before: Printed, now: Printed) -> Printed:
    return Printed(now.stream, now.bytes - before.bytes, now.text[len(before.text) :])


def _in_time(steps: Sequence[Step]) -> Iterator[Step]:
    """One step after the other, until it is time to go home."""
    begun, stop = monotonic(), stop_event()
    for number, step in enumerate(steps):
        if stop.is_set() or (number and monotonic() - begun > TAKE_HOME_SECONDS):
            return
        yield step


class _Hosts:
    """The agents that live in this process and are not being asked right now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[HostedAgent, threading.Event] = {}  # each with what tells that it is idle no more
        self._failed: Counter[Key] = Counter()  # starts since the last one that succeeded

    def taken(self, block: CaseBlock) -> HostedAgent:
        """One that can be asked this block: an idle one of its run, or a new one."""
        key = block.assignment.run, block.assignment.label
        with self._lock:
            alike = [each for each in self._idle if each.key == key]
            found = next((each for each in reversed(alike) if each.fits(block)), None)
            ended = alike if found is None else []  # a sandbox that shows something else is of no use any more
            for each in (*ended, *([found] if found else [])):
                self._idle.pop(each).set()
        for each in ended:
            each.close()
        return found or self._started(block, key)

    def _started(self, block: CaseBlock, key: Key) -> HostedAgent:
        if stop_event().wait(pause_before_start(self._failed[key])):
            raise PoolGone("the pool of this task has been stopped")
        return _loaded(block)

    def count_start(self, key: Key, *, failed: bool) -> None:
        """Whether an agent that was asked a block could be started for it."""
        with self._lock:
            self._failed[key] = self._failed[key] + 1 if failed else 0

    def give_back(self, hosted: HostedAgent) -> None:
        taken = threading.Event()
        with self._lock:
            self._idle[hosted] = taken
        threading.Thread(target=self._attend, args=(hosted, taken), daemon=True).start()

    def _attend(self, hosted: HostedAgent, taken: threading.Event) -> None:
        """End an agent of a run that was stopped, or of one that nobody hears of any more."""
        until = monotonic() + IDLE_SECONDS
        while not taken.wait(LOOK_SECONDS):
            if hosted.stop.is_set() or monotonic() > until:
                self._end_if_idle(hosted)
                return

    def _end_if_idle(self, hosted: HostedAgent) -> None:
        with self._lock:
            idle = self._idle.pop(hosted, None) is not None
        if idle:
            hosted.close()

    def ended(self, run: str) -> list[HostedAgent]:
        """Those of a run, which are nobody's from here on."""
        with self._lock:
            self._failed = Counter({key: failed for key, failed in self._failed.items() if key[0] != run})
            own = [each for each in self._idle if each.key[0] == run]
            for each in own:
                self._idle.pop(each).set()
        return own


_HOSTS = _Hosts()  # of this process: agents outlive the calls that ask them


def _loaded(block: CaseBlock) -> HostedAgent:
    hide_memory()
    hosted = HostedAgent(block)
    try:
        hosted.load(block.assignment)
    except BaseException:
        hosted.abandon()
        raise
    return hosted


def get_ready(installed: Installed) -> None:
    """Whoever does this has what a block needs imported and read by the time that the first one comes."""
    refuse_other_version(installed)


def run_block(block: CaseBlock) -> BlockResult:
    """Ask the cases of a block in this process, with an agent that stays alive for the next one."""
    refuse_other_version(block.assignment.installed)
    receive(block.parcels)
    supplies = block.assignment.supplies
    missing = supplies.missing()
    if missing:
        return BlockResult(environment(), _worker(), missing=missing)
    block = replace(block, steps=steps_here(supplies, block.steps), parcels=())
    hosted = _HOSTS.taken(block)
    try:
        result = hosted.ask(block)
    except BaseException:
        hosted.abandon()
        raise
    _HOSTS.count_start(hosted.key, failed=result.unable is not None)
    if result.unable is None and not hosted.stop.is_set():
        _HOSTS.give_back(hosted)
    else:
        hosted.close()
    return result


def end_run(run: str) -> list[tuple[RunLabel, BlockResult]]:
    """End all agents of a run in this process; what each of them had still to say."""
    return [(hosted.key[1], hosted.close()) for hosted in _HOSTS.ended(run)]
