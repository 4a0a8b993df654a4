"""Bounds on numbers of a run: ``at_least``, ``above``, ``at_most``, ``below``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from searchmark.analysis.declared import Declared
from searchmark.analysis.scores import Scores, untrusted_because
from searchmark.errors import UsageError
from searchmark.findings import Finding, finding
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import GatedNumber, MeanOf
from searchmark.gates.reach import Reach
from searchmark.gates.rules import VERDICTS, Evidence, GateVerdict, RuleResult
from searchmark.gates.segments import EVERYTHING, CaseSegment, named_in, rows_of
from searchmark.gates.sentences import expectation, prefix_for, rule_name, within
from searchmark.gates.stated_quantities import RetriesOf, TokensOf
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.options.gate_options import NumberBound


@dataclass(frozen=True)
class NumberRule:
    """A bound on a number, which every run must meet; the result tells of the worst one."""

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

    def worth(self, reach: Reach) -> Iterator[Finding]:
        rows = rows_of(reach.suite, self.segment)
        if rows is not None and isinstance(self.quantity, MeanOf | AtOwnK):
            yield from reach.findings(self.quantity, self.bound, self.expected, rows)

    def declared(self, evidence: Evidence) -> Sequence[Declared]:  # noqa: ARG002  # a bound compares nothing
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
        found = self._check(scores, prefix_for(name, evidence.candidates))
        where = named_in(scores.judged.suite, self.segment).where
        amounts = quantity.amounts(scores, found.cases) if isinstance(quantity, TokensOf | RetriesOf) else ()
        return replace(found, where=where, run=name, words=quantity.words(scores), unit=quantity.unit.strip(), amounts=amounts)

    def _check(self, scores: Scores, prefix: str) -> RuleResult:
        quantity, rows = self.quantity, rows_of(scores.judged.suite, self.segment)
        subject, words = f"{prefix}{quantity.subject(scores)}", f"{prefix}{quantity.words(scores)}{self.segment.words}"
        if rows is None:
            missing = f"{words} cannot be checked: no case of the suite has {self.segment.by} {self.segment.value!r}"
            return self._result(subject, None, (), "untrusted", missing)
        actual = quantity.value(scores, rows)
        distrust = untrusted_because(scores)
        met = actual is not None and within(self.bound, actual, self.expected)
        verdict: GateVerdict = "untrusted" if actual is None or distrust else "passed" if met else "failed"
        message = expectation(words, self.bound, self.expected, actual, met=met, unit=quantity.unit)
        if actual is None:
            message = f"{message}: {quantity.why_missing(scores)}"
        elif distrust:
            message = f"{message}; untrusted: {'; '.join(distrust)}"
        causes = quantity.worst(scores, rows, high_is_bad=self._high_is_bad) if actual is not None and not met else ()
        return self._result(subject, actual, causes, verdict, message, self._warnings(prefix, actual))

    @property
    def _high_is_bad(self) -> bool:
        return self.bound in ("at_most", "below")

    def _warnings(self, prefix: str, actual: float | None) -> tuple[Finding, ...]:
        limits = (("above", self.warn_above, 1), ("below", self.warn_below, -1))
        passed = [
            (side, limit)
            for side, limit, sign in limits
            if limit is not None and actual is not None and sign * (actual - limit) > 0
        ]
        unit = self.quantity.unit
        said = (f"{prefix}{actual:.4g}{unit} is {side} {limit:g}{unit}, a warning and not a failure" for side, limit in passed)
        return tuple(finding("warning-level", sentence) for sentence in said)

    def _result(
        self,
        subject: str,
        actual: float | None,
        cases: tuple[str, ...],
        verdict: GateVerdict,
        message: str,
        found: tuple[Finding, ...] = (),
    ) -> RuleResult:
        return RuleResult(subject, self.segment.where, self.bound, self.expected, actual, cases, verdict, message, found)

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
    known = (named or {}).get(name)
    return NumberRule(MeanOf(known or parse_measure(name), name), "at_least", minimum)
