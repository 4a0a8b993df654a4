"""Audits a suite or published numbers in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from searchmark.audit.check import NOTHING_ELSE, Audit, Lack, Subject
from searchmark.audit.claim_table import ClaimTable
from searchmark.audit.claims import check_claims, claims_table
from searchmark.audit.corpus import is_about_snapshots
from searchmark.audit.full import full_audit
from searchmark.audit.runs import findings_on_runs
from searchmark.config.gates import CompareSettings
from searchmark.errors import Incomparable, NothingEvaluated
from searchmark.experiments.evaluation import MeasureLike, score_runs
from searchmark.formats.corpora.corpus import Corpus
from searchmark.gates.baselines import NO_BASELINE, Baseline
from searchmark.gates.rules import Rule
from searchmark.judgments.next_pairs import plan_judging, plan_tables
from searchmark.records.finding import by_severity
from searchmark.records.provenance import display_names
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.scoring.scores import Scores, default_measures


def audit_suite(
    suite: Suite,
    corpus: Corpus | None = None,
    runs: Sequence[Run] = (),
    measures: Iterable[MeasureLike] = (),
    *,
    rules: Sequence[Rule] = (),
    baseline: Baseline = NO_BASELINE,
    options: CompareSettings = CompareSettings(),
    foresight: float | None = None,
    suite_file: Path | None = None,
    judge_next: int = 0,
    between: tuple[str, str] | None = None,
    on_progress: Callable[[int, int], None] = lambda _, __: None,
) -> Audit:
    """Whether scores on this suite can mean anything, as far as the corpus, runs and rules are known.

    ``judge_next`` asks for so many pairs whose grades would settle a comparison ``between`` two runs.
    """
    subject = build_subject(
        suite, corpus, runs, measures, rules=rules, baseline=baseline, options=options, foresight=foresight, suite_file=suite_file
    )
    if judge_next and subject.unfit and len(subject.scores) < 2:  # noqa: PLR2004  # a comparison has two sides
        raise Incomparable(f"there are no two runs to compare for --next: {next(iter(subject.unfit.values()))}")
    plan = plan_judging(subject, judge_next, between) if judge_next else None
    audit = full_audit(subject, findings_on_runs(subject, options), on_progress)
    tables = audit.tables if plan is None else (*audit.tables, *plan_tables(plan))
    return replace(audit, plan=plan, tables=tables, lacking=tuple(_missing_inputs(subject)))


def _missing_inputs(subject: Subject) -> Iterator[Lack]:
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


def build_subject(
    suite: Suite,
    corpus: Corpus | None = None,
    runs: Sequence[Run] = (),
    measures: Iterable[MeasureLike] = (),
    *,
    rules: Sequence[Rule] = (),
    baseline: Baseline = NO_BASELINE,
    options: CompareSettings = CompareSettings(),
    foresight: float | None = None,
    suite_file: Path | None = None,
) -> Subject:
    """What is audited, with the scores of the runs by the measures asked for and those of the rules."""
    named_survey = None if corpus is None else corpus.survey
    aside = named_survey if is_about_snapshots(suite, runs) else None
    survey, corpus = (None, None) if aside is not None else (named_survey, corpus)
    rules = [*rules, *baseline.rules]
    of_rules, explicit = [measure for rule in rules for measure in rule.measures], tuple(measures)
    all_measures = [*(explicit or default_measures(suite)), *of_rules]
    scores, unfit = _score_fitting_runs(runs, lambda some: score_runs(suite, some, all_measures, corpus=survey))
    baseline_misfit = (
        None
        if baseline.run is None
        else _why_unfit(baseline.run, lambda some: score_runs(suite, some, all_measures, corpus=survey))
    )
    if baseline_misfit is not None:
        baseline, unfit = replace(baseline, run=None), {**unfit, "the baseline": baseline_misfit}
    return Subject(
        suite,
        survey,
        corpus,
        suite_file,
        scores,
        rules,
        baseline,
        decisions=options.decisions,
        options=options,
        foresight=foresight,
        unfit=unfit,
        explicit_measures=explicit,
        set_aside=aside,
    )


Scoring = Callable[[Sequence[Run]], list[Scores]]


def _score_fitting_runs(runs: Sequence[Run], scoring: Scoring) -> tuple[dict[str, Scores], dict[str, str]]:
    """The scores of the runs that were made for this suite, by name, and of each of the others why it has none."""
    try:
        scores, unfit = scoring(runs) if runs else [], dict[int, str]()
    except (Incomparable, NothingEvaluated):
        unfit = {at: why for at, run in enumerate(runs) if (why := _why_unfit(run, scoring)) is not None}
        fitting_runs = [run for at, run in enumerate(runs) if at not in unfit]
        scores = scoring(fitting_runs) if fitting_runs else []
    names = display_names([run.label for run in runs])
    named_scores = zip((name for at, name in enumerate(names) if at not in unfit), scores, strict=True)
    return dict(named_scores), {names[at]: why for at, why in unfit.items()}


def _why_unfit(run: Run, scoring: Scoring) -> str | None:
    try:
        scoring([run])
    except (Incomparable, NothingEvaluated) as error:
        return str(error)
    return None
