"""The report as records: every number and sentence that a reader gets. Renderers only lay it out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations, islice
from typing import Any, Literal

from searchmark.audit.check import spoils
from searchmark.config.sections import Versions
from searchmark.errors import UsageError
from searchmark.gates.rules import Gate
from searchmark.io.data import Schema
from searchmark.measures.common import F1
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records.finding import Finding
from searchmark.records.provenance import (
    AgentIdentity,
    Environment,
    Host,
    IndexBuild,
    SearchedRepository,
    VectorStatistics,
    description_of,
    host_names,
)
from searchmark.records.run import Run
from searchmark.records.sentences import NotebookRecord, count_of, fit_line, list_first, plain_count, quote_name
from searchmark.reports.cases import CaseFacts, CaseSummary
from searchmark.scoring.comparison import Pair, PerturbationDrop
from searchmark.scoring.costs import NOTHING_REPORTED, AnnRecall, HostTimes, Latency, UsageSummary, why_latencies_not_compared
from searchmark.scoring.decisions import Decision
from searchmark.scoring.drift import Drift
from searchmark.scoring.scores import Scores, Summary
from searchmark.scoring.trends import ScoreSpread, Trend
from searchmark.scoring.trust import CONTROLS, FailureKind

MOST_NAMED = 200  # cases of one piece of advice


@dataclass(frozen=True)
class Recommendation:
    """What was seen, what to do about it, and the cases that show it."""

    code: str
    run: str | None  # None if it is about all
    seen: str
    advice: str
    cases: tuple[str, ...]  # the first that show it, in the order of the suite
    count: int = 0  # how many there are


def make_recommendation(
    code: str, run: str | None, observation: str, advice: str, cases: Iterable[str], count: int
) -> Recommendation:
    """Advice that names its first cases."""
    return Recommendation(code, run, observation, advice, tuple(islice(cases, MOST_NAMED)), count)


def percent_text(share: float) -> str:
    """A share in per cent, without digits behind the point."""
    return f"{100 * share:.0f} %"


# What another state of the repository gets wrong: one agent, two snapshots, case by case.
#
# Searching the head of a history errs in both directions. Files have moved or gone, so that a right answer cannot be
# found any more; and the answer may already be in the code, so that it is found too easily.

TOO_HARD, TOO_EASY, OTHERWISE = "targets are gone", "found better after the change", "other files have changed"


@dataclass(frozen=True)
class AffectedCase:
    """One case whose value differs between two snapshots, and what speaks for the reason."""

    case: str
    query: str | None
    reference: float
    other: float
    why: str
    gone: tuple[str, ...] = ()


@dataclass(frozen=True)
class SnapshotEffect:
    """One agent in two snapshots: the difference of the mean, and the cases behind it, the largest difference first."""

    reference: str  # display names of the two runs
    other: str
    measure: str
    cases: int
    lower: tuple[AffectedCase, ...]
    higher: tuple[AffectedCase, ...]

    @property
    def sentence(self) -> str:
        gone_count = sum(bool(case.gone) for case in self.lower)
        loss, gain = (sum(abs(case.other - case.reference) for case in cases) / self.cases for cases in (self.lower, self.higher))
        return (
            f"{self.other} against {self.reference}, {self.measure}: {len(self.lower)} of {self.cases} cases score lower "
            f"(-{loss:.4f} of the mean; {gone_count} of them since targets are gone), {len(self.higher)} score higher (+{gain:.4f})"
        )


def snapshot_effects(scores: Mapping[str, Scores]) -> Iterator[SnapshotEffect]:
    """Every pair of runs of one agent in two snapshots, by the first measure; the parents are the reference of the others."""
    names = sorted(
        (name for name in scores if not scores[name].distrust), key=lambda name: scores[name].matched.run.label.snapshot != "parent"
    )
    for reference, other in combinations(names, 2):
        if _same_agent(scores[reference].matched.run, scores[other].matched.run):
            yield _effect(reference, other, scores[reference], scores[other])


def _same_agent(one: Run, other: Run) -> bool:
    snapshots = [run.label.snapshot for run in (one, other)]
    return None not in snapshots and snapshots[0] != snapshots[1] and one.provenance.agent == other.provenance.agent


def _effect(reference: str, other: str, first: Scores, second: Scores) -> SnapshotEffect:
    cases = sorted(_cases(first, second), key=lambda case: -abs(case.other - case.reference))
    return SnapshotEffect(
        reference,
        other,
        first.names[0],
        len(first.matched.suite),
        tuple(case for case in cases if case.other < case.reference),
        tuple(case for case in cases if case.other > case.reference),
    )


def _cases(first: Scores, second: Scores) -> Iterator[AffectedCase]:
    table = first.matched.suite.table
    gone_by_case = _gone(second.matched.run)
    pairs: Sequence[tuple[float, float]] = list(zip(first.values[:, 0].tolist(), second.values[:, 0].tolist(), strict=True))
    for row, (reference, other) in enumerate(pairs):
        if math.isnan(reference) or math.isnan(other) or reference == other:
            continue
        missing = gone_by_case.get(table.ids[row], ())
        why = TOO_EASY if other > reference else TOO_HARD if missing else OTHERWISE
        yield AffectedCase(table.ids[row], table.queries[row] if table.queries else None, reference, other, why, missing)


def _gone(run: Run) -> dict[str, tuple[str, ...]]:
    details = zip(run.case_ids, run.details or (), strict=True) if run.details else ()
    return {case: each.unreachable for case, each in details if each.unreachable}


# The report itself.

REPORT_SCHEMA = Schema("report", 1)

Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class SuiteSummary:
    """Which suite this was, to the digit."""

    name: str
    hashes: Mapping[str, str | None]
    cases: int
    kind: str | None = None
    rel: int = 1  # the lowest grade that counts as relevant, unless a measure says otherwise


@dataclass(frozen=True)
class RunSummary:
    """Which run this was: what distinguishes it from others, and what could explain a difference."""

    id: str | None = None
    answers: str | None = None  # the digest of what an imported run answered, which has no id
    started: datetime | None = None
    ended: datetime | None = None
    version: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    corpus: str | None = None
    service: str | None = None  # which has searched what it has
    own_corpus: bool = False
    agent: AgentIdentity | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    repositories: tuple[SearchedRepository, ...] = ()
    environment: Environment | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class AgentSummary:
    """One run of one agent on the suite."""

    name: str  # of the agent, or of its mode; several runs of a report may share it
    status: Literal["ok", "untrusted", "failed"]
    counts: Mapping[str, int]
    dropped: Mapping[str, int | None]
    measures: Summaries
    segments: Mapping[str, Mapping[str, Summaries]]
    cases: Mapping[str, CaseSummary]
    worst: tuple[str, ...] = ()  # cases by the leading measure, as the next
    best: tuple[str, ...] = ()
    snapshot: str | None = None
    repeat: int = 1
    qualified: str | None = None  # AGENT:MODE where the agent was asked in a mode
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    hosts: tuple[HostTimes, ...] = ()  # of a run that was measured on several, which has no times as a whole
    index: IndexBuild | None = None
    start_seconds: float | None = None
    cost: Mapping[str, float] = field(default_factory=dict)
    usage: UsageSummary = NOTHING_REPORTED  # what the agent states of its searches
    similarity: Mapping[str, ScoreSpread] = field(default_factory=dict)  # how the scores of the first hits are distributed
    ann: Mapping[str, AnnRecall] = field(default_factory=dict)  # what it found of the true nearest vectors, by k
    vectors: tuple[VectorStatistics, ...] = ()  # what its stored vectors are like
    cut_answers: int = 0  # answers with as many hits as were asked for, which may have been cut there
    versions: Versions = Versions()  # noqa: RUF009  # frozen
    run: RunSummary = RunSummary()  # frozen
    failures: tuple[FailureKind, ...] = ()  # each with the traceback of its first case


@dataclass(frozen=True, repr=False)
class Report(NotebookRecord):
    """All that is known about one evaluation or comparison."""

    suite: SuiteSummary
    agents: Mapping[str, AgentSummary]  # by display names, each unique
    cases: Mapping[str, CaseFacts] = field(default_factory=dict)  # what the suite says of each case, where it says anything
    gate: Gate | None = None
    audit: tuple[Finding, ...] = ()  # the findings that a reader must not miss
    pairs: tuple[Pair, ...] = ()
    decisions: tuple[Decision, ...] = ()
    snapshot_effects: tuple[SnapshotEffect, ...] = ()
    perturbations: tuple[PerturbationDrop, ...] = ()  # what variants of queries lose against their originals
    next_step: str | None = None  # the command that shows every case of a gate that is not passed
    recommendations: tuple[Recommendation, ...] = ()
    drifts: tuple[Drift, ...] = ()  # these two are what the archive tells of earlier runs
    trends: tuple[Trend, ...] = ()
    schema_version: int = REPORT_SCHEMA.version

    def __repr__(self) -> str:
        gate = "" if self.gate is None else f", gate {self.gate.verdict}"
        runs = list_first([quote_name(name) for name in self.agents], 3)
        size = f"{count_of(self.suite.cases, 'case')}, {count_of(len(self.agents), 'run')}"
        return fit_line(f"Report({quote_name(self.suite.name)}, {size}: {runs}{gate})")


# What kind of agent a run is of, as far as it tells: that decides which advice could be followed.

_FUSION = re.compile(r"hybrid|fusion|fused|\brrf\b|\w\+vector\b", re.IGNORECASE)


def is_control(agent: AgentSummary) -> bool:
    """Whether it only shows what a score is worth; a run that does not know its agent goes by its name."""
    identity = agent.run.agent
    return (agent.name if identity is None else identity.source) in CONTROLS


def is_fusion(agent: AgentSummary) -> bool:
    """Whether it joins the answers of others, by what it says of itself or by its name."""
    identity = agent.run.agent
    names = (agent.name,) if identity is None else (agent.name, identity.source)
    return any(map(_FUSION.search, names)) or (identity is not None and _says_fusion(identity.description))


def _says_fusion(description: Mapping[str, Any]) -> bool:
    return "fusion" in description or any(map(_says_fusion, _arms(description)))


def _arms(description: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    arms = description.get("arms")
    return [arm for arm in arms.values() if isinstance(arm, Mapping)] if isinstance(arms, Mapping) else []


def is_scored_by_vectors(agent: AgentSummary) -> bool:
    """Whether its scores are similarities of an embedding model, and not what was made of several of them."""
    identity = agent.run.agent
    return identity is not None and identity.model is not None and "arms" not in identity.description


def is_exact(agent: AgentSummary) -> bool:
    """Whether it says that every index that it searches is exact."""
    return agent.run.agent is not None and set(indexes_of(agent.run.agent)) == {"exact"}


def indexes_of(agent: AgentIdentity) -> list[str]:
    """The indexes that an agent and its arms say that they have, or else those that its options name."""
    return list(_indexes_in(agent.description)) or list(_indexes_in(agent.config))


def _indexes_in(description: Any) -> Iterator[str]:
    for key, value in description_of(description):
        name = value.get("name") if isinstance(value, Mapping) else value
        if key == "index" and isinstance(name, str):
            yield name
        else:
            yield from _indexes_in(value)


def is_normalised(agent: AgentSummary) -> bool:
    """Whether it says that its vectors are brought to length one."""
    embedder = {} if agent.run.agent is None else agent.run.agent.description.get("embedder")
    return isinstance(embedder, Mapping) and embedder.get("normalize") is True


# On which hosts the runs of a report were measured, as far as their latencies are concerned.


def why_latencies_not_comparable(report: Report) -> str | None:
    """Why no two latencies of this report are compared, in a sentence; None if nothing is known against it."""
    timed_agents = {name: agent for name, agent in report.agents.items() if agent.latency_ms or agent.hosts}
    return why_latencies_not_compared({name: hosts_of(agent) for name, agent in timed_agents.items()})


def host_labels(report: Report) -> dict[str, str]:
    """For every run on one host what is said with its times, where hosts differ; where they do not, nothing is said."""
    if why_latencies_not_comparable(report) is None:
        return {}
    names = host_names(host for agent in report.agents.values() for host in hosts_of(agent))
    on_one_host = {name: hosts_of(agent) for name, agent in report.agents.items() if len(hosts_of(agent)) == 1}
    return {name: f" on {names[host]}" for name, (host,) in on_one_host.items()}


def hosts_of(agent: AgentSummary) -> tuple[Host, ...]:
    """Every host that is known to have measured a run."""
    if agent.hosts:
        return tuple(each.host for each in agent.hosts if each.host is not None)
    host = None if agent.run.environment is None else agent.run.environment.measured_on
    return () if host is None else (host,)


# What a report's measures are: a report knows them by name only, also where it was read from a file.


def measure_names(report: Report) -> list[str]:
    """Every measure of any run, in the order in which they were asked for."""
    return list(dict.fromkeys(name for agent in report.agents.values() for name in agent.measures))


def measure_named(report: Report, name: str) -> AnyMeasure | None:
    """The measure behind a name; None for one that this version does not know."""
    summary = next((agent.measures[name] for agent in report.agents.values() if name in agent.measures), None)
    return known_measure(summary.definition if summary is not None and summary.definition else name)


def known_measure(text: str) -> AnyMeasure | None:
    """The measure of this name or formula; None for a formula that is only known by its label."""
    try:
        return parse_measure(text)
    except UsageError:
        return None


def leading_measure(report: Report) -> str | None:
    """The first measure that tells quality, else the first; None in a report without measures."""
    return _leading({name: measure_named(report, name) for name in measure_names(report)})


def leading_of(agent: AgentSummary) -> str | None:
    """The same of one run."""
    return _leading({name: known_measure(summary.definition or name) for name, summary in agent.measures.items()})


def _leading(measures: Mapping[str, AnyMeasure | None]) -> str | None:
    deciding = (name for name, measure in measures.items() if measure is None or measure.decides)
    return next(deciding, next(iter(measures), None))


def distributed_measure(report: Report) -> str | None:
    """The measure whose distribution is drawn: the first F1, whatever its cutoff and options, else the leading one."""
    measures = ((name, measure_named(report, name)) for name in measure_names(report))
    f1 = (name for name, measure in measures if measure and [part.definition for part in measure.parts] == [F1])
    return next(f1, leading_measure(report))


# What a report means in one word: to a script by its exit code, to CI by its colour.

Outcome = Literal["measured", "passed", "failed", "unresolvable", "untrusted", "nothing evaluated"]


MEANINGS: dict[Outcome, str] = {
    "measured": "measured, and no gate checks it",
    "passed": "the gate passed",
    "failed": "the gate failed",
    "unresolvable": "the gate could never fail, so nothing is known",
    "untrusted": "untrusted, so nothing is known",
    "nothing evaluated": "nothing was evaluated",
}


def outcome_of(report: Report) -> Outcome:
    """How it ended; ``measured`` is a result that can be trusted and that no gate asked anything of."""
    if not any(summary.cases for agent in report.agents.values() for summary in agent.measures.values()):
        return "nothing evaluated"
    if any(map(spoils, report.audit)):
        return "untrusted"
    return "measured" if report.gate is None else report.gate.verdict


SAID_FIRST = ("cases-missing",)  # of what does not spoil a result


def first_sentence(report: Report) -> str | None:
    """What every output begins with: why nothing is known, or else what the result leaves open; None if there is nothing."""
    if outcome_of(report) == "nothing evaluated":
        return "nothing was evaluated: not a single case has a value"
    reasons = [finding.message for finding in report.audit if spoils(finding)]
    if not reasons:
        return "; ".join(finding.message for finding in report.audit if finding.code in SAID_FIRST) or None
    more = f" (and {plain_count(len(reasons) - 1, 'more reason')}, see below)" if len(reasons) > 1 else ""
    return f"untrusted: {reasons[0].replace('untrusted: ', '', 1)}{more}"
