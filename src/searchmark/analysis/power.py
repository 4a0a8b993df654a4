"""What a comparison can show: how small a difference with the cases there are, how many cases for a given difference.

Both are those of the rule that verdicts follow: a difference is shown if it is significant after Holm's correction for
the whole family, and not smaller than ``min_effect``. The second condition is met half of the time by a true difference
of ``min_effect``, however many cases there are; so nothing up to it can be shown with 80 % power.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, hypot, isfinite, log2, sqrt

from searchmark.analysis.distributions import NORMAL, t_quantile
from searchmark.analysis.intervals import FEWEST_CASES, SHOWN
from searchmark.analysis.verdicts import SIGNIFICANT, PairedEvidence

POWER = 0.8
# How much farther the interval must be from 0 for interval and test to agree, by simulation (benchmarks/verdicts.py).
AGREEMENT = 1.02
MOST_CASES = 1 << 40
_SPARE = NORMAL.inv_cdf(POWER)


@dataclass(frozen=True)
class VerdictRule:
    """What a difference must meet: an effect that counts, and significance among ``family`` comparisons."""

    min_effect: float
    family: int = 1

    def critical(self, observations: int) -> float:
        """How many standard errors a difference must be away from 0, if it is the most significant one of its family."""
        return t_quantile(1 - SIGNIFICANT / 2 / self.family, observations - 1)

    @property
    def fewest(self) -> int:
        """With fewer cases not even gains in all of them would be significant: p is 2 to the power of 1 - cases at best."""
        return max(FEWEST_CASES, ceil(log2(2 * self.family / SIGNIFICANT)) + 1)


def detectable_difference(error: float, observations: int, rule: VerdictRule) -> float:
    """The smallest true difference that a mean with this standard error would have shown with 80 % power."""
    return max(rule.critical(observations) * error, rule.min_effect) + _SPARE * error


def cases_needed(evidence: PairedEvidence, rule: VerdictRule) -> int | None:
    """How many independent cases, like these, would show with 80 % power a true difference as large as the observed one.

    None if no number would, or nothing is known.
    """
    if evidence.mean is None or not evidence.error or not isfinite(evidence.error):
        return None
    assumed, beyond = abs(evidence.mean), abs(evidence.mean) - rule.min_effect
    if beyond <= 0:
        return None
    deviation = evidence.error * sqrt(evidence.observations)

    def wanted(cases: int) -> float:
        """How many are needed, if the interval is that of so many cases: the more there are, the fewer."""
        varies = sqrt(evidence.statistic_variance)
        by_test = rule.critical(cases) + _SPARE * varies
        by_interval = AGREEMENT * (_interval_reach(varies, evidence.unseen / deviation, cases) + _SPARE * varies)
        return max((deviation * max(by_test, by_interval) / assumed) ** 2, (deviation * _SPARE / beyond) ** 2)

    low, high = rule.fewest - 1, rule.fewest
    while wanted(high) > high and high < MOST_CASES:
        low, high = high, 2 * high
    if high >= MOST_CASES:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wanted(middle) > middle else (low, middle)
    return high


def _interval_reach(varies: float, unseen: float, cases: int) -> float:
    """How many standard errors the interval reaches towards 0.

    Where there were only gains it has room for losses that were never seen, and is shorter on the side of 0: by a third of
    what such a mean varies less.
    """
    reach = t_quantile(1 - SHOWN.tail, cases - 1)
    if not unseen:
        return reach
    share = 1 - SHOWN.tail ** (1 / cases)
    return hypot(reach * (2 + varies) / 3, unseen * share * sqrt(cases))


def fewest_more(enough: Callable[[int], bool], here: int, most: int) -> int | None:
    """How many more than there are is enough; None if it is more than ``most`` in all."""
    low, high = here - 1, here
    while not enough(high):
        if high >= most:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high - here
