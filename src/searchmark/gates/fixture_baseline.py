"""A ``baseline_metrics.json`` as rules: one for each fixture and metric, and one for each average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from searchmark.analysis.declared import Declared
from searchmark.analysis.scores import Scores, untrusted_because
from searchmark.findings import Finding, finding
from searchmark.gates.bounds import NumberRule
from searchmark.gates.own_k import NAMES, AtOwnK, fixture_of
from searchmark.gates.pins import unknown_because
from searchmark.gates.reach import Reach
from searchmark.gates.rules import Evidence, GateVerdict, Rule, RuleResult, worst_run
from searchmark.gates.sentences import rule_name, told_apart, within
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import FIXTURE_METRICS, FixtureMetric
from searchmark.records import Suite
from searchmark.records.model_names import same_model
from searchmark.suites.baseline_metrics import BaselineCase, BaselineMetrics, metric_named, target_metric

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
            metric = metric_named(name)
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

    def declared(self, evidence: Evidence) -> Sequence[Declared]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:  # noqa: ARG002  # whatever the run
        known = ", ".join(FIXTURE_METRICS)
        message = f"{self.subject} cannot be checked: {self.metric!r} is not a metric of fixtures that is known; there are {known}"
        return RuleResult(self.subject, {}, "at_least", self.expected, None, (), "untrusted", message)

    @property
    def name(self) -> str:
        return rule_name(self.subject, {}, "at_least", self.expected)

    def worth(self, reach: Reach) -> Iterator[Finding]:  # noqa: ARG002  # nothing is known of it
        yield from ()


@dataclass(frozen=True)
class FixtureRule:
    """One metric of one fixture, of which a share must be kept."""

    fixture: BaselineCase
    metric: FixtureMetric
    value: float
    share: float
    model: str | None = None
    measures: tuple[AnyMeasure, ...] = ()

    @property
    def threshold(self) -> float:
        return self.value * self.share

    def declared(self, evidence: Evidence) -> Sequence[Declared]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        if not evidence.candidates:
            return self._untrusted(f"{self._subject(None)} cannot be checked: there is no run")
        return worst_run(evidence, lambda name: self.check_run(evidence.scores[name]))

    @property
    def name(self) -> str:
        return rule_name(self._subject(self.fixture.k), {}, "at_least", self.threshold)

    def worth(self, reach: Reach) -> Iterator[Finding]:
        row = row_of(reach.suite, self.fixture)
        if row is not None:
            found = reach.findings(AtOwnK(self.metric, (self.fixture,)), "at_least", self.threshold, np.array([row]))
            yield from (replace(each, cases=(reach.suite.table.ids[row],)) for each in found)

    def check_run(self, scores: Scores) -> RuleResult:
        """What one run makes of it."""
        suite, quantity = scores.judged.suite, AtOwnK(self.metric, (self.fixture,))
        row = row_of(suite, self.fixture)
        if row is None:
            return self._untrusted(f"{self._subject(None)} cannot be checked: the suite has no fixture {self.fixture.name!r}")
        case, subject = suite.table.ids[row], self._subject(quantity.k_of(suite, row))
        reasons = filter(None, (unknown_because(scores, case), quantity.why_undefined(scores, row), *untrusted_because(scores)))
        actual = quantity.value_of(scores, row)
        reason = next(reasons, None)
        if actual is None or reason:
            return self._untrusted(f"{subject} cannot be checked: {reason}", case)
        met = within("at_least", actual, self.threshold)
        message = self._kept(subject, actual) if met else self._regression(subject, actual)
        return self._result(subject, actual, (case,), "passed" if met else "failed", message, self._other_model(scores))

    def _subject(self, k: int | None) -> str:
        cut = f"@{k}" if k and self.metric == "precision" else ""
        return f"{self.fixture.name} {NAMES[self.metric]}{cut}"

    def _kept(self, subject: str, actual: float) -> str:
        return f"{subject} is {actual:.3f}, as expected ({self._wanted})"

    def _regression(self, subject: str, actual: float) -> str:
        shown = f"{actual:.3f}" if float(f"{actual:.3f}") < self.threshold else told_apart(actual, self.threshold)
        lines = (f"REGRESSION DETECTED: {subject} below threshold", f"Actual:   {shown}", f"Expected: {self._wanted}", *ADVICE)
        return "\n".join(lines)

    @property
    def _wanted(self) -> str:
        return f">= {self.threshold:.6g} ({self.value:g} * {self.share:g})"

    def _other_model(self, scores: Scores) -> tuple[Finding, ...]:
        agent = scores.judged.run.provenance.agent
        ran = agent.model if agent else None
        if ran is None or self.model is None or same_model(ran, self.model):
            return ()
        said = f"the baseline was made with the model {self.model}, and this run with {ran}"
        return (finding("baseline-of-another-model", said),)

    def _untrusted(self, message: str, case: str | None = None) -> RuleResult:
        return self._result(self._subject(self.fixture.k), None, (case,) if case else (), "untrusted", message)

    def _result(
        self,
        subject: str,
        actual: float | None,
        cases: tuple[str, ...],
        verdict: GateVerdict,
        message: str,
        found: tuple[Finding, ...] = (),
    ) -> RuleResult:
        where = {"fixture": self.fixture.name}
        return RuleResult(subject, where, "at_least", self.threshold, actual, cases, verdict, message, found)


def row_of(suite: Suite, fixture: BaselineCase) -> int | None:
    """The case that a baseline means; None if the suite has none of this name."""
    exact = suite.table.index.get(fixture.name)
    if exact is not None:
        return exact
    return next((row for row, case in enumerate(suite.table.ids) if fixture_of(case, (fixture,))), None)
