"""What an earlier run left behind, in numbers: all that trends and drifts are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import cache

from searchmark.analysis.ann import AnnRecall
from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.analysis.similarity import Spread
from searchmark.errors import UsageError
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records import Host, VectorStatistics

OF_THE_SUITE = ("queries", "judgments", "corpus")
# Within this time, an imported run with the answers of the one before is that run once more: a job that was tried again. A
# later one may just as well be another run of a system that has not changed.
TRIED_AGAIN = timedelta(hours=12)


@dataclass(frozen=True)
class Fingerprints:
    """What could explain that two runs differ; None where it is not known.

    ``code`` and ``options`` are of the agent, both digests; so are ``corpus``, ``queries``, ``judgments``, ``asking`` (how
    cases were asked: depth, time limit and so on) and ``packages`` (versions of Python and of what is installed). ``machine`` is
    its hardware, ``host`` its name.
    """

    model: str | None = None
    normalisation: str | None = None
    chunking: str | None = None
    index: str | None = None
    corpus: str | None = None
    queries: str | None = None
    judgments: str | None = None
    code: str | None = None
    options: str | None = None
    asking: str | None = None
    version: str | None = None
    packages: str | None = None
    machine: str | None = None
    host: str | None = None

    @property
    def measured_on(self) -> Host | None:
        """The host, as runs know it; None where its name is not known."""
        return None if self.host is None else Host(self.host, self.machine)

    @property
    def known(self) -> bool:
        """Whether anything is known of what answered; what was asked says nothing about that."""
        return any(getattr(self, each.name) is not None for each in fields(self) if each.name not in OF_THE_SUITE)


@dataclass(frozen=True)
class PastRun:
    """One run of one agent in the archive; ``entry`` names it there. ``trusted`` is False for a result not to rely on.

    ``id`` is the run's own: a run may be in several entries, such as a baseline that others are held against. One that was
    imported has none; ``answers`` is the digest of what it answered. ``snapshot`` and ``repeat`` are those of its label, and
    ``number`` counts the runs of one entry that have the same label, such as the two sides of a comparison. ``qualified`` is
    AGENT:MODE where an agent was asked in a mode: what is called by the same mode may be another agent.
    """

    entry: str
    time: datetime
    suite: str
    agent: str
    trusted: bool
    measures: Mapping[str, Summary]
    segments: Mapping[str, Mapping[str, Mapping[str, Summary]]] = field(default_factory=dict)
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    similarity: Mapping[str, Spread] = field(default_factory=dict)
    ann: Mapping[str, AnnRecall] = field(default_factory=dict)
    vectors: tuple[VectorStatistics, ...] = ()
    fingerprints: Fingerprints = Fingerprints()
    id: str | None = None
    snapshot: str | None = None
    repeat: int = 1
    number: int = 1
    answers: str | None = None
    qualified: str | None = None

    @property
    def identity(self) -> str:
        return self.qualified or self.agent

    @property
    def name(self) -> str:
        """The agent, and which of several with this label."""
        return self.agent if self.number == 1 else f"{self.agent}#{self.number}"

    @property
    def series(self) -> tuple[str, str, str | None, int]:
        """What earlier runs of the same have in common; repeats of an entry are one."""
        return self.suite, self.identity, self.snapshot, self.number


def meaning_of(measure: str, summary: Summary) -> AnyMeasure | None:
    """The measure or formula behind a name; None where this version does not know it."""
    return _parsed(summary.definition or measure)


@cache
def _parsed(text: str) -> AnyMeasure | None:
    try:
        return parse_measure(text)
    except UsageError:
        return None


def oldest_first(past: Iterable[PastRun]) -> list[PastRun]:
    """Runs in the order in which they were made, whatever the order of the entries."""
    return sorted(past, key=lambda run: (run.time, run.entry, run.agent, run.snapshot or "", run.number, run.repeat, run.id or ""))


def are_one(first: PastRun, second: PastRun) -> bool:
    """Whether two runs of one series are one that was evaluated twice."""
    if first.id is not None or second.id is not None:
        return first.id == second.id
    return first.answers is not None and first.answers == second.answers and abs(second.time - first.time) < TRIED_AGAIN


def distinct(ordered: Iterable[PastRun]) -> list[PastRun]:
    """Every result once: a run that is in several entries, such as a baseline, is no repeat of itself."""
    known: dict[tuple[object, ...], PastRun] = {}
    return [run for run in ordered if _is_new(run, known)]


def _is_new(run: PastRun, known: dict[tuple[object, ...], PastRun]) -> bool:
    """An imported run is compared with the one before: the answers of last week may come back."""
    result = _result(run)
    before = known.get(result)
    if before is not None and are_one(before, run):
        return False
    known[result] = run
    return True


def _result(run: PastRun) -> tuple[object, ...]:
    """A run that was judged by other judgments is another result."""
    asked = run.fingerprints
    return run.id, run.series, run.repeat, asked.queries, asked.judgments


def told_apart(past: Sequence[PastRun]) -> list[PastRun]:
    """The runs, each called by agent and mode where another agent is called alike."""
    identities: dict[str, set[str]] = {}
    for run in past:
        identities.setdefault(run.agent, set()).add(run.identity)
    return [run if len(identities[run.agent]) == 1 else replace(run, agent=run.identity) for run in past]


def by_entry(runs: Iterable[PastRun]) -> list[list[PastRun]]:
    """The repeats of each entry: they say together what one run says, and do not confirm each other."""
    entries: dict[str, list[PastRun]] = {}
    for run in runs:
        entries.setdefault(run.entry, []).append(run)
    return list(entries.values())


def known_before(values: Sequence[str | None]) -> Iterator[str | None]:
    """Every value, and the last known one where it is not known: what is not known is not different, nor is it a bridge."""
    last = next((value for value in values if value is not None), None)
    for value in values:
        last = last if value is None else value
        yield last
