"""What n cases can support: differences between rows, intervals and p.

A randomisation of means swaps the two systems case by case and asks how many of the 2^m sums of differences, where m cases
moved, are as far from 0 as the one that was observed. If every difference is at least one step, and their sum at most five, its
two-sided p is above 0.05, however many cases moved which way:

- m <= 5: the sum and its opposite are two of at most 32.
- m = 6: one difference at least is negative, or the sum would be 6. The sum with all of them positive is larger: four of 64.
- m >= 7: of the 2^m sums at most the five largest binomial coefficients lie in an interval of length 10 (Erdős, 1945), so that
  at least 9 of 128 are 5 or more from 0, and more of them for larger m.

For values of 0 and 1 this is the sign test and McNemar's. Of other values a sign test counts cases and not steps: ten that gain
one step and one that loses five have a sum of five as well, and a sign test gives them p = 0.012.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import floor, inf, sqrt

from searchmark.audit.claims.claim_table import Claim, ClaimedRow, ClaimTable
from searchmark.audit.claims.counts import parts_of_one
from searchmark.audit.claims.relations import Said
from searchmark.errors import UsageError, shortened
from searchmark.findings.sentences import counted, three_digits
from searchmark.records.shown import listed

MOST_STEPS = 5  # that never show; six cases that move by one step in one direction have p = 2/2^6 = 0.03
Z = 1.959964  # 97.5 % of a normal distribution
LEVEL = 0.05
LONGEST_TEST = 10_000  # cases up to which the exact distribution is added up
MOST_NAMES = 5
# A 95 % interval is flagged only if it is narrower than this share of the narrowest usual one (Wilson's at a half), less one
# step at each end: what a bootstrap of few and binary values may fall short by.
NARROWEST = 0.9


def differences(rows: Iterable[ClaimedRow]) -> Iterator[tuple[str, Said]]:
    """What n cannot support: rows against the one that they name, or the best of a group against the others."""
    everything = list(rows)
    for measure in dict.fromkeys(claim.measure.name for row in everything for claim in row.claims):
        for better, worse in _pairs(everything, measure):
            of = (_claim(better, measure), _claim(worse, measure))
            if of[0] is not None and of[1] is not None and better.n is not None and better.n == worse.n and of[0].measure.high <= 1:
                yield from _difference((better, of[0]), (worse, of[1]), better.n)


def _claim(row: ClaimedRow, measure: str) -> Claim | None:
    return next((each for each in row.claims if each.measure.name == measure), None)


def _pairs(rows: list[ClaimedRow], measure: str) -> Iterator[tuple[ClaimedRow, ClaimedRow]]:
    """The differences that a table claims, the better one first."""
    having = [row for row in rows if _claim(row, measure) is not None]
    for _, group in groupby(sorted(having, key=lambda row: (row.group, row.line)), key=lambda row: row.group):
        members = sorted(group, key=lambda row: -_value(row, measure))
        by_system: dict[str | None, list[ClaimedRow]] = {}
        for row in members:
            by_system.setdefault(row.system, []).append(row)
        named = [(row, other) for row in members if row.vs is not None for other in by_system.get(row.vs, ())]
        if any(row.vs is not None for row in members):
            yield from (pair if _value(pair[0], measure) >= _value(pair[1], measure) else pair[::-1] for pair in named)
        else:
            yield from ((members[0], other) for other in members[1:])


def _value(row: ClaimedRow, measure: str) -> Fraction:
    found = _claim(row, measure)
    return Fraction(-1) if found is None else found.value.value


def check_baselines(table: ClaimTable) -> None:
    """Refuse the name of a baseline that no other row of its group has."""
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for row in table.rows:
        groups.setdefault(row.group, Counter())[row.system] += 1
    for row in table.rows:
        if row.vs is not None and groups[row.group][row.vs] <= (row.system == row.vs):
            others = listed([name for name in groups[row.group] if name != row.system], MOST_NAMES) or "none"
            said = f"vs names {shortened(row.vs, 80)!r}, but the other rows are {others}"
            raise UsageError(f"{table.name}, line {row.line}: {said}")


def _difference(better: tuple[ClaimedRow, Claim], worse: tuple[ClaimedRow, Claim], n: int) -> Iterator[tuple[str, Said]]:
    (row, claim), (other, lower) = better, worse
    if claim.value.value == lower.value.value:
        return
    most = min(Fraction(1), claim.value.high) - max(Fraction(0), lower.value.low)
    label = f"{row.label} against {other.label}"
    said = f"{claim.said} and {lower.value.text}"
    if (too_small := _too_small(claim, most, n)) is not None:
        yield label, ("claim-difference-too-small", f"{said}: {too_small}")
        return
    by_chance = Z * sqrt((_spread(claim) + _spread(lower)) / n)
    if float(most) < by_chance and row.p is None and other.p is None and claim.p is None and lower.p is None:
        chance = f"two independent samples of {n} cases may differ by {three_digits(by_chance)} by chance"
        yield label, ("claim-difference-open", f"{said}: {chance}{_unless(claim, lower, n)}")


def _too_small(claim: Claim, most: Fraction, n: int) -> str | None:
    """Why no randomisation of means can show a difference; None if one may."""
    if n <= MOST_STEPS:
        return f"{counted(n, 'case')} cannot show any difference"
    step, parts = _step(claim), parts_of_one(claim)
    if not step or (steps := most * n / step) >= MOST_STEPS + 1 or (parts is None and steps > MOST_STEPS):
        return None
    what = {None: f"steps of {step} in {n} cases", 1: f"of {n} cases"}.get(parts, f"of {n * (parts or 1)} hits")
    return f"gains less losses are at most {three_digits(float(steps)) if parts is None else floor(steps)} {what}"


def _step(claim: Claim) -> Fraction:
    """The least by which two values of one case can differ; 0 where that may be as little as one likes."""
    parts = parts_of_one(claim)
    if parts is not None:
        return Fraction(1, parts)
    k = claim.cutoff
    return Fraction(1, k * (k - 1)) if claim.base == "RR" and k is not None else Fraction(0)


def _spread(claim: Claim) -> float:
    """The variance of values between 0 and 1 with this mean: exactly so if they are 0 and 1, and never more."""
    mean = min(1.0, max(0.0, float(claim.value.value)))
    return mean * (1 - mean)


def _unless(claim: Claim, lower: Claim, n: int) -> str:
    """For a share of cases how few may have been lost for the gains to show."""
    if parts_of_one(claim) != 1:
        return ""
    lost = most_lost(round((claim.value.value - lower.value.value) * n), n)
    return "" if lost is None else f"; it shows only if the better one loses at most {counted(lost, 'case')}"


@cache
def most_lost(gained: int, n: int) -> int | None:
    """How many of n cases may be lost for a gain of so many more to show in a sign test; None if it never shows."""
    from searchmark.analysis.exact_tests import binomial_tail

    if n > LONGEST_TEST:  # as a normal distribution, with the correction for whole numbers
        return max(0, floor((((gained - 1) / Z) ** 2 - gained) / 2))
    # The more cases move, the likelier a gain is by chance.
    found = bisect_left(range(n), LEVEL, key=lambda lost: 2 * binomial_tail(gained + lost, gained + 2 * lost, 0.5))
    return found - 1 if found else None


def intervals(row: ClaimedRow) -> Iterator[Said]:
    """Intervals without their value, and those that are narrower than n cases allow."""
    for claim in row.claims:
        if claim.low is None or claim.high is None:
            continue
        limits = f"[{claim.low.text}, {claim.high.text}]"
        if claim.low.low > claim.value.high or claim.high.high < claim.value.low or claim.low.low > claim.high.high:
            yield "claim-interval", f"{claim.said} is not in its interval {limits}"
        elif row.n is not None and (least := narrowest(claim, row.n)) > float(claim.high.high - claim.low.low):
            width = f"with n = {row.n} a 95 % interval has a width of {three_digits(least)} or more"
            yield "claim-interval-narrow", f"{claim.said} with {limits}: {width}"


def narrowest(claim: Claim, n: int) -> float:
    """The least width of a 95 % interval of a mean of counts, whatever the spread of the values; 0 where nothing is known."""
    parts = parts_of_one(claim)
    if parts is None:
        return 0.0
    ends = [min(Fraction(1), max(Fraction(0), each)) * parts for each in (claim.value.low, claim.value.high)]
    if floor(ends[0]) != floor(ends[1]) or ends[1].denominator == 1:  # all values may be the same
        return 0.0
    # Values on both sides of the mean, as near to it as there are: the least variance that counts with this mean can have.
    least = min(float((end - floor(end)) * (1 - end + floor(end))) for end in ends)
    width = 2 * Z * sqrt(least / n) / sqrt(1 + Z * Z / n)
    return max(0.0, (NARROWEST * width - 2 / n) / parts)


def small_ps(row: ClaimedRow) -> Iterator[Said]:
    """Values of p below 1/2^n, the least of one-sided tests of n signs."""
    for header, p in (("p", row.p), *((f"{each.header} p", each.p) for each in row.claims)):
        if p is not None and row.n is not None and p.high >= 0 and row.n < -_log2(p.high):
            at_least = f"{row.n} cases give at least {three_digits(2.0 ** (1 - row.n))} in both directions"
            yield "claim-p-too-small", f"{header} {p.text}: {at_least}, {three_digits(2.0**-row.n)} in one"


def _log2(number: Fraction) -> float:
    from math import log2

    return log2(number) if number > 0 else -inf
