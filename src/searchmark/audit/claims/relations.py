"""What no ranking can give: relations between the measures of one row that hold for every case, and so for every mean.

Every rule compares the least that one number can have been with the most that the other allows. With H@k the hit rate,

- P@m is at most H@k for m <= k, and at most H + (1 - H)(m - k)/m for m > k: a case without a hit among the first k has at most
  m - k relevant ones among the first m. It is at least H@k / m for k <= m: a case with a hit has one of m.
- RR@m is at most H@k for m <= k, and at most H + (1 - H)/(k + 1) beyond, where the first hit is behind rank k. It is at least
  H@k / k for k <= m.
- Several hit rates bound P@m and RR@m together. The share of cases whose first hit is behind rank j and not behind k is
  H@k - H@j; each of them has RR@m of at most 1/(j + 1) and at least 1/k, and P@m of at most (m - j)/m. The sums over all such
  stretches rise with every hit rate.
- R, F1, AP, Acc and nDCG are 0 for a case without a hit, and at most 1. nDCG may count grades that the hit rate does not.
  Acc@k, where it asks for all targets, is 1 only where R@k is 1, and AP that divides by all targets is at most the recall.
- H, R, RR and Acc never fall with k. k * P@k counts relevant hits: from j to k it grows by 0 to k - j.
- P@1, H@1 and RR@1 are the same number.
- F1 is a concave function of P and R (their harmonic mean), so its mean is at most that of the means, 2PR/(P + R); and at
  the corners of the square it is 0 but for P = R = 1, so its mean is at least P + R - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import inf

from searchmark.audit.claims.claim_table import Claim, ClaimedRow
from searchmark.findings.sentences import three_digits

Said = tuple[str, str]  # a code, and what contradicts what
_FALLS = {"Success": "claim-hit-rate-falls", "Acc": "claim-hit-rate-falls", "R": "claim-recall-falls", "RR": "claim-rr-falls"}
_IN_HITS = ("R", "F1", "AP", "Acc", "Rprec", "nDCG")
_FIRST_RANK = ("P", "Success", "RR")


class RelatedClaims:
    """The numbers of a row that share their lowest relevant grade."""

    def __init__(self, claims: list[Claim]) -> None:
        self.claims = claims

    def of(self, base: str) -> list[Claim]:
        return sorted((each for each in self.claims if each.base == base), key=_cut)

    @property
    def hit_rates(self) -> list[Claim]:
        """Hit rates, also those that are called by another name at rank 1."""
        first = [each for each in self.claims if each.base in ("P", "RR") and each.cutoff == 1]
        return [*self.of("Success"), *first]


def contradictions(row: ClaimedRow) -> Iterator[Said]:
    """All relations that the numbers of a row break."""
    grades = dict.fromkeys(each.rel for each in row.claims)
    for rel in grades:
        measured = RelatedClaims([each for each in row.claims if each.base and each.rel == rel])
        for rule in _RULES:
            yield from rule(measured)


def _cut(claim: Claim) -> float:
    return inf if claim.cutoff is None else claim.cutoff


def _above(code: str, claim: Claim, other: Claim, most: Fraction) -> Iterator[Said]:
    if claim.value.low > most:
        allows = "" if most == other.value.high else f", which allows at most {three_digits(float(most))}"
        yield code, f"{claim.said} is above {other.said}{allows}"


def _below(code: str, claim: Claim, other: Claim, least: Fraction) -> Iterator[Said]:
    if claim.value.high < least:
        yield code, f"{claim.said} is below what {other.said} needs, {three_digits(float(least))}"


def _precision(measured: RelatedClaims) -> Iterator[Said]:
    for claim in measured.of("P"):
        for hits in measured.hit_rates:
            if hits is claim or claim.cutoff == 1:
                continue
            if _cut(claim) <= _cut(hits):
                yield from _above("claim-precision-above-hit-rate", claim, hits, hits.value.high)
            elif claim.cutoff is not None and hits.cutoff is not None:
                further = Fraction(claim.cutoff - hits.cutoff, claim.cutoff)
                yield from _above("claim-precision-above-hit-rate", claim, hits, _with_rest(hits, further))
            if claim.cutoff is not None and _cut(hits) <= claim.cutoff:
                yield from _below("claim-precision-below-hit-rate", claim, hits, hits.value.low / claim.cutoff)


def _with_rest(hits: Claim, further: Fraction) -> Fraction:
    """The most that there can be if every case without a hit has so much instead."""
    share = min(Fraction(1), hits.value.high)
    return share + (1 - share) * further


def _reciprocal_rank(measured: RelatedClaims) -> Iterator[Said]:
    for claim in measured.of("RR"):
        for hits in measured.hit_rates:
            if hits is claim or claim.cutoff == 1:
                continue
            if _cut(claim) <= _cut(hits):
                yield from _above("claim-rr-above-hit-rate", claim, hits, hits.value.high)
            elif hits.cutoff is not None:
                yield from _above("claim-rr-above-hit-rate", claim, hits, _with_rest(hits, Fraction(1, hits.cutoff + 1)))
            if hits.cutoff is not None and hits.cutoff <= _cut(claim):
                yield from _below("claim-rr-below-hit-rate", claim, hits, hits.value.low / hits.cutoff)


def _hits_together(measured: RelatedClaims) -> Iterator[Said]:
    """What several hit rates allow where no single one contradicts."""
    for claim in (each for base in ("P", "RR") for each in measured.of(base) if each.cutoff != 1):
        cuts = [each for each in measured.hit_rates if each is not claim]
        rule = _precision if claim.base == "P" else _reciprocal_rank
        if len({each.cutoff for each in cuts}) > 1 and not any(rule(RelatedClaims([claim, *cuts]))):
            yield from _of_stretches(claim, cuts)


def _of_stretches(claim: Claim, cuts: list[Claim]) -> Iterator[Said]:
    name = "precision" if claim.base == "P" else "rr"
    named = " and ".join(each.said for each in sorted(cuts, key=_cut))
    most = _most_of_stretches(claim, cuts)
    if claim.value.low > most:
        allow = f"which together allow at most {three_digits(float(most))}"
        yield f"claim-{name}-above-hit-rate", f"{claim.said} is above {named}, {allow}"
    least = _least_of_stretches(claim, cuts)
    if claim.value.high < least:
        yield f"claim-{name}-below-hit-rate", f"{claim.said} is below what {named} need together, {three_digits(float(least))}"


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


def _in_hits(measured: RelatedClaims) -> Iterator[Said]:
    for claim in (each for base in _IN_HITS for each in measured.of(base)):
        for hits in measured.hit_rates:
            if _cut(claim) <= _cut(hits):
                yield from _above("claim-above-hit-rate", claim, hits, hits.value.high)


def _parts(measured: RelatedClaims) -> Iterator[Said]:
    for recall in measured.of("R"):
        for claim in (*measured.of("Acc"), *measured.of("AP")):
            if _cut(claim) <= _cut(recall):
                yield from _above("claim-part-above-whole", claim, recall, recall.value.high)


def _first_rank(measured: RelatedClaims) -> Iterator[Said]:
    first = [each for base in _FIRST_RANK for each in measured.of(base) if each.cutoff == 1]
    for one, other in combinations(first, 2):
        if one.value.low > other.value.high or other.value.low > one.value.high:
            yield "claim-first-rank", f"{one.said} and {other.said} differ"


def _falling(measured: RelatedClaims) -> Iterator[Said]:
    for base, code in _FALLS.items():
        for smaller, larger in combinations(measured.of(base), 2):
            if _cut(smaller) < _cut(larger) and smaller.value.low > larger.value.high:
                yield code, f"{smaller.said} falls to {larger.said}"


def _counts(measured: RelatedClaims) -> Iterator[Said]:
    cut = [each for each in measured.of("P") if each.cutoff is not None]
    for smaller, larger in combinations(cut, 2):
        j, k = smaller.cutoff or 0, larger.cutoff or 0
        least, most = j * smaller.value.low, j * smaller.value.high
        if k * larger.value.high < least or k * larger.value.low > most + k - j:
            means = f"{three_digits(float(j * smaller.value.value))} and {three_digits(float(k * larger.value.value))}"
            yield "claim-precision-counts", f"{smaller.said} and {larger.said} mean {means} relevant hits per case"


def _f1(measured: RelatedClaims) -> Iterator[Said]:
    for claim in measured.of("F1"):
        for precision in measured.of("P"):
            for recall in measured.of("R"):
                if claim.cutoff == precision.cutoff == recall.cutoff:
                    yield from _f1_of(claim, precision, recall)


def _f1_of(claim: Claim, precision: Claim, recall: Claim) -> Iterator[Said]:
    high = [min(Fraction(1), max(Fraction(0), each.value.high)) for each in (precision, recall)]
    most = 2 * high[0] * high[1] / sum(high) if sum(high) else Fraction(0)
    least = precision.value.low + recall.value.low - 1
    if claim.value.low > most or claim.value.high < least:
        allowed = f"{three_digits(max(0.0, float(least)))} to {three_digits(float(most))}"
        both = "whether it is a mean of F1 or the F1 of means"
        yield "claim-f1", f"{claim.said} with {precision.said} and {recall.said}, which allow {allowed} {both}"


_RULES: tuple[Callable[[RelatedClaims], Iterator[Said]], ...] = (
    _precision,
    _reciprocal_rank,
    _hits_together,
    _in_hits,
    _parts,
    _first_rank,
    _falling,
    _counts,
    _f1,
)
