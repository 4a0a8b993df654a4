"""One library call for what ``searchmark audit`` does.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from searchmark.analysis.comparison import compare
from searchmark.analysis.scores import Scores, default_measures
from searchmark.audit.about_runs import about_run, told_apart
from searchmark.audit.auditing import full_audit
from searchmark.audit.claims import check_claims, claims_table
from searchmark.audit.claims.claim_table import ClaimTable
from searchmark.audit.gold_and_corpus.states import travels_in_time
from searchmark.audit.next_pairs.planning import plan_judging, plan_tables
from searchmark.audit.result import NOTHING_ELSE, Audit, Lack
from searchmark.audit.run_findings import comparability_findings
from searchmark.audit.score_findings import corpus_findings
from searchmark.audit.subject import Subject
from searchmark.corpora.corpus import Corpus
from searchmark.errors import Incomparable, NothingEvaluated
from searchmark.experiments import MeasureLike, score_runs
from searchmark.findings import Finding, by_severity, finding
from searchmark.gates.baselines import NO_BASELINE, Baseline
from searchmark.gates.rules import Rule
from searchmark.options.compare_options import CompareOptions
from searchmark.records import Run, Suite, display_names


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
    if judge_next and subject.unfit and len(subject.scores) < 2:  # noqa: PLR2004  # a comparison has two sides
        raise Incomparable(f"there are no two runs to compare for --next: {next(iter(subject.unfit.values()))}")
    plan = plan_judging(subject, judge_next, between) if judge_next else None
    found = full_audit(subject, _about_runs(subject, options), on_progress)
    tables = found.tables if plan is None else (*found.tables, *plan_tables(plan))
    return replace(found, plan=plan, tables=tables, lacking=tuple(_lacking(subject)))


def _lacking(subject: Subject) -> Iterator[Lack]:
    """What is not known, so that the checks that need it say nothing."""
    if not any(subject.suite.table.queries or ()):
        yield "queries"
    if subject.survey is None and subject.set_aside is None:
        yield "corpus"
    if len(subject.scores) < 2:  # noqa: PLR2004  # some checks hold two runs against each other
        yield "second_run" if subject.scores else "runs"
    if not subject.rules:
        yield "gate"


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
    named_survey = None if corpus is None else corpus.survey
    aside = named_survey if travels_in_time(suite, runs) else None
    survey, corpus = (None, None) if aside is not None else (named_survey, corpus)
    rules = [*rules, *baseline.rules]
    of_rules, asked = [measure for rule in rules for measure in rule.measures], tuple(measures)
    wanted = [*(asked or default_measures(suite)), *of_rules]
    named, unfit = _scored(runs, lambda some: score_runs(suite, some, wanted, corpus=survey))
    held = None if baseline.run is None else _why_unfit(baseline.run, lambda some: score_runs(suite, some, wanted, corpus=survey))
    if held is not None:
        baseline, unfit = replace(baseline, run=None), {**unfit, "the baseline": held}
    return Subject(
        suite,
        survey,
        corpus,
        suite_file,
        named,
        rules,
        baseline,
        decisions=options.decisions,
        options=options,
        foresight=foresight,
        unfit=unfit,
        asked=asked,
        set_aside=aside,
    )


Scoring = Callable[[Sequence[Run]], list[Scores]]


def _scored(runs: Sequence[Run], scored: Scoring) -> tuple[dict[str, Scores], dict[str, str]]:
    """The scores of the runs that were made for this suite, by name, and of each of the others why it has none."""
    try:
        scores, unfit = scored(runs) if runs else [], dict[int, str]()
    except (Incomparable, NothingEvaluated):
        unfit = {at: why for at, run in enumerate(runs) if (why := _why_unfit(run, scored)) is not None}
        fit = [run for at, run in enumerate(runs) if at not in unfit]
        scores = scored(fit) if fit else []
    names = display_names([run.label for run in runs])
    named = zip((name for at, name in enumerate(names) if at not in unfit), scores, strict=True)
    return dict(named), {names[at]: why for at, why in unfit.items()}


def _why_unfit(run: Run, scored: Scoring) -> str | None:
    try:
        scored([run])
    except (Incomparable, NothingEvaluated) as error:
        return str(error)
    return None


def _about_runs(subject: Subject, options: CompareOptions) -> Iterator[Finding]:
    """What every report says of runs; in an audit it is part of the findings."""
    corpus, scores = subject.survey, subject.scores
    for name, why in subject.unfit.items():
        yield finding("run-not-scored", why if repr(name) in why else f"{name}: {why}")
    if subject.suite.table.documents is None:  # cases with documents of their own may use one name for several
        yield from corpus_findings(corpus)
    if not scores:
        return
    of_each = {
        name: list(about_run(each, corpus, each.judged.dropped, each.summaries(), compared=len(scores) > 1))
        for name, each in scores.items()
    }
    if len(scores) == 1:
        yield from next(iter(of_each.values()))
        return
    yield from comparability_findings(compare(list(scores.values()), (), options))
    yield from told_apart(of_each)
