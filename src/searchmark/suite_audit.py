"""One library call for what ``searchmark audit`` does.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from searchmark.analysis.comparison import compare, unique_names
from searchmark.analysis.scores import Scores, default_measures
from searchmark.audit.about_runs import about_run, told_apart
from searchmark.audit.auditing import full_audit
from searchmark.audit.result import Audit
from searchmark.audit.run_findings import comparability_findings
from searchmark.audit.score_findings import corpus_findings
from searchmark.audit.subject import Subject
from searchmark.corpora.corpus import Corpus, Survey
from searchmark.experiments import MeasureLike, score_runs
from searchmark.findings import Finding
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
    on_progress: Callable[[int, int], None] = lambda _, __: None,
) -> Audit:
    """Whether scores on this suite can mean anything, as far as the corpus, runs and rules are known."""
    subject = audited(
        suite, corpus, runs, measures, rules=rules, baseline=baseline, options=options, foresight=foresight, suite_file=suite_file
    )
    return full_audit(subject, _about_runs(list(subject.scores.values()), subject.survey, options), on_progress)


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
    survey = None if corpus is None else corpus.survey
    rules = [*rules, *baseline.rules]
    of_rules = [measure for rule in rules for measure in rule.measures]
    wanted = [*(list(measures) or default_measures(suite)), *of_rules]
    scores = score_runs(suite, runs, wanted, corpus=survey) if runs else []
    named = dict(zip(unique_names(scores), scores, strict=True)) if scores else {}
    return Subject(suite, survey, corpus, suite_file, named, rules, baseline, options.decisions, options, foresight)


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
