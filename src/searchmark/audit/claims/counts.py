"""Which means n cases can have: counts over n, and sums of reciprocal ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import groupby
from math import ceil, floor, lcm

from searchmark.audit.claims.claim_table import Claim, ClaimedRow
from searchmark.audit.claims.printed import PrintedNumber
from searchmark.audit.claims.relations import Said
from searchmark.findings.sentences import three_digits

_BINARY = ("Success", "Acc", "Abstain")
# Sums of reciprocal ranks are listed up to here; beyond, only the gaps at both ends are known.
LONGEST_SUM, DEEPEST_SUM = 100, 10
ALMOST = Fraction(1, 10**12)
# How far another n is looked for: this part of n, and so many cases; and for how many different n.
NEARBY, FARTHEST, MOST_SEARCHED = 0.5, 5000, 3


def parts_of_one(claim: Claim) -> int | None:
    """Into how many equal parts the values of one case divide 1; None where they are no such counts."""
    if claim.base in _BINARY or (claim.base in ("P", "RR") and claim.cutoff == 1):
        return 1
    return claim.cutoff if claim.base == "P" else None


def fitting_counts(value: PrintedNumber, parts: int) -> range:
    """The counts over so many parts that the printed number can be."""
    least, most = limits(value)
    return range(ceil(least * parts), floor(most * parts) + 1)


def limits(value: PrintedNumber) -> tuple[Fraction, Fraction]:
    """The least and the most that a mean of counts can have been; one of ones alone is exactly 1, and is printed as 1."""
    highest = Fraction(1) if value.value >= 1 else 1 - ALMOST
    return max(Fraction(0), value.low), min(highest, value.high)


def impossible_counts(rows: Iterable[ClaimedRow]) -> Iterator[tuple[str, Said]]:
    """Shares that no count over n gives, with the nearest n that fits all shares of rows with this n."""
    known = sorted((row for row in rows if row.n is not None), key=lambda row: row.n or 0)
    searched = 0
    for n, of_n in groupby(known, key=lambda row: row.n or 0):
        counted = [(row, claim, parts_of_one(claim) or 0) for row in of_n for claim in row.claims if parts_of_one(claim)]
        inside = [(row, claim, parts) for row, claim, parts in counted if claim.value.low <= 1 and claim.value.high >= 0]
        unfit = [(row, claim, parts) for row, claim, parts in inside if not fitting_counts(claim.value, parts * n)]
        searched += bool(unfit)
        look = bool(unfit) and searched <= MOST_SEARCHED
        other = _other_n(n, [(claim.value, parts) for _, claim, parts in (*unfit, *inside)]) if look else None
        for row, claim, parts in unfit:
            fits = "" if other is None or claim is not unfit[0][1] else f" (all shares with n = {n} fit n = {other})"
            yield row.label, ("claim-no-count", f"{claim.said} {_not_of(claim, parts, n)}{fits}")


def _not_of(claim: Claim, parts: int, n: int) -> str:
    total, value = parts * n, claim.value.value
    below, above = floor(value * total), ceil(value * total)
    what = f"{total} hits ({parts} for each of {n} cases)" if parts > 1 else f"{n} cases"
    return f"is not a share of {what}: {_share(below, total)}, {_share(above, total)}"


def _share(count: int, total: int) -> str:
    return f"{count}/{total} = {float(Fraction(count, total)):.4f}"


def _other_n(n: int, shares: list[tuple[PrintedNumber, int]]) -> int | None:
    """The nearest number of cases that fits all shares, the smaller one of two; None if none is near."""
    for distance in range(1, min(FARTHEST, max(2, int(n * NEARBY)))):
        for other in (n - distance, n + distance):
            if other > 0 and all(fitting_counts(value, parts * other) for value, parts in shares):
                return other
    return None


def impossible_sums(row: ClaimedRow) -> Iterator[Said]:
    """Means of reciprocal ranks that no n ranks give."""
    for claim in row.claims:
        if claim.base != "RR" or claim.cutoff == 1 or row.n is None or claim.value.high < 0 or claim.value.low > 1:
            continue
        low, high = (limit * row.n for limit in limits(claim.value))
        if not _reachable(low, high, row.n, claim.cutoff):
            between = f"between {three_digits(float(low))} and {three_digits(float(high))}"
            yield "claim-no-rank-sum", f"{claim.said} is not a mean of {row.n} reciprocal ranks: their sum would be {between}"


def _reachable(low: Fraction, high: Fraction, n: int, cutoff: int | None) -> bool:
    """Whether a sum of n reciprocal ranks can lie in these limits, as far as that is known."""
    if cutoff is not None and cutoff <= DEEPEST_SUM and n <= LONGEST_SUM:
        scale = lcm(*range(1, cutoff + 1))
        first, last = ceil(low * scale), floor(high * scale)
        return bool(_sums(n, cutoff) >> first & ((1 << max(0, last - first + 1)) - 1))
    # All are at rank 1, or one at least is at rank 2 or below: 1/2 less. None is found, or one at least at the last rank.
    in_gap_above = low > n - Fraction(1, 2) and high < n
    in_gap_below = cutoff is not None and low > 0 and high < Fraction(1, cutoff)
    return not in_gap_above and not in_gap_below


@cache
def _sums(n: int, cutoff: int) -> int:
    """All sums of n reciprocal ranks up to the cutoff, or 0 for a miss, as bits: bit i is the sum i / lcm(1..cutoff)."""
    scale, sums = lcm(*range(1, cutoff + 1)), 1
    for _ in range(n):
        step = sums
        for rank in range(1, cutoff + 1):
            step |= sums << scale // rank
        sums = step
    return sums
