"""One library call for what ``searchmark audit`` does.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from searchmark.analysis.comparison import compare, unique_names
from searchmark.analysis.scores import Scores, default_measures
from searchmark.audit.about_runs import about_run, told_apart
from searchmark.audit.auditing import full_audit
from searchmark.audit.claims import check_claims, claims_table
from searchmark.audit.claims.claim_table import ClaimTable
from searchmark.audit.gold_and_corpus.states import travels_in_time
from searchmark.audit.next_pairs.planning import plan_judging, plan_tables
from searchmark.audit.result import NOTHING_ELSE, Audit
from searchmark.audit.run_findings import comparability_findings
from searchmark.audit.score_findings import corpus_findings
from searchmark.audit.subject import Subject
from searchmark.corpora.corpus import Corpus, Survey
from searchmark.experiments import MeasureLike, score_runs
from searchmark.findings import Finding, by_severity
from searchmark.gates.baselines import NO_BASELINE, Baseline
from searchmark.gates.rules import Rule
from searchmark.options.compare_options import CompareOptions
from searchmark.records import Run, Suite


def audit_suite(
    suite: Suite,
    corpus: Corpus | None = None,
    runs: Sequence[Run] = (),
    measures: Iterable[MeasureLike] = (),
    *,
    rules: Sequence[Rule] = (),
    baseline: Baseline = NO_BASELINE,
    options: CompareOptions = CompareOptions(),
    foresight: float | None = None,
    suite_file: Path | None = None,
    judge_next: int = 0,
    between: tuple[str, str] | None = None,
    on_progress: Callable[[int, int], None] = lambda _, __: None,
) -> Audit:
    """Whether scores on this suite can mean anything, as far as the corpus, runs and rules are known.

    ``judge_next`` asks for so many pairs whose grades would settle a comparison ``between`` two runs.
    """
    subject = audited(
        suite, corpus, runs, measures, rules=rules, baseline=baseline, options=options, foresight=foresight, suite_file=suite_file
    )
    plan = plan_judging(subject, judge_next, between) if judge_next else None
    found = full_audit(subject, _about_runs(list(subject.scores.values()), subject.survey, options), on_progress)
    return found if plan is None else replace(found, plan=plan, tables=(*found.tables, *plan_tables(plan)))


def audit_claims(table: ClaimTable, beside: Audit = NOTHING_ELSE) -> Audit:
    """What of published numbers no data could have given, with what is known ``beside`` them."""
    findings = by_severity([*beside.findings, *check_claims(table)])
    return replace(beside, findings=tuple(findings), tables=(*beside.tables, claims_table(table)))


def audited(
    suite: Suite,
    corpus: Corpus | None = None,
    runs: Sequence[Run] = (),
    measures: Iterable[MeasureLike] = (),
    *,
    rules: Sequence[Rule] = (),
    baseline: Baseline = NO_BASELINE,
    options: CompareOptions = CompareOptions(),
    foresight: float | None = None,
    suite_file: Path | None = None,
) -> Subject:
    """What is audited, with the scores of the runs by the measures asked for and those of the rules."""
    given = None if corpus is None else corpus.survey
    aside = given if travels_in_time(suite, runs) else None
    survey, corpus = (None, None) if aside is not None else (given, corpus)
    rules = [*rules, *baseline.rules]
    of_rules = [measure for rule in rules for measure in rule.measures]
    wanted = [*(list(measures) or default_measures(suite)), *of_rules]
    scores = score_runs(suite, runs, wanted, corpus=survey) if runs else []
    named = dict(zip(unique_names(scores), scores, strict=True)) if scores else {}
    return Subject(suite, survey, corpus, suite_file, named, rules, baseline, options.decisions, options, foresight, aside)


def _about_runs(scores: Sequence[Scores], corpus: Survey | None, options: CompareOptions) -> Iterator[Finding]:
    """What every report says of runs; in an audit it is part of the findings."""
    yield from corpus_findings(corpus)
    if not scores:
        return
    of_each = {
        name: list(about_run(each, corpus, each.judged.dropped, each.summaries(), compared=len(scores) > 1))
        for name, each in zip(unique_names(scores), scores, strict=True)
    }
    if len(scores) == 1:
        yield from next(iter(of_each.values()))
        return
    yield from comparability_findings(compare(scores, (), options))
    yield from told_apart(of_each)
