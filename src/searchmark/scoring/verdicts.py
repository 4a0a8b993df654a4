"""The one decision rule for a difference, its family of comparisons, and how small a difference can be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, hypot, inf, isfinite, log, log1p, log2, sqrt
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from searchmark.records.columns import typed_frame
from searchmark.scoring.statistics import EQUIVALENCE_LEVEL, FEWEST_CASES, NORMAL, SHOWN_LEVEL, holm, t_quantile

if TYPE_CHECKING:
    import polars as pl


# The one decision procedure: what a paired difference must show to be called an improvement, a regression or noise.
#
# IMPROVED and REGRESSED need interval and test to agree: the 95 % interval excludes 0, the p of the randomisation test,
# adjusted for the family, is below 0.05, and the difference is at least ``min_effect``. WITHIN NOISE needs two one-sided 5 %
# tests, the 90 % interval inside ±``min_effect``, and as many independent cases as would prove it if all of them were
# ties. INVALID: the two may not be compared, or one of them cannot be trusted. EXPLORATORY: looked at without a question that
# was asked before. Everything else is INCONCLUSIVE, and so is a verdict that rests on cases that failed.

SIGNIFICANT = 0.05

Verdict = Literal["IMPROVED", "REGRESSED", "WITHIN NOISE", "INCONCLUSIVE", "INVALID", "EXPLORATORY"]


@dataclass(frozen=True)
class PairedEvidence:
    """The numbers of one paired difference, before a verdict. None is undefined."""

    cases: int = 0
    mean: float | None = None
    low: float | None = None  # of the 95 % interval
    high: float | None = None  # of the 95 % interval
    equal_low: float | None = None  # of the 90 % interval
    equal_high: float | None = None  # of the 90 % interval
    p: float | None = None
    error: float | None = None
    observations: int = 0  # independent ones
    effective_size: float = 0.0  # how many observations of equal size they amount to
    span: float = 1.0  # width of the range of the measure
    statistic_variance: float = 1.0  # for planning: how much mean over standard error varies
    unseen: float = 0.0  # for planning: how large a loss may be where there were only gains
    wins: int = 0
    ties: int = 0
    losses: int = 0


@dataclass(frozen=True)
class ReasonedVerdict:
    """A verdict and the reason for it. ``undone``: the one that failed cases alone have made INCONCLUSIVE."""

    verdict: Verdict
    reason: str
    undone: Verdict | None = None


def undo_by_failures(verdict: Verdict) -> ReasonedVerdict:
    """What becomes of a verdict that would be a different one without the cases that failed."""
    return ReasonedVerdict("INCONCLUSIVE", "the verdict would be a different one without the cases that failed", verdict)


def is_significant(evidence: PairedEvidence, p: float | None) -> bool:
    """Whether interval and test agree that there is a difference; ``p`` is adjusted for its family."""
    if evidence.low is None or evidence.high is None or p is None:
        return False
    return p < SIGNIFICANT and (evidence.low > 0 or evidence.high < 0)


def ties_for_equality(min_effect: float, span: float = 1.0) -> float:
    """How many independent ties prove that the mean differs by no more than ``min_effect``.

    A share of cases that changes by the whole range, and is as large as min_effect allows, would have shown with 95 %.
    Without a bound on how much a case can change, no number does.
    """
    share = min_effect / span
    return inf if share <= 0 else 1 if share >= 1 else ceil(log(EQUIVALENCE_LEVEL.tail) / log1p(-share))


def is_within_noise(evidence: PairedEvidence, min_effect: float) -> bool:
    if evidence.equal_low is None or evidence.equal_high is None:
        return False
    enough = evidence.effective_size >= ties_for_equality(min_effect, evidence.span)
    return enough and -min_effect <= evidence.equal_low and evidence.equal_high <= min_effect


def decide_difference(evidence: PairedEvidence, p: float | None, min_effect: float, family: int = 1) -> ReasonedVerdict:
    """The verdict on one difference; ``p`` is adjusted for the ``family`` comparisons that it was made among."""
    if evidence.mean is None:
        return ReasonedVerdict("INCONCLUSIVE", "no case has a value on both sides")
    if evidence.low is None or evidence.high is None or p is None:
        return ReasonedVerdict("INCONCLUSIVE", f"worth fewer than {FEWEST_CASES} independent cases")
    if is_significant(evidence, p):
        if abs(evidence.mean) < min_effect:
            return _noise_or(evidence, min_effect, f"a difference, but smaller than {min_effect:g}")
        side: tuple[Verdict, str] = ("IMPROVED", "above") if evidence.mean > 0 else ("REGRESSED", "below")
        return ReasonedVerdict(side[0], f"the interval lies {side[1]} 0, and p is below {SIGNIFICANT:g}")
    return _noise_or(evidence, min_effect, _why_not(evidence, family))


def _noise_or(evidence: PairedEvidence, min_effect: float, reason: str) -> ReasonedVerdict:
    if is_within_noise(evidence, min_effect):
        return ReasonedVerdict("WITHIN NOISE", f"the 90 % interval lies inside ±{min_effect:g}")
    return ReasonedVerdict("INCONCLUSIVE", reason)


def _why_not(evidence: PairedEvidence, family: int) -> str:
    if is_significant(evidence, evidence.p):
        return f"not significant after Holm correction for {family} comparisons"
    if not evidence.wins and not evidence.losses:
        return f"{evidence.ties} ties: too few to prove that nothing changes"
    if (evidence.p or 0.0) < SIGNIFICANT:
        return "the test speaks for a difference, the interval contains 0"
    excluded = (evidence.low or 0.0) > 0 or (evidence.high or 0.0) < 0
    return "the interval excludes 0, the test does not speak for a difference" if excluded else "the interval contains 0"


@dataclass(frozen=True)
class Difference:
    """Candidate minus baseline on one measure. None is undefined."""

    baseline: str
    candidate: str
    measure: str
    cases: int
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None  # adjusted for the family
    family: int  # how many comparisons were made together
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    independent: int  # observations; cases of one origin count as one
    detectable: float | None  # the smallest true difference that would have shown with 80 % power
    # Independent cases that would show a true difference as large as this one with 80 % power, None if no number would.
    cases_needed: int | None
    too_small: bool  # cases_needed is None because the difference does not exceed min_effect
    non_inferior: bool | None
    verdict: Verdict
    reason: str
    undone: Verdict | None = None  # a verdict that rests on failed cases


# Differences as a frame.

# The columns in the order in which a reader needs them: what was compared, what came out, and what it rests on.
_COLUMNS: dict[str, type] = {
    "baseline": str,
    "candidate": str,
    "by": str,
    "segment": str,
    "measure": str,
    "cases": int,
    "baseline_mean": float,
    "difference": float,
    "low": float,
    "high": float,
    "p": float,
    "p_holm": float,
    "family": int,
    "verdict": str,
    "reason": str,
    "undone": str,
    "wins": int,
    "ties": int,
    "losses": int,
    "independent": int,
    "effect_size": float,
    "detectable": float,
    "cases_needed": int,
    "too_small": bool,
    "non_inferior": bool,
}


def difference_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return typed_frame(rows, _COLUMNS)


def difference_rows(
    differences: Iterable[Difference], segments: Mapping[str, Mapping[str, Iterable[Difference]]]
) -> Iterator[dict[str, Any]]:
    """Every difference of two runs as a row: those of all cases, then those of every value that the cases are split by."""
    yield from ({"by": None, "segment": None, **vars(difference)} for difference in differences)
    for by, values in segments.items():
        yield from (
            {"by": by, "segment": value, **vars(difference)} for value, of_value in values.items() for difference in of_value
        )


# Which comparisons belong together, so that looking often does not make something out of nothing.
#
# The primary measure of all pairs is one family. Once it is IMPROVED or REGRESSED for a pair, the other measures of that pair
# and its
# segments by the primary measure become questions; those of all such pairs are one more family. All else is EXPLORATORY: it
# may give an idea, and no verdict. Within a family p is adjusted by Holm (1979).

Key = TypeVar("Key")


@dataclass(frozen=True)
class AdjustedP:
    """A p adjusted for as many comparisons as its family has."""

    p: float | None
    family: int


def adjust_family(evidence: Mapping[Key, PairedEvidence], members: Iterable[Key]) -> dict[Key, AdjustedP]:
    """The members of one family; one without enough cases for a test is not counted among them."""
    everyone = list(members)
    p_values = {key: p for key in everyone if (p := evidence[key].p) is not None}
    family = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {key: AdjustedP(family.get(key), len(p_values)) for key in everyone}


# What a comparison can show: how small a difference with the cases there are, how many cases for a given difference.
#
# Both are those of the rule that verdicts follow: a difference is shown if it is significant after Holm's correction for
# the whole family, and not smaller than ``min_effect``. The second condition is met half of the time by a true difference
# of ``min_effect``, however many cases there are; so nothing up to it can be shown with 80 % power.

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
    effect, beyond = abs(evidence.mean), abs(evidence.mean) - rule.min_effect
    if beyond <= 0:
        return None
    deviation = evidence.error * sqrt(evidence.observations)

    def estimate(cases: int) -> float:
        """How many are needed, if the interval is that of so many cases: the more there are, the fewer."""
        varies = sqrt(evidence.statistic_variance)
        by_test = rule.critical(cases) + _SPARE * varies
        by_interval = AGREEMENT * (_interval_reach(varies, evidence.unseen / deviation, cases) + _SPARE * varies)
        return max((deviation * max(by_test, by_interval) / effect) ** 2, (deviation * _SPARE / beyond) ** 2)

    low, high = rule.fewest - 1, rule.fewest
    while estimate(high) > high and high < MOST_CASES:
        low, high = high, 2 * high
    if high >= MOST_CASES:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate(middle) > middle else (low, middle)
    return high


def _interval_reach(varies: float, unseen: float, cases: int) -> float:
    """How many standard errors the interval reaches towards 0.

    Where there were only gains it has room for losses that were never seen, and is shorter on the side of 0: by a third of
    what such a mean varies less.
    """
    half_width = t_quantile(1 - SHOWN_LEVEL.tail, cases - 1)
    if not unseen:
        return half_width
    share = 1 - SHOWN_LEVEL.tail ** (1 / cases)
    return hypot(half_width * (2 + varies) / 3, unseen * share * sqrt(cases))


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
