"""Thresholds on means: passed, failed, or not to be trusted. A gate that cannot be checked never passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from searchmark.analysis.scores import Scores, untrusted_because
from searchmark.errors import UsageError
from searchmark.measures.grammar import AnyMeasure, parse_measure

# A mean of six times 0.2 is a hair below 0.2, and must not fail a threshold of 0.2.
ROUNDING = 1e-12

GateVerdict = Literal["passed", "failed", "untrusted"]


@dataclass(frozen=True)
class Threshold:
    """The lowest mean that is good enough."""

    measure: AnyMeasure
    minimum: float


@dataclass(frozen=True)
class RuleResult:
    """What became of one threshold."""

    measure: str
    minimum: float
    mean: float | None
    verdict: GateVerdict


@dataclass(frozen=True)
class Gate:
    """All thresholds together: as bad as the worst of them."""

    verdict: GateVerdict
    rules: tuple[RuleResult, ...]


def parse_threshold(text: str, named: Mapping[str, AnyMeasure] | None = None) -> Threshold:
    """Read ``nDCG@10=0.4``; ``named`` are formulas that may be meant by their name alone."""
    name, separator, value = text.rpartition("=")
    try:
        minimum = float(value)
    except ValueError:
        minimum = float("nan")
    if not separator or not math.isfinite(minimum):
        raise UsageError(f"threshold {text!r} cannot be read; write it like nDCG@10=0.4")
    return Threshold((named or {}).get(name.strip()) or parse_measure(name), minimum)


def check_gate(scores: Scores, thresholds: Iterable[Threshold]) -> Gate:
    """Hold the means against thresholds; the scores must hold every measure that is asked for."""
    trusted = not untrusted_because(scores)
    rules = tuple(_check(scores, threshold, trusted) for threshold in thresholds)
    verdicts = {rule.verdict for rule in rules}
    if not rules or "untrusted" in verdicts:
        return Gate("untrusted", rules)
    return Gate("failed" if "failed" in verdicts else "passed", rules)


def _check(scores: Scores, threshold: Threshold, trusted: bool) -> RuleResult:
    name = threshold.measure.resolve(scores.judged.suite.defaults).name
    if name not in scores.names:
        raise UsageError(f"the threshold for {name} cannot be checked: that measure was not computed")
    mean = scores.mean(name)
    if not trusted or math.isnan(mean):
        return RuleResult(name, threshold.minimum, None if math.isnan(mean) else mean, "untrusted")
    return RuleResult(name, threshold.minimum, mean, "passed" if mean >= threshold.minimum - ROUNDING else "failed")
