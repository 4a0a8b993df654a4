"""Checks of published numbers: what no data could have given, and what it cannot support."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, groupby, product
from math import ceil, floor, inf, lcm, log2, sqrt

from searchmark.audit.check import AuditTable
from searchmark.audit.claim_table import Claim, ClaimedRow, ClaimTable, PrintedNumber
from searchmark.errors import UsageError, shortened
from searchmark.records.finding import CLAIMS, Finding, FindingKind, by_severity, finding, register
from searchmark.records.sentences import list_first, plain_count, three_digits
from searchmark.scoring.statistics import binomial_tail

# What no ranking can give: relations between the measures of one row that hold for every case, and so for every mean.
#
# Every rule compares the least that one number can have been with the most that the other allows. With H@k the hit rate,
#
# - P@m is at most H@k for m <= k, and at most H + (1 - H)(m - k)/m for m > k: a case without a hit among the first k has at
#   most m - k relevant ones among the first m. It is at least H@k / m for k <= m: a case with a hit has one of m.
# - RR@m is at most H@k for m <= k, and at most H + (1 - H)/(k + 1) beyond, where the first hit is behind rank k. It is at
#   least H@k / k for k <= m.
# - Several hit rates bound P@m and RR@m together. The share of cases whose first hit is behind rank j and not behind k is
#   H@k - H@j; each of them has RR@m of at most 1/(j + 1) and at least 1/k, and P@m of at most (m - j)/m. The sums over all such
#   stretches rise with every hit rate.
# - R, F1, AP, Acc and nDCG are 0 for a case without a hit, and at most 1. nDCG may count grades that the hit rate does not.
#   Acc@k, where it asks for all targets, is 1 only where R@k is 1, and AP that divides by all targets is at most the recall.
# - H, R, RR and Acc never fall with k. k * P@k counts relevant hits: from j to k it grows by 0 to k - j.
# - P@1, H@1 and RR@1 are the same number.
# - F1 is a concave function of P and R (their harmonic mean), so its mean is at most that of the means, 2PR/(P + R); and at
#   the corners of the square it is 0 but for P = R = 1, so its mean is at least P + R - 1.

Statement = tuple[str, str]  # a code, and what contradicts what
Result = tuple[ClaimedRow, Claim]
_IN_CODES = {"P": "precision", "RR": "rr"}


class RelatedClaims:
    """The numbers of a row that share their lowest relevant grade."""

    def __init__(self, claims: list[Claim]) -> None:
        self.claims = sorted(claims, key=_cut)
        # Those that say of how many cases the first hit is relevant, by whatever name.
        self.first_hits = [each for each in claims if each.cutoff == 1 and each.definition and each.definition.first_hit]
        self.hit_rates = [*self.of("Success"), *(each for each in self.first_hits if each.base != "Success")]

    def of(self, base: str) -> list[Claim]:
        return [each for each in self.claims if each.base == base]

    def below(self, base: str) -> list[Claim]:
        """The numbers of measures that are never above this one."""
        return [each for each in self.claims if each.definition and base in each.definition.at_most]


_FIX_DEFINITION = (
    "Look for a precision that divides by the results returned, not by k, for means over different cases, or a wrong cutoff."
)

_FIX_RECOUNT = "Compute both numbers again from the rankings, over the same cases, and print them with more decimals."


register(CLAIMS, FindingKind("claim-precision-above-hit-rate", "error",
    "A published P@k is higher than its hit rate allows: a case without a hit adds nothing to P@k.",
    "P@k is at most 1 for a case with a hit and 0 for one without: its mean cannot exceed the share of cases with a hit.",
    _FIX_DEFINITION,
), FindingKind("claim-precision-below-hit-rate", "error",
    "A published P@k is lower than HitRate@k / k: every case with a hit has at least one of k.",
    "Each case with a hit adds at least 1/k to P@k: the numbers belong to other cases, other cutoffs or another definition "
    "than the table says.",
    _FIX_DEFINITION,
), FindingKind("claim-rr-above-hit-rate", "error", "A published MRR is higher than its hit rate allows.",
    "A case with a hit adds at most 1, and one without a hit among the first k at most 1/(k + 1).",
    _FIX_RECOUNT,
), FindingKind("claim-rr-below-hit-rate", "error", "A published MRR is lower than HitRate@k / k.",
    "A case with a hit among the first k has a reciprocal rank of at least 1/k.",
    _FIX_RECOUNT,
), FindingKind("claim-above-hit-rate", "warning",
    "A published mean of recall, F1, average precision, Acc or nDCG is higher than the hit rate at its cutoff.",
    "All of them are 0 for a case without a hit, so that no mean exceeds the hit rate. A recall pooled over all targets may, "
    "and an nDCG that counts lower grades than the hit rate does.",
    "Say whether numbers are means over cases or pooled over all targets, and from which grade on a hit counts.",
), FindingKind("claim-part-above-whole", "warning", "A published Acc@k is above R@k, or an AP above the recall at its cutoff.",
    "Acc@k that asks for all targets is at most R@k; Acc@k that asks for one of them is a hit rate and may be above. AP that "
    "divides by all targets is at most the recall; one that divides by at most k may be above.",
    "Say which of both is meant (a hit rate is best called HitRate@k); if it is the first, compute both numbers again.",
), FindingKind("claim-first-rank", "error", "Published P@1, HitRate@1 and MRR@1 differ.",
    "With one hit, all three are 1 if it is relevant and 0 if it is not.",
    _FIX_DEFINITION,
), FindingKind("claim-hit-rate-falls", "error", "A published hit rate (or Acc) falls as k grows.",
    "A case with a hit among the first 5 has one among the first 10.",
    _FIX_RECOUNT,
), FindingKind("claim-recall-falls", "error", "A published recall falls as k grows.",
    "What was found among the first 5 is found among the first 10, and the relevant targets are the same.",
    "Compute it again; a recall that divides by at most k is another measure and needs another name.",
), FindingKind("claim-rr-falls", "error", "A published MRR falls as its cutoff grows.",
    "A larger cutoff only adds first hits that a smaller one did not see.",
    _FIX_RECOUNT,
), FindingKind("claim-precision-counts", "error", "The counts of relevant hits behind two published P@k contradict each other.",
    "k * P@k counts the relevant hits: it cannot fall as k grows, nor grow by more than there are further hits.",
    _FIX_DEFINITION,
), FindingKind("claim-f1", "error", "A published F1 lies outside what its precision and recall allow.",
    "The F1 of two means is 2PR / (P + R), and a mean of F1 lies between P + R - 1 and that.",
    "Compute all three over the same cases and at the same cutoff, and say whether F1 is a mean or the F1 of means.",
), table="claims")  # fmt: skip


def contradictions(row: ClaimedRow) -> Iterator[Statement]:
    """All relations that the numbers of a row break."""
    for rel in dict.fromkeys(each.rel for each in row.claims):
        claims = RelatedClaims([each for each in row.claims if each.base and each.rel == rel])
        for rule in (_by_hit_rate, _by_hit_rates, _at_most, _first_rank, _falling, _relation_of_counts, _f1):
            yield from rule(claims)


def _cut(claim: Claim) -> float:
    return inf if claim.cutoff is None else claim.cutoff


def _above(code: str, claim: Claim, other: Claim, most: Fraction) -> Iterator[Statement]:
    if claim.value.low > most:
        allows = "" if most == other.value.high else f", which allows at most {three_digits(float(most))}"
        yield code, f"{claim.text} is above {other.text}{allows}"


def _below_first_rank(claims: RelatedClaims) -> list[Claim]:
    """The means of precision and of reciprocal ranks that hit rates bound."""
    return [each for base in _IN_CODES for each in claims.of(base) if each.cutoff != 1]


def _by_hit_rate(claims: RelatedClaims) -> Iterator[Statement]:
    for claim in _below_first_rank(claims):
        for hits in claims.hit_rates:
            yield from _by_one(claim, hits)


def _by_one(claim: Claim, hits: Claim) -> Iterator[Statement]:
    code, k, is_rank = f"claim-{_IN_CODES[claim.base]}", hits.cutoff, claim.base == "RR"
    if _cut(claim) <= _cut(hits):
        yield from _above(f"{code}-above-hit-rate", claim, hits, hits.value.high)
    elif k is not None and (is_rank or claim.cutoff is not None):  # a case without a hit may have what is behind rank k
        share = min(Fraction(1), hits.value.high)
        yield from _above(f"{code}-above-hit-rate", claim, hits, share + (1 - share) * _most_from(claim, k))
    divisor = k if is_rank else claim.cutoff
    if divisor is not None and _cut(hits) <= _cut(claim) and claim.value.high < (least := hits.value.low / divisor):
        yield f"{code}-below-hit-rate", f"{claim.text} is below what {hits.text} needs, {three_digits(float(least))}"


def _by_hit_rates(claims: RelatedClaims) -> Iterator[Statement]:
    """What several hit rates allow where no single one contradicts."""
    cuts = claims.hit_rates
    rates_text = " and ".join(each.text for each in sorted(cuts, key=_cut))
    for claim in _below_first_rank(claims) if len({each.cutoff for each in cuts}) > 1 else ():
        if any(statement for hits in cuts for statement in _by_one(claim, hits)):
            continue
        code, most, least = f"claim-{_IN_CODES[claim.base]}", _most_of_stretches(claim, cuts), _least_of_stretches(claim, cuts)
        if claim.value.low > most:
            allow = f"which together allow at most {three_digits(float(most))}"
            yield f"{code}-above-hit-rate", f"{claim.text} is above {rates_text}, {allow}"
        if claim.value.high < least:
            need = f"what {rates_text} need together, {three_digits(float(least))}"
            yield f"{code}-below-hit-rate", f"{claim.text} is below {need}"


def _most_of_stretches(claim: Claim, cuts: list[Claim]) -> Fraction:
    """The sum if every first hit is the first of its stretch, and all behind it are relevant."""
    total, before, start = Fraction(0), Fraction(0), 0
    for end in [*sorted({each.cutoff for each in cuts if each.cutoff is not None and each.cutoff < _cut(claim)}), inf]:
        # A hit rate is at most each of those with a larger cutoff; the last stretch ends where the claim does.
        share = min([Fraction(1), *(each.value.high for each in cuts if _cut(each) >= min(end, _cut(claim)))])
        total += max(Fraction(0), share - before) * _most_from(claim, start)
        before, start = max(before, share), int(end) if end < inf else start
    return total


def _most_from(claim: Claim, start: int) -> Fraction:
    """The most that a case has whose first hit is behind some rank."""
    if claim.base == "RR":
        return Fraction(1, start + 1)
    return Fraction(1) if claim.cutoff is None else Fraction(claim.cutoff - start, claim.cutoff)


def _least_of_stretches(claim: Claim, cuts: list[Claim]) -> Fraction:
    """The sum if every first hit is the last of its stretch; of precision nothing more is known than of a single hit rate."""
    total = before = Fraction(0)
    ends = sorted({each.cutoff for each in cuts if each.cutoff is not None and each.cutoff <= _cut(claim)})
    for end in ends if claim.base == "RR" else ():
        share = max([before, *(each.value.low for each in cuts if _cut(each) <= end)])
        total, before = total + (share - before) / end, share
    return total


def _at_most(claims: RelatedClaims) -> Iterator[Statement]:
    for claim in claims.below("Success"):
        for hits in claims.hit_rates:
            if _cut(claim) <= _cut(hits):
                yield from _above("claim-above-hit-rate", claim, hits, hits.value.high)
    for recall in claims.of("R"):
        for claim in claims.below("R"):
            if _cut(claim) <= _cut(recall):
                yield from _above("claim-part-above-whole", claim, recall, recall.value.high)


def _first_rank(claims: RelatedClaims) -> Iterator[Statement]:
    for one, other in combinations(claims.first_hits, 2):
        if one.value.low > other.value.high or other.value.low > one.value.high:
            yield "claim-first-rank", f"{one.text} and {other.text} differ"


def _falling(claims: RelatedClaims) -> Iterator[Statement]:
    never = {each.definition for each in claims.claims if each.definition and each.definition.never_falls}
    for definition in sorted(never, key=lambda each: each.name):
        code = "hit-rate" if definition.binary else "rr" if definition.first_hit else "recall"
        for smaller, larger in combinations(claims.of(definition.name), 2):
            if _cut(smaller) < _cut(larger) and smaller.value.low > larger.value.high:
                yield f"claim-{code}-falls", f"{smaller.text} falls to {larger.text}"


def _relation_of_counts(claims: RelatedClaims) -> Iterator[Statement]:
    precisions = [each for each in claims.of("P") if each.cutoff is not None]
    for smaller, larger in combinations(precisions, 2):
        j, k = smaller.cutoff or 0, larger.cutoff or 0
        least, most = j * smaller.value.low, j * smaller.value.high
        if k * larger.value.high < least or k * larger.value.low > most + k - j:
            means = f"{three_digits(float(j * smaller.value.value))} and {three_digits(float(k * larger.value.value))}"
            yield "claim-precision-counts", f"{smaller.text} and {larger.text} mean {means} relevant hits per case"


def _f1(claims: RelatedClaims) -> Iterator[Statement]:
    for claim, precision, recall in product(*map(claims.of, ("F1", "P", "R"))):
        high = [min(Fraction(1), max(Fraction(0), each.value.high)) for each in (precision, recall)]
        most = 2 * high[0] * high[1] / sum(high) if sum(high) else Fraction(0)
        least = precision.value.low + recall.value.low - 1
        if claim.cutoff == precision.cutoff == recall.cutoff and (claim.value.low > most or claim.value.high < least):
            limits = f"{three_digits(max(0.0, float(least)))} to {three_digits(float(most))}"
            both = "whether it is a mean of F1 or the F1 of means"
            yield "claim-f1", f"{claim.text} with {precision.text} and {recall.text}, which allow {limits} {both}"


# Which means n cases can have: counts over n, and sums of reciprocal ranks.

# Sums of reciprocal ranks are listed up to here; beyond, only the gaps at both ends are known.
LONGEST_SUM, DEEPEST_SUM = 100, 10
ALMOST = Fraction(1, 10**12)
# Another n is searched up to this share of n and this many cases away, and for at most three different n.
NEARBY, FARTHEST, MOST_SEARCHED = 0.5, 5000, 3


def parts_of_one(claim: Claim) -> int | None:
    """Into how many equal parts the values of one case divide 1; None where they are no such counts."""
    definition = claim.definition
    if definition and (definition.binary or (definition.first_hit and claim.cutoff == 1)):
        return 1
    return claim.cutoff if claim.base == "P" else None


def fitting_counts(value: PrintedNumber, parts: int) -> range:
    """The counts out of ``parts`` that the printed number can stand for."""
    least, most = count_limits(value)
    return range(ceil(least * parts), floor(most * parts) + 1)


def count_limits(value: PrintedNumber) -> tuple[Fraction, Fraction]:
    """The least and the most that a mean of counts can have been; one of ones alone is exactly 1, and is printed as 1."""
    highest = Fraction(1) if value.value >= 1 else 1 - ALMOST
    return max(Fraction(0), value.low), min(highest, value.high)


register(CLAIMS, FindingKind("claim-no-count", "error",
    "A published share is one that no whole number of cases (or hits) over n gives, rounded or truncated.",
    "A hit rate is a number of cases divided by n, and P@k a number of hits divided by k * n. Others are not of n cases.",
    "State the n that the number was divided by, and whether failed or unjudged cases were left out.",
), table="claims")  # fmt: skip


def impossible_counts(rows: Iterable[ClaimedRow]) -> Iterator[tuple[str, Statement]]:
    """Shares that no count over n gives, with the nearest n that fits all shares of rows with this n."""
    rows_with_n = sorted((row for row in rows if row.n is not None), key=lambda row: row.n or 0)
    searches = 0
    for n, of_n in groupby(rows_with_n, key=lambda row: row.n or 0):
        shares = [(row, claim, parts) for row in of_n for claim in row.claims if (parts := parts_of_one(claim))]
        shares = [each for each in shares if each[1].value.low <= 1 and each[1].value.high >= 0]
        unfit = [each for each in shares if not fitting_counts(each[1].value, each[2] * n)]
        searches += bool(unfit)
        other = _other_n(n, [*unfit, *shares]) if unfit and searches <= MOST_SEARCHED else None
        for row, claim, parts in unfit:
            total = parts * n
            what = f"{total} hits ({parts} for each of {n} cases)" if parts > 1 else f"{n} cases"
            counts = (rounded(claim.value.value * total) for rounded in (floor, ceil))
            nearest = ", ".join(f"{count}/{total} = {float(Fraction(count, total)):.4f}" for count in counts)
            fits = "" if other is None or claim is not unfit[0][1] else f" (all shares with n = {n} fit n = {other})"
            yield row.label, ("claim-no-count", f"{claim.text} is not a share of {what}: {nearest}{fits}")


def _other_n(n: int, shares: list[tuple[ClaimedRow, Claim, int]]) -> int | None:
    """The nearest number of cases that fits all shares, the smaller one of two; None if none is near."""
    for distance in range(1, min(FARTHEST, max(2, int(n * NEARBY)))):
        for other in (n - distance, n + distance):
            if other > 0 and all(fitting_counts(claim.value, parts * other) for _, claim, parts in shares):
                return other
    return None


register(CLAIMS, FindingKind("claim-no-rank-sum", "error", "A published MRR is one that no n reciprocal ranks give.",
    "MRR is a sum of n values 1, 1/2, 1/3 … or 0, divided by n; not every number is such a sum.",
    "State the n that the number was divided by, and whether failed or unjudged cases were left out.",
), table="claims")  # fmt: skip


def impossible_sums(row: ClaimedRow) -> Iterator[Statement]:
    """Means of reciprocal ranks that no n ranks give."""
    for claim in row.claims:
        if claim.base != "RR" or claim.cutoff == 1 or row.n is None or claim.value.high < 0 or claim.value.low > 1:
            continue
        low, high = (limit * row.n for limit in count_limits(claim.value))
        if not _reachable(low, high, row.n, claim.cutoff):
            between = f"between {three_digits(float(low))} and {three_digits(float(high))}"
            yield "claim-no-rank-sum", f"{claim.text} is not a mean of {row.n} reciprocal ranks: their sum would be {between}"


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


# What n cases can support: differences between rows, intervals and p.
#
# A randomisation of means swaps the two systems case by case and asks how many of the 2^m sums of differences, where m cases
# moved, are as far from 0 as the one that was observed. If every difference is at least one step, and their sum at most five,
# its two-sided p is above 0.05, however many cases moved which way:
#
# - m <= 5: the sum and its opposite are two of at most 32.
# - m = 6: one difference at least is negative, or the sum would be 6. The sum with all of them positive is larger: four of
#   64.
# - m >= 7: of the 2^m sums at most the five largest binomial coefficients lie in an interval of length 10 (Erdős, 1945), so
#   that at least 9 of 128 are 5 or more from 0, and more of them for larger m.
#
# For values of 0 and 1 this is the sign test and McNemar's. Of other values a sign test counts cases and not steps: ten that
# gain one step and one that loses five have a sum of five as well, and a sign test gives them p = 0.012.

MOST_STEPS = 5  # that never show; six cases that move by one step in one direction have p = 2/2^6 = 0.03
NORMAL_95 = 1.959964  # 97.5 % of a normal distribution
LEVEL = 0.05
LONGEST_TEST = 10_000  # cases up to which the exact distribution is added up
MOST_NAMES = 5
# A 95 % interval is flagged only if it is narrower than this share of the narrowest usual one (Wilson's at a half), less one
# step at each end: what a bootstrap of few and binary values may fall short by.
NARROWEST = 0.9


register(CLAIMS, FindingKind("claim-difference-too-small", "warning",
    "A published difference of means that no exact two-sided test of means shows with n cases.",
    "Whichever cases moved, a randomisation of the means gives p > 0.05; for hit rates, so do the sign test and McNemar's. "
    "For other measures a sign test may differ: it ignores how far cases moved.",
    "Do not call one better by this mean, or measure with more cases.",
), FindingKind(
    "claim-difference-open", "note", "A published difference is within what chance gives two independent samples of n cases.",
    "Whether it can be shown depends on how far the two agree case by case, which a table of means does not tell.",
    "Publish the paired results (wins, losses, interval of the difference), or compare the runs with `searchmark compare`.",
), table="claims")  # fmt: skip


def unsupported_differences(rows: Iterable[ClaimedRow]) -> Iterator[tuple[str, Statement]]:
    """What n cannot support: rows against the one that they name, or the best of a group against the others."""
    claims = [(row, claim) for row in rows for claim in row.claims]
    for measure in dict.fromkeys(claim.measure.name for _, claim in claims):
        results = sorted(
            (each for each in claims if each[1].measure.name == measure), key=lambda each: (each[0].group, each[0].line)
        )
        for _, group in groupby(results, key=lambda each: each[0].group):
            for better, worse in _pairs(sorted(group, key=lambda each: -each[1].value.value)):
                yield from _difference(*better, *worse)


def _pairs(results: list[Result]) -> Iterator[tuple[Result, Result]]:
    """The differences that a group of results, the best first, claims: the better one first."""
    by_system: dict[str | None, list[Result]] = {}
    for each in results:
        by_system.setdefault(each[0].system, []).append(each)
    if any(row.vs is not None for row, _ in results):
        pairs = ((one, other) for one in results if one[0].vs is not None for other in by_system.get(one[0].vs, ()))
        yield from (pair if pair[0][1].value.value >= pair[1][1].value.value else pair[::-1] for pair in pairs)
    else:
        yield from ((results[0], other) for other in results[1:])


def check_baselines(table: ClaimTable) -> None:
    """Refuse the name of a baseline that no other row of its group has."""
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for row in table.rows:
        groups.setdefault(row.group, Counter())[row.system] += 1
    for row in table.rows:
        if row.vs is not None and groups[row.group][row.vs] <= (row.system == row.vs):
            others = list_first([name for name in groups[row.group] if name != row.system], MOST_NAMES) or "none"
            reason = f"vs names {shortened(row.vs, 80)!r}, but the other rows are {others}"
            raise UsageError(f"{table.name}, line {row.line}: {reason}")


def _difference(row: ClaimedRow, claim: Claim, other: ClaimedRow, lower: Claim) -> Iterator[tuple[str, Statement]]:
    n = row.n
    if n is None or n != other.n or claim.measure.high > 1 or claim.value.value == lower.value.value:
        return
    most = min(Fraction(1), claim.value.high) - max(Fraction(0), lower.value.low)
    label = f"{row.label} against {other.label}"
    both = f"{claim.text} and {lower.value.text}"
    if (too_small := _too_small(claim, most, n)) is not None:
        yield label, ("claim-difference-too-small", f"{both}: {too_small}")
        return
    means = (min(1.0, max(0.0, float(each.value.value))) for each in (claim, lower))
    by_chance = NORMAL_95 * sqrt(sum(mean * (1 - mean) for mean in means) / n)  # no values between 0 and 1 vary more
    if float(most) < by_chance and not any((row.p, other.p, claim.p, lower.p)):
        # For a share of cases how few may have been lost for the gains to show.
        losses = most_lost(round((claim.value.value - lower.value.value) * n), n) if parts_of_one(claim) == 1 else None
        unless = "" if losses is None else f"; it shows only if the better one loses at most {plain_count(losses, 'case')}"
        chance = f"two independent samples of {n} cases may differ by {three_digits(by_chance)} by chance"
        yield label, ("claim-difference-open", f"{both}: {chance}{unless}")


def _too_small(claim: Claim, most: Fraction, n: int) -> str | None:
    """Why no randomisation of means can show a difference; None if one may."""
    if n <= MOST_STEPS:
        return f"{plain_count(n, 'case')} cannot show any difference"
    parts, k = parts_of_one(claim), claim.cutoff
    # The least by which two values of one case can differ; of other measures that may be as little as one likes.
    step = Fraction(1, parts) if parts else Fraction(1, k * (k - 1)) if claim.base == "RR" and k is not None else None
    if step is None or (steps := most * n / step) >= MOST_STEPS + 1 or (parts is None and steps > MOST_STEPS):
        return None
    what = {None: f"steps of {step} in {n} cases", 1: f"of {n} cases"}.get(parts, f"of {n * (parts or 1)} hits")
    return f"gains less losses are at most {three_digits(float(steps)) if parts is None else floor(steps)} {what}"


@cache
def most_lost(gained: int, n: int) -> int | None:
    """How many of n cases may be lost so that ``gained`` more still show in a sign test; None if they never do."""
    if n > LONGEST_TEST:  # as a normal distribution, with the correction for whole numbers
        return max(0, floor((((gained - 1) / NORMAL_95) ** 2 - gained) / 2))
    # The more cases move, the likelier a gain is by chance.
    too_many = bisect_left(range(n), LEVEL, key=lambda losses: 2 * binomial_tail(gained + losses, gained + 2 * losses, 0.5))
    return too_many - 1 if too_many else None


register(CLAIMS, FindingKind("claim-interval", "error", "A published interval does not hold its own value.",
    "An interval of a mean is built around it; this one belongs to another number.",
    "Compute value and interval from the same cases.",
), FindingKind("claim-interval-narrow", "warning", "A published 95 % interval is narrower than n cases allow.",
    "The value and n fix the smallest standard error; repeated or dependent measurements may have been counted as cases.",
    "Resample queries, not single results or repetitions, and say what the interval covers.",
), table="claims")  # fmt: skip


def impossible_intervals(row: ClaimedRow) -> Iterator[Statement]:
    """Intervals without their value, and those that are narrower than n cases allow."""
    for claim in row.claims:
        if claim.low is None or claim.high is None:
            continue
        limits = f"[{claim.low.text}, {claim.high.text}]"
        if claim.low.low > claim.value.high or claim.high.high < claim.value.low or claim.low.low > claim.high.high:
            yield "claim-interval", f"{claim.text} is not in its interval {limits}"
        elif row.n is not None and (least := narrowest(claim, row.n)) > float(claim.high.high - claim.low.low):
            width = f"with n = {row.n} a 95 % interval has a width of {three_digits(least)} or more"
            yield "claim-interval-narrow", f"{claim.text} with {limits}: {width}"


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
    width = 2 * NORMAL_95 * sqrt(least / n) / sqrt(1 + NORMAL_95 * NORMAL_95 / n)
    return max(0.0, (NARROWEST * width - 2 / n) / parts)


register(CLAIMS, FindingKind(
    "claim-p-too-small", "warning", "A published p is smaller than n cases give by any test of which cases moved.",
    "Two systems can be swapped on n cases in 2^n ways: an exact p is at least 1/2^n. A t-test goes below by assumption.",
    "Use a randomisation or sign test, with queries as the units.",
), table="claims")  # fmt: skip


def small_ps(row: ClaimedRow) -> Iterator[Statement]:
    """Values of p below 1/2^n, the least of one-sided tests of n signs."""
    for text, p in row.ps:
        if row.n is not None and p.high >= 0 and (not p.high or row.n < -log2(p.high)):
            at_least = f"{row.n} cases give at least {three_digits(2.0 ** (1 - row.n))} in both directions"
            yield "claim-p-too-small", f"{text}: {at_least}, {three_digits(2.0**-row.n)} in one"


# All rules over a table of published numbers, one finding per code.

EXAMPLES = 3


def check_claims(table: ClaimTable) -> list[Finding]:
    """What of these numbers no data could have given, and what it cannot support, the worst first."""
    check_baselines(table)
    rules = (_ranges, contradictions, impossible_sums, impossible_intervals, small_ps)
    of_rows = ((row.label, statement) for row in table.rows for rule in rules for statement in rule(row))
    sentences: dict[str, list[str]] = {}
    for label, (code, sentence) in chain(of_rows, impossible_counts(table.rows), unsupported_differences(table.rows)):
        sentences.setdefault(code, []).append(f"{label}: {sentence}")
    found = [finding(code, _listed(some)) for code, some in sentences.items()]
    return by_severity([*found, *_about_reading(table)])


def _listed(parts: Sequence[str], between: str = "; ", last: str = "; and") -> str:
    more = f"{last} {len(parts) - EXAMPLES} more" if len(parts) > EXAMPLES else ""
    return between.join(parts[:EXAMPLES]) + more


register(CLAIMS, FindingKind(
    "claim-outside-range", "error", "A published value, interval or p lies outside what its measure can be.",
    "No ranking has such a value: the formula or the unit is another one.",
    "Check the ideal list of nDCG (all relevant documents, cut at k), and mark percentages with a % in the cell or column.",
), table="claims")  # fmt: skip


def _ranges(row: ClaimedRow) -> Iterator[Statement]:
    values = ((claim.text, claim.value, claim.measure.low, claim.measure.high) for claim in row.claims)
    for text, value, least, most in chain(values, ((text, p, 0.0, 1.0) for text, p in row.ps)):
        if value.high < least or value.low > most or value.value < least:
            yield "claim-outside-range", f"{text} is outside {least:g} to {most:g}"


register(CLAIMS, FindingKind("claim-without-n", "note", "A published number without the number of cases behind it.",
    "Without n it cannot be known which shares are possible and which differences mean anything.",
    "Add a column n: the cases that the means are over.",
), FindingKind("claim-read-as-per-cent", "note", "Columns that were read as per cent without a sign that says so.",
    "All their values are 1 or more, and none of these measures can exceed 1.",
    "Write a % into the cells or the name of the column.",
), FindingKind("claim-columns-skipped", "note", "Columns of the table that are not known as measures and were not checked.",
    "What was not read was not checked.",
    "`searchmark measures` lists the names that are read; remove the other columns or rename them.",
), table="claims")  # fmt: skip


def _about_reading(table: ClaimTable) -> Iterator[Finding]:
    without, count = [row.label for row in table.rows if row.n is None], len(table.rows)
    for code, what, names in (
        ("claim-without-n", f"{plain_count(len(without), 'row')} of {count} without n", without),
        ("claim-read-as-per-cent", "read as per cent, without a sign that says so", table.per_cent),
        ("claim-columns-skipped", "columns that are not checked", table.skipped),
    ):
        if names:
            yield finding(code, f"{what}: {_listed(names, ', ', ' and')}")


def claims_table(table: ClaimTable) -> AuditTable:
    """Every number as it was read: what it can have been before it was rounded, and the counts that fit."""
    columns = ("row", "n", "measure", "printed", "at least", "at most", "counts")
    rows = (
        (
            row.label,
            row.n,
            each.measure.name,
            each.value.text,
            float(each.value.low),
            float(each.value.high),
            _counts_text(row, each),
        )
        for row in table.rows
        for each in row.claims
    )
    return AuditTable("claims", "Published numbers, as they were read", columns, tuple(rows))


def _counts_text(row: ClaimedRow, claim: Claim) -> str | None:
    parts = parts_of_one(claim)
    if parts is None or row.n is None:
        return None
    total = parts * row.n
    fitting = fitting_counts(claim.value, total)
    if not fitting:
        return f"none of {total}"
    return f"{fitting[0]} of {total}" if fitting[0] == fitting[-1] else f"{fitting[0]} to {fitting[-1]} of {total}"
