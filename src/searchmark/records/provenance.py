"""Where a run comes from: agent, suite, machine, shards, and what makes it untrusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Literal, get_args

from searchmark.config.strict import Count, Number, Positive, Whole, strict_record
from searchmark.records.answers import AnswerDetails

# Where a run was measured: versions and machine. A latency belongs to one host, and is not compared with another's.

GIGABYTE = 1e9


@dataclass(frozen=True)
class Host:
    """One machine, by its name and by what decides on times and is the same after a restart."""

    name: str
    hardware: str | None = None


@strict_record(slots=True)
class Environment:
    """Versions and machine; ``host`` is the name of the machine, None in files of earlier versions."""

    python: str
    platform: str
    packages: Mapping[str, str] = field(default_factory=dict)
    cpu: str | None = None
    cores: Whole | None = None
    memory_bytes: Whole | None = None
    host: str | None = None

    @property
    def hardware(self) -> str | None:
        """Processor, cores and memory, in whole gigabytes: a new kernel keeps a little more or less of it for itself."""
        parts = (
            self.cpu,
            f"{self.cores} cores" if self.cores else None,
            f"{self.memory_bytes / GIGABYTE:.0f} GB" if self.memory_bytes else None,
        )
        return ", ".join(filter(None, parts)) or None

    @property
    def measured_on(self) -> Host | None:
        """The host; None where its name is not known, and what is not known is not different."""
        return Host(self.host, self.hardware) if self.host else None


def host_names(hosts: Iterable[Host]) -> dict[Host, str]:
    """What each host is called among these: its name, and its hardware where another one is called alike."""
    distinct = list(dict.fromkeys(hosts))
    alike = Counter(host.name for host in distinct)
    return {host: host.name if alike[host.name] == 1 else f"{host.name} ({host.hardware})" for host in distinct}


# Which embedding model an agent searched with, and whether two names mean the same one.

VALUE_FIELDS = ("filter",)  # options that hold fields and values of documents, which describe no agent, whatever their names are


def description_of(description: Any) -> Iterator[tuple[str, Any]]:
    """What an agent says of itself, by name, where it says anything; what it searches for in documents is left out."""
    return (
        ((key, value) for key, value in description.items() if key not in VALUE_FIELDS)
        if isinstance(description, Mapping)
        else iter(())
    )


def models_in(description: Any) -> Iterator[str]:
    """Every embedding model that an agent, or one of its arms, says that it has; a model that reranks is none."""
    for key, value in description_of(description):
        if key == "embedder":
            yield from _models_of_embedder(value)
        else:
            yield from models_in(value)


def _models_of_embedder(embedder: Any) -> Iterator[str]:
    model = (embedder.get("model") or embedder.get("name")) if isinstance(embedder, Mapping) else embedder
    if isinstance(model, str) and model:
        yield model


def only_model(*descriptions: Mapping[str, Any]) -> str | None:
    """The only model that the first that names any does name; None if that is none or several."""
    for description in descriptions:
        own = description.get("model")
        names = [own] if isinstance(own, str) and own else list(dict.fromkeys(models_in(description)))
        if names:
            return names[0] if len(names) == 1 else None
    return None


def same_model(one: str, other: str) -> bool:
    """Whether two names mean one model; the owner before the last slash may be left out, as ``BAAI/`` often is."""
    first, second = one.casefold(), other.casefold()
    return first == second or (("/" in first) != ("/" in second) and first.rpartition("/")[2] == second.rpartition("/")[2])


# Which part of the cases a run was asked, where they were divided among several machines.

Place = Count


@strict_record(slots=True)
class ShardIdentity:
    """One of several parts of the cases, and what they are all together: enough to join the parts without the suite."""

    number: Positive
    of: Positive
    cases: Place  # those of all shards
    # first and last places, from 0 and in the order of the suite, of stretches of its own cases
    rows: tuple[tuple[Place, Place], ...] = ()
    queries: str | None = None  # digest of the queries of all shards
    judgments: str | None = None  # digest of the judgments of all shards
    # digest of what its own cases search, to which those of other shards can be added; None where that is not known
    searched: str | None = None

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def size(self) -> int:
        """How many cases it has itself."""
        return sum(max(0, last + 1 - first) for first, last in self.rows)

    @property
    def places(self) -> Iterator[int]:
        """The place of each of its cases; a file may name more than anybody wants to count."""
        return chain.from_iterable(range(first, last + 1) for first, last in self.rows)


def find_stretches(places: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Places in ascending order as first and last ones of stretches without a gap."""
    stretches: list[tuple[int, int]] = []
    for place in places:
        if stretches and stretches[-1][1] == place - 1:
            stretches[-1] = (stretches[-1][0], place)
        else:
            stretches.append((place, place))
    return tuple(stretches)


# What stored vectors are like: a comparison of runs shows here that a model, its normalisation or its data has changed.


@strict_record(slots=True)
class VectorStatistics:
    """One set of vectors: how many, how long they are, and what is odd about them.

    Norms are those of all ``finite`` vectors of the dimension, None if there are none.
    """

    count: Count
    dimension: Count
    normalized: bool | None = None  # whether they were meant to have length one; None where that is not known
    # how many had length one before they were normalised; None where they were not, or it is not known
    unit_before: Count | None = None
    norm_mean: Number | None = None
    norm_std: Number | None = None  # of the whole set
    norm_min: Number | None = None
    norm_min_nonzero: Number | None = None  # the least but for vectors of zeros, whose norm is 0
    norm_max: Number | None = None
    zero: Count = 0  # vectors of zeros, which are near to nothing
    duplicates: Count = 0  # same numbers as an earlier one and not zero; those of ids, beside texts, are not counted
    not_finite: Count = 0  # with a NaN or an infinity
    wrong_dimension: Count = 0  # of another length than most
    looked_at: Count | None = None  # how many of a large table were examined for all of this; None for all of them
    arm: str | None = None  # the agent whose vectors they are, where one asks several

    @property
    def seen(self) -> int:
        """How many were looked at."""
        return self.count if self.looked_at is None else self.looked_at

    @property
    def finite(self) -> int:
        """How many of those that were looked at have a norm."""
        return self.seen - self.not_finite - self.wrong_dimension


# Where a run comes from: who was asked what, when, where, with which options, and what spoils the result.
#
# Every field is None or empty where it is not known; a run that was imported knows little of itself. Nothing here is
# needed to compute a value, and everything that decides whether two values may be compared is.


@strict_record(slots=True)
class RunLabel:
    """Who was asked, about which state of a repository, and for which time.

    ``qualified`` is AGENT:MODE where an agent was asked in a mode, by which alone it may be called.
    """

    agent: str
    snapshot: str | None = None
    repeat: Positive = 1
    qualified: str | None = None

    @property
    def identity(self) -> str:
        """What tells the agent from others, whichever are asked beside it."""
        return self.qualified or self.agent


PARENT = "parent"  # the snapshot that the author of a mined case saw

WORK_TREE = "worktree"  # files as they lie there, which are no commit


def display_names(labels: Sequence[RunLabel]) -> list[str]:
    """A short name for each label, unique among these.

    The snapshot is part of it only where one agent was asked about several, and the repeat from the second on. Runs
    that nothing tells apart are numbered, and modes of two agents that are called alike have the names of their agents. A name is
    for people: what it was made of is in the label.
    """
    names: list[str] = []
    for label in labels:
        snapshots = {other.snapshot for other in labels if other.identity == label.identity}
        alike = {other.identity for other in labels if other.agent == label.agent}
        agent = label.agent if len(alike) == 1 else label.identity
        plain = f"{agent}@{label.snapshot}" if len(snapshots) > 1 and label.snapshot else agent
        name, number = plain if label.repeat == 1 else f"{plain}#{label.repeat}", max(label.repeat, 1)
        while name in names:
            number += 1
            name = f"{plain}#{number}"
        names.append(name)
    return names


@strict_record(slots=True)
class SuiteIdentity:
    """What was asked, what was searched and what was right, each as a digest of its own."""

    name: str
    queries: str | None = None
    corpus: str | None = None
    judgments: str | None = None


@strict_record(slots=True)
class AgentIdentity:
    """An agent: how it was named, its options, a digest of its code, and what it says of itself.

    ``isolated`` is False for one that ran inside the process of the runner, where no deadline can be enforced. ``sandbox``
    is what kept it from everything that it did not need, if anything did.
    """

    source: str
    config: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None
    description: Mapping[str, Any] = field(default_factory=dict)
    isolated: bool = True
    sandbox: str | None = None

    @property
    def model(self) -> str | None:
        """The embedding model that it searched with; None if it has none, has several, or does not say."""
        return only_model(self.description, self.config)


@strict_record(slots=True)
class SearchedRepository:
    """The repository behind a corpus as it was during the run: its HEAD, and whether anything was not committed."""

    name: str
    commit: str | None = None
    dirty: bool | None = None


@strict_record(slots=True)
class CandidateKinds:
    """Which files could be found at all, where not all of them could."""

    kinds: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        of_kinds = f"files of the kinds {', '.join(self.kinds)}" if self.kinds else "every file"
        fitting = f" that fit {' or '.join(self.include)}" if self.include else ""
        without = (*self.excluded, *self.exclude)
        return of_kinds + fitting + (f" without {', '.join(without)}" if without else "")


@strict_record(slots=True)
class IndexBuild:
    """What it took to get an agent ready: time inside its own methods, how often from nothing, and the largest size."""

    seconds: Number | None = None
    full_builds: Whole = 0
    updates: Whole = 0
    bytes: Whole | None = None


# In the order in which a run tells them.
TrustKind = Literal[
    "not_isolated",
    "not_started",
    "failed",
    "interrupted",
    "not_whole",
    "times_doubtful",
    "journal_changed",
    "cache_changed",
    "corpus_changed",
]

TRUST_KINDS: tuple[TrustKind, ...] = get_args(TrustKind)

UNTRUSTED_KINDS: frozenset[TrustKind] = frozenset(TRUST_KINDS) - {"not_isolated"}


@strict_record(slots=True)
class TrustEvent:
    """Something that happened during a run and that whoever relies on it must know."""

    kind: TrustKind
    message: str

    @property
    def spoils(self) -> bool:
        """Whether the result cannot be trusted because of it."""
        return self.kind in UNTRUSTED_KINDS

    @property
    def code(self) -> str:
        """That of its finding: the same name, which files of runs spell with underscores."""
        return self.kind.replace("_", "-")


@strict_record(slots=True)
class WorkerOutput:
    """What one worker wrote to one of its streams: how much, and the beginning of it."""

    stream: str
    bytes: Whole
    text: str


@strict_record(slots=True)
class BaselineRecord:
    """That a run was made the baseline: which version, when, by whom and why. ``model`` is the embedding model, or the agent."""

    version: Positive
    date: datetime
    author: str
    model: str
    reason: str | None = None


@strict_record(slots=True)
class ImportedRun:
    """What is to be known of a run that others have written: a sentence each.

    ``by_position``: the file does not say what was asked, so that its first answer is that to the first case of a suite.
    """

    notes: tuple[str, ...] = ()
    by_position: bool = False


@strict_record(slots=True)
class Provenance:
    """How a run came about. What is not known is None or empty."""

    id: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    version: str | None = None
    suite: SuiteIdentity | None = None
    shard: ShardIdentity | None = None  # which of several parts of the cases was asked (--shard); None where they were not divided
    agent: AgentIdentity | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    # digests of what several cases search, by name; none where each case has its own, such as the parent of its commit
    corpora: Mapping[str, str] = field(default_factory=dict)
    # what its corpus is called where none was named to check hits against, so that nothing is known of what exists there
    service: str | None = None
    repositories: tuple[SearchedRepository, ...] = ()
    candidates: CandidateKinds | None = None
    # the agent, or one that it asks, searched what it has and not what it was given: nothing is known of its index
    own_corpus: bool = False
    environment: Environment | None = None  # None for a run of several hosts, where each part has its own
    index: IndexBuild | None = None
    vectors: tuple[VectorStatistics, ...] = ()  # those of the index when it was last ready
    start_seconds: tuple[Number, ...] = ()
    memory_bytes: Whole | None = None  # None where others than our processes may have searched
    restarts: Count = 0
    workers: Positive = 1
    resumed: Count = 0
    printed: tuple[WorkerOutput, ...] = ()
    trust: tuple[TrustEvent, ...] = ()
    tag: str | None = None
    parts: tuple[RunPart, ...] = ()  # the runs that it was joined from, each with the cases that it answered
    baseline: BaselineRecord | None = None  # that other runs are compared with this one
    imported: ImportedRun | None = None  # what its reader has to say of a run that others have written

    @property
    def is_ours(self) -> bool:
        """Whether Searchmark asked the agent itself, so that a case that is missing was not run."""
        return self.suite is not None

    @property
    def host_parts(self) -> tuple[RunPart, ...]:
        """The parts that were each asked on one host: a shard may have been asked on several."""
        return tuple(each for part in self.parts for each in part.provenance.host_parts or (part,))

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Every host that is known to have answered some of the cases."""
        parts = [part.provenance.environment for part in self.host_parts if part.cases]
        environments = parts if self.parts else [self.environment]
        return tuple(dict.fromkeys(host for each in environments if each is not None and (host := each.measured_on) is not None))

    def with_cases(self, names: Mapping[str, Sequence[str]]) -> Provenance:
        """The same of a run whose cases have other ids, each as many as are given."""
        return replace(self, parts=tuple(part.with_cases(names) for part in self.parts))

    @property
    def failure(self) -> str | None:
        """Why the agent could not be started or asked to the end, if it could not: in none of the parts, where there are some."""
        if not all(part.provenance.failure for part in self.parts):
            return None
        return next((event.message for event in self.trust if event.kind in ("not_started", "failed")), None)


@strict_record(slots=True)
class RunPart:
    """One of several runs that were joined."""

    cases: tuple[str, ...]
    provenance: Provenance

    def with_cases(self, names: Mapping[str, Sequence[str]]) -> RunPart:
        """The same with other ids of cases."""
        cases = tuple(name for case in self.cases for name in names.get(case, ()))
        return RunPart(cases, self.provenance.with_cases(names))


# What is known of runs together that each answered some of the cases.


def join_provenance(parts: Sequence[RunPart]) -> Provenance:
    """What is true of runs together that each answered some cases of one suite. Nothing of a part is lost.

    Shards come in the order of their numbers, so that the last one is where a single run would have ended.
    """
    provenances = [part.provenance for part in parts]
    first, each_part = provenances[0], tuple(_flatten_parts(parts))
    on_one_host = len(Provenance(parts=each_part).hosts) <= 1
    return Provenance(
        id="+".join(each.id for each in provenances if each.id) or None,
        started=min((each.started for each in provenances if each.started), default=None),
        ended=max((each.ended for each in provenances if each.ended), default=None),
        version=first.version,
        suite=_join_suites(first.suite, each_part),
        agent=_join_agents([each.agent for each in provenances]),
        options=first.options,
        corpora=dict(sorted((name, digest) for each in provenances for name, digest in each.corpora.items())),
        service=next((each.service for each in provenances if each.service), None),
        repositories=tuple(
            sorted(_distinct(repository for each in provenances for repository in each.repositories), key=lambda each: each.name)
        ),
        candidates=first.candidates,
        own_corpus=any(each.own_corpus for each in provenances),
        environment=_join_environments(provenances) if on_one_host else None,
        index=_join_index_builds([each.index for each in provenances if each.index is not None], same_host=on_one_host),
        vectors=_join_vectors(provenances),
        start_seconds=tuple(seconds for each in provenances for seconds in each.start_seconds) if on_one_host else (),
        memory_bytes=max((each.memory_bytes for each in provenances if each.memory_bytes is not None), default=None),
        restarts=sum(each.restarts for each in provenances),
        workers=max(each.workers for each in provenances),
        resumed=sum(each.resumed for each in provenances),
        printed=tuple(output for each in provenances for output in each.printed),
        trust=tuple(sorted(_distinct(event for each in provenances for event in each.trust), key=_order_of_events)),
        tag=first.tag,
        parts=each_part,
        imported=_join_imports([each.imported for each in provenances if each.imported is not None]),
    )


def shards_of(parts: Iterable[RunPart]) -> list[ShardIdentity] | None:
    """The shards that parts are; None where one of them is none."""
    shards = [part.provenance.shard for part in parts]
    return None if None in shards else [shard for shard in shards if shard is not None]


def _join_suites(suite: SuiteIdentity | None, parts: Sequence[RunPart]) -> SuiteIdentity | None:
    """What was asked and searched: all of it is known where all shards are there, and else only what the suite is called."""
    shards = shards_of(parts)
    if suite is None or not shards or sum(len(part.cases) for part in parts) != shards[0].cases:
        return suite and SuiteIdentity(suite.name)
    return SuiteIdentity(suite.name, shards[0].queries, _join_corpus_digests(parts, shards), shards[0].judgments)


def _join_corpus_digests(parts: Sequence[RunPart], shards: Sequence[ShardIdentity]) -> str | None:
    """The digest of one corpus, if all cases search the same, and else the sum over the shards, each of which counts once."""
    from searchmark.records.digests import sum_digests  # numpy: agents load this module

    corpora = {None if part.provenance.suite is None else part.provenance.suite.corpus for part in parts}
    return corpora.pop() if len(corpora) == 1 else sum_digests({shard.number: shard.searched for shard in shards}.values())


def _join_agents(agents: Sequence[AgentIdentity | None]) -> AgentIdentity | None:
    """The agent with what it last said of itself; one that could not be started has said nothing."""
    return next((each for each in reversed(agents) if each is not None and each.description), agents[0])


def _join_vectors(provenances: Sequence[Provenance]) -> tuple[Any, ...]:
    """Those of the last shard that has any, as a single run has those of its last index; otherwise those of all parts."""
    if all(each.shard is not None for each in provenances):
        return next((each.vectors for each in reversed(provenances) if each.vectors), ())
    return _distinct(vectors for each in provenances for vectors in each.vectors)


def _order_of_events(event: TrustEvent) -> int:
    return TRUST_KINDS.index(event.kind)


def _flatten_parts(parts: Iterable[RunPart]) -> Iterator[RunPart]:
    """A part that was joined itself counts as its own parts; a shard is one part, however many hosts have asked it."""
    for part in parts:
        yield from (part.provenance.parts if part.provenance.shard is None else ()) or (part,)


def _join_imports(parts: Sequence[ImportedRun]) -> ImportedRun | None:
    notes = _distinct(note for part in parts for note in part.notes)
    return ImportedRun(notes, any(part.by_position for part in parts)) if parts else None


def _distinct(items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(items))


def _join_environments(provenances: Sequence[Provenance]) -> Environment | None:
    """That of the first part, or rather of the first that knows its host."""
    environments = [each.environment for each in provenances if each.environment is not None]
    return next((each for each in environments if each.host), provenances[0].environment)


def _join_index_builds(builds: Sequence[IndexBuild], *, same_host: bool) -> IndexBuild | None:
    """Builds of one host together; those of several hosts are not ``same_host`` together."""
    if not builds:
        return None
    seconds = [build.seconds for build in builds if build.seconds is not None]
    return IndexBuild(
        seconds=sum(seconds) if seconds and same_host else None,
        full_builds=sum(build.full_builds for build in builds),
        updates=sum(build.updates for build in builds),
        bytes=max((build.bytes for build in builds if build.bytes is not None), default=None),
    )


# What is said of a run from its answers alone, so that a run and the shards that it was joined from say the same.


def incomplete_repository_events(details: Sequence[AnswerDetails]) -> tuple[TrustEvent, ...]:
    """That cases were not searched, since the repository lacks contents."""
    reasons = [each.failure for each in details if each.not_whole]
    return (TrustEvent("not_whole", f"{len(reasons)} of {len(details)} cases were not searched: {reasons[0]}"),) if reasons else ()
