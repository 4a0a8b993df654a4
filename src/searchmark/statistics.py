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

from searchmark.intervals import LEVEL, RESAMPLES, SEED, Z, resampled_means, wilson

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


def difference_intervals(sums: Floats, sizes: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[Floats, Floats]:
    """Expanded percentile bootstrap of the mean of each column, whole clusters at a time."""
    tail = expanded_tail(len(sizes))
    low, high = np.quantile(resampled_means(sums, sizes, resamples, seed), [tail, 1 - tail], axis=0)
    return low, high


def newcombe(first: Floats, second: Floats, independent: int) -> tuple[float, float]:
    """Interval of the difference of two proportions on the same cases (Newcombe, 1998, method 10).

    ``independent`` is the number of cases that count as observations of their own.
    """
    p, q = float(first.mean()), float(second.mean())
    low_p, high_p = wilson(p * independent, independent)
    low_q, high_q = wilson(q * independent, independent)
    spread = sqrt(p * (1 - p) * q * (1 - q))
    both = float(np.mean(first * second))
    phi = (both - p * q) / spread if spread else 0.0
    below = (q - low_q) ** 2 - 2 * phi * (q - low_q) * (high_p - p) + (high_p - p) ** 2
    above = (high_q - q) ** 2 - 2 * phi * (high_q - q) * (p - low_p) + (p - low_p) ** 2
    return q - p - sqrt(max(0.0, below)), q - p + sqrt(max(0.0, above))


def randomisation_p(sums: Floats, *, mid: bool = False, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Two-sided p of each column under random signs (Fisher, 1935): how often chance alone differs as much.

    Exact where few differences are not zero; otherwise one more than the exceeding samples over one more than
    all, so that no p is ever zero. ``mid`` counts samples that differ exactly as much by half, which keeps
    the test of binary values from being far too cautious (Fagerland et al., 2013).
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
    slack = 1e-9 * np.maximum(1.0, limit)
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
    return (exceeding + 1) / (resamples + 1)


def holm(values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): what each p is worth when so many were looked at."""
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    highest = 0.0
    for place, index in enumerate(order.tolist()):
        highest = max(highest, min(1.0, values[index] * (len(values) - place)))
        adjusted[index] = highest
    return adjusted.tolist()


def detectable_difference(deviation: float, clusters: int) -> float:
    """The smallest true difference that this many observations would have shown with 80 % power."""
    return (Z + _NORMAL.inv_cdf(POWER)) * deviation / sqrt(clusters)


def cases_needed(deviation: float, wanted: float) -> int:
    """How many independent cases would show a difference of this size with 80 % power."""
    return ceil(((Z + _NORMAL.inv_cdf(POWER)) * deviation / wanted) ** 2)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int, p: float = 0.9) -> float:
    """How alike two rankings are down to a depth, the top counting most (Webber et al., 2010; extrapolated)."""
    depth = min(depth, max(len(first), len(second)))
    if depth == 0:
        return 1.0
    seen_first: set[str] = set()
    seen_second: set[str] = set()
    total = agreement = 0.0
    for rank in range(1, depth + 1):
        seen_first.update(first[rank - 1 : rank])
        seen_second.update(second[rank - 1 : rank])
        agreement = len(seen_first & seen_second) / rank
        total += (1 - p) * p ** (rank - 1) * agreement
    return total + agreement * p**depth
