"""The report as records: every number and every sentence that a reader gets. Renderers only lay it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from searchmark.analysis.comparison import Pair
from searchmark.analysis.decisions import Decision
from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.files.schemas import Schema
from searchmark.gates.rules import Gate
from searchmark.records import NOTHING_KNOWN, AgentIdentity, AnswerDetails, Environment, IndexBuild, Match, SearchedRepository
from searchmark.reports.notes import Note
from searchmark.reports.snapshot_effect import SnapshotEffect

REPORT_SCHEMA = Schema("report", 1)

Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class SuiteSummary:
    """Which suite this was, to the digit."""

    name: str
    hashes: Mapping[str, str | None]
    cases: int


@dataclass(frozen=True, slots=True)
class ShownHit:
    """An entry of an answer as it is shown."""

    id: str
    score: float | None = None
    lines: tuple[int, int] | None = None


class ExpectedTarget(NamedTuple):
    """A target that is worth something to a case. A tuple, since there may be a million of them."""

    target: str
    match: Match
    grade: int


@dataclass(frozen=True)
class CaseSummary:
    """One case: what was asked, what came back, what was expected, what it scored, and why not where it did not."""

    status: str
    query: str | None
    measures: Mapping[str, float | None]
    undefined: Mapping[str, str]
    hits: tuple[ShownHit, ...]
    expected: tuple[ExpectedTarget, ...] = ()
    details: AnswerDetails = NOTHING_KNOWN


@dataclass(frozen=True)
class RunSummary:
    """Which run this was: what tells it from others, and what could explain a difference."""

    id: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    version: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    corpus: str | None = None
    agent: AgentIdentity | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    repositories: tuple[SearchedRepository, ...] = ()
    environment: Environment | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class AgentSummary:
    """One run of one agent on the suite. ``name`` is the agent's; several runs of a report may share it."""

    name: str
    status: Literal["ok", "untrusted", "failed"]
    counts: Mapping[str, int]
    dropped: Mapping[str, int | None]
    measures: Summaries
    segments: Mapping[str, Mapping[str, Summaries]]
    cases: Mapping[str, CaseSummary]
    worst: tuple[str, ...] = ()
    snapshot: str | None = None
    repeat: int = 1
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    index: IndexBuild | None = None
    start_seconds: float | None = None
    cost: Mapping[str, float] = field(default_factory=dict)
    run: RunSummary = RunSummary()  # frozen


@dataclass(frozen=True)
class Report:
    """All that is known about one evaluation or comparison. The keys of ``agents`` are display names, each unique.

    ``notes`` are the sentences that a reader must not miss, and ``next_step`` is the command that shows every case of a
    gate that is not passed.
    """

    suite: SuiteSummary
    agents: Mapping[str, AgentSummary]
    gate: Gate | None = None
    notes: tuple[Note, ...] = ()
    pairs: tuple[Pair, ...] = ()
    decisions: tuple[Decision, ...] = ()
    snapshot_effects: tuple[SnapshotEffect, ...] = ()
    next_step: str | None = None
    schema_version: int = REPORT_SCHEMA.version
