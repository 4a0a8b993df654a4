"""Statistics of paired differences: intervals, a randomisation test, Holm. Arrays in, numbers out.

Nothing is drawn, and all pairs and measures are worked out together, so that ten comparisons cost little more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, fsum, lgamma, log, pi, sqrt

import numpy as np

from searchmark.analysis.distributions import Floats
from searchmark.analysis.intervals import SAME, Level, Observations, bounded_interval, unseen_share, unseen_weight

# Up to this many differences all sign patterns are tried: some 30,000 sums.
EXACT_UP_TO = 15
SMALLEST_VARIANCE = 0.2
SMALL_ROOT = 1e-3
SMALLEST_STEP = 1e-3
LOWEST_P = 1e-300
HIGHEST_TILT = 1e6
_MOST_STEPS = 100


def difference_intervals(found: Observations, level: Level) -> tuple[Floats, Floats]:
    """Limits of the mean of each column of differences, which lie between -1 and 1.

    Gains and losses get limits of their own, which are combined; so a few changes among many ties, or gains without any
    loss, are not taken for more than they prove.
    """
    tied, _ = found.commonest
    weight = unseen_weight(tied, len(found))
    parts = Observations(np.maximum(np.hstack([found.sums, -found.sums]), 0.0), found.sizes)  # gains, then losses
    low, high = _part_limits(parts, np.tile(weight, 2), np.tile(tied, 2), level)
    (gain, loss), (low_gain, low_loss), (high_gain, high_loss) = (np.split(each, 2) for each in (parts.means, low, high))
    together = _correlation(parts)
    below = _combined(gain - low_gain, high_loss - loss, together)
    above = _combined(high_gain - gain, loss - low_loss, together)
    return gain - loss - below, gain - loss + above


def _part_limits(parts: Observations, weight: Floats, tied: Floats, level: Level) -> tuple[Floats, Floats]:
    """Limits of mean gains and losses; where there was none at all, the share that may be unseen, as far as ties hide it."""
    low, high = bounded_interval(parts, weight, np.zeros_like(weight), level)
    never = parts.means <= SAME
    return np.where(never, 0.0, low), np.where(never, tied * unseen_share(parts, level), high)


def one_sided_size(found: Observations) -> Floats:
    """How large a change of the kind counts that was not seen at all; 0 where there were gains and losses."""
    both = (found.sums > SAME).any(axis=0) & (found.sums < -SAME).any(axis=0)
    return np.where(both, 0.0, found.commonest[0])


def statistic_variance(found: Observations) -> Floats:
    """The variance of mean over standard error, to second order, if what was observed is true.

    It is 1 without a difference; below 1 where a larger mean comes with a larger spread, as that of rare gains does.
    """
    apart = found.sums / found.sizes[:, None] - found.means
    spread = np.maximum(np.sqrt((apart**2).mean(axis=0)), SAME)
    effect = found.means / spread
    skewness, kurtosis = ((apart**power).mean(axis=0) / spread**power for power in (3, 4))
    variance = 1 - effect * skewness + effect**2 * (kurtosis - 1) / 4
    return np.asarray(np.clip(variance, SMALLEST_VARIANCE, 1.0), np.float64)


def _correlation(parts: Observations) -> Floats:
    """Of mean gain and mean loss: what gains does not lose."""
    first, second = np.split(parts.sums - parts.means * parts.sizes[:, None], 2, axis=1)
    spread = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    return np.asarray(np.divide((first * second).sum(axis=0), spread, out=np.zeros_like(spread), where=spread > 0), np.float64)


def _combined(first: Floats, second: Floats, correlation: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(0.0, first**2 + second**2 - 2 * correlation * first * second)), np.float64)


def standard_errors(found: Observations) -> Floats:
    """The standard error of the mean of each column."""
    squares = ((found.sums - found.means * found.sizes[:, None]) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(squares * len(found) / (len(found) - 1)) / found.sizes.sum(), np.float64)


def randomisation_p(sums: Floats, *, mid: bool = True) -> Floats:
    """Two-sided p of each column under random signs (Fisher, 1935): how often chance alone differs as much.

    Exact where few differences are not zero; otherwise by the saddlepoint approximation (Lugannani and Rice, 1980;
    Robinson, 1982), to a few percent of p unless the sizes are few multiples of one step, where it comes out between p and
    the mid-p. Where all changes are equally large, as those of binary values are, sign patterns that differ exactly as much
    count by half, which keeps the test from being far too cautious (Fagerland et al., 2013). Without ``mid`` they count
    whole, and the approximation is that of p: then no p is smaller than the exact one, but for those few percent.
    """
    result = np.ones(sums.shape[1])
    limits, sizes = np.abs(sums.sum(axis=0)), np.sort(np.abs(sums), axis=0)  # signs are random: only sizes matter
    left = []
    for column, limit in enumerate(limits.tolist()):
        moved = sizes[sizes[:, column] > SAME, column]
        if len(moved) and moved[-1] - moved[0] <= SAME:
            result[column] = _sign_test_p(len(moved), round(limit / float(moved.mean())), mid=mid)
        elif len(moved) <= EXACT_UP_TO:
            result[column] = _exact_p(moved, limit)
        else:
            left.append(column)
    if left:
        result[left] = _saddlepoint_p(sizes[:, left], limits[left] if mid else _half_a_step_back(sizes[:, left], limits[left]))
    return result


def _half_a_step_back(sizes: Floats, limits: Floats) -> Floats:
    """Where sums come in steps, the tail of a smooth distribution is that of p half a step before the limit, and mid-p at it."""
    steps = np.array([_common_step(column) for column in sizes.T])  # sums are two of them apart
    return np.where(limits >= sizes.sum(axis=0) * (1 - SAME), limits, np.maximum(0.0, limits - steps))


def _common_step(sizes: Floats) -> float:
    """What all sizes are multiples of; 0 if it is so small that their sums are as good as smooth."""
    step, largest = 0.0, float(sizes[-1])
    for size in np.unique(np.round(sizes[sizes > SAME], 9)).tolist():
        step = _common_divisor(size, step, 1e-6 * largest)
        if step < SMALLEST_STEP * largest:
            return 0.0
    return step


def _common_divisor(first: float, second: float, tolerance: float) -> float:
    """Euclid's, for numbers that are rounded."""
    while second > tolerance:
        rest = first % second
        first, second = second, 0.0 if second - rest <= tolerance else rest
    return first


def _sign_test_p(changes: int, surplus: int, *, mid: bool) -> float:
    """The p, or mid-p, of so many equal changes, the ones of one sign being in surplus."""
    most = (changes + surplus) // 2
    whole = lgamma(changes + 1) - changes * log(2)
    beyond = [exp(whole - lgamma(k + 1) - lgamma(changes - k + 1)) for k in range(most, changes + 1)]
    return min(1.0, 2 * (fsum(beyond) - (beyond[0] / 2 if mid else 0.0)))


def _exact_p(moved: Floats, limit: float) -> float:
    """Over all sign patterns, by adding one difference after the other to all sums so far."""
    if not len(moved):
        return 1.0
    totals = np.zeros(1)
    for difference in moved:
        totals = np.concatenate([totals + difference, totals - difference])
    return float(np.mean(np.abs(totals) >= limit * (1 - SAME)))


def _saddlepoint_p(sizes: Floats, limits: Floats) -> Floats:
    scale = np.sqrt((sizes**2).sum(axis=0))
    sizes, limits = sizes / scale, limits / scale
    one_sided = limits >= sizes.sum(axis=0) * (1 - SAME)
    tilt = _tilt(sizes, np.where(one_sided, 0.0, limits))
    # The logarithm of cosh, written so that large arguments do not overflow.
    lifted = np.abs(tilt * sizes)
    cumulant = (lifted + np.log1p(np.exp(-2 * lifted)) - np.log(2)).sum(axis=0)
    root = np.sqrt(np.maximum(0.0, 2 * (tilt * limits - cumulant)))
    width = tilt * np.sqrt((sizes**2 * (1 - np.tanh(tilt * sizes) ** 2)).sum(axis=0))
    small = (root < SMALL_ROOT) | (width <= 0)
    safe_root, safe_width = np.where(small, 1.0, root), np.where(small, 1.0, width)
    density = np.exp(-(safe_root**2) / 2) / sqrt(2 * pi)
    tail = np.where(small, 0.5 * _beyond(limits), 0.5 * _beyond(safe_root) + density * (1 / safe_width - 1 / safe_root))
    # Gains alone, or losses alone: one sign pattern of all.
    alone = 0.5 ** np.count_nonzero(sizes > SAME, axis=0).astype(np.float64)
    return np.asarray(np.clip(2 * np.where(one_sided, alone, tail), LOWEST_P, 1.0), np.float64)


def _tilt(sizes: Floats, limits: Floats) -> Floats:
    """The tilt under which the expected sum is the limit: Newton's method, kept within a bracket."""
    low, high = np.zeros_like(limits), np.full_like(limits, HIGHEST_TILT)
    tilt, settled = limits.copy(), np.zeros(len(limits), bool)
    for _ in range(_MOST_STEPS):
        slopes = np.tanh(tilt * sizes)
        excess = (sizes * slopes).sum(axis=0) - limits
        low, high = np.where(excess < 0, tilt, low), np.where(excess < 0, high, tilt)
        step = tilt - excess / np.maximum((sizes**2 * (1 - slopes**2)).sum(axis=0), LOWEST_P)
        following = np.where((low < step) & (step < high), step, (low + high) / 2)
        # What has settled stays: no column may depend on which others are worked out with it.
        following = np.where(settled, tilt, following)
        settled, tilt = settled | (np.abs(following - tilt) <= SAME * (1 + tilt)), following
        if settled.all():
            break
    return tilt


def _beyond(values: Floats) -> Floats:
    """The normal distribution beyond these many standard deviations, at both ends together."""
    return np.array([erfc(value / sqrt(2)) for value in values.tolist()])


def holm(values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): what each p is worth when so many were looked at."""
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    highest = 0.0
    for place, index in enumerate(order.tolist()):
        highest = max(highest, min(1.0, values[index] * (len(values) - place)))
        adjusted[index] = highest
    return adjusted.tolist()
