"""Rules that an unchanged search meets in one run and misses in the next."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from searchmark.analysis.distributions import NORMAL, t_quantile
from searchmark.analysis.intervals import SHOWN
from searchmark.audit.gate.noise import PairedNoise, paired_noise
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.gates.bounds import NumberRule
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rule_findings import with_rules
from searchmark.gates.rules import Rule
from searchmark.gates.segments import rows_of

OFTEN = 0.05  # of the runs of an unchanged search end otherwise: the usual level of false alarms


def flapping(subject: Subject) -> list[Finding]:
    """By two runs of one agent: a rule flaps if more than 5 % of its verdicts on that agent come out otherwise."""
    return with_rules((rule.name, _found(subject, rule)) for rule in subject.rules)


def _found(subject: Subject, rule: Rule) -> Iterator[Finding]:
    if not isinstance(rule, NumberRule | RelativeRule) or not isinstance(rule.quantity, MeanOf | AtOwnK):
        return
    rows = rows_of(subject.suite, rule.segment)
    noise = None if rows is None else paired_noise(subject, rule.quantity, rows)
    if noise is None or not noise.repeat or not noise.error:
        return
    if isinstance(rule, NumberRule):
        yield from _bound(rule, noise)
    elif rule.policy == "non-inferior":
        yield from _margin(rule.margin, noise)


def _bound(rule: NumberRule, noise: PairedNoise) -> Iterator[Finding]:
    first, second = noise.means
    below = NORMAL.cdf((rule.expected - (first + second) / 2) / noise.deviation)
    if OFTEN < below < 1 - OFTEN:
        one, _ = noise.runs
        twice = f"{one} has {first:.4g} and, asked again, {second:.4g}"
        yield finding("flapping-rule", f"{twice}: its noise puts {below:.0%} of unchanged runs below the bound")


def _margin(margin: float, noise: PairedNoise) -> Iterator[Finding]:
    """An unchanged build passes if its interval ends above the margin."""
    reach = t_quantile(1 - SHOWN.tail, len(noise.differ) - 1) * noise.error
    missed = 1 - NORMAL.cdf((margin - reach) / noise.error)
    if isfinite(reach) and missed > OFTEN:
        told = f"the interval of an unchanged search reaches {reach:.3g} below, by the noise of {noise.runs[0]}, asked twice"
        yield finding("flapping-rule", f"{told}: {missed:.0%} of its builds do not show a loss below {margin:g}")
