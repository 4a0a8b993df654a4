"""From scores to the numbers of a report: one run of one agent, case by case and as a whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from searchmark.analysis.ann import ann_of
from searchmark.analysis.comparison import primary_column
from searchmark.analysis.failure_kinds import failure_kinds, most_costly
from searchmark.analysis.host_times import host_times
from searchmark.analysis.latencies import latencies_of
from searchmark.analysis.prices import total_cost
from searchmark.analysis.scores import Scores, segment_rows, untrusted_because
from searchmark.analysis.similarity import similarity_of
from searchmark.analysis.usage import usage_of
from searchmark.audit.score_findings import DROPPED
from searchmark.corpora.corpus import Survey
from searchmark.options.report_options import ReportOptions
from searchmark.records import Run, Suite
from searchmark.reports.case_columns import CaseColumns, ExpectedTargets, HitText
from searchmark.reports.past_runs import answers_digest
from searchmark.reports.report import AgentSummary, RunSummary, SuiteSummary, Summaries

EXAMPLES = 5  # the worst and the best


def suite_summary(suite: Suite, corpus: Survey | None) -> SuiteSummary:
    hashes = suite.hashes | ({} if corpus is None else {"corpus": corpus.digest})
    return SuiteSummary(suite.name, hashes, len(suite), suite.kind, suite.defaults.rel)


def agent_summary(
    scores: Scores,
    by: Iterable[str],
    expected: ExpectedTargets,
    options: ReportOptions = ReportOptions(),  # noqa: B008  # frozen
    text_of: HitText | None = None,
) -> AgentSummary:
    """All numbers of one run; ``expected`` are the targets of its suite."""
    run = scores.judged.run
    return AgentSummary(
        name=run.label.agent,
        status="failed" if run.provenance.failure else "untrusted" if untrusted_because(scores) else "ok",
        counts=scores.counts,
        dropped=_in_order(scores.judged.dropped),
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
        ann=ann_of(run),
        vectors=run.provenance.vectors,
        cut_answers=_cut_answers(run),
        run=run_summary(run),
        failures=most_costly(failure_kinds(run, scores.judged.suite.table.index)),
    )


def _in_order(dropped: Mapping[str, int | None]) -> dict[str, int | None]:
    """What was dropped, always in the same order: a run that was joined from shards may have met it in another one."""
    order = list(DROPPED)
    return {key: dropped[key] for key in sorted(dropped, key=lambda key: (order.index(key) if key in order else len(order), key))}


def _cut_answers(run: Run) -> int:
    depth = run.provenance.options.get("depth")
    return int((np.diff(run.starts) >= depth).sum()) if isinstance(depth, int) else 0


def run_summary(run: Run) -> RunSummary:
    """What a report tells of where a run comes from; with one repository behind it, its commit is that of the run."""
    known = run.provenance
    searched = known.repositories[0] if len(known.repositories) == 1 else None
    return RunSummary(
        id=known.id,
        answers=answers_digest(run) if known.id is None else None,
        started=known.started,
        ended=known.ended,
        version=known.version,
        commit=None if searched is None else searched.commit,
        dirty=None if searched is None else searched.dirty,
        corpus=next(iter(known.corpora.values())) if len(known.corpora) == 1 else None,
        service=known.service,
        own_corpus=known.own_corpus,
        agent=known.agent,
        options=known.options,
        repositories=tuple(sorted(known.repositories, key=lambda repository: repository.name)),
        environment=known.environment,
        memory_bytes=known.memory_bytes,
    )


def cost_of(run: Run) -> dict[str, float]:
    """What the answers have cost in all and each, where the agent says so."""
    total, queries = total_cost(run), sum(each.cost is not None for each in run.details or ())
    return {} if total is None else {"total": total, "per_query": total / queries, "queries": queries}


def _segment(scores: Scores, name: str) -> dict[str, Summaries]:
    return {value: scores.summaries(rows) for value, rows in segment_rows(scores.judged.suite, name).items()}


def _worst(scores: Scores) -> tuple[str, ...]:
    """The cases with the lowest values of the leading measure, as long as they are not perfect."""
    if not scores.measures:
        return ()
    leading = primary_column(scores, None)
    values = scores.values[:, leading]
    order = np.argsort(values, kind="stable")[:EXAMPLES]  # NaN comes last
    high = scores.measures[leading].high
    perfect = high if math.isfinite(high) else np.max(values, initial=0.0, where=~np.isnan(values))
    return tuple(scores.judged.suite.table.ids[row] for row in order if values[row] < perfect)


def _best(scores: Scores) -> tuple[str, ...]:
    """The cases with the highest values of the leading measure, as long as they are worth anything; the first of equals first."""
    if not scores.measures:
        return ()
    values = scores.values[:, primary_column(scores, None)]
    order = np.argsort(-values, kind="stable")[:EXAMPLES]  # NaN comes last
    return tuple(scores.judged.suite.table.ids[row] for row in order if values[row] > 0)
