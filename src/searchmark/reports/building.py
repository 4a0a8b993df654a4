"""From scores to a report: what is said about one run, and about several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from searchmark.analysis.comparison import Pair, unique_names
from searchmark.analysis.decisions import decide
from searchmark.analysis.scores import Scores
from searchmark.corpora.corpus import Survey
from searchmark.gates.rules import Gate
from searchmark.options.compare_options import DecisionTable
from searchmark.options.report_options import ReportOptions
from searchmark.records.versions import Versions
from searchmark.reports.case_columns import ExpectedTargets, FactColumns, HitText
from searchmark.reports.notes import Note, told_apart
from searchmark.reports.recommendations import recommend
from searchmark.reports.report import AgentSummary, Report, SuiteSummary
from searchmark.reports.run_notes import comparability_notes, corpus_difference, depth_notes, noise_notes, run_notes
from searchmark.reports.score_notes import corpus_notes, score_notes, segment_notes, trust_notes
from searchmark.reports.snapshot_effect import snapshot_effects
from searchmark.reports.summaries import agent_summary, suite_summary
from searchmark.reports.versions import versions_of


def build_report(
    scores: Scores,
    by: Iterable[str] = (),
    gate: Gate | None = None,
    corpus: Survey | None = None,
    options: ReportOptions = ReportOptions(),  # noqa: B008  # frozen
    text_of: HitText | None = None,
    declared: Versions = Versions(),  # noqa: B008  # frozen
) -> Report:
    """Everything to be said about one agent's scores; ``by`` names what the cases are split by, ``text_of`` reads documents.

    ``declared`` are the versions that its config names.
    """
    suite, by = scores.judged.suite, tuple(by)
    (name,) = unique_names([scores])
    about = suite_summary(suite, corpus)
    agent = _versioned(agent_summary(scores, by, ExpectedTargets.of(suite), options, text_of), about, declared)
    notes = (*_notes(scores, agent, corpus), *segment_notes(suite, by), *corpus_notes(corpus))
    return _advised(Report(about, {name: agent}, FactColumns(suite.table), gate, notes))


def build_comparison(
    scores: Sequence[Scores],
    pairs: Sequence[Pair],
    by: Iterable[str] = (),
    tables: Iterable[DecisionTable] = (),
    corpus: Survey | None = None,
    gate: Gate | None = None,
    options: ReportOptions = ReportOptions(),  # noqa: B008  # frozen
    text_of: HitText | None = None,
    declared: Versions = Versions(),  # noqa: B008  # frozen
) -> Report:
    """Everything to be said about several runs on one suite, decisions by ``tables`` included."""
    suite, by = scores[0].judged.suite, tuple(by)
    named = dict(zip(unique_names(scores), scores, strict=True))
    about, expected = suite_summary(suite, corpus), ExpectedTargets.of(suite)
    summaries = {name: agent_summary(each, by, expected, options, text_of) for name, each in named.items()}
    agents = {name: _versioned(each, about, declared) for name, each in summaries.items()}
    runs = {name: each.judged.run for name, each in named.items()}
    means = {name: {key: summary.mean for key, summary in agent.measures.items()} for name, agent in agents.items()}
    notes = told_apart({name: list(_notes(each, agents[name], corpus)) for name, each in named.items()})
    report = Report(
        suite=about,
        agents=agents,
        cases=FactColumns(suite.table),
        gate=gate,
        notes=(*comparability_notes(pairs), *notes, *noise_notes(runs, means), *segment_notes(suite, by), *corpus_notes(corpus)),
        pairs=tuple(pairs),
        decisions=tuple(decide(table, pairs, named) for table in tables),
        snapshot_effects=tuple(snapshot_effects(named)),
    )
    return _advised(report)


def _advised(report: Report) -> Report:
    return replace(report, recommendations=recommend(report))


def _versioned(agent: AgentSummary, suite: SuiteSummary, declared: Versions) -> AgentSummary:
    return replace(agent, versions=versions_of(suite, agent.run, declared))


def _notes(scores: Scores, agent: AgentSummary, corpus: Survey | None) -> Iterable[Note]:
    judged = scores.judged
    yield from trust_notes(scores)
    yield from run_notes(judged.run, judged.suite.table.index)
    yield from depth_notes(scores)
    yield from corpus_difference(judged.run, corpus)
    yield from score_notes(scores, agent.dropped.items(), agent.measures.items())
