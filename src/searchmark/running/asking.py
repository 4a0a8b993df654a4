"""One agent on this machine: its worker, what exists where it searches, and what became of every question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from searchmark.records import AnswerDetails
from searchmark.running.corpus_inspector import CaseExistence, CorpusInspector
from searchmark.running.events import WorkerEvent
from searchmark.running.journal_lines import JournalEntry
from searchmark.running.plan import Step
from searchmark.running.recorder import LateRecorder
from searchmark.running.session import Outcome, Session
from searchmark.running.settling import settled

OnEntry = Callable[[Step, JournalEntry], None]
OnEvent = Callable[[WorkerEvent], None]
OpenSession = Callable[[OnEvent, Callable[[], None]], Session]  # told what happens, and what to do while it waits


class Asker:
    """Asks one agent case by case. ``record`` is told what became of each, ``note`` what happened to the worker, in this order."""

    def __init__(
        self, open_session: OpenSession, inspector: CorpusInspector, secrets: frozenset[str], record: OnEntry, note: OnEvent
    ) -> None:
        self._inspector, self._secrets, self._tell = inspector, secrets, record
        self._recorder = LateRecorder(self._record, note)
        self.session = open_session(self._recorder.happened, self._recorder.catch_up)
        self._following: Mapping[str, Step] = {}

    def expect(self, steps: Sequence[Step]) -> None:
        """What comes after what: where a case is searched is looked at while the agent is busy with the one before."""
        self._following = {step.case: following for step, following in pairwise(steps)}

    def ask(self, steps: Iterable[Step]) -> None:
        """Ask one after the other; whatever ends this, all that was answered is recorded."""
        try:
            for step in steps:
                self._recorder.hold(step, *self._asked(step))
        finally:
            self._recorder.catch_up()

    def _asked(self, step: Step) -> tuple[Outcome, CaseExistence]:
        """The outcome of a case. An agent is not asked where contents are missing: it could not know, and be blamed for it."""
        existence = self._inspector.prefetch(step)()
        if step.case in self._following:
            self._inspector.prefetch(self._following[step.case])  # while the agent is busy; it is remembered until then
        if existence.problem is not None:
            return Outcome("error", details=AnswerDetails(failure=existence.problem, not_whole=True)), existence
        return self.session.ask(step.query, step.location, step.request), existence

    def _record(self, step: Step, outcome: Outcome, existence: CaseExistence) -> None:
        self._tell(step, settled(step, outcome, existence, self._secrets))
