"""The one decision procedure: what a paired difference must show to be called an improvement, a regression or noise.

IMPROVED and REGRESSED need interval and test to agree: the 95 % interval excludes 0, the p of the randomisation test,
adjusted for the family, is below 0.05, and the difference is at least ``min_effect``. WITHIN NOISE needs two one-sided 5 %
tests, the 90 % interval inside ±``min_effect``, and as many independent cases as would prove it if all of them were
ties. INVALID: the two may not be compared, or one of them cannot be trusted. EXPLORATORY: looked at without a question that
was asked before. Everything else is INCONCLUSIVE, and so is a verdict that rests on cases that failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log, log1p
from typing import Literal

from searchmark.analysis.intervals import EQUIVALENCE, FEWEST_CASES

SIGNIFICANT = 0.05
Verdict = Literal["IMPROVED", "REGRESSED", "WITHIN NOISE", "INCONCLUSIVE", "INVALID", "EXPLORATORY"]


@dataclass(frozen=True)
class PairedEvidence:
    """The numbers of one paired difference, before they are judged. None is undefined.

    ``low`` and ``high`` are the 95 % interval, ``equal_low`` and ``equal_high`` the 90 % interval; ``observations``
    are the independent ones, ``worth`` how many of equal size they are worth, and ``span`` is the width of the range of
    the measure. ``statistic_variance`` and ``unseen`` are for planning: how much mean over standard error varies, and how
    large a loss may be where there were only gains.
    """

    cases: int = 0
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    equal_low: float | None = None
    equal_high: float | None = None
    p: float | None = None
    error: float | None = None
    observations: int = 0
    worth: float = 0.0
    span: float = 1.0
    statistic_variance: float = 1.0
    unseen: float = 0.0
    wins: int = 0
    ties: int = 0
    losses: int = 0


@dataclass(frozen=True)
class Judgement:
    """A verdict and the reason for it. ``undone``: the one that failed cases alone have made INCONCLUSIVE."""

    verdict: Verdict
    reason: str
    undone: Verdict | None = None


def undone_by_failures(verdict: Verdict) -> Judgement:
    """What becomes of a verdict that would be a different one without the cases that failed."""
    return Judgement("INCONCLUSIVE", "the verdict would be a different one without the cases that failed", verdict)


def significant(evidence: PairedEvidence, p: float | None) -> bool:
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
    return inf if share <= 0 else 1 if share >= 1 else ceil(log(EQUIVALENCE.tail) / log1p(-share))


def within_noise(evidence: PairedEvidence, min_effect: float) -> bool:
    if evidence.equal_low is None or evidence.equal_high is None:
        return False
    enough = evidence.worth >= ties_for_equality(min_effect, evidence.span)
    return enough and -min_effect <= evidence.equal_low and evidence.equal_high <= min_effect


def judge_difference(evidence: PairedEvidence, p: float | None, min_effect: float, family: int = 1) -> Judgement:
    """The verdict on one difference; ``p`` is adjusted for the ``family`` comparisons that it was made among."""
    if evidence.mean is None:
        return Judgement("INCONCLUSIVE", "no case has a value on both sides")
    if evidence.low is None or evidence.high is None or p is None:
        return Judgement("INCONCLUSIVE", f"worth fewer than {FEWEST_CASES} independent cases")
    if significant(evidence, p):
        if abs(evidence.mean) < min_effect:
            return _noise_or(evidence, min_effect, f"a difference, but smaller than {min_effect:g}")
        side: tuple[Verdict, str] = ("IMPROVED", "above") if evidence.mean > 0 else ("REGRESSED", "below")
        return Judgement(side[0], f"the interval lies {side[1]} 0, and p is below {SIGNIFICANT:g}")
    return _noise_or(evidence, min_effect, _why_not(evidence, family))


def _noise_or(evidence: PairedEvidence, min_effect: float, reason: str) -> Judgement:
    if within_noise(evidence, min_effect):
        return Judgement("WITHIN NOISE", f"the 90 % interval lies inside ±{min_effect:g}")
    return Judgement("INCONCLUSIVE", reason)


def _why_not(evidence: PairedEvidence, family: int) -> str:
    if significant(evidence, evidence.p):
        return f"not significant after Holm correction for {family} comparisons"
    if not evidence.wins and not evidence.losses:
        return f"{evidence.ties} ties: too few to prove that nothing changes"
    if (evidence.p or 0.0) < SIGNIFICANT:
        return "the test speaks for a difference, the interval contains 0"
    excluded = (evidence.low or 0.0) > 0 or (evidence.high or 0.0) < 0
    return "the interval excludes 0, the test does not speak for a difference" if excluded else "the interval contains 0"


@dataclass(frozen=True)
class Difference:
    """Candidate minus baseline on one measure. None is undefined.

    ``independent`` counts the observations, cases of one origin being one. ``p_holm`` is adjusted for ``family``
    comparisons. ``detectable`` is the smallest true difference that would have shown with 80 % power; ``cases_needed``
    independent cases would show a true difference as large as the observed one with 80 % power, None if no number would;
    it is ``too_small`` if that is because it does not exceed min_effect. ``undone`` is a verdict that rests on failed cases.
    """

    baseline: str
    candidate: str
    measure: str
    cases: int
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    family: int
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    independent: int
    detectable: float | None
    cases_needed: int | None
    too_small: bool
    non_inferior: bool | None
    verdict: Verdict
    reason: str
    undone: Verdict | None = None
