"""One agent of a run: its workers, its journal, and what has become of every case."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.locations import Place
from searchmark.errors import UsageError
from searchmark.records import Run, Suite
from searchmark.running.corpus_inspector import CorpusInspector, Look
from searchmark.running.journal import Entry, Journal
from searchmark.running.options import RunOptions
from searchmark.running.plan import Step, blocks, ordered
from searchmark.running.run_builder import assembled, facts_of, prices
from searchmark.running.session import Outcome, Session
from searchmark.services.redaction import scrubbed, secrets_in, without_secrets

RETRIED = ("error", "timeout", "not_run")
IRRELEVANT = ("jobs", "block", "max_failures", "foreign")  # options that change no answer


@dataclass(frozen=True)
class Entrant:
    """Who is asked, where each case is searched (visited in the order of this mapping), and what that is called."""

    spec: AgentSpec
    places: Mapping[str, Place]
    snapshot: str | None = None


@dataclass(frozen=True)
class Progress:
    """How far a run has come, for whoever wants to show it; before the first answer an agent is getting ready."""

    agent: str
    done: int
    total: int
    failed: int
    doing: str = ""


class AgentRun:
    """One agent with its workers: one, or several if the work is to be done side by side."""

    def __init__(
        self, entrant: Entrant, suite: Suite, world: CorpusInspector, options: RunOptions, report: Callable[[Progress], None]
    ) -> None:
        self._entrant, self._suite, self._world, self._options, self._report = entrant, suite, world, options, report
        self._secrets = secrets_in(entrant.spec.config)
        self._steps = ordered(suite, entrant.places, options.seed, shuffled=options.randomize_order)
        self._blocks = list(blocks(self._steps, options.block))
        self._lock = threading.Lock()
        self._stopping = False
        lines = any(judgment.match == "lines" for case in suite.cases for judgment in case.judgments)
        self._sessions = [
            Session(entrant.spec, options, self._steps[-1].query, self._happened, lines=lines)
            for _ in range(min(options.jobs, len(suite)))
        ]
        self._journal: Journal | None = None
        self._entries: dict[str, Entry] = {}
        self._events: list[Mapping[str, Any]] = []
        self._code: str | None = None
        self._resumed = self._failed = 0

    def load(self) -> None:
        """Start a worker and load the agent; one that cannot be loaded is refused before anything is written."""
        self._tell("loading")
        try:
            self._code = self._sessions[0].load()
        except UsageError as error:
            raise UsageError(scrubbed(str(error), self._secrets)) from None

    def open_journal(self, path: Path, *, resume: bool, retry: bool) -> None:
        self._journal = Journal(path, self._identity, resume=resume)
        known = self._journal.entries
        self._entries = {case: entry for case, entry in known.items() if not retry or entry.outcome.status not in RETRIED}
        self._events = [*self._journal.events, *self._events]
        for event in self._events[len(self._journal.events) :]:
            self._journal.note(event)
        self._resumed = len(self._entries)
        self._failed = sum(entry.outcome.status in RETRIED for entry in self._entries.values())
        self._restore()

    def _identity(self, salt: str) -> dict[str, Any]:
        """What must be the same for a journal to be gone on with. The config may hold secrets, hence the salt."""
        spec, options = self._entrant.spec, asdict(self._options)
        config = json.dumps(spec.config, sort_keys=True, default=str)
        return {
            "queries": self._suite.hashes["queries"],
            "corpus": self._world.digest(self._entrant.places),
            "agent": {
                "name": spec.name,
                "source": spec.source,
                "code": self._code,
                "config": hashlib.sha256(f"{salt}{config}".encode("utf-8", "surrogatepass")).hexdigest(),
            },
            "options": {key: value for key, value in options.items() if key not in IRRELEVANT},
        }

    def _restore(self) -> None:
        """Failures in a row that a resumed run has already seen count as if it had never been interrupted."""
        in_a_row = 0
        for step in self._steps:
            entry = self._entries.get(step.case)
            if entry is None:
                break
            in_a_row = in_a_row + 1 if entry.outcome.status in ("error", "timeout") else 0
        for session in self._sessions:
            session.restore(in_a_row)

    def run(self, number: int) -> None:
        """Ask what has not been answered yet of one block."""
        waiting = [step for step in self._blocks[number] if step.case not in self._entries]
        if waiting and number == 0:
            self._tell("preparing")
        if len(self._sessions) == 1 or not waiting:
            for step in waiting:
                self._ask(self._sessions[0], step)
        else:
            self._side_by_side(deque(waiting))

    def _side_by_side(self, waiting: deque[Step]) -> None:
        with ThreadPoolExecutor(len(self._sessions)) as pool:
            try:
                for done in [pool.submit(self._work, session, waiting) for session in self._sessions]:
                    done.result()
            except BaseException:
                self._stopping = True
                waiting.clear()
                for session in self._sessions:
                    session.abandon()
                raise
        # What is left was given back by a worker that has given up, after the others had ended.
        able = next((session for session in self._sessions if not session.given_up), self._sessions[0])
        for step in waiting:
            self._ask(able, step)

    def _work(self, session: Session, waiting: deque[Step]) -> None:
        """Take one step after the other. A worker that has given up leaves the rest to those that have not."""
        while not session.given_up:
            try:
                step = waiting.popleft()
            except IndexError:
                return
            look = self._world.ahead(step)
            outcome = session.ask(step.query, step.place)
            if outcome.status == "not_run":
                waiting.appendleft(step)
            else:
                self._record(step, outcome, look())

    def _ask(self, session: Session, step: Step) -> None:
        look = self._world.ahead(step)
        outcome = session.ask(step.query, step.place)
        self._record(step, outcome, look())

    def _record(self, step: Step, outcome: Outcome, look: Look) -> None:
        with self._lock:
            if self._stopping:  # its worker was ended by us, which is no failure of the agent
                return
            entry = _settled(outcome, look, self._secrets)
            if self._journal is not None:
                self._journal.add(step.case, entry)
            self._entries[step.case] = entry
            self._failed += outcome.status in RETRIED
            self._tell()

    def _tell(self, doing: str = "") -> None:
        self._report(Progress(self._entrant.spec.name, len(self._entries), len(self._steps), self._failed, doing))

    def _happened(self, event: Mapping[str, Any]) -> None:
        """A worker was started, prepared, or has given up: written down, so that a resumed run knows it too."""
        plain = scrubbed(dict(event), self._secrets)
        with self._lock:
            self._events.append(plain)
            if self._journal is not None:
                self._journal.note(plain)

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
        run = assembled(self._entrant.spec.name, self._suite.table.ids, self._entries)
        return replace(run, metadata=self._metadata() | prices(run))

    def _metadata(self) -> dict[str, Any]:
        spec, places = self._entrant.spec, self._entrant.places
        outputs = [session.output() for session in self._sessions]
        metadata = {
            "agent": {"source": spec.source, "config": without_secrets(spec.config), "code": self._code},
            "options": asdict(self._options),
            "suite": {"name": self._suite.name, "hashes": {**self._suite.hashes, "corpus": self._world.digest(places)}},
            **self._world.facts(),
            "snapshot": self._entrant.snapshot,
            "candidates": _candidates(places),
            **facts_of(self._events),
            "under_load": len(self._sessions) if len(self._sessions) > 1 else None,
            "resumed": self._resumed or None,
            "output": scrubbed([output for output in outputs if output], self._secrets) or None,
        }
        return {key: value for key, value in metadata.items() if value is not None}


def _settled(outcome: Outcome, look: Look, secrets: frozenset[str]) -> Entry:
    """The outcome with its hits under the names that the corpus has for them, and the targets that it lacks."""
    settled = [look.existing.settled(hit) for hit in outcome.ids]
    details = scrubbed(outcome.details, secrets) | ({"unreachable": look.unreachable} if look.unreachable else {})
    named = Outcome(outcome.status, tuple(hit for hit, _ in settled), outcome.scores, details)
    return Entry(named, tuple(exists for _, exists in settled))


def _candidates(places: Mapping[str, Place]) -> dict[str, list[str]] | None:
    """Which files could be found at all, where not all of them could."""
    place = next(iter(places.values()))
    return {"kinds": list(place.kinds), "excluded": list(place.excluded)} if place.kinds or place.excluded else None
