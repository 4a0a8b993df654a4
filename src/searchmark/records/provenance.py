"""Where a run comes from: who was asked what, when, where, with which options, and what spoils the result.

Every field is None or empty where it is not known; a run that was imported knows little of itself. Nothing here is
needed to compute a value, and everything that decides whether two values may be held against each other is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge

from searchmark.options.strict import strict_record
from searchmark.records.hosts import Environment, Host
from searchmark.records.model_names import one_model
from searchmark.records.shards import ShardIdentity
from searchmark.records.vectors import VectorStatistics


@strict_record(slots=True)
class RunLabel:
    """Who was asked, about which state of a repository, and for which time.

    ``qualified`` is AGENT:MODE where an agent was asked in a mode, by which alone it may be called.
    """

    agent: str
    snapshot: str | None = None
    repeat: Annotated[int, Ge(1)] = 1
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
        return one_model(self.description, self.config)


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

    seconds: float | None = None
    full_builds: int = 0
    updates: int = 0
    bytes: int | None = None


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
SPOILING: frozenset[TrustKind] = frozenset(TRUST_KINDS) - {"not_isolated"}


@strict_record(slots=True)
class TrustEvent:
    """Something that happened during a run and that whoever relies on it must know."""

    kind: TrustKind
    message: str

    @property
    def spoils(self) -> bool:
        """Whether the result cannot be trusted because of it."""
        return self.kind in SPOILING


@strict_record(slots=True)
class Printed:
    """What one worker wrote to one of its streams: how much, and the beginning of it."""

    stream: str
    bytes: int
    text: str


@strict_record(slots=True)
class BaselineRecord:
    """That a run was made the baseline: which version, when, by whom and why. ``model`` is the embedding model, or the agent."""

    version: Annotated[int, Ge(1)]
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
    """How a run came about. ``parts`` are the runs that it was joined from, each with the cases that it answered.

    Of a run of several hosts, ``environment`` is None, and times are those of the parts.
    ``shard`` is which of several parts of the cases was asked (``--shard``); None where they were not divided.
    ``corpora`` are the digests of what several cases search, by name; none where each case has its own, such as the parent of
    its commit. ``own_corpus``: the agent, or one that it asks, has searched what it has and not what it was given, so that nothing
    is known of its index and of the state that it is in. ``service`` is what that is called where no corpus was named either to
    check hits against, so that nothing is known of what exists there. ``memory_bytes`` is None where others than our processes may
    have searched. ``imported`` is what its reader has to say of a run that others have written. ``vectors`` is what those in its
    index were like when it was last ready. ``baseline``: that others are held against this run.
    """

    id: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    version: str | None = None
    suite: SuiteIdentity | None = None
    shard: ShardIdentity | None = None
    agent: AgentIdentity | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    corpora: Mapping[str, str] = field(default_factory=dict)
    service: str | None = None
    repositories: tuple[SearchedRepository, ...] = ()
    candidates: CandidateKinds | None = None
    own_corpus: bool = False
    environment: Environment | None = None
    index: IndexBuild | None = None
    vectors: tuple[VectorStatistics, ...] = ()
    start_seconds: tuple[float, ...] = ()
    memory_bytes: int | None = None
    restarts: Annotated[int, Ge(0)] = 0
    workers: Annotated[int, Ge(1)] = 1
    resumed: Annotated[int, Ge(0)] = 0
    printed: tuple[Printed, ...] = ()
    trust: tuple[TrustEvent, ...] = ()
    tag: str | None = None
    parts: tuple[RunPart, ...] = ()
    baseline: BaselineRecord | None = None
    imported: ImportedRun | None = None

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
