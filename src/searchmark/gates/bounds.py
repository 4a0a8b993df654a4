"""Rules that bound a number, and rules that allow no loss against a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from searchmark.config.gates import GatePolicy, NumberBound
from searchmark.errors import UsageError
from searchmark.gates.quantities import (
    EVERYTHING,
    MOST_CASES,
    AtOwnK,
    CaseSegment,
    GatedNumber,
    MeanOf,
    RetriesOf,
    TokensOf,
    expectation_sentence,
    is_within,
    prefix_for,
    rows_of,
    rule_name,
    segment_of_suite,
)
from searchmark.gates.rules import VERDICTS, AttainableValues, Evidence, GateVerdict, RuleResult, only_if_trusted, worst_run
from searchmark.gates.sequential import LookCounter
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records.finding import GATE, Finding, FindingKind, finding, register
from searchmark.records.suite import Suite
from searchmark.scoring.planned_tests import PlannedDifference
from searchmark.scoring.power import Foresight, GateQuestion, foresee
from searchmark.scoring.scores import Scores
from searchmark.scoring.statistics import EQUAL_WITHIN
from searchmark.scoring.verdicts import Difference

# Bounds on numbers of a run: ``at_least``, ``above``, ``at_most``, ``below``.


register(GATE, FindingKind(
    "warning-level", "warning", "A number beyond warn_above or warn_below of its rule.",
    "The gate is not failed by it; it is closer to its bound than was wanted.",
    "Find out what has changed before the bound is reached.",
), FindingKind(
    "small-losses-unseen", "note", "How small a loss would often not be seen by a rule that compares.",
    "A pass says that there is no large loss, and nothing of smaller ones.",
    "Add independent cases; 'searchmark audit --sees LOSS' says how many.",
))  # fmt: skip


@dataclass(frozen=True)
class NumberRule:
    """A bound on a number, which every run must meet; the result is that of the worst one."""

    quantity: GatedNumber
    bound: NumberBound
    expected: float
    segment: CaseSegment = EVERYTHING
    warn_above: float | None = None
    warn_below: float | None = None

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        return self.quantity.measures

    @property
    def name(self) -> str:
        return rule_name(self.quantity.subject(None), self.segment.where, self.bound, self.expected)

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:
        rows = rows_of(limits.suite, self.segment)
        if rows is not None and isinstance(self.quantity, MeanOf | AtOwnK):
            yield from limits.findings(self.quantity, self.bound, self.expected, rows)

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:  # noqa: ARG002  # a bound compares nothing
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        names = evidence.candidates
        if not names:
            subject = self.quantity.subject(None)
            return self._result(subject, None, (), "untrusted", f"there is no run that {subject} could be checked on")
        results = [self._check_run(evidence, name) for name in names]
        return max(results, key=self._badness)

    def _check_run(self, evidence: Evidence, name: str) -> RuleResult:
        scores, quantity = evidence.scores[name], self.quantity
        result = self._check(scores, prefix_for(name, evidence.candidates))
        where = segment_of_suite(scores.matched.suite, self.segment).where
        amounts = quantity.amounts(scores, result.cases) if isinstance(quantity, TokensOf | RetriesOf) else ()
        words, unit = quantity.words(scores), quantity.unit.strip()
        return only_if_trusted(scores, replace(result, where=where, run=name, words=words, unit=unit, amounts=amounts))

    def _check(self, scores: Scores, prefix: str) -> RuleResult:
        quantity, rows = self.quantity, rows_of(scores.matched.suite, self.segment)
        subject, words = f"{prefix}{quantity.subject(scores)}", f"{prefix}{quantity.words(scores)}{self.segment.words}"
        if rows is None:
            missing = f"{words} cannot be checked: no case of the suite has {self.segment.by} {self.segment.value!r}"
            return self._result(subject, None, (), "untrusted", missing)
        actual = quantity.value(scores, rows)
        met = actual is not None and is_within(self.bound, actual, self.expected)
        verdict: GateVerdict = "untrusted" if actual is None else "passed" if met else "failed"
        message = expectation_sentence(words, self.bound, self.expected, actual, met=met, unit=quantity.unit)
        if actual is None:
            message = f"{message}: {quantity.why_missing(scores)}"
        causes = quantity.worst(scores, rows, high_is_bad=self._high_is_bad) if actual is not None and not met else ()
        return self._result(subject, actual, causes, verdict, message, self._warnings(prefix, actual))

    @property
    def _high_is_bad(self) -> bool:
        return self.bound in ("at_most", "below")

    def _warnings(self, prefix: str, actual: float | None) -> tuple[Finding, ...]:
        limits = (("above", self.warn_above, 1), ("below", self.warn_below, -1))
        exceeded_limits = [
            (side, limit)
            for side, limit, sign in limits
            if limit is not None and actual is not None and sign * (actual - limit) > 0
        ]
        unit = self.quantity.unit
        sentences = (
            f"{prefix}{actual:.4g}{unit} is {side} {limit:g}{unit}, a warning and not a failure" for side, limit in exceeded_limits
        )
        return tuple(finding("warning-level", sentence) for sentence in sentences)

    def _result(
        self,
        subject: str,
        actual: float | None,
        cases: tuple[str, ...],
        verdict: GateVerdict,
        message: str,
        findings: tuple[Finding, ...] = (),
    ) -> RuleResult:
        return RuleResult(subject, self.segment.where, self.bound, self.expected, actual, cases, verdict, message, findings)

    def _badness(self, result: RuleResult) -> tuple[int, float]:
        actual = result.actual
        value = math.inf if not isinstance(actual, int | float) else actual if self._high_is_bad else -actual
        return VERDICTS.index(result.verdict), value


def mean_bound(name: str | AnyMeasure, bound: NumberBound, expected: float) -> NumberRule:
    """A bound on the mean of a measure over all cases."""
    measure = parse_measure(name)
    return NumberRule(MeanOf(measure, name if isinstance(name, str) else measure.name), bound, expected)


def parse_threshold(text: str, named: Mapping[str, AnyMeasure] | None = None) -> NumberRule:
    """Read ``nDCG@10=0.4``, the lowest mean that is good enough; ``named`` are formulas that may be meant by name alone."""
    name, separator, value = (part.strip() for part in text.rpartition("="))
    try:
        minimum = float(value)
    except ValueError:
        minimum = float("nan")
    if not separator or not math.isfinite(minimum):
        raise UsageError(f"threshold {text!r} cannot be read; write it like nDCG@10=0.4")
    formula = (named or {}).get(name)
    return NumberRule(MeanOf(formula or parse_measure(name), name), "at_least", minimum)


# No worse than the baseline: what a comparison with it must show, or must not.

_SMALLEST_P = 0.0001

MARGIN = 0.02


@dataclass(frozen=True)
class _ComparisonResult:
    """What a comparison showed, and the number of the look."""

    met: bool
    message: str
    findings: tuple[Finding, ...] = ()
    look: int = 1

    @property
    def verdict(self) -> GateVerdict:
        return "passed" if self.met else "failed"


@dataclass(frozen=True)
class RelativeRule:
    """A measure against the baseline, for every other run; the result is that of the worst one.

    ``no-evidence-of-harm`` fails where the comparison is REGRESSED. ``non-inferior`` fails unless the whole interval lies
    above ``-margin``: it is the one that must be shown.
    """

    quantity: MeanOf
    policy: GatePolicy
    margin: float = MARGIN
    segment: CaseSegment = EVERYTHING

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        return self.quantity.measures

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:
        return [each for name in evidence.candidates if (each := self._declared(evidence.scores[name], name)) is not None]

    def check(self, evidence: Evidence) -> RuleResult:
        if evidence.baseline is None or not evidence.candidates:
            words = f"{self.quantity.words(None)}{self.segment.words}"
            return self._result(None, (), "untrusted", f"{words} cannot be held against the baseline: {evidence.missing_baseline}")
        return worst_run(evidence, lambda name: self._check(evidence, name))

    @property
    def name(self) -> str:
        return rule_name(self.quantity.subject(None), self.segment.where, self.policy, self._expected)

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:  # noqa: ARG002  # it has no bound
        yield from ()

    @property
    def _expected(self) -> float:
        return -self.margin if self.policy == "non-inferior" else 0.0

    def _declared(self, scores: Scores, name: str) -> PlannedDifference | None:
        measure = scores.known_as(self.quantity.measure)
        if measure is None or rows_of(scores.matched.suite, self.segment) is None:
            return None
        return PlannedDifference(name, measure, *segment_of_suite(scores.matched.suite, self.segment))

    def _check(self, evidence: Evidence, name: str) -> RuleResult:
        scores = evidence.scores[name]
        plan = self._declared(scores, name)
        comparison = None if plan is None else evidence.differences[plan]
        prefix = prefix_for(name, evidence.candidates)
        words = f"{prefix}{self.quantity.words(scores)}{self.segment.words} against {evidence.baseline}"
        if comparison is None or comparison.difference is None or comparison.verdict == "INVALID":
            reason = "no case has a value on both sides" if comparison is None else comparison.reason
            return self._result(None, (), "untrusted", f"{words} cannot be compared: {reason}", scores=scores)
        if not self.quantity.measure.decides:
            return self._result(
                comparison.difference, (), "unresolvable", f"{words} is unresolvable: {comparison.reason}", scores=scores
            )
        look = self._sequential if self.policy == "sequential" else self._seen
        outcome = look(evidence, name, comparison, words)
        verdict, message = outcome.verdict, outcome.message
        # What could not have failed has not passed, and what could not have passed has not failed.
        if evidence.foreseeing and verdict == ("failed" if self.policy == "non-inferior" else "passed"):
            before = evidence.scores[evidence.baseline or ""]
            foresight = self.foresight(before.matched.suite, before, evidence.min_effect, evidence.family, outcome.look)
            if not foresight.resolvable:
                verdict, message = "unresolvable", f"{words} is unresolvable: {foresight.reason}"
        if verdict == "passed" and comparison.low is None:  # the run has fewer values than could be foreseen
            verdict, message = "unresolvable", f"{words} is unresolvable: {comparison.reason}"
        causes = self._losers(evidence, name) if verdict == "failed" else ()
        actual = comparison.low if self.policy == "non-inferior" else comparison.difference
        return self._result(actual, causes, verdict, message, outcome.findings, scores)

    def next_look(self, baseline: Scores | None, looks: LookCounter) -> int:
        """Which look at a build the next one will be, where looks count."""
        if baseline is None or self.policy != "sequential":
            return 1
        return looks.next_number(baseline, self.quantity.subject(baseline), segment_of_suite(baseline.matched.suite, self.segment))

    def foresight(self, suite: Suite, baseline: Scores | None, min_effect: float, family: int, look: int = 1) -> Foresight:
        """What this rule could see of a run that is not made yet."""
        question = self.question(min_effect, family, look)
        return foresee(suite, self.quantity.measure, question, baseline, rows_of(suite, self.segment))

    def question(self, min_effect: float, family: int, look: int = 1) -> GateQuestion:
        """What it asks of a build."""
        return GateQuestion(self.policy, min_effect, self.margin, family, look)

    def _seen(self, evidence: Evidence, name: str, comparison: Difference, words: str) -> _ComparisonResult:
        """What the comparison shows."""
        left_behind = evidence.looks.note(*self._sides(evidence, name), comparison, evidence.min_effect)
        if self.policy == "non-inferior":
            met = comparison.low is not None and comparison.low > -self.margin
            return _ComparisonResult(met, self._non_inferior(words, comparison, met), left_behind)
        harmed = "REGRESSED" in (comparison.verdict, comparison.undone)
        unseen = () if comparison.detectable is None else (_unseen_finding(prefix_for(name, evidence.candidates), comparison),)
        return _ComparisonResult(not harmed, _harm_text(words, comparison, harmed), (*unseen, *left_behind))

    def _sequential(self, evidence: Evidence, name: str, comparison: Difference, words: str) -> _ComparisonResult:
        """What one look among many shows."""
        sides = self._sides(evidence, name)
        look, judgement, left_behind = evidence.looks.look(*sides, comparison.measure, evidence.min_effect, evidence.family)
        harmed = "REGRESSED" in (judgement.verdict, judgement.undone)
        details = f"{look.evidence.mean or 0:+.4f}, look {look.number} at level {look.level:.2g}: {judgement.reason}"
        start = f"Expected {words} not to be worse, but it REGRESSED" if harmed else f"{words} shows no evidence of harm"
        return _ComparisonResult(not harmed, f"{start}: {details}", left_behind, look.number)

    def _sides(self, evidence: Evidence, name: str) -> tuple[Scores, Scores, CaseSegment]:
        before, after = evidence.scores[evidence.baseline or ""], evidence.scores[name]
        return before, after, segment_of_suite(after.matched.suite, self.segment)

    def _non_inferior(self, words: str, comparison: Difference, met: bool) -> str:
        line = f"the lower end above {-self.margin:g}"
        return (
            f"{words} is non-inferior: {_evidence_text(comparison)}, {line}"
            if met
            else f"Expected {words}: {line}, but got {_evidence_text(comparison)}"
        )

    def _losers(self, evidence: Evidence, name: str) -> tuple[str, ...]:
        """The cases that lost most."""
        after, before = evidence.scores[name], evidence.scores[evidence.baseline or ""]
        rows, measure = rows_of(after.matched.suite, self.segment), after.known_as(self.quantity.measure)
        if rows is None or measure is None:
            return ()
        losses = before.values[rows, before.names.index(measure)] - after.values[rows, after.names.index(measure)]
        ids = after.matched.suite.table.ids
        return tuple(ids[rows[row]] for row in np.argsort(-losses, kind="stable") if losses[row] > EQUAL_WITHIN)[:MOST_CASES]

    def _result(
        self,
        actual: float | None,
        cases: tuple[str, ...],
        verdict: GateVerdict,
        message: str,
        findings: tuple[Finding, ...] = (),
        scores: Scores | None = None,
    ) -> RuleResult:
        subject = self.quantity.subject(scores)
        return RuleResult(subject, self.segment.where, self.policy, self._expected, actual, cases, verdict, message, findings)


def _evidence_text(comparison: Difference) -> str:
    interval = (
        "" if comparison.low is None or comparison.high is None else f", interval {comparison.low:+.4f} to {comparison.high:+.4f}"
    )
    return f"{comparison.difference:+.4f}{interval}, {comparison.cases} cases"


def _harm_text(words: str, comparison: Difference, harmed: bool) -> str:
    if not harmed:
        return f"{words} shows no evidence of harm: {comparison.verdict}, {_evidence_text(comparison)}"
    why = _p_text(comparison.p_holm) if comparison.undone is None else "by cases that failed"
    return f"Expected {words} not to be worse, but it REGRESSED: {_evidence_text(comparison)}, {why}"


def _p_text(value: float | None) -> str:
    """Never 0: that would be certainty."""
    return "p unknown" if value is None else "p < 0.0001" if value < _SMALLEST_P else f"p {value:.4f}"


def _unseen_finding(prefix: str, comparison: Difference) -> Finding:
    loss = f"{prefix}a loss smaller than {comparison.detectable:.4f}"
    return finding("small-losses-unseen", f"{loss} would often not be seen with {comparison.independent} independent cases")
