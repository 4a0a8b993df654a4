"""Statistics of paired differences: intervals, a randomisation test, power. Arrays in, numbers out.

Everything is seeded, and everything that is drawn is drawn once for all pairs and measures, so that ten
comparisons cost little more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.intervals import LEVEL, RESAMPLES, SEED, resampled_means, wilson

Floats = NDArray[np.float64]

# Up to this many differences all sign patterns are tried: about a million sums.
EXACT_UP_TO = 20
POWER = 0.8
_AT_ONCE = 1 << 22
_NORMAL = NormalDist()


def t_quantile(share: float, degrees: int) -> float:
    """Quantile of Student's t by Hill's expansion (1970); within 0.001 from five degrees on."""
    z = _NORMAL.inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + float(sum(term / degrees ** (power + 1) for power, term in enumerate(terms)))


def expanded_tail(clusters: int) -> float:
    """How far out a bootstrap percentile must lie to cover as it should in a small sample (Hesterberg, 2015)."""
    if clusters < 3:  # noqa: PLR2004  # no spread to speak of
        return 0.0
    return _NORMAL.cdf(-sqrt(clusters / (clusters - 1)) * t_quantile((1 + LEVEL) / 2, clusters - 1))


def difference_intervals(
    sums: Floats, sizes: Floats, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Floats, Floats, Floats]:
    """Low end, high end and standard error of the mean of each column: a bootstrap of whole clusters.

    The percentiles are expanded, so that the intervals of small samples cover as they should.
    """
    tail = expanded_tail(len(sizes))
    means = resampled_means(sums, sizes, resamples, seed)
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high, np.std(means, axis=0, ddof=1)


def newcombe(first: Floats, second: Floats, worth: float) -> tuple[float, float]:
    """Interval of the difference of two proportions on the same cases (Newcombe, 1998, method 10).

    ``worth`` is the number of independent observations that the cases are worth.
    """
    p, q = float(first.mean()), float(second.mean())
    low_p, high_p = wilson(p * worth, worth)
    low_q, high_q = wilson(q * worth, worth)
    phi = _correlation(float(np.mean(first * second)), p, q, worth)
    below = (q - low_q) ** 2 - 2 * phi * (q - low_q) * (high_p - p) + (high_p - p) ** 2
    above = (high_q - q) ** 2 - 2 * phi * (high_q - q) * (p - low_p) + (p - low_p) ** 2
    return q - p - sqrt(max(0.0, below)), q - p + sqrt(max(0.0, above))


def _correlation(both: float, p: float, q: float, worth: float) -> float:
    """Of two proportions, with the continuity correction of method 10: doubtful agreement counts for nothing."""
    spread = sqrt(p * (1 - p) * q * (1 - q))
    if not spread:
        return 0.0
    covariance = both - p * q
    correction = 1 / (2 * worth)
    return (max(0.0, covariance - correction) if covariance > 0 else covariance) / spread


def randomisation_p(sums: Floats, *, mid: bool = False, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Two-sided p of each column under random signs (Fisher, 1935): how often chance alone differs as much.

    Exact where few differences are not zero; otherwise one more than the exceeding samples over one more than
    all, and where none exceeds, the normal approximation, so that many comparisons can still be told apart.
    ``mid`` counts samples that differ exactly as much by half, which keeps the test of binary values from being
    far too cautious (Fagerland et al., 2013).
    """
    result = np.ones(sums.shape[1])
    sampled = []
    for column in range(sums.shape[1]):
        moved = sums[sums[:, column] != 0, column]
        if len(moved) <= EXACT_UP_TO:
            result[column] = _exact_p(moved, mid)
        else:
            sampled.append(column)
    if sampled:
        result[sampled] = _sampled_p(sums[:, sampled], mid, resamples, seed)
    return result


def _exact_p(moved: Floats, mid: bool) -> float:
    """Over all sign patterns, by adding one difference after the other to all sums so far."""
    if not len(moved):
        return 1.0
    totals = np.zeros(1)
    for difference in np.sort(np.abs(moved)):  # the set of sums does not depend on signs or order
        totals = np.concatenate([totals + difference, totals - difference])
    return float(_exceeding(totals, abs(moved.sum()), mid) / len(totals))


def _exceeding(totals: Floats, limit: float | Floats, mid: bool) -> Floats:
    """How many sums are as large as the limit, or with ``mid`` larger and half of those that equal it."""
    slack = 1e-9 * np.asarray(limit) + 1e-300
    reached = (np.abs(totals) >= limit - slack).sum(axis=0)
    if not mid:
        return np.asarray(reached, np.float64)
    return np.asarray((reached + (np.abs(totals) > limit + slack).sum(axis=0)) / 2, np.float64)


def _sampled_p(sums: Floats, mid: bool, resamples: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    limits = np.abs(sums.sum(axis=0))
    exceeding = np.zeros(sums.shape[1])
    block = max(1, _AT_ONCE // len(sums))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        bits = np.unpackbits(random.integers(0, 256, (size, (len(sums) + 7) // 8), dtype=np.uint8), axis=1)[:, : len(sums)]
        exceeding += _exceeding((bits.astype(np.float64) * 2 - 1) @ sums, limits, mid)
    return np.where(exceeding > 0, (exceeding + 1) / (resamples + 1), np.minimum(1 / (resamples + 1), _normal_tail(sums)))


def _normal_tail(sums: Floats) -> Floats:
    """Two-sided p by the normal approximation, for differences so clear that no sample comes near them."""
    z = np.abs(sums.sum(axis=0)) / np.sqrt((sums**2).sum(axis=0))
    return np.array([max(2 * _NORMAL.cdf(-value), 1e-300) for value in z.tolist()])


def holm(values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): what each p is worth when so many were looked at."""
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    highest = 0.0
    for place, index in enumerate(order.tolist()):
        highest = max(highest, min(1.0, values[index] * (len(values) - place)))
        adjusted[index] = highest
    return adjusted.tolist()


def detectable_difference(error: float, clusters: int) -> float:
    """The smallest true difference that a mean with this standard error would have shown with 80 % power."""
    return (t_quantile((1 + LEVEL) / 2, clusters - 1) + t_quantile(POWER, clusters - 1)) * error


def cases_needed(error: float, clusters: int, wanted: float) -> int:
    """How many independent cases would show a difference of this size with 80 % power, if they were like these."""
    return ceil(clusters * (detectable_difference(error, clusters) / wanted) ** 2)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int, p: float = 0.9) -> float:
    """How alike two rankings are, the top counting most (Webber et al., 2010, equation 32: extrapolated)."""
    shorter, longer = sorted((list(first[:depth]), list(second[:depth])), key=len)
    if not shorter:
        return 1.0 if not longer else 0.0
    overlaps = _overlaps(shorter, longer)
    short, long = len(shorter), len(longer)
    seen = sum(overlap / rank * p**rank for rank, overlap in enumerate(overlaps, 1))
    unseen = sum(overlaps[short - 1] * (rank - short) / (short * rank) * p**rank for rank in range(short + 1, long + 1))
    rest = ((overlaps[-1] - overlaps[short - 1]) / long + overlaps[short - 1] / short) * p**long
    return (1 - p) / p * (seen + unseen) + rest


def _overlaps(shorter: list[str], longer: list[str]) -> list[int]:
    """How many ids both lists have in common down to each rank of the longer one."""
    found: list[int] = []
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    for rank, hit in enumerate(longer):
        seen_long.add(hit)
        seen_short.update(shorter[rank : rank + 1])
        found.append(len(seen_short & seen_long))
    return found
