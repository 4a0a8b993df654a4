"""From scores to a report, of one run or of several; and from a report to what an archive tells of it later."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from searchmark.audit.conditions import host_findings, noise_findings
from searchmark.audit.runs import (
    DROPPED,
    comparability_findings,
    corpus_findings,
    findings_on_run,
    findings_with_run_names,
    segment_findings,
    without_redundant,
)
from searchmark.config.gates import DecisionTable
from searchmark.config.run import FIELDS_WITHOUT_EFFECT_ON_ANSWERS, ReportSettings
from searchmark.config.sections import Versions
from searchmark.config.strict import short_repr
from searchmark.formats.corpora.corpus import Survey
from searchmark.gates.rules import Gate, split_findings
from searchmark.io.data import plain_json
from searchmark.records.columns import Texts
from searchmark.records.finding import Finding, by_severity
from searchmark.records.provenance import AgentIdentity, description_of, models_in
from searchmark.records.run import Run, ScoredRun
from searchmark.records.suite import Suite
from searchmark.reports.advice import recommend
from searchmark.reports.cases import CaseColumns, ExpectedTargets, FactColumns, HitText
from searchmark.reports.outranked import ReadDocuments
from searchmark.reports.report import AgentSummary, Report, RunSummary, SuiteSummary, Summaries, snapshot_effects
from searchmark.scoring.comparison import Pair, perturbation_drops, primary_column, unique_names
from searchmark.scoring.costs import ann_recall_of, host_times, latencies_of, total_cost, usage_of
from searchmark.scoring.decisions import decide
from searchmark.scoring.scores import Scores, segment_rows
from searchmark.scoring.trends import Fingerprints, PastRun, similarity_of
from searchmark.scoring.trust import failure_kinds, most_costly

# Versions: what the config declares, or else what digests and the agent's own words tell.

_NOT_OF_THE_INDEX = ("embedder", "chunking", "top_k")  # the number of hits that are wanted is no part of an index


def versions_of(suite: SuiteSummary, run: RunSummary, declaration: Versions) -> Versions:
    """The versions of one run: each as it is declared, or as it is known."""
    agent = run.agent
    observed_versions = Versions(
        dataset_version=run.corpus or suite.hashes.get("corpus"),
        model_version=None if agent is None else _model(agent),
        index_params=None if agent is None else _index(agent),
        chunking_config=None if agent is None else _chunking(agent),
        query_set_version=suite.hashes.get("queries"),
    )
    either = {each.name: getattr(declaration, each.name) or getattr(observed_versions, each.name) for each in fields(Versions)}
    return Versions(**either)


def _model(agent: AgentIdentity) -> str | None:
    """Every model with the hash of its weights, where that is known; or else the name that the agent gives."""
    made_of = [each for each in _values_under(agent.description, "embedder") if isinstance(each, Mapping) and each.get("model")]
    models = [f"{each['model']}@{each['revision']}" if each.get("revision") else str(each["model"]) for each in made_of]
    return ", ".join(dict.fromkeys(models or models_in(agent.config))) or agent.model


def _chunking(agent: AgentIdentity) -> str | None:
    chunkings = [str(each) for each in _values_under(agent.description, "chunking")]
    options = {name: value for name, value in agent.config.items() if "chunk" in name}
    return "; ".join(dict.fromkeys(chunkings)) or _options_text(options)


def _index(agent: AgentIdentity) -> str | None:
    """What the agent says of how it searches, beside model and chunking; or else its options."""
    descriptions = (_of_the_index(each) for each in (agent.description, agent.config))
    return next(
        filter(None, (_options_text({name: each[name] for name in each if name != "model"}) for each in descriptions)), None
    )


def _of_the_index(description: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not known, and without what has its own version."""
    options = {
        name: description[name]
        for name in description
        if name not in _NOT_OF_THE_INDEX and "chunk" not in name and description[name] is not None
    }
    return {name: _of_the_index(value) if isinstance(value, Mapping) else value for name, value in options.items()}


def _options_text(options: Mapping[str, Any]) -> str | None:
    """Options on one line, in the order in which they were given."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in options.items()) or None


def value_text(value: Any) -> str:
    """As JSON; what has a name and nothing else is its name."""
    plain = value["name"] if isinstance(value, Mapping) and list(value) == ["name"] else value
    return plain if isinstance(plain, str) else json.dumps(plain, default=str, sort_keys=True)


def _values_under(description: Any, key: str) -> Iterator[Any]:
    """Every value of this name, in the arms of an agent too."""
    for name, value in description_of(description):
        if name == key:
            yield value
        else:
            yield from _values_under(value, key)


# What an archive tells of a report later: numbers, and fingerprints of all that could explain them.

_HASHED_AT_ONCE = 1 << 18  # texts, which bounds the memory that it takes


def past_runs(entry: str, time: datetime, report: Report) -> list[PastRun]:
    """Every run of a report, which needs no cases. A run that knows when it was started is as old as that, not as its entry."""
    labels: Counter[tuple[str, str | None, int]] = Counter()
    runs = []
    for agent in report.agents.values():
        label = agent.qualified or agent.name, agent.snapshot, agent.repeat
        labels[label] += 1
        runs.append(_past_run(entry, time, report.suite, agent, labels[label]))
    return runs


def _past_run(entry: str, time: datetime, suite: SuiteSummary, agent: AgentSummary, number: int) -> PastRun:
    return PastRun(
        entry=entry,
        time=_aware(agent.run.started or time),
        suite=suite.name,
        agent=agent.name,
        trusted=agent.status == "ok",
        measures=agent.measures,
        segments=agent.segments,
        latency_ms=agent.latency_ms,
        similarity=agent.similarity,
        ann=agent.ann,
        vectors=agent.vectors,
        fingerprints=_fingerprints(suite, agent),
        id=agent.run.id,
        snapshot=agent.snapshot,
        repeat=agent.repeat,
        number=number,
        qualified=agent.qualified,
        answers=agent.run.answers,
    )


def answers_digest(run: Run) -> str:
    """A digest of all that a run answered, in its order; cheap enough for millions of hits."""
    digest = hashlib.sha256()
    for texts in (list(run.case_ids), run.ids):
        for start in range(0, len(texts), _HASHED_AT_ONCE):
            digest.update(_one_text(texts[start : start + _HASHED_AT_ONCE]).encode("utf-8", "surrogatepass"))
    rank = None if isinstance(run, ScoredRun) else run.rank  # a ScoredRun ranks by score, and only where ranks are needed
    for column in (run.starts, run.status, run.scores, rank, run.first_line, run.last_line):
        digest.update(b"-" if column is None else column.tobytes())
    if run.texts is not None:
        digest.update(repr(run.texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _one_text(texts: Texts) -> str:
    return "\0".join(texts) if isinstance(texts, list) else texts.str.join("\0").item()


def _fingerprints(suite: SuiteSummary, agent: AgentSummary) -> Fingerprints:
    run, versions = agent.run, agent.versions
    who = run.agent or AgentIdentity("")
    options = {name: value for name, value in run.options.items() if name not in FIELDS_WITHOUT_EFFECT_ON_ANSWERS or name == "jobs"}
    return Fingerprints(
        model=_join_known(who.model, versions.model_version),
        normalisation=_join_known(*map(_normalise_flag, _values_of_key(who.description, "normalize"))),
        chunking=_join_known(*_values_of_key(who.description, "chunking"), versions.chunking_config),
        index=_join_known(*_unstated(_values_of_key(who.description, "index"), versions.index_params), versions.index_params),
        corpus=run.corpus or suite.hashes.get("corpus") or versions.dataset_version,
        queries=suite.hashes.get("queries"),
        judgments=suite.hashes.get("judgments"),
        code=who.code,
        options=None if run.agent is None else _digest({"source": who.source, "config": _without(who.config, who.model)}),
        asking=_digest(options) if options else None,
        version=run.version,
        packages=None if run.environment is None else _digest([run.environment.python, dict(run.environment.packages)]),
        machine=None if run.environment is None else run.environment.hardware,
        host=None if run.environment is None else run.environment.host,
    )


def _join_known(*values: str | None) -> str | None:
    """What is observed and what is declared, each once."""
    return ", ".join(dict.fromkeys(filter(None, values))) or None


def _unstated(values: Iterator[str], parameters: str | None) -> Iterator[str]:
    """What an agent says and what its parameters do not say already."""
    return (each for each in values if each not in (parameters or ""))


def _values_of_key(description: Any, key: str) -> Iterator[str]:
    """What an agent, or any of its arms, says under one key."""
    if isinstance(description, Mapping):
        for name, value in description.items():
            if name == key:
                yield value_text(value)
            else:
                yield from _values_of_key(value, key)


def _normalise_flag(flag: str) -> str:
    return {"true": "normalised", "false": "not normalised"}.get(flag, flag)


def _without(config: Any, model: str | None) -> Any:
    """Options without the name of the model, which is a fingerprint itself."""
    if isinstance(config, Mapping):
        return {name: _without(value, model) for name, value in config.items()}
    if isinstance(config, list | tuple):
        return [_without(value, model) for value in config]
    return None if model is not None and config == model else config


def _digest(value: Any) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()


def _text(value: Any) -> str:
    """As JSON; of a Python object among the options only the type is the same in the next run."""
    return json.dumps(plain_json(value), sort_keys=True, default=lambda each: type(each).__qualname__)


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


# One run of one agent, case by case and as a whole.

EXAMPLES = 5  # the worst and the best


def suite_summary(suite: Suite, corpus: Survey | None) -> SuiteSummary:
    hashes = suite.hashes | ({} if corpus is None else {"corpus": corpus.digest})
    return SuiteSummary(suite.name, hashes, len(suite), suite.kind, suite.defaults.rel)


def agent_summary(
    scores: Scores,
    by: Iterable[str],
    expected: ExpectedTargets,
    options: ReportSettings = ReportSettings(),  # noqa: B008  # frozen
    text_of: HitText | None = None,
) -> AgentSummary:
    """All numbers of one run; ``expected`` are the targets of its suite."""
    run = scores.matched.run
    return AgentSummary(
        name=run.label.agent,
        status="failed" if run.provenance.failure else "untrusted" if scores.distrust else "ok",
        counts=scores.counts,
        dropped=_in_order(scores.matched.dropped),
        measures=scores.summaries(),
        segments={field_name: _segment(scores, field_name) for field_name in by},
        cases=CaseColumns(scores, expected, options.limit, text_of if options.hit_texts else None),
        worst=_worst(scores),
        best=_best(scores),
        snapshot=run.label.snapshot,
        repeat=run.label.repeat,
        qualified=run.label.qualified,
        latency_ms=latencies_of(run),
        hosts=host_times(run),
        index=run.provenance.index,
        start_seconds=next(iter(run.provenance.start_seconds), None),
        cost=cost_of(run),
        usage=usage_of(run),
        similarity=similarity_of(run),
        ann=ann_recall_of(run),
        vectors=run.provenance.vectors,
        cut_answers=_cut_answers(run),
        run=run_summary(run),
        failures=most_costly(failure_kinds(run, scores.matched.suite.table.index)),
    )


def _in_order(counts: Mapping[str, int | None]) -> dict[str, int | None]:
    """What was dropped, always in the same order: a run that was joined from shards may have met it in another one."""
    order = list(DROPPED)
    return {key: counts[key] for key in sorted(counts, key=lambda key: (order.index(key) if key in order else len(order), key))}


def _cut_answers(run: Run) -> int:
    depth = run.provenance.options.get("depth")
    return int((np.diff(run.starts) >= depth).sum()) if isinstance(depth, int) else 0


def run_summary(run: Run) -> RunSummary:
    """What a report tells of where a run comes from; with one repository behind it, its commit is that of the run."""
    provenance = run.provenance
    only_repository = provenance.repositories[0] if len(provenance.repositories) == 1 else None
    return RunSummary(
        id=provenance.id,
        answers=answers_digest(run) if provenance.id is None else None,
        started=provenance.started,
        ended=provenance.ended,
        version=provenance.version,
        commit=None if only_repository is None else only_repository.commit,
        dirty=None if only_repository is None else only_repository.dirty,
        corpus=next(iter(provenance.corpora.values())) if len(provenance.corpora) == 1 else None,
        service=provenance.service,
        own_corpus=provenance.own_corpus,
        agent=provenance.agent,
        options=provenance.options,
        repositories=tuple(sorted(provenance.repositories, key=lambda repository: repository.name)),
        environment=provenance.environment,
        memory_bytes=provenance.memory_bytes,
    )


def cost_of(run: Run) -> dict[str, float]:
    """What the answers have cost in all and each, where the agent says so."""
    total, queries = total_cost(run), sum(each.cost is not None for each in run.details or ())
    return {} if total is None else {"total": total, "per_query": total / queries, "queries": queries}


def _segment(scores: Scores, name: str) -> dict[str, Summaries]:
    return {value: scores.summaries(rows) for value, rows in segment_rows(scores.matched.suite, name).items()}


def _worst(scores: Scores) -> tuple[str, ...]:
    """The cases with the lowest values of the leading measure, as long as they are not perfect."""
    if not scores.measures:
        return ()
    leading = primary_column(scores, None)
    values = scores.values[:, leading]
    order = np.argsort(values, kind="stable")[:EXAMPLES]  # NaN comes last
    high = scores.measures[leading].high
    perfect = high if math.isfinite(high) else np.max(values, initial=0.0, where=~np.isnan(values))
    return tuple(scores.matched.suite.table.ids[row] for row in order if values[row] < perfect)


def _best(scores: Scores) -> tuple[str, ...]:
    """The cases with the highest values of the leading measure, as long as they are worth anything; the first of equals first."""
    if not scores.measures:
        return ()
    values = scores.values[:, primary_column(scores, None)]
    order = np.argsort(-values, kind="stable")[:EXAMPLES]  # NaN comes last
    return tuple(scores.matched.suite.table.ids[row] for row in order if values[row] > 0)


# The report: what is said about one run, and about several.


@dataclass(frozen=True)
class ReportExtras:
    """What a report shows beside the scores of runs, their splits and their gate."""

    options: ReportSettings = ReportSettings()  # noqa: RUF009  # frozen
    text_of: HitText | None = None  # reads the documents of hits
    versions: Versions = Versions()  # noqa: RUF009  # those that the config declares
    findings: Sequence[Finding] = ()  # of an audit of the suite
    next_step: str | None = None  # what to run after a gate that is not passed
    read: ReadDocuments | None = None  # reads documents, for what is said about failed cases

    __repr__ = short_repr


NO_EXTRAS = ReportExtras()


def build_report(
    scores: Scores,
    by: Iterable[str] = (),
    gate: Gate | None = None,
    corpus: Survey | None = None,
    extras: ReportExtras = NO_EXTRAS,
) -> Report:
    """Everything to be said about one agent's scores; ``by`` names what the cases are split by."""
    suite, by = scores.matched.suite, tuple(by)
    by_name = dict(zip(unique_names([scores]), [scores], strict=True))
    about = suite_summary(suite, corpus)
    agents = _agent_summaries(by_name, by, about, extras)
    (agent,) = agents.values()
    gate, of_gate = split_findings(gate)
    of_run = findings_on_run(scores, corpus, agent.dropped, agent.measures)
    of_suite = (*of_gate, *extras.findings)
    findings = without_redundant((*of_run, *segment_findings(suite, by), *corpus_findings(corpus)), of_suite)
    report = Report(
        suite=about,
        agents=agents,
        cases=FactColumns(suite.table),
        gate=gate,
        audit=tuple(by_severity(findings)),
        perturbations=tuple(perturbation_drops({name: each for name, each in by_name.items() if not each.distrust})),
        next_step=extras.next_step,
    )
    return replace(report, recommendations=recommend(report, extras.read))


def build_comparison(
    scores: Sequence[Scores],
    pairs: Sequence[Pair],
    by: Iterable[str] = (),
    tables: Iterable[DecisionTable] = (),
    corpus: Survey | None = None,
    gate: Gate | None = None,
    extras: ReportExtras = NO_EXTRAS,
) -> Report:
    """Everything to be said about several runs on one suite, decisions by ``tables`` included."""
    suite, by = scores[0].matched.suite, tuple(by)
    by_name = dict(zip(unique_names(scores), scores, strict=True))
    about = suite_summary(suite, corpus)
    agents = _agent_summaries(by_name, by, about, extras)
    runs = {name: each.matched.run for name, each in by_name.items()}
    means = {name: {key: summary.mean for key, summary in agent.measures.items()} for name, agent in agents.items()}
    of_runs = {
        name: list(findings_on_run(each, corpus, agents[name].dropped, agents[name].measures, compared=len(by_name) > 1))
        for name, each in by_name.items()
    }
    of_all = (*host_findings(runs), *noise_findings(runs, means), *segment_findings(suite, by), *corpus_findings(corpus))
    gate, of_gate = split_findings(gate)
    of_suite = (*of_gate, *extras.findings)
    findings = without_redundant((*comparability_findings(pairs), *findings_with_run_names(of_runs), *of_all), of_suite)
    report = Report(
        suite=about,
        agents=agents,
        cases=FactColumns(suite.table),
        gate=gate,
        audit=tuple(by_severity(findings)),
        pairs=tuple(pairs),
        decisions=tuple(decide(table, pairs, by_name) for table in tables),
        snapshot_effects=tuple(snapshot_effects(by_name)),
        perturbations=tuple(perturbation_drops({name: each for name, each in by_name.items() if not each.distrust})),
        next_step=extras.next_step,
    )
    return replace(report, recommendations=recommend(report, extras.read))


def _agent_summaries(
    scores: Mapping[str, Scores], by: Iterable[str], about: SuiteSummary, extras: ReportExtras
) -> dict[str, AgentSummary]:
    """Those of runs on one suite, with their versions."""
    expected = ExpectedTargets.of(next(iter(scores.values())).matched.suite)
    agents = {name: agent_summary(each, by, expected, extras.options, extras.text_of) for name, each in scores.items()}
    return {name: replace(agent, versions=versions_of(about, agent.run, extras.versions)) for name, agent in agents.items()}
