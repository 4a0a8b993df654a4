"""One agent of a run: its workers, its journal, and what has become of every case."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from searchmark.errors import SearchmarkError, UsageError, shortened
from searchmark.options.run_options import RunOptions
from searchmark.records import (
    PARENT,
    AgentIdentity,
    AnswerDetails,
    IndexBuild,
    Provenance,
    Run,
    RunLabel,
    Suite,
    SuiteIdentity,
    TrustEvent,
)
from searchmark.running.corpus_inspector import CaseExistence, CorpusInspector, service_among
from searchmark.running.entrant import Entrant
from searchmark.running.environment import environment
from searchmark.running.events import WorkerEvent, description, index_build, peak_memory, vectors
from searchmark.running.journal import Journal, new_run_start
from searchmark.running.journal_lines import JournalEntry
from searchmark.running.plan import Step, blocks, ordered
from searchmark.running.recorder import LateRecorder
from searchmark.running.run_builder import assembled
from searchmark.running.sandbox.launch import Launch, Sandbox
from searchmark.running.session import Outcome, Session
from searchmark.running.settling import settled
from searchmark.running.trust import Observed, trust_events
from searchmark.running.worker.protocol import LONGEST_REASON, NEEDS_CORPUS
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed, secrets_in, unless_known, without_secrets
from searchmark.services.secret_forms import without_credentials

RETRIED = ("error", "timeout", "not_run")


@dataclass(frozen=True)
class Progress:
    """How far a run has come, for whoever wants to show it; before the first answer an agent is getting ready."""

    label: RunLabel
    done: int
    total: int
    failed: int
    doing: str = ""


class AgentRun:
    """One agent with its workers: one, or several if the work is to be done side by side."""

    def __init__(
        self,
        entrant: Entrant,
        suite: Suite,
        inspector: CorpusInspector,
        options: RunOptions,
        report: Callable[[Progress], None],
        sandbox: Sandbox | None,
        guard: int | None,
    ) -> None:
        self._entrant, self._suite, self._inspector, self._options, self._report = entrant, suite, inspector, options, report
        self._secrets = secrets_in(entrant.spec.options) | unless_known(environment_secrets(), suite.texts())
        self._steps = ordered(suite, entrant.locations, options.seed, shuffled=options.randomize_order)
        self._following = {step.case: following for step, following in pairwise(self._steps)}
        self._blocks = list(blocks(self._steps, options.block))
        self._lock = threading.Lock()
        self._stopping = False
        self._launch = launch = Launch.of(entrant.spec, entrant.locations, sandbox, guard)
        workers = min(options.jobs, len(suite)) if entrant.spec.isolated else 1
        self._recorders = [LateRecorder(self._record, self._happened) for _ in range(workers)]
        last = self._steps[-1]
        self._sessions = [
            Session(entrant.spec, options, last.query, recorder.happened, launch, recorder.catch_up, last.request)
            for recorder in self._recorders
        ]
        self._journal: Journal | None = None
        self._entries: dict[str, JournalEntry] = {}
        self._events: list[WorkerEvent] = []
        self._start = new_run_start()
        self._code: str | None = None
        self._resumed = self._failed = 0
        self._tampering: str | None = None
        self._broken: str | None = None

    def load(self, *, alone: bool) -> None:
        """Start a worker and load the agent. One that cannot be loaded is refused; among others it fails, and they do not."""
        self._tell("loading")
        try:
            self._code = self._sessions[0].load()
            self._refuse_without_corpus()
        except UsageError as error:
            if alone:
                raise UsageError(scrubbed(str(error), self._secrets)) from None
            self._break(error)

    def _refuse_without_corpus(self) -> None:
        """Only its code knew whether the agent has a corpus of its own."""
        if self._sessions[0].needs_corpus and self._entrant.is_remote:
            raise UsageError(f"the agent {self._entrant.spec.name!r} {NEEDS_CORPUS}")

    def open_journal(self, path: Path, *, resume: bool, retry: bool) -> None:
        if self._broken is not None:  # without its code there is nothing to say of whom the answers are
            return
        self._journal = Journal(path, self._identity, self._start, resume=resume)
        self._start = self._journal.start
        known = self._journal.entries
        self._entries = {case: entry for case, entry in known.items() if not retry or entry.outcome.status not in RETRIED}
        self._events = [*self._journal.events, *self._events]
        for event in self._events[len(self._journal.events) :]:
            self._journal.note(event)
        self._resumed = len(self._entries)
        self._failed = sum(entry.outcome.status in RETRIED for entry in self._entries.values())
        self._restore()

    def _identity(self, salt: str) -> dict[str, Any]:
        """What must be the same for a journal to be resumed."""
        entrant, corpus = self._entrant, self._inspector.identity(self._entrant.locations)
        return {"queries": self._suite.hashes["queries"], "corpus": corpus, **entrant.identity(self._options, self._code, salt)}

    def _restore(self) -> None:
        """Failures in a row that a resumed run has already seen count as if it had never been interrupted."""
        in_a_row = 0
        for step in self._steps:
            entry = self._entries.get(step.case)
            if entry is None:
                break
            if entry.outcome.details.not_whole:
                continue  # the agent was never asked
            in_a_row = in_a_row + 1 if entry.outcome.status in ("error", "timeout") else 0
        for session in self._sessions:
            session.restore(in_a_row)

    def run(self, number: int) -> None:
        """Ask what has not been answered yet of one block."""
        if self._broken is None:
            self._guarded(lambda: self._run(number))

    def _guarded(self, work: Callable[[], None]) -> None:
        """Whatever is unexpected about one agent ends this agent only; what we refuse on purpose ends the run."""
        try:
            work()
        except SearchmarkError:
            raise
        except Exception as error:  # noqa: BLE001  # nobody can list what is unexpected
            self._break(error)

    def _break(self, error: Exception) -> None:
        sentence = str(error) if isinstance(error, SearchmarkError) else f"{type(error).__name__}: {error}"
        said = shortened(scrubbed(sentence, self._secrets), LONGEST_REASON)
        self._broken = f"the agent could not be asked to the end: {said}"
        for session in self._sessions:
            with suppress(Exception):
                session.abandon()

    def _run(self, number: int) -> None:
        waiting = [step for step in self._blocks[number] if step.case not in self._entries]
        if waiting and number == 0:
            self._tell("preparing")
        if len(self._sessions) == 1 or not waiting:
            self._one_by_one(0, waiting)
        else:
            self._side_by_side(deque(waiting))

    def _one_by_one(self, worker: int, waiting: Iterable[Step]) -> None:
        session, recorder = self._sessions[worker], self._recorders[worker]
        try:
            for step in waiting:
                recorder.hold(step, *self._asked(session, step))
        finally:
            recorder.catch_up()

    def _side_by_side(self, waiting: deque[Step]) -> None:
        with ThreadPoolExecutor(len(self._sessions)) as pool:
            try:
                for done in [pool.submit(self._work, worker, waiting) for worker in range(len(self._sessions))]:
                    done.result()
            except BaseException:
                self._stopping = True
                waiting.clear()
                for session in self._sessions:
                    session.abandon()
                raise
        # What is left was given back by a worker that has given up, after the others had ended.
        able = next((worker for worker, session in enumerate(self._sessions) if not session.given_up), 0)
        self._one_by_one(able, waiting)

    def _work(self, worker: int, waiting: deque[Step]) -> None:
        try:
            self._take_steps(self._sessions[worker], self._recorders[worker], waiting)
        finally:
            self._recorders[worker].catch_up()

    def _take_steps(self, session: Session, recorder: LateRecorder, waiting: deque[Step]) -> None:
        """Take one step after the other. A worker that has given up leaves the rest to those that have not."""
        while not session.given_up:
            try:
                step = waiting.popleft()
            except IndexError:
                return
            outcome, existence = self._asked(session, step)
            if self._stopping:  # its worker was ended by us, which is no failure of the agent
                return
            if outcome.status == "not_run":
                waiting.appendleft(step)
            else:
                recorder.hold(step, outcome, existence)

    def _asked(self, session: Session, step: Step) -> tuple[Outcome, CaseExistence]:
        """The outcome of a case. An agent is not asked where contents are missing: it could not know, and be blamed for it."""
        existence = self._inspector.prefetch(step)()
        if step.case in self._following:
            self._inspector.prefetch(self._following[step.case])  # while the agent is busy; it is remembered until then
        if existence.problem is not None:
            return Outcome("error", details=AnswerDetails(failure=existence.problem, not_whole=True)), existence
        return session.ask(step.query, step.location, step.request), existence

    def _record(self, step: Step, outcome: Outcome, existence: CaseExistence) -> None:
        with self._lock:
            entry = settled(step, outcome, existence, self._secrets)
            if self._journal is not None:
                self._journal.add(step.case, entry)
            self._entries[step.case] = entry
            self._failed += outcome.status in RETRIED
            self._tell()

    def _tell(self, doing: str = "") -> None:
        self._report(Progress(self._entrant.label, len(self._entries), len(self._steps), self._failed, doing))

    def _happened(self, event: WorkerEvent) -> None:
        """A worker was started, prepared, or has given up: written down, so that a resumed run knows it too."""
        clean = WorkerEvent.from_plain(scrubbed(event.to_plain(), self._secrets))
        with self._lock:
            self._events.append(clean)
            if self._journal is not None:
                self._journal.note(clean)

    def close(self) -> None:
        for session in self._sessions if self._broken is None else ():
            self._guarded(session.close)

    def abandon(self) -> None:
        for session in self._sessions:
            session.abandon()
        if self._journal is not None:
            self._journal.close()

    def result(self, cache: str | None) -> Run:
        """All answers, in the order of the suite. All agents have ended: whoever wrote into the journal has done so.

        ``cache`` says that cached vectors were changed, which spoils the result of an agent that searches with vectors.
        """
        self._tampering = None if self._journal is None else self._journal.close()
        ids = self._suite.table.ids
        try:
            run = assembled(self._entrant.label, ids, self._entries if self._broken is None else self._completed())
            return replace(run, provenance=self._provenance(cache))
        except Exception as error:  # noqa: BLE001  # as above: the others have their results
            self._break(error)
            self._entries.clear()
            return replace(assembled(self._entrant.label, ids, self._completed()), provenance=self._least())

    def _completed(self) -> dict[str, JournalEntry]:
        """The answers that there are; all other cases were not run."""
        not_run = JournalEntry(Outcome("not_run", details=AnswerDetails(failure=self._broken)), ())
        return {case: self._entries.get(case, not_run) for case in self._suite.table.ids}

    def _least(self) -> Provenance:
        """What is known of a run about which nothing else can be said."""
        hashes = self._suite.hashes
        suite = SuiteIdentity(self._suite.name, hashes["queries"], judgments=hashes["judgments"])
        return Provenance(
            id=self._start.id, started=self._start.started, suite=suite, trust=(TrustEvent("failed", self._broken or ""),)
        )

    def _provenance(self, cache: str | None) -> Provenance:
        inspector, events = self._inspector, self._events
        hashes, corpus = self._suite.hashes, inspector.digest(self._entrant.locations)
        own_corpus = self._entrant.searches_own_corpus or not self._sessions[0].needs_corpus
        return Provenance(
            id=self._start.id,
            started=self._start.started,
            ended=datetime.now(UTC),
            version=version("searchmark"),
            suite=SuiteIdentity(self._suite.name, hashes["queries"], corpus, hashes["judgments"]),
            agent=self._agent_identity(),
            options=asdict(self._options),
            corpora={} if self._entrant.label.snapshot == PARENT else inspector.shared_corpora(self._entrant.locations),
            service=scrubbed(service_among(self._entrant.locations), self._secrets),
            repositories=inspector.repositories,
            candidates=self._entrant.candidates,
            own_corpus=own_corpus,
            environment=environment(),
            index=IndexBuild() if own_corpus else index_build(events),
            vectors=vectors(events),
            start_seconds=tuple(event.seconds for event in events if event.event == "started" and event.seconds is not None),
            memory_bytes=peak_memory(events) if self._entrant.searches_here(own_corpus=own_corpus) else None,
            restarts=sum(event.event == "ended" for event in events),
            workers=len(self._sessions),
            resumed=self._resumed,
            printed=tuple(scrubbed(printed, self._secrets) for session in self._sessions for printed in session.printed()),
            trust=trust_events(self._observed(cache)),
        )

    def _observed(self, cache: str | None) -> Observed:
        return Observed(
            isolated=self._entrant.spec.isolated,
            events=self._events,
            details=[entry.outcome.details for entry in self._entries.values()],
            broken=self._broken,
            journal=self._tampering,
            cache=cache,
            corpora=self._inspector.changed,
        )

    def _agent_identity(self) -> AgentIdentity:
        spec = self._entrant.spec
        said = scrubbed(dict(description(self._events)), self._secrets)
        config = without_secrets(spec.config)
        source = scrubbed(without_credentials(spec.source.text), self._secrets)
        return AgentIdentity(source, config, self._code, said, spec.isolated, self._launch.text)
