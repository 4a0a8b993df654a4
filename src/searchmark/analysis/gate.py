"""Rules that runs must meet: passed, failed, or untrusted. A rule that cannot be checked never passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from searchmark.analysis.comparison import Pair, unique_names
from searchmark.analysis.scores import Scores, untrusted_because
from searchmark.errors import UsageError
from searchmark.measures.grammar import AnyMeasure, parse_measure

# A mean of six times 0.2 is a hair below 0.2, and must not fail a threshold of 0.2.
ROUNDING = 1e-12

GateVerdict = Literal["passed", "failed", "untrusted"]
Bound = Literal["at_least", "above", "at_most", "below"]
# From the best to the worst: a gate is as bad as the worst of its rules.
_VERDICTS: tuple[GateVerdict, ...] = ("passed", "failed", "untrusted")


@dataclass(frozen=True)
class Evidence:
    """What rules are checked against: the scores of every run under its display name, and how the runs compare.

    ``baseline`` is the name of the run that the others are compared with; rules are about the others.
    """

    scores: Mapping[str, Scores]
    pairs: tuple[Pair, ...] = ()
    baseline: str | None = None

    @classmethod
    def of(cls, scores: Scores) -> Evidence:
        """The evidence that a single run gives."""
        return cls(dict(zip(unique_names([scores]), [scores], strict=True)))

    @property
    def candidates(self) -> list[str]:
        """The runs that rules are about."""
        return [name for name in self.scores if name != self.baseline]


@dataclass(frozen=True)
class RuleResult:
    """What became of one rule: which number of which cases (``where``), what was expected of it, and what it is.

    ``actual`` is None where there is no such number. ``cases`` are those that decided, where single ones did.
    """

    subject: str
    where: Mapping[str, str]
    bound: Bound
    expected: float
    actual: float | None
    cases: tuple[str, ...]
    verdict: GateVerdict


class Rule(Protocol):
    """One condition of a gate."""

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        """What must be computed for it."""

    def check(self, evidence: Evidence) -> RuleResult: ...


@dataclass(frozen=True)
class MeanBound:
    """A bound on the mean of a measure, which every run must meet; the result tells of the worst one."""

    measure: AnyMeasure
    bound: Bound
    expected: float

    @property
    def measures(self) -> tuple[AnyMeasure]:
        return (self.measure,)

    def check(self, evidence: Evidence) -> RuleResult:
        names = evidence.candidates
        if not names:
            return self._result(self.measure.name, None, "untrusted")
        results = [self._check(evidence.scores[name], f"{name}: " if len(names) > 1 else "") for name in names]
        return max(results, key=self._badness)

    def _check(self, scores: Scores, prefix: str) -> RuleResult:
        name = scores.known_as(self.measure)
        mean = math.nan if name is None else scores.mean(name)
        actual = None if math.isnan(mean) else mean
        asked = self.measure.resolve(scores.judged.suite.defaults).name
        return self._result(f"{prefix}{name or asked}", actual, self._verdict(scores, actual))

    def _result(self, subject: str, actual: float | None, verdict: GateVerdict) -> RuleResult:
        return RuleResult(subject, {}, self.bound, self.expected, actual, (), verdict)

    def _verdict(self, scores: Scores, actual: float | None) -> GateVerdict:
        if actual is None or untrusted_because(scores):
            return "untrusted"
        return "passed" if within(self.bound, actual, self.expected) else "failed"

    def _badness(self, result: RuleResult) -> tuple[int, float]:
        low_is_bad = self.bound in ("at_least", "above")
        value = math.inf if result.actual is None else -result.actual if low_is_bad else result.actual
        return _VERDICTS.index(result.verdict), value


def within(bound: Bound, actual: float, expected: float) -> bool:
    """Whether a number is on the right side of a bound, rounding errors aside."""
    gap = actual - expected
    return {"at_least": gap >= -ROUNDING, "above": gap > ROUNDING, "at_most": gap <= ROUNDING, "below": gap < -ROUNDING}[bound]


@dataclass(frozen=True)
class Gate:
    """All rules together: as bad as the worst of them."""

    verdict: GateVerdict
    rules: tuple[RuleResult, ...]


def parse_threshold(text: str, named: Mapping[str, AnyMeasure] | None = None) -> MeanBound:
    """Read ``nDCG@10=0.4``, the lowest mean that is good enough; ``named`` are formulas that may be meant by name alone."""
    name, separator, value = text.rpartition("=")
    try:
        minimum = float(value)
    except ValueError:
        minimum = float("nan")
    if not separator or not math.isfinite(minimum):
        raise UsageError(f"threshold {text!r} cannot be read; write it like nDCG@10=0.4")
    return MeanBound((named or {}).get(name.strip()) or parse_measure(name), "at_least", minimum)


def check_gate(evidence: Evidence, rules: Iterable[Rule]) -> Gate:
    """Check every rule; without any, nothing is known and the gate is untrusted."""
    results = tuple(rule.check(evidence) for rule in rules)
    worst = max((_VERDICTS.index(result.verdict) for result in results), default=len(_VERDICTS) - 1)
    return Gate(_VERDICTS[worst], results)
