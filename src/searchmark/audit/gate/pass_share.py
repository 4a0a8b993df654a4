"""Which share of all rankings would pass a rule, the rules about one case, and the whole gate.

A suite of rankings has one of each case, all as likely. Where every case decides on its own, the shares of the cases are
multiplied. Means over several cases are added up value by value as long as there are few different sums. Where neither is
possible, suites are drawn, and the 95 % interval is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from searchmark.analysis.intervals import SHOWN, proportion_limits
from searchmark.analysis.pools import Bools
from searchmark.audit.gate.ranked_rules import RankedRule
from searchmark.audit.gate.rankings import Rankings
from searchmark.measures.formulas import Floats, Ints

SAMPLED = 10_000
MOST_SAMPLED = 4_000_000  # values, in all samples of one rule together
MOST_SUMS = 20_000
_DIGITS = 12


@dataclass(frozen=True)
class PassShare:
    """A share of all rankings. Exact, it has no ``interval``; ``count`` are those that pass ``of`` all, where one case decides.

    Sampled, it is that of so many (``of``), with its 95 % ``interval``: of none that passes the share is not known to be 0.
    """

    share: float
    count: int | None = None
    of: int | None = None
    interval: tuple[float, float] | None = None


NO_RANKING = PassShare(0.0)


def share_of_rule(rule: RankedRule, rankings: Rankings) -> PassShare:
    """The share of rankings that meet one rule."""
    exact = _by_case([rule], rankings) if rule.by_case else _by_sums(rule, rankings)
    return exact or (NO_RANKING if rule.out_of_reach else _sampled([rule], rankings))


def share_of_gate(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare:
    """The share of rankings that meet all of some rules."""
    if len(rules) == 1:
        return share_of_rule(rules[0], rankings)
    exact = _by_case(rules, rankings) if all(rule.by_case for rule in rules) else _by_grid(rules, rankings)
    return exact or (NO_RANKING if any(rule.out_of_reach for rule in rules) else _sampled(rules, rankings))


def _by_case(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare | None:
    """Where each case decides alone; None if not all of their rankings are listed."""
    cases = _cases(rules)
    if not rankings.listed[cases].all():
        return None
    passed = [int(_passing(rules, case, rankings.many(case)).sum()) for case in cases]
    all_of_them = [rankings.many(case) for case in cases]
    share = prod(count / of for count, of in zip(passed, all_of_them, strict=True))
    return PassShare(share, passed[0], all_of_them[0]) if len(cases) == 1 else PassShare(share)


def _passing(rules: Sequence[RankedRule], case: int, many: int) -> Bools:
    """Which rankings of a case pass all rules that are about it."""
    passed = np.ones(many, bool)
    for rule in rules:
        for column in np.flatnonzero(rule.rows == case).tolist():
            passed &= rule.met(rule.values[:many, [column]])
    return passed


def _by_sums(rule: RankedRule, rankings: Rankings) -> PassShare | None:
    """The distribution of the mean, case by case; None if it has too many different values, or one is not known."""
    if not rankings.listed[rule.rows].all():
        return None
    sums: Floats = np.zeros(1)
    weights: Floats = np.ones(1)
    defined = 0
    for column, case in enumerate(rule.rows.tolist()):
        values = rule.values[: rankings.many(case), column]
        if np.isnan(values).any():
            continue  # a measure is undefined for a case whatever its ranking is
        defined += 1
        own, counts = np.unique(values.round(_DIGITS), return_counts=True)
        if len(sums) * len(own) > MOST_SUMS * 10:
            return None
        sums, place = np.unique((sums[:, None] + own[None, :]).ravel().round(_DIGITS), return_inverse=True)
        weights = np.bincount(place.ravel(), np.outer(weights, counts / len(values)).ravel()).astype(np.float64)
        if len(sums) > MOST_SUMS:
            return None
    return PassShare(float(weights[rule.met(sums[:, None] / max(1, defined))].sum())) if defined else NO_RANKING


def _by_grid(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare | None:
    """Every ranking of each case with every one of the others; None if there are too many."""
    cases = _cases(rules)
    counts = [rankings.counts[case] for case in cases]
    if not rankings.listed[cases].all() or prod(counts) > MOST_SUMS * 10:
        return None
    every = np.arange(prod(counts))
    # A case with one ranking needs no axis, of which arrays have few.
    several = {case: count for case, count in zip(cases, counts, strict=True) if count > 1}
    numbers = dict(zip(several, np.unravel_index(every, tuple(several.values())), strict=True)) if several else {}
    passed = _all_met(rules, {case: numbers.get(case, np.zeros_like(every)) for case in cases})
    return PassShare(float(passed.mean()), int(passed.sum()), len(passed))


def _cases(rules: Sequence[RankedRule]) -> list[int]:
    return sorted({row for rule in rules for row in rule.rows.tolist()})


def _all_met(rules: Sequence[RankedRule], chosen: dict[int, Ints]) -> Bools:
    """Whether all rules are met, by the number of the ranking that was chosen for every case."""
    met = [
        rule.met(np.stack([rule.values[chosen[case], column] for column, case in enumerate(rule.rows.tolist())], axis=1))
        for rule in rules
    ]
    return np.asarray(np.all(met, axis=0))


def _sampled(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare:
    """Suites of rankings that were drawn: of what is not listed each draw is used once, so that samples are independent."""
    cases = _cases(rules)
    listed = rankings.listed[cases]
    most = max(1, min(SAMPLED, MOST_SAMPLED // max(1, sum(len(rule.rows) for rule in rules))))
    size = most if listed.all() else rankings.draws
    passed = _all_met(rules, _chosen(cases, rankings, size))
    low, high = proportion_limits(np.array([passed.mean()]), np.array([float(size)]), SHOWN)
    return PassShare(float(passed.mean()), int(passed.sum()), size, (float(low[0]), float(high[0])))


def _chosen(cases: Sequence[int], rankings: Rankings, size: int) -> dict[int, Ints]:
    """The number of a ranking for every case and sample."""
    generator = np.random.default_rng(0)
    return {
        case: generator.integers(rankings.many(case), size=size) if rankings.listed[case] else np.arange(size) for case in cases
    }
