"""From scores to a report: what is said about one run, and about several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from searchmark.analysis.comparison import Pair, unique_names
from searchmark.analysis.decisions import decide
from searchmark.analysis.perturbations import perturbation_drops
from searchmark.analysis.scores import Scores
from searchmark.audit.about_runs import about_run, said_once, told_apart
from searchmark.audit.run_findings import comparability_findings, host_findings, noise_findings
from searchmark.audit.score_findings import corpus_findings, segment_findings
from searchmark.corpora.corpus import Survey
from searchmark.findings import Finding, by_severity
from searchmark.gates.rule_findings import findings_apart
from searchmark.gates.rules import Gate
from searchmark.options.compare_options import DecisionTable
from searchmark.options.report_options import ReportOptions
from searchmark.records.versions import Versions
from searchmark.reports.case_columns import ExpectedTargets, FactColumns, HitText
from searchmark.reports.recommendations import recommend
from searchmark.reports.report import AgentSummary, Report, SuiteSummary
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
    audited: Iterable[Finding] = (),
) -> Report:
    """Everything to be said about one agent's scores; ``by`` names what the cases are split by, ``text_of`` reads documents.

    ``declared`` are the versions that its config names, ``audited`` what an audit of the suite has found.
    """
    suite, by = scores.judged.suite, tuple(by)
    (name,) = unique_names([scores])
    about = suite_summary(suite, corpus)
    agent = _versioned(agent_summary(scores, by, ExpectedTargets.of(suite), options, text_of), about, declared)
    of_run = about_run(scores, corpus, agent.dropped, agent.measures)
    gate, of_gate = findings_apart(gate)
    of_suite = (*of_gate, *audited)
    found = said_once((*of_run, *segment_findings(suite, by), *corpus_findings(corpus)), of_suite)
    drops = tuple(perturbation_drops({name: scores}))
    return _advised(Report(about, {name: agent}, FactColumns(suite.table), gate, tuple(by_severity(found)), perturbations=drops))


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
    audited: Iterable[Finding] = (),
) -> Report:
    """Everything to be said about several runs on one suite, decisions by ``tables`` included."""
    suite, by = scores[0].judged.suite, tuple(by)
    named = dict(zip(unique_names(scores), scores, strict=True))
    about, expected = suite_summary(suite, corpus), ExpectedTargets.of(suite)
    summaries = {name: agent_summary(each, by, expected, options, text_of) for name, each in named.items()}
    agents = {name: _versioned(each, about, declared) for name, each in summaries.items()}
    runs = {name: each.judged.run for name, each in named.items()}
    means = {name: {key: summary.mean for key, summary in agent.measures.items()} for name, agent in agents.items()}
    of_runs = {
        name: list(about_run(each, corpus, agents[name].dropped, agents[name].measures, compared=len(named) > 1))
        for name, each in named.items()
    }
    of_all = (*host_findings(runs), *noise_findings(runs, means), *segment_findings(suite, by), *corpus_findings(corpus))
    gate, of_gate = findings_apart(gate)
    of_suite = (*of_gate, *audited)
    found = said_once((*comparability_findings(pairs), *told_apart(of_runs), *of_all), of_suite)
    report = Report(
        suite=about,
        agents=agents,
        cases=FactColumns(suite.table),
        gate=gate,
        audit=tuple(by_severity(found)),
        pairs=tuple(pairs),
        decisions=tuple(decide(table, pairs, named) for table in tables),
        snapshot_effects=tuple(snapshot_effects(named)),
        perturbations=tuple(perturbation_drops(named)),
    )
    return _advised(report)


def _advised(report: Report) -> Report:
    return replace(report, recommendations=recommend(report))


def _versioned(agent: AgentSummary, suite: SuiteSummary, declared: Versions) -> AgentSummary:
    return replace(agent, versions=versions_of(suite, agent.run, declared))
