"""The report: every number and every sentence is decided here; renderers only lay it out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from os import PathLike
from typing import Any, Literal

import numpy as np

from searchmark.analysis.comparison import Pair, unique_names
from searchmark.analysis.decisions import Decision, decide
from searchmark.analysis.gate import Gate
from searchmark.analysis.latencies import Latency, latencies_of
from searchmark.analysis.scores import Scores, Summary, segment_rows, untrusted_because
from searchmark.corpora.corpus import Survey
from searchmark.errors import FormatError
from searchmark.files.schemas import Schema
from searchmark.files.store import check_shape, json_number, parse_json, plain_json, read_text
from searchmark.options.compare_options import DecisionTable
from searchmark.records import (
    NOTHING_KNOWN,
    STATUSES,
    AgentIdentity,
    AnswerDetails,
    Environment,
    Hit,
    IndexBuild,
    Run,
    SearchedRepository,
)
from searchmark.reports.run_notes import conduct_notes, cost_of, noise_notes
from searchmark.reports.snapshot_effect import SnapshotEffect, travels

REPORT_SCHEMA = Schema("report", 1)
HITS_SHOWN = 10
WORST_SHOWN = 5

Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class SuiteSummary:
    """Which suite this was, to the digit."""

    name: str
    hashes: Mapping[str, str | None]
    cases: int


@dataclass(frozen=True)
class ShownHit:
    """An entry of an answer as it is shown."""

    id: str
    score: float | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True)
class CaseSummary:
    """One case: what was asked, what came back, what it scored, and why not where it did not."""

    status: str
    query: str | None
    measures: Mapping[str, float | None]
    undefined: Mapping[str, str]
    hits: tuple[ShownHit, ...]
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
    agent: AgentIdentity | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    repositories: tuple[SearchedRepository, ...] = ()
    environment: Environment | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class AgentSummary:
    """One run of one agent on the suite."""

    name: str
    status: Literal["ok", "untrusted", "failed"]
    counts: Mapping[str, int]
    dropped: Mapping[str, int]
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
    """All that is known about one evaluation; ``notes`` are the sentences a reader must not miss."""

    suite: SuiteSummary
    agents: Mapping[str, AgentSummary]
    gate: Gate | None = None
    notes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    decisions: tuple[Decision, ...] = ()
    travels: tuple[SnapshotEffect, ...] = ()
    schema_version: int = REPORT_SCHEMA.version


def build_report(scores: Scores, by: Iterable[str] = (), gate: Gate | None = None, corpus: Survey | None = None) -> Report:
    """Everything to be said about one agent's scores; ``by`` names what the cases are split by."""
    name = scores.judged.run.agent
    agent, notes = _agent_and_notes(scores, name, by)
    return Report(_suite_summary(scores, corpus), {name: agent}, gate, (*notes, *_corpus_notes(corpus)))


def build_comparison(
    scores: Sequence[Scores],
    pairs: Sequence[Pair],
    by: Iterable[str] = (),
    tables: Iterable[DecisionTable] = (),
    corpus: Survey | None = None,
) -> Report:
    """Everything to be said about several runs on one suite, decisions by ``tables`` included."""
    names, by = unique_names(scores), tuple(by)
    known = {name: _agent_and_notes(each, name, by) for name, each in zip(names, scores, strict=True)}
    notes = _told_apart({name: found for name, (_, found) in known.items()})
    agents = {name: agent for name, (agent, _) in known.items()}
    means = {name: agent.measures for name, agent in agents.items()}
    runs = dict(zip(names, (each.judged.run for each in scores), strict=True))
    notes += noise_notes(runs, {name: {key: each.mean for key, each in summaries.items()} for name, summaries in means.items()})
    decisions = tuple(decide(table, pairs, means, scores[0].judged.suite, runs) for table in tables)
    return Report(
        suite=_suite_summary(scores[0], corpus),
        agents=agents,
        notes=(*notes, *_corpus_notes(corpus)),
        pairs=tuple(pairs),
        decisions=decisions,
        travels=tuple(travels(dict(zip(names, scores, strict=True)))),
    )


def _told_apart(notes: Mapping[str, list[str]]) -> list[str]:
    """Every note with the run that it is about; one that holds for all of them is said once."""
    first = next(iter(notes.values()))
    shared = [note for note in first if all(note in found for found in notes.values())]
    own = [f"{name}: {note}" for name, found in notes.items() for note in found if note not in shared]
    return [*own, *(f"all runs: {note}" for note in shared)]


def _suite_summary(scores: Scores, corpus: Survey | None) -> SuiteSummary:
    suite = scores.judged.suite
    hashes = suite.hashes | ({} if corpus is None else {"corpus": corpus.digest})
    return SuiteSummary(suite.name, hashes, len(suite))


def _agent_and_notes(scores: Scores, name: str, by: Iterable[str]) -> tuple[AgentSummary, list[str]]:
    reasons, run = untrusted_because(scores), scores.judged.run
    agent = AgentSummary(
        name=name,
        status="failed" if run.provenance.failure else "untrusted" if reasons else "ok",
        counts=scores.counts,
        dropped=scores.judged.dropped,
        measures=scores.summaries(),
        segments={field_name: _segment(scores, field_name) for field_name in by},
        cases=_cases(scores),
        worst=_worst(scores),
        snapshot=run.label.snapshot,
        repeat=run.label.repeat,
        latency_ms=latencies_of(run),
        index=run.provenance.index,
        start_seconds=next(iter(run.provenance.start_seconds), None),
        cost=cost_of(run),
        run=run_summary(run),
    )
    return agent, [*(f"not to be trusted: {reason}" for reason in reasons), *conduct_notes(run), *_notes(scores, agent)]


def run_summary(run: Run) -> RunSummary:
    """What a report tells of where a run comes from; with one repository behind it, its commit is that of the run."""
    known = run.provenance
    searched = known.repositories[0] if len(known.repositories) == 1 else None
    return RunSummary(
        id=known.id,
        started=known.started,
        ended=known.ended,
        version=known.version,
        commit=None if searched is None else searched.commit,
        dirty=None if searched is None else searched.dirty,
        agent=known.agent,
        options=known.options,
        repositories=known.repositories,
        environment=known.environment,
        memory_bytes=known.memory_bytes,
    )


def _segment(scores: Scores, name: str) -> dict[str, Summaries]:
    return {value: scores.summaries(rows) for value, rows in segment_rows(scores.judged.suite, name).items()}


def _cases(scores: Scores) -> dict[str, CaseSummary]:
    judged, names = scores.judged, scores.names
    table, index = judged.suite.table, judged.run.index
    summaries = {}
    for row, case in enumerate(table.ids):
        values = scores.values[row].tolist()
        answer = judged.run.answer(index[case], HITS_SHOWN) if case in index else None
        summaries[case] = CaseSummary(
            status=STATUSES[judged.status[row]],
            query=None if table.queries is None else table.queries[row],
            measures={name: None if math.isnan(value) else value for name, value in zip(names, values, strict=True)},
            undefined={name: str(scores.reason(row, i)) for i, name in enumerate(names) if math.isnan(values[i])},
            hits=_shown(answer.hits) if answer else (),
            details=judged.run.details_of(index[case]) if answer else NOTHING_KNOWN,
        )
    return summaries


def _shown(hits: Iterable[Hit]) -> tuple[ShownHit, ...]:
    return tuple(ShownHit(hit.id, hit.score, hit.lines) for hit in hits)


def _worst(scores: Scores) -> tuple[str, ...]:
    """The cases with the lowest values of the first measure, as long as they are not perfect."""
    if not scores.measures:
        return ()
    values = scores.values[:, 0]
    order = np.argsort(values, kind="stable")[:WORST_SHOWN]  # NaN comes last
    high = scores.measures[0].high
    perfect = high if math.isfinite(high) else np.max(values, initial=0.0, where=~np.isnan(values))
    return tuple(scores.judged.suite.table.ids[row] for row in order if values[row] < perfect)


_DROPPED = {
    "duplicate": "duplicate hits dropped, each id keeping its first rank (trec_eval refuses such a run)",
    "invalid": "hits that do not exist in the corpus, which keep their rank and count as not relevant",
    "cases_not_in_suite": "cases of the run that are not in the suite, left out",
    "scores_out_of_order": "hits that score higher than the one before them (the order of the run was kept)",
    "topics_without_judgments": "topics without judgments, left out",
    "queries_without_judgments": "queries without judgments, left out",
    "hits_without_rating": "lines without a rating, left out",
    "cases_not_in_all_runs": "cases of the suite that not all runs answer, left out",
    "unreachable_targets": "relevant targets that are not in the corpus",
    "cases_filtered_out": "cases of the suite that were not asked for, left out",
    "beyond_depth": "hits beyond the depth that was asked for, left out",
    "not_text": "hits that are neither text nor a path, which keep their rank and count as not relevant",
    "scores_unusable": "scores that are no finite numbers, left out (the order of the run was kept)",
}


def _notes(scores: Scores, agent: AgentSummary) -> Iterable[str]:
    judged = scores.judged
    for key, count in agent.dropped.items():
        if count:
            yield f"{_DROPPED.get(key, key)}: {count}"
    missing = len(judged.suite.table.index.keys() - judged.run.index.keys())
    if missing:
        yield f"cases missing from the run, which count as empty: {missing}"
    lowest = judged.suite.defaults.rel
    hollow = judged.answerable & judged.complete & (judged.hits.total_relevant(lowest) == 0)
    if hollow.any():
        yield f"cases without a target of grade {lowest} or higher, which can only score 0: {int(hollow.sum())}"
    for name, summary in agent.measures.items():
        if summary.definition:
            yield f"{name} is {summary.definition}"
        if summary.undefined:
            yield f"cases for which {name} is undefined, not in its mean: {summary.undefined}"


def _corpus_notes(corpus: Survey | None) -> Iterable[str]:
    counts = (
        {}
        if corpus is None
        else {
            "documents of the corpus whose id had occurred before, left out": corpus.duplicates,
            "documents of the corpus without any text": corpus.empty,
            "files of the corpus that hold no text, left out": corpus.skipped,
        }
    )
    return (f"{what}: {count}" for what, count in counts.items() if count)


def to_json(report: Report) -> str:
    """The machine-readable form: floats in full, undefined as null, an optional part absent when it is."""
    data: dict[str, Any] = {
        "schema_version": report.schema_version,
        "suite": asdict(report.suite),
        "agents": {key: _agent_data(agent) for key, agent in report.agents.items()},
        "notes": list(report.notes),
    }
    if report.gate is not None:
        data["gate"] = asdict(report.gate)
    if report.pairs:
        data["comparisons"] = [asdict(found) for pair in report.pairs for found in pair.differences]
        data["pairs"] = [asdict(pair) for pair in report.pairs]
    if report.decisions:
        data["decisions"] = [asdict(decision) for decision in report.decisions]
    if report.travels:
        data["travels"] = [asdict(travel) for travel in report.travels]
    return _laid_out(data, depth=4) + "\n"


def _laid_out(data: Any, depth: int, indent: str = "\n") -> str:
    """JSON that people can read and compare: one line per entry down to ``depth``, where cases and measures stand."""
    if not isinstance(data, dict | list) or not data or not depth:
        return json.dumps(data)
    inner = indent + " "
    if isinstance(data, list):
        return "[" + ",".join(f"{inner}{_laid_out(value, depth - 1, inner)}" for value in data) + indent + "]"
    entries = (f"{inner}{json.dumps(key)}: {_laid_out(value, depth - 1, inner)}" for key, value in data.items())
    return "{" + ",".join(entries) + indent + "}"


def _agent_data(agent: AgentSummary) -> dict[str, Any]:
    return {
        "name": agent.name,
        "status": agent.status,
        "counts": dict(agent.counts),
        "dropped": dict(agent.dropped),
        "measures": _measure_data(agent.measures),
        "segments": {
            name: {value: _measure_data(summaries) for value, summaries in values.items()}
            for name, values in agent.segments.items()
        },
        **_conduct_data(agent),
        "worst": list(agent.worst),
        "cases": {case: _case_data(summary) for case, summary in agent.cases.items()},
    }


def _conduct_data(agent: AgentSummary) -> dict[str, Any]:
    """What only a run that was watched has."""
    parts = {
        "snapshot": agent.snapshot,
        "latency_ms": {kind: asdict(latency) for kind, latency in agent.latency_ms.items()},
        "index": _index_data(agent.index),
        "cost": dict(agent.cost),
        "run": plain_json(agent.run),
    }
    return {name: part for name, part in parts.items() if part}


def _index_data(index: IndexBuild | None) -> dict[str, Any]:
    """Time and size. How often it was built depends on how the work was divided, and is no result."""
    return {} if index is None else {"seconds": index.seconds, "bytes": index.bytes}


def _measure_data(summaries: Summaries) -> dict[str, Any]:
    return {
        name: {key: _plain(value) for key, value in vars(summary).items() if key != "definition" or value is not None}
        for name, summary in summaries.items()
    }


def _plain(value: Any) -> Any:
    return json_number(value) if isinstance(value, float) else value


def _case_data(case: CaseSummary) -> dict[str, Any]:
    hits = [_hit_data(hit) for hit in case.hits]
    data = vars(case) | {"measures": {name: _plain(value) for name, value in case.measures.items()}, "hits": hits}
    details = {} if case.details == NOTHING_KNOWN else {"details": case.details.to_plain()}
    return {key: value for key, value in data.items() if key != "details"} | details


def _hit_data(hit: ShownHit) -> dict[str, Any]:
    return {"id": hit.id, "score": json_number(hit.score)} | ({} if hit.lines is None else {"lines": list(hit.lines)})


def read_report(path: str | PathLike[str]) -> Report:
    """Read a report that was written as JSON."""
    from pydantic import TypeAdapter

    data = parse_json(path, read_text(path))
    if not isinstance(data, dict):
        raise FormatError(path, None, "is not a report")
    return check_shape(path, TypeAdapter(Report), REPORT_SCHEMA.upgraded(path, data))
