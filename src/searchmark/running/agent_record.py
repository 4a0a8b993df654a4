"""What has become of every case of one agent, as it is written down, and the run that it becomes in the end.

It does not matter who asked: a worker of this process, or blocks of cases on many machines that come home in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from searchmark.errors import SearchmarkError, shortened
from searchmark.files.store import plain_json
from searchmark.records import (
    PARENT,
    AgentIdentity,
    AnswerDetails,
    Environment,
    Printed,
    Provenance,
    Run,
    SuiteIdentity,
    TrustEvent,
)
from searchmark.running.corpus_inspector import CorpusInspector, service_among
from searchmark.running.entrant import Entrant
from searchmark.running.environment import environment
from searchmark.running.events import WorkerEvent, description, in_order, vectors
from searchmark.running.giving_up import RETRIED, FailureWatch, GivenUp
from searchmark.running.journal import Journal, new_run_start
from searchmark.running.journal_lines import JournalEntry, RunEnd, SeenHost
from searchmark.running.machine_parts import measured, on_machines
from searchmark.running.plan import Step, ordered
from searchmark.running.progress import Progress
from searchmark.running.request import RunRequest
from searchmark.running.run_builder import assembled
from searchmark.running.session import Outcome
from searchmark.running.settling import settled
from searchmark.running.trust import Observed, trust_events
from searchmark.running.worker.protocol import LONGEST_REASON
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed, secrets_in, unless_known, without_secrets
from searchmark.services.secret_forms import without_credentials


@dataclass(frozen=True)
class Ending:
    """What is known of the workers of an agent when all of them have ended.

    ``workers`` asked at the same time at most. ``cache`` says that cached vectors were changed, which spoils the result of an agent
    that searches with vectors; ``changed`` names what was searched and did not stay what it was.
    """

    workers: int = 1
    printed: tuple[Printed, ...] = ()
    cache: str | None = None
    changed: tuple[str, ...] = ()


class AgentRecord:
    """One agent of a run: its answers, what happened to its workers, and its journal."""

    def __init__(
        self,
        entrant: Entrant,
        request: RunRequest,
        inspector: CorpusInspector,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        suite, options, shard = request.suite, request.options, request.shard
        self.entrant, self._suite, self._inspector, self._options, self._report = entrant, suite, inspector, options, report
        self._shard = None if shard is None else replace(shard, searched=inspector.searched(entrant.locations))
        self.secrets = secrets_in(entrant.spec.options) | unless_known(environment_secrets(), suite.texts())
        self.steps: Sequence[Step] = ordered(suite, entrant.locations, options.seed, shuffled=options.randomize_order)
        self._watch = FailureWatch(self.steps, options.max_failures)
        self.broken: str | None = None
        self.code: str | None = None
        self.needs_corpus = True  # as far as is known before it is loaded
        self.sandbox: str | None = None
        self._journal: Journal | None = None
        self._entries: dict[str, JournalEntry] = {}
        self._events: list[WorkerEvent] = []
        self._hosts: list[Environment] = []
        self._start = new_run_start()
        self._resumed = self._failed = 0

    @property
    def id(self) -> str:
        """What tells this run from all others; a resumed run keeps it."""
        return self._start.id

    @property
    def events(self) -> Sequence[WorkerEvent]:
        """What has happened to its workers so far."""
        return self._events

    @property
    def answers(self) -> Mapping[str, JournalEntry]:
        """What has become of the cases so far."""
        return self._entries

    @property
    def ever_ready(self) -> bool:
        """Whether a worker was ready to search at least once."""
        return any(event.event == "prepared" for event in self._events)

    def open_journal(self, path: Path, *, resume: bool, retry: bool) -> None:
        """Write everything down from here on; with ``resume`` after what is there already, ``retry`` without its failures."""
        if self.broken is not None:  # without its code there is nothing to say of whom the answers are
            return
        noted, self._events, self._hosts = self._events, [], []
        self._journal = journal = Journal(path, self._identity, self._start, self._beginning, resume=resume)
        self._start, self._hosts, self._events = journal.start, [*journal.hosts], [*journal.events]
        self._entries = {case: each for case, each in journal.entries.items() if not retry or each.outcome.status not in RETRIED}
        self._resumed = len(self._entries)
        self._failed = sum(entry.outcome.status in RETRIED for entry in self._entries.values())
        for event in noted:
            self.note(event)

    def _identity(self, salt: str) -> dict[str, Any]:
        """What must be the same for a journal to be resumed."""
        entrant, corpus = self.entrant, self._inspector.identity(self.entrant.locations)
        return {"queries": self._suite.hashes["queries"], "corpus": corpus, **entrant.identity(self._options, self.code, salt)}

    def _beginning(self) -> dict[str, Any]:
        """What is known of the run before the first answer, so that a journal can become a run whatever ends it."""
        try:
            provenance = plain_json(self._provenance(Ending(), self._events, {}))
        except Exception:  # noqa: BLE001  # what is unexpected is said when the run ends; until then it can be resumed, if not merged
            return {}
        return {"label": asdict(self.entrant.label), "cases": len(self._suite), "provenance": provenance}

    def here(self) -> int:
        """The number of this machine."""
        return self.host(environment())

    def host(self, found: Environment) -> int:
        """The number of a machine that answers come from."""
        if found not in self._hosts:
            self._hosts.append(found)
            if self._journal is not None:
                self._journal.note(SeenHost(len(self._hosts) - 1, found))
        return self._hosts.index(found)

    @property
    def unanswered(self) -> int:
        """How many cases have no answer yet."""
        return len(self.steps) - len(self._entries)

    def knows(self, step: Step) -> bool:
        """Whether it is known what became of a case."""
        return step.case in self._entries

    def given_up(self) -> GivenUp | None:
        """Whether and where the agent is left alone, read in the order in which cases are asked."""
        return self._watch.look(self._entries)

    def add(self, step: Step, entry: JournalEntry, host: int | None = None) -> None:
        """Record what became of a case, on this machine unless another one is named."""
        row = self._suite.table.index[step.case]
        placed = JournalEntry(entry.outcome, entry.valid, self.here() if host is None else host, row)
        if self._journal is not None:
            self._journal.add(step.case, placed)
        self._entries[step.case] = placed
        self._failed += entry.outcome.status in RETRIED
        self.tell()

    def note(self, event: WorkerEvent, host: int | None = None, place: int | None = None) -> None:
        """A worker was started, prepared, or has given up: written down, so that a resumed run knows it too."""
        where = (self.here() if host is None else host) or None  # most runs have one machine, and need not say so
        clean = replace(WorkerEvent.from_plain(scrubbed(event.to_plain(), self.secrets)), host=where, place=place)
        self._events.append(clean)
        if self._journal is not None:
            self._journal.note(clean)

    def tell(self, doing: str = "") -> None:
        self._report(Progress(self.entrant.label, len(self._entries), len(self.steps), self._failed, doing))

    def fail(self, error: Exception) -> None:
        """Whatever was unexpected about this agent: it is asked nothing more."""
        sentence = str(error) if isinstance(error, SearchmarkError) else f"{type(error).__name__}: {error}"
        said = shortened(scrubbed(sentence, self.secrets), LONGEST_REASON)
        self.broken = f"the agent could not be asked to the end: {said}"

    def let_go(self) -> None:
        """Close the journal of a run that did not come to its end."""
        if self._journal is not None:
            self._journal.close()

    def result(self, ending: Ending) -> Run:
        """All answers, in the order of the suite. All agents have ended: whoever wrote into the journal has done so."""
        ids = self._suite.table.ids
        try:
            entries, events = self._in_order() if self.broken is None else (self._completed(), self._events)
            run = assembled(self.entrant.label, ids, entries)
            return replace(run, provenance=self._closed(self._provenance(ending, events, entries)))
        except Exception as error:  # noqa: BLE001  # nobody can list what is unexpected, and the others have their results
            self.fail(error)
            self._entries.clear()
            return replace(assembled(self.entrant.label, ids, self._completed()), provenance=self._least())

    def _closed(self, provenance: Provenance) -> Provenance:
        """How the run ended, written down; and whether the journal was changed by others, which is known once it is closed."""
        if self._journal is None:
            return provenance
        self._journal.note(RunEnd(provenance))
        tampering = self._journal.close()
        changed = () if tampering is None else (TrustEvent("journal_changed", tampering),)
        return replace(provenance, trust=(*provenance.trust, *changed))

    def _in_order(self) -> tuple[dict[str, JournalEntry], list[WorkerEvent]]:
        """Answers and events as one worker would have got them that asks in order: nothing after it had given up."""
        ended = self.given_up()
        if ended is None:
            return self._entries, self._events
        for step in self.steps[ended.place :]:
            if not self._was_not_run(step):
                self.add(step, self._not_run(step, ended.reason), 0 if self._hosts else None)  # for readers of the journal too
        return self._entries, [event for event in self._events if event.place is None or event.place < max(ended.place, 1)]

    def _was_not_run(self, step: Step) -> bool:
        return step.case in self._entries and self._entries[step.case].outcome.status == "not_run"

    def _not_run(self, step: Step, reason: str) -> JournalEntry:
        outcome = Outcome("not_run", details=AnswerDetails(failure=reason))
        return settled(step, outcome, self._inspector.prefetch(step)(), self.secrets)

    def _completed(self) -> dict[str, JournalEntry]:
        """The answers that there are; all other cases were not run."""
        not_run = JournalEntry(Outcome("not_run", details=AnswerDetails(failure=self.broken)), ())
        return {case: self._entries.get(case, not_run) for case in self._suite.table.ids}

    def _least(self) -> Provenance:
        """What is known of a run about which nothing else can be said."""
        return Provenance(
            id=self._start.id,
            started=self._start.started,
            suite=self._suite_identity(None),
            shard=self._shard,
            trust=(TrustEvent("failed", self.broken or ""),),
        )

    def _suite_identity(self, corpus: str | None) -> SuiteIdentity:
        hashes = self._suite.hashes
        return SuiteIdentity(self._suite.name, hashes["queries"], corpus, hashes["judgments"])

    def _provenance(self, ending: Ending, events: Sequence[WorkerEvent], entries: Mapping[str, JournalEntry]) -> Provenance:
        """What is known of the whole, and of each machine where there were several."""
        told = self._told(ending, events, entries)
        whole = measured(told, events, ours=self.entrant.searches_here(own_corpus=told.own_corpus))
        return on_machines(whole, self._hosts, self._suite.table.ids, entries, events)

    def _told(self, ending: Ending, events: Sequence[WorkerEvent], entries: Mapping[str, JournalEntry]) -> Provenance:
        """What was asked of whom, where, and what spoils it."""
        inspector, locations = self._inspector, self.entrant.locations
        last = in_order(events)
        return Provenance(
            id=self._start.id,
            started=self._start.started,
            ended=datetime.now(UTC),
            version=version("searchmark"),
            suite=self._suite_identity(inspector.digest(locations)),
            agent=self._agent_identity(last),
            options=asdict(self._options),
            corpora={} if self.entrant.label.snapshot == PARENT else inspector.shared_corpora(locations),
            service=scrubbed(service_among(locations), self.secrets),
            repositories=inspector.repositories,
            candidates=self.entrant.candidates,
            own_corpus=self.entrant.searches_own_corpus or not self.needs_corpus,
            environment=environment(),
            vectors=vectors(last),
            workers=ending.workers,
            resumed=self._resumed,
            shard=self._shard,
            printed=tuple(scrubbed(printed, self.secrets) for printed in ending.printed),
            trust=trust_events(self._observed(ending, events, entries.values())),
        )

    def _observed(self, ending: Ending, events: Sequence[WorkerEvent], entries: Iterable[JournalEntry]) -> Observed:
        return Observed(
            isolated=self.entrant.spec.isolated,
            events=events,
            details=[entry.outcome.details for entry in entries],
            broken=self.broken,
            cache=ending.cache,
            corpora=ending.changed,
        )

    def _agent_identity(self, events: Sequence[WorkerEvent]) -> AgentIdentity:
        spec = self.entrant.spec
        said = scrubbed(dict(description(events)), self.secrets)
        source = scrubbed(without_credentials(spec.source.text), self.secrets)
        return AgentIdentity(source, without_secrets(spec.config), self.code, said, spec.isolated, self.sandbox)
