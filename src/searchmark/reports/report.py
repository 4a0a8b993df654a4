"""The report as records: every number and every sentence that a reader gets. Renderers only lay it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from searchmark.analysis.ann import AnnRecall
from searchmark.analysis.comparison import Pair
from searchmark.analysis.decisions import Decision
from searchmark.analysis.drifts import Drift
from searchmark.analysis.failure_kinds import FailureKind
from searchmark.analysis.host_times import HostTimes
from searchmark.analysis.latencies import Latency
from searchmark.analysis.perturbations import PerturbationDrop
from searchmark.analysis.scores import Summary
from searchmark.analysis.similarity import Spread
from searchmark.analysis.trends import Trend
from searchmark.analysis.usage import NOTHING_STATED, UsageSummary
from searchmark.files.schemas import Schema
from searchmark.findings import Finding
from searchmark.gates.rules import Gate
from searchmark.records import AgentIdentity, Environment, IndexBuild, SearchedRepository, VectorStatistics
from searchmark.records.shown import NotebookRecord, counted, listed, on_a_line, quoted
from searchmark.records.versions import Versions
from searchmark.reports.advice import Recommendation
from searchmark.reports.case_records import CaseFacts, CaseSummary
from searchmark.reports.snapshot_effect import SnapshotEffect

REPORT_SCHEMA = Schema("report", 1)

Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class SuiteSummary:
    """Which suite this was, to the digit. ``rel`` is the lowest grade that counts as relevant, unless a measure says otherwise."""

    name: str
    hashes: Mapping[str, str | None]
    cases: int
    kind: str | None = None
    rel: int = 1


@dataclass(frozen=True)
class RunSummary:
    """Which run this was: what tells it from others, and what could explain a difference.

    ``answers`` is the digest of what an imported run answered, which has no ``id``. A ``service`` has searched what it has.
    """

    id: str | None = None
    answers: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    version: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    corpus: str | None = None
    service: str | None = None
    own_corpus: bool = False
    agent: AgentIdentity | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    repositories: tuple[SearchedRepository, ...] = ()
    environment: Environment | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class AgentSummary:
    """One run of one agent on the suite. ``name`` is the agent's, or that of its mode; several runs of a report may share it.

    ``qualified`` is AGENT:MODE where the agent was asked in a mode.
    ``hosts`` has the times of each host of a run that was measured on several, which has none as a whole.
    ``worst`` and ``best`` are cases by the leading measure. ``similarity`` is how the scores of the first hits are distributed.
    ``usage`` is what the agent states of its searches, ``ann`` what it found of the true nearest vectors, by k, and ``vectors``
    what its stored vectors are like. ``cut_answers`` counts the answers with as many hits as were asked for,
    which may have been cut there. ``failures`` are the kinds of failures, each with the traceback of its first case.
    """

    name: str
    status: Literal["ok", "untrusted", "failed"]
    counts: Mapping[str, int]
    dropped: Mapping[str, int | None]
    measures: Summaries
    segments: Mapping[str, Mapping[str, Summaries]]
    cases: Mapping[str, CaseSummary]
    worst: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    snapshot: str | None = None
    repeat: int = 1
    qualified: str | None = None
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    hosts: tuple[HostTimes, ...] = ()
    index: IndexBuild | None = None
    start_seconds: float | None = None
    cost: Mapping[str, float] = field(default_factory=dict)
    usage: UsageSummary = NOTHING_STATED
    similarity: Mapping[str, Spread] = field(default_factory=dict)
    ann: Mapping[str, AnnRecall] = field(default_factory=dict)
    vectors: tuple[VectorStatistics, ...] = ()
    cut_answers: int = 0
    versions: Versions = Versions()  # noqa: RUF009  # frozen
    run: RunSummary = RunSummary()  # frozen
    failures: tuple[FailureKind, ...] = ()


@dataclass(frozen=True, repr=False)
class Report(NotebookRecord):
    """All that is known about one evaluation or comparison. The keys of ``agents`` are display names, each unique.

    ``cases`` is what the suite says of each case, where it says anything. ``audit`` are the findings that a reader must not
    miss, and ``next_step`` is the command that shows every case of a gate that is not passed. ``drifts`` and ``trends`` are
    what the archive tells of earlier runs. ``perturbations`` is what variants of queries lose against their originals.
    """

    suite: SuiteSummary
    agents: Mapping[str, AgentSummary]
    cases: Mapping[str, CaseFacts] = field(default_factory=dict)
    gate: Gate | None = None
    audit: tuple[Finding, ...] = ()
    pairs: tuple[Pair, ...] = ()
    decisions: tuple[Decision, ...] = ()
    snapshot_effects: tuple[SnapshotEffect, ...] = ()
    perturbations: tuple[PerturbationDrop, ...] = ()
    next_step: str | None = None
    recommendations: tuple[Recommendation, ...] = ()
    drifts: tuple[Drift, ...] = ()
    trends: tuple[Trend, ...] = ()
    schema_version: int = REPORT_SCHEMA.version

    def __repr__(self) -> str:
        gate = "" if self.gate is None else f", gate {self.gate.verdict}"
        runs = listed([quoted(name) for name in self.agents], 3)
        size = f"{counted(self.suite.cases, 'case')}, {counted(len(self.agents), 'run')}"
        return on_a_line(f"Report({quoted(self.suite.name)}, {size}: {runs}{gate})")
