"""Baselines: a saved run or the metrics of fixtures, how they are loaded, compared and updated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from searchmark.config.gates import FIXTURE_METRICS, FixtureMetric
from searchmark.config.strict import short_repr
from searchmark.errors import FormatError, UsageError
from searchmark.formats.runs import load_run
from searchmark.formats.suites.fixtures import (
    BaselineCase,
    BaselineMetrics,
    fixture_metric,
    is_baseline_metrics,
    load_baseline_metrics,
    target_metric,
)
from searchmark.formats.suites.source import Source
from searchmark.gates.bounds import NumberRule, RelativeRule
from searchmark.gates.pins import why_unknown
from searchmark.gates.quantities import NAMES, AtOwnK, digits_beside_bound, fixture_of, is_within, rule_name
from searchmark.gates.rules import AttainableValues, Evidence, GateVerdict, Rule, RuleResult, worst_run
from searchmark.gates.section import no_worse_rule
from searchmark.io.data import parse_json
from searchmark.io.paths import user_path
from searchmark.measures.grammar import AnyMeasure, parse_measures
from searchmark.records.finding import GATE, Finding, FindingKind, finding, register
from searchmark.records.provenance import BaselineRecord, same_model
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.scoring.planned_tests import PlannedDifference
from searchmark.scoring.scores import DEFAULT_MEASURES, Scores, default_measures
from searchmark.scoring.statistics import EQUAL_WITHIN

# What changes when a run becomes the baseline.


@dataclass(frozen=True)
class ValueChange:
    """A value of a measure before and after; None where there is none."""

    name: str
    before: float | None
    after: float | None

    @property
    def changed(self) -> bool:
        if self.before is None or self.after is None:
            return self.before is not self.after
        return abs(self.before - self.after) > EQUAL_WITHIN

    @property
    def falls(self) -> bool:
        return self.before is not None and (self.after is None or self.before - self.after > EQUAL_WITHIN)


@dataclass(frozen=True)
class CaseChange:
    """A case and the values of it that changed."""

    case: str
    values: tuple[ValueChange, ...]


@dataclass(frozen=True)
class BaselineChange:
    """What a new baseline changes: every measure, and the cases that have another value."""

    measures: tuple[ValueChange, ...]
    cases: tuple[CaseChange, ...] = ()


def change_between(before: Scores | None, after: Scores) -> BaselineChange:
    """What changes from one run to another, both judged and scored alike."""
    means = after.means()
    former = {} if before is None else before.means()
    measures = tuple(ValueChange(name, _known(former.get(name)), _known(mean)) for name, mean in means.items())
    return BaselineChange(measures, () if before is None else tuple(_cases(before, after)))


def _cases(before: Scores, after: Scores) -> Iterator[CaseChange]:
    for row, case in enumerate(after.matched.suite.table.ids):
        columns = zip(after.names, before.values[row].tolist(), after.values[row].tolist(), strict=True)
        changes = (ValueChange(name, _known(old), _known(new)) for name, old, new in columns)
        values = tuple(each for each in changes if each.changed)
        if values:
            yield CaseChange(case, values)


def _known(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def next_record(run: Run, former: Run | None, *, author: str, reason: str | None, date: datetime) -> BaselineRecord:
    """The record of the next version of the baseline."""
    last = former.provenance.baseline if former else None
    return BaselineRecord(last.version + 1 if last else 1, date, author, embedding_model_name(run) or run.agent, reason)


def with_baseline_record(run: Run, record: BaselineRecord | None) -> Run:
    """The run with the record that makes it the baseline, or without any."""
    return replace(run, provenance=replace(run.provenance, baseline=record))


def embedding_model_name(run: Run) -> str | None:
    """The embedding model of a run, if it is known."""
    agent = run.provenance.agent
    return None if agent is None else agent.model


def is_same_run(one: Run, other: Run) -> bool:
    """Whether two runs are one, whatever versions of the baseline they were."""
    return with_baseline_record(one, None) == with_baseline_record(other, None)


# A ``baseline_metrics.json`` as rules: one for each fixture and metric, and one for each average.

ADVICE = (
    "This indicates that search got worse on this fixture.",
    "Look at what changed: the embedding model, how texts are cut and prepared, the ranking.",
    "A baseline is updated for a change that is wanted, never to make a check pass.",
)


def fixture_rules(baseline: BaselineMetrics) -> list[Rule]:
    """Every rule that a file states."""
    return [*_of_fixtures(baseline), *_of_averages(baseline)]


def _of_fixtures(baseline: BaselineMetrics) -> Iterator[Rule]:
    for fixture in baseline.cases:
        for name, value in fixture.metrics.items():
            metric = fixture_metric(name)
            if metric is None:
                yield UnknownMetricRule(f"{fixture.name} {name}", value, name)
            else:
                yield FixtureRule(fixture, metric, value, baseline.kept_share(metric), baseline.model)


def _of_averages(baseline: BaselineMetrics) -> Iterator[Rule]:
    for name, minimum in baseline.targets.items():
        metric = target_metric(name)
        if metric is None:
            yield UnknownMetricRule(name, minimum, name)
        else:
            yield NumberRule(AtOwnK(metric, baseline.cases), "at_least", minimum)


@dataclass(frozen=True)
class UnknownMetricRule:
    """Something that a file asks for and that no run has: never a pass."""

    subject: str
    expected: float
    metric: str
    measures: tuple[AnyMeasure, ...] = ()

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:  # noqa: ARG002  # whatever the run
        names = ", ".join(FIXTURE_METRICS)
        message = f"{self.subject} cannot be checked: {self.metric!r} is not a metric of fixtures that is known; there are {names}"
        return RuleResult(self.subject, {}, "at_least", self.expected, None, (), "untrusted", message)

    @property
    def name(self) -> str:
        return rule_name(self.subject, {}, "at_least", self.expected)

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:  # noqa: ARG002  # nothing is known of it
        yield from ()


register(GATE, FindingKind(
    "baseline-of-another-model", "warning", "A baseline of fixtures that was made with another model than the run.",
    "The scores of two models differ without either being broken.",
    "Make the baseline again with the model that is in use.",
))  # fmt: skip


@dataclass(frozen=True)
class FixtureRule:
    """One metric of one fixture, of which a share must be kept."""

    fixture: BaselineCase
    metric: FixtureMetric
    value: float  # of the baseline
    share: float  # of it that must be kept
    model: str | None = None  # that the baseline was made with
    measures: tuple[AnyMeasure, ...] = ()

    @property
    def threshold(self) -> float:
        return self.value * self.share

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        if not evidence.candidates:
            return self._untrusted(f"{self._subject(None)} cannot be checked: there is no run")
        return worst_run(evidence, lambda name: self.check_run(evidence.scores[name]))

    @property
    def name(self) -> str:
        return rule_name(self._subject(self.fixture.k), {}, "at_least", self.threshold)

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:
        row = row_of(limits.suite, self.fixture)
        if row is not None:
            findings = limits.findings(AtOwnK(self.metric, (self.fixture,)), "at_least", self.threshold, np.array([row]))
            yield from (replace(each, cases=(limits.suite.table.ids[row],)) for each in findings)

    def check_run(self, scores: Scores) -> RuleResult:
        """What one run makes of it."""
        suite, quantity = scores.matched.suite, AtOwnK(self.metric, (self.fixture,))
        row = row_of(suite, self.fixture)
        if row is None:
            return self._untrusted(f"{self._subject(None)} cannot be checked: the suite has no fixture {self.fixture.name!r}")
        case, subject = suite.table.ids[row], self._subject(quantity.k_of(suite, row))
        reasons = filter(None, (why_unknown(scores, case), quantity.why_undefined(scores, row)))
        actual = quantity.value_of(scores, row)
        reason = next(reasons, None)
        if actual is None or reason:
            return self._untrusted(f"{subject} cannot be checked: {reason}", case)
        met = is_within("at_least", actual, self.threshold)
        message = self._met_message(subject, actual) if met else self._regression_message(subject, actual)
        return self._result(subject, actual, (case,), "passed" if met else "failed", message, self._other_model(scores))

    def _subject(self, k: int | None) -> str:
        cut = f"@{k}" if k and self.metric == "precision" else ""
        return f"{self.fixture.name} {NAMES[self.metric]}{cut}"

    def _met_message(self, subject: str, actual: float) -> str:
        return f"{subject} is {actual:.3f}, as expected ({self._bound_text})"

    def _regression_message(self, subject: str, actual: float) -> str:
        number = f"{actual:.3f}" if float(f"{actual:.3f}") < self.threshold else digits_beside_bound(actual, self.threshold)
        lines = (f"REGRESSION DETECTED: {subject} below threshold", f"Actual:   {number}", f"Expected: {self._bound_text}", *ADVICE)
        return "\n".join(lines)

    @property
    def _bound_text(self) -> str:
        return f">= {self.threshold:.6g} ({self.value:g} * {self.share:g})"

    def _other_model(self, scores: Scores) -> tuple[Finding, ...]:
        agent = scores.matched.run.provenance.agent
        ran = agent.model if agent else None
        if ran is None or self.model is None or same_model(ran, self.model):
            return ()
        message = f"the baseline was made with the model {self.model}, and this run with {ran}"
        return (finding("baseline-of-another-model", message),)

    def _untrusted(self, message: str, case: str | None = None) -> RuleResult:
        return self._result(self._subject(self.fixture.k), None, (case,) if case else (), "untrusted", message)

    def _result(
        self,
        subject: str,
        actual: float | None,
        cases: tuple[str, ...],
        verdict: GateVerdict,
        message: str,
        findings: tuple[Finding, ...] = (),
    ) -> RuleResult:
        where = {"fixture": self.fixture.name}
        return RuleResult(subject, where, "at_least", self.threshold, actual, cases, verdict, message, findings)


def row_of(suite: Suite, fixture: BaselineCase) -> int | None:
    """The case that a baseline means; None if the suite has none of this name."""
    exact = suite.table.index.get(fixture.name)
    if exact is not None:
        return exact
    return next((row for row, case in enumerate(suite.table.ids) if fixture_of(case, (fixture,))), None)


# What other runs are compared with: a saved run, judged again each time, or the metrics of a set of fixtures.

BASELINE = "the baseline"

NEVER_BELOW = ".searchmark"  # which Git ignores, and which may be removed at any time


@dataclass(frozen=True, eq=False)
class Baseline:
    """The baseline of a gate, or why there is none: a run for rules that compare, or rules of its own."""

    run: Run | None = None
    rules: tuple[Rule, ...] = ()
    missing: str = "there is none"
    found: Path | None = None  # the default file, where it is used though neither a name nor a rule asks for it

    __repr__ = short_repr


NO_BASELINE = Baseline()


def read_baseline(path: str | Path) -> Run | BaselineMetrics | None:
    """What is in the file of a baseline, recognised by its content; None if there is no file."""
    file = Path(path)
    if not file.exists():
        return None
    return load_baseline_metrics(file) if is_baseline_metrics(file) else _parse_run(file)


def _parse_run(file: Path) -> Run:
    try:
        return load_run(file)
    except FormatError:
        _refuse_broken_json(file)
        raise


def _refuse_broken_json(file: Path) -> None:
    """JSON that cannot be read may have been meant as either kind of baseline."""
    source = Source(file)
    if source.by_line or source.is_yaml:
        return
    try:
        parse_json(file, source.text)
    except FormatError as error:
        raise FormatError(file, error.place, f"is not a valid baseline: {error.reason}") from error


def check_location(file: Path) -> None:
    """Refuse a baseline that is kept where it is not under version control."""
    if NEVER_BELOW in (*file.absolute().parts, *file.resolve().parts):
        raise UsageError(
            f"{file} is below {NEVER_BELOW}, which Git ignores; name a file beside the config, with gates.baseline or --against"
        )


def load_baseline(path: str | Path) -> Baseline:
    """The baseline in a file; a missing file is reported only when a rule asks for it."""
    path = user_path(path)
    check_location(path)
    baseline = read_baseline(path)
    if baseline is None:
        advice = "name it with --against FILE, or make it with 'searchmark baseline update RUN'"
        return Baseline(missing=f"there is no file {path}; {advice}")
    if isinstance(baseline, BaselineMetrics):
        reason = "it is the baseline of fixtures, which has rules of its own and no run to compare with"
        return Baseline(rules=tuple(fixture_rules(baseline)), missing=reason)
    return named_baseline(baseline)


def named_baseline(run: Run) -> Baseline:
    """A run as the baseline, under a name that no other run has."""
    return Baseline(replace(run, label=replace(run.label, agent=BASELINE)))


def baseline_in_use(
    named: Run | str | Path | None, default: Path | None, rules: Sequence[Rule], leading: AnyMeasure | None = None
) -> Baseline:
    """The baseline of a gate: the one that is named, even if no rule compares, or else the default if a rule does."""
    if named is None:
        return NO_BASELINE if default is None or not needs_baseline(rules) else load_baseline(default)
    return with_default_comparison(named_baseline(named) if isinstance(named, Run) else load_baseline(named), rules, leading)


def found_baseline(file: Path, suite: Suite, leading: Iterable[AnyMeasure]) -> Baseline | str:
    """The default file as a baseline that nobody has named, by the first measure that tells quality; or why it is left alone."""
    baseline = load_baseline(file)
    if baseline.run is None:
        return baseline.missing
    if not _is_asked_by(suite, baseline.run):
        return f"it was asked other queries than those of {suite.name!r}"
    measures = (*leading, *parse_measures(default_measures(suite), suite.defaults))
    decisive = (each for each in measures if each.per_case and each.decides)
    return replace(with_default_comparison(baseline, (), next(decisive, None)), found=file)


def _is_asked_by(suite: Suite, run: Run) -> bool:
    """Whether a run was asked the queries of a suite; one that does not know them goes by the ids of its cases."""
    identity = run.provenance.suite
    if identity is not None and identity.queries is not None:
        return identity.queries == suite.hashes["queries"]
    return set(run.case_ids) <= set(suite.table.ids)


def needs_baseline(rules: Iterable[Rule]) -> bool:
    """Whether a rule asks for a baseline."""
    return any(isinstance(rule, RelativeRule) for rule in rules)


def with_default_comparison(baseline: Baseline, rules: Sequence[Rule], leading: AnyMeasure | None = None) -> Baseline:
    """A baseline that is used: where neither it nor any rule asks for a comparison, the leading measure must not be worse."""
    if baseline.rules or needs_baseline(rules):
        return baseline
    return replace(baseline, rules=(no_worse_rule(leading or DEFAULT_MEASURES[0]),))
