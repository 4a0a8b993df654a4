"""One agent of a run, asked by a worker of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from searchmark.errors import SearchmarkError, UsageError
from searchmark.records import Run
from searchmark.running.agent_record import AgentRecord, Ending
from searchmark.running.asking import Asker
from searchmark.running.corpus_inspector import CorpusInspector
from searchmark.running.entrant import Entrant
from searchmark.running.events import WorkerEvent
from searchmark.running.giving_up import failures_in_a_row
from searchmark.running.plan import Step, blocks
from searchmark.running.progress import Progress
from searchmark.running.request import RunRequest
from searchmark.running.sandbox.launch import Launch, Sandbox
from searchmark.running.session import Session
from searchmark.running.worker.protocol import NEEDS_CORPUS
from searchmark.services.redaction import scrubbed


class AgentRun:
    """One agent with its worker, its record, and what is to be asked, block by block."""

    def __init__(
        self,
        entrant: Entrant,
        request: RunRequest,
        inspector: CorpusInspector,
        report: Callable[[Progress], None],
        sandbox: Sandbox | None,
        guard: int | None,
    ) -> None:
        self.record = AgentRecord(entrant, request, inspector, report)
        options = request.options
        self._inspector = inspector
        steps, last = self.record.steps, self.record.steps[-1]
        self._blocks = list(blocks(steps, options.block))
        launch = Launch.of(entrant.spec, entrant.locations, sandbox, guard).finding(entrant.spec, request.delivery.code(), None)
        self.record.sandbox = launch.text

        def opened(happened: Callable[[WorkerEvent], None], meanwhile: Callable[[], None]) -> Session:
            return Session(entrant.spec, options, last.query, happened, launch, meanwhile, last.request)

        self._asker = Asker(opened, inspector, self.record.secrets, self.record.add, self.record.note)
        self._asker.expect(steps)

    def load(self, *, alone: bool) -> None:
        """Start a worker and load the agent. One that cannot be loaded is refused; among others it fails, and they do not."""
        self.record.tell("loading")
        try:
            load_into(self.record, self._asker.session)
        except UsageError as error:
            if alone:
                raise
            self._break(error)

    def open_journal(self, path: Path, *, resume: bool, retry: bool) -> None:
        self.record.open_journal(path, resume=resume, retry=retry)
        self._asker.session.begin_block(ever_ready=self.record.ever_ready)

    def run(self, number: int) -> None:
        """Ask what has not been answered yet of one block."""
        if self.record.broken is None:
            self._guarded(lambda: self._run(number))

    def _run(self, number: int) -> None:
        if number == 0 and self.record.unanswered:
            self.record.tell("preparing")
        self._asker.ask(self._unanswered(number))

    def _unanswered(self, number: int) -> Iterator[Step]:
        """What is to be asked; failures that are known already count in their places between the others."""
        session = self._asker.session
        for step in self._blocks[number]:
            known = self.record.answers.get(step.case)
            if known is None:
                yield step
            elif session.given_up is None:
                session.pass_over(failures_in_a_row(known, session.failures_in_a_row))

    def _guarded(self, work: Callable[[], None]) -> None:
        """Whatever is unexpected about one agent ends this agent only; what we refuse on purpose ends the run."""
        try:
            work()
        except SearchmarkError:
            raise
        except Exception as error:  # noqa: BLE001  # nobody can list what is unexpected
            self._break(error)

    def _break(self, error: Exception) -> None:
        self.record.fail(error)
        with suppress(Exception):
            self._asker.session.abandon()

    def close(self) -> None:
        if self.record.broken is None:
            self._guarded(self._asker.session.close)

    def abandon(self) -> None:
        self._asker.session.abandon()
        self.record.let_go()

    def result(self, cache: str | None) -> Run:
        """All answers, in the order of the suite, when all agents have ended."""
        printed = tuple(self._asker.session.printed())
        return self.record.result(Ending(1, printed, cache, tuple(self._inspector.changed)))


def load_into(record: AgentRecord, session: Session) -> None:
    """Load the agent, and note what only its code knows; one that cannot be loaded, or that lacks a corpus, is refused."""
    try:
        record.code = session.load()
        record.needs_corpus = session.needs_corpus
        _refuse_without_corpus(record)
    except UsageError as error:
        raise UsageError(scrubbed(str(error), record.secrets)) from None


def _refuse_without_corpus(record: AgentRecord) -> None:
    if record.needs_corpus and record.entrant.is_remote:
        raise UsageError(f"the agent {record.entrant.spec.name!r} {NEEDS_CORPUS}")
