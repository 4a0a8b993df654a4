"""Quantiles, confidence intervals, and paired and exact tests. Arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import erfc, exp, fsum, inf, lgamma, log, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from searchmark.records.columns import Floats, distinct

# Quantiles that intervals are made of. Arrays in, arrays out; scipy would cost every start more than it saves.

NORMAL = NormalDist()

LARGE = 300.0

_PRECISION = 1e-10

_TINY = 1e-300

_MOST_TERMS = 10_000

_MOST_STEPS = 100

_log_gamma = np.frompyfunc(lgamma, 1, 1)


def t_quantile(share: float, degrees: float) -> float:
    """Quantile of Student's t by Hill's expansion (1970); within 0.001 from nine degrees on, and 0.01 far out in the tail."""
    z = NORMAL.inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + float(sum(term / degrees ** (power + 1) for power, term in enumerate(terms)))


def beta_quantile(share: float, a: Floats, b: Floats) -> Floats:
    """Where a beta distribution has this share below it.

    Where both parameters are large the normal approximation of Abramowitz and Stegun (26.5.22) is within 0.0002 standard
    deviations; elsewhere it is where Newton's method starts.
    """
    result = _normal_approximation(share, a, b)
    small = (np.minimum(a, b) < LARGE) & ~(np.isnan(a) | np.isnan(b))
    if small.any():
        start = np.where(np.minimum(a[small], b[small]) > 1, result[small], a[small] / (a[small] + b[small]))
        result[small] = _refine(start, share, a[small], b[small])
    return result


def _normal_approximation(share: float, a: Floats, b: Floats) -> Floats:
    y = NORMAL.inv_cdf(1 - share)
    term = (y * y - 3) / 6
    with np.errstate(all="ignore"):  # parameters below 1 are not started from here
        first, second = 1 / (2 * a - 1), 1 / (2 * b - 1)
        size = 2 / (first + second)
        w = y * np.sqrt(size + term) / size - (second - first) * (term + 5 / 6 - 2 / (3 * size))
        return np.asarray(a / (a + b * np.exp(2 * w)), np.float64)


def _refine(x: Floats, share: float, a: Floats, b: Floats) -> Floats:
    """Newton's method, kept within a bracket."""
    log_beta = _log_gammas(a) + _log_gammas(b) - _log_gammas(a + b)
    low, high, converged = np.zeros_like(a), np.ones_like(a), np.zeros(len(a), bool)
    for _ in range(_MOST_STEPS):
        excess = beta_below(x, a, b, log_beta) - share
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        with np.errstate(all="ignore"):  # a density of 0 or infinity: the bracket is halved instead
            step = x - excess / np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_beta)
        following = np.where((low < step) & (step < high), step, (low + high) / 2)
        # What has settled stays: no value may depend on which others are worked out with it.
        following = np.where(converged, x, following)
        converged, x = converged | (np.abs(following - x) <= _PRECISION * following + _TINY), following
        if converged.all():
            break
    return x


def beta_below(x: Floats, a: Floats, b: Floats, log_beta: Floats) -> Floats:
    """The share of a beta distribution below x: its continued fraction, from the side on which it converges."""
    turned = x > (a + 1) / (a + b + 2)
    x, a, b = np.where(turned, 1 - x, x), np.where(turned, b, a), np.where(turned, a, b)
    with np.errstate(divide="ignore"):  # x may be 0: nothing lies below
        front = np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta) / a
    below = front / _continued_fraction(x, a, b)
    return np.asarray(np.where(turned, 1 - below, below), np.float64)


def _continued_fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """The denominator of the incomplete beta function by Lentz's method (DLMF 8.17.22)."""
    c, d = np.ones_like(x), 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value, converged = d.copy(), np.zeros(len(x), bool)
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / _not_zero(1 + term * d), _not_zero(1 + term / c)
            value = np.where(converged, value, value * d * c)
        converged |= np.abs(d * c - 1) < _PRECISION / 100
        if converged.all():
            break
    return 1 / value


def _not_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)


def _log_gammas(values: Floats) -> Floats:
    return np.asarray(_log_gamma(values), np.float64)


# How likely a count is by chance alone, exactly: the upper tails of the hypergeometric and the binomial distribution.


def hypergeometric_tail(hits: int, sample_size: int, marked: int, total: int) -> float:
    """The chance of at least ``hits`` of the ``marked`` in ``sample_size`` of ``total``: Fisher's exact test, one-sided."""
    least, most = max(0, sample_size + marked - total), min(sample_size, marked)
    if hits <= least:
        return 1.0
    if hits > most:
        return 0.0
    first = _log_choose(marked, hits) + _log_choose(total - marked, sample_size - hits) - _log_choose(total, sample_size)
    k = np.arange(hits, most, dtype=np.float64)
    return _sum_terms(first, np.log((marked - k) * (sample_size - k)) - np.log((k + 1) * (total - marked - sample_size + k + 1)))


def binomial_tail(seen: int, trials: int, share: float) -> float:
    """The chance of at least ``seen`` successes in so many trials with this share; a share of a half is the sign test."""
    if seen <= 0:
        return 1.0
    if seen > trials:
        return 0.0
    first = _log_choose(trials, seen) + seen * log(share) + (trials - seen) * log(1 - share)
    k = np.arange(seen, trials, dtype=np.float64)
    return _sum_terms(first, np.log(trials - k) - np.log(k + 1) + log(share / (1 - share)))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else -inf


def _sum_terms(first: float, steps: Floats) -> float:
    """The sum of terms, given the logarithm of the first and of the ratio of each to the one before it."""
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    largest = float(logs.max())
    return min(1.0, exp(first + largest) * float(np.exp(logs - largest).sum()))


# Confidence intervals of means: how far the number could be off with other cases of the same kind.
#
# A mean of values between 0 and 1 is treated as a proportion in as many trials as have its standard error: binary values
# are the trials themselves, values that vary less are worth more of them. The limits of a proportion lie between those of
# Clopper and Pearson (1934) and Jeffreys (Brown, Cai and DasGupta, 2001), the number of trials is Korn and Graubard's
# (1998). Ties prove little: an unseen case at the far end of the range is counted with a weight that is 1 if all
# observations are equal, and goes to 0 the more of them differ. A mean of differences is that of the gains less that of
# the losses, each with its own limits, combined as Newcombe (1998) and Zou and Donner (2008) do.
#
# Cases of one origin, or with the same targets, are one observation. Nothing is drawn, and the order of the cases changes no
# digit.

# What each case is one observation with, by name or number; None if every case is its own.
Clusters = Sequence[str] | NDArray[np.int64] | NDArray[np.str_] | None

LEVEL = 0.95

FEWEST_CASES = 10


# How far the limits of a proportion lean from Clopper and Pearson's (0) to those of Jeffreys (1/2): as far as they can
# while a proportion of 10 to 500 trials is covered at least 93 % of the time, whatever it is.
LEAN = 0.25


# As many observations that differ from the commonest one make an unseen case half as likely.
ENOUGH_SEEN = 5


# Values that differ by less are equal: what is left of sums of floating-point numbers.
EQUAL_WITHIN = 1e-9


@dataclass(frozen=True, eq=False)
class Observations:
    """Independent observations: for each column the sums of their cases, and how many cases each has.

    They are sorted, by value or by the name of the origin, so that the order of the cases has no effect.
    """

    sums: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def means(self) -> Floats:
        return np.asarray(self.sums.sum(axis=0) / self.sizes.sum(), np.float64)

    @property
    def effective_size(self) -> float:
        """How many observations of equal size they are worth."""
        return float(self.sizes.sum() ** 2 / (self.sizes**2).sum()) if len(self.sizes) else 0.0

    @property
    def enough(self) -> bool:
        """Whether they are worth an interval: one large origin beside many small ones is not worth as many as there are."""
        return self.effective_size >= FEWEST_CASES - EQUAL_WITHIN

    @property
    def commonest(self) -> tuple[Floats, Floats]:
        """For each column the share of observations that repeat its commonest value, and that value."""
        sorted_values = np.sort(self.sums / self.sizes[:, None], axis=0)
        rows, columns = sorted_values.shape
        position = np.arange(rows)[:, None]
        starts = np.vstack([np.ones((1, columns), bool), np.diff(sorted_values, axis=0) > EQUAL_WITHIN])
        repeats = position - np.maximum.accumulate(np.where(starts, position, 0), axis=0)
        last, every = repeats.argmax(axis=0), np.arange(columns)
        return repeats[last, every] / max(1, rows - 1), sorted_values[last, every]


def observations(values: Floats, clusters: Clusters) -> Observations:
    """The rows of each cluster as one observation; without clusters every row is one."""
    if clusters is None:
        return Observations(np.sort(values, axis=0), np.ones(len(values)))
    names, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    # Sorted, since the order in which numbers are added shows in their last digit.
    orders = np.argsort(values, axis=0).T
    sums = [np.bincount(cluster[order], column[order], len(names)) for column, order in zip(values.T, orders, strict=True)]
    return Observations(np.column_stack(sums).astype(np.float64), np.bincount(cluster, minlength=len(names)).astype(np.float64))


@dataclass(frozen=True)
class ConfidenceLevel:
    """How sure an interval is: the share outside at either end, and how far its limits lean from the exact ones."""

    tail: float
    lean: float


SHOWN_LEVEL = ConfidenceLevel((1 - LEVEL) / 2, LEAN)


# Two one-sided 5 % tests (Schuirmann, 1987), by exact limits: equality is a claim that ties must not make cheap.
EQUIVALENCE_LEVEL = ConfidenceLevel(0.05, 0.0)


def unseen_share(sample: Observations, level: ConfidenceLevel) -> float:
    """The largest share of cases that may have been missed altogether."""
    return float(1 - level.tail ** (1 / sample.effective_size))


def unseen_weight(tie_share: Floats, count: int) -> Floats:
    """How much an unseen case at the far end weighs: one case if all are ties, less the more that differ."""
    return np.asarray(tie_share / (1 + (1 - tie_share) * (count - 1) / ENOUGH_SEEN), np.float64)


def bounded_interval(sample: Observations, far: Floats, near: Floats, level: ConfidenceLevel) -> tuple[Floats, Floats]:
    """Limits of means of values between 0 and 1; ``far`` and ``near`` weigh an unseen case of value 1 and of value 0."""
    ratio = _variance_ratio(sample, far, near)
    # The t distribution makes up for a variance that is only estimated; no mean can vary more than a proportion.
    t_ratio = (
        ratio * (t_quantile(1 - level.tail, int(sample.effective_size + EQUAL_WITHIN) - 1) / NORMAL.inv_cdf(1 - level.tail)) ** 2
    )
    largest = np.maximum(1.0, ratio * (len(sample) - 1) / len(sample))
    return proportion_limits(np.clip(sample.means, 0, 1), sample.effective_size / np.minimum(t_ratio, largest), level)


def _variance_ratio(sample: Observations, far: Floats, near: Floats) -> Floats:
    """The variance of observations over that of a proportion of the same mean, unseen cases included."""
    sums, sizes = sample.sums, sample.sizes
    usual = sizes.mean()
    mean = (sums.sum(axis=0) + far * usual) / (sizes.sum() + (far + near) * usual)
    squares = ((sums - mean * sizes[:, None]) ** 2).sum(axis=0) + usual**2 * (far * (1 - mean) ** 2 + near * mean**2)
    variance = squares / ((sizes**2).sum() + (far + near) * usual**2) * len(sizes) / (len(sizes) - 1)
    return np.asarray(np.maximum(variance, EQUAL_WITHIN**2) / np.maximum(mean * (1 - mean), EQUAL_WITHIN**2), np.float64)


def proportion_limits(share: Floats, trials: Floats, level: ConfidenceLevel) -> tuple[Floats, Floats]:
    """Limits of a proportion; ``trials`` need not be whole."""
    hits, misses = share * trials, (1 - share) * trials
    lean = level.lean * np.minimum(1.0, np.minimum(hits, misses))
    none, all_of_them = hits <= EQUAL_WITHIN, misses <= EQUAL_WITHIN
    # The upper limit of a share is the lower one of the rest; both are found in one search.
    first = np.concatenate([np.where(none, 1.0, hits + lean), np.where(all_of_them, 1.0, misses + lean)])
    second = np.concatenate([misses + 1 - lean, hits + 1 - lean])
    low, rest = np.split(beta_quantile(level.tail, first, second), 2)
    high = 1 - rest
    return np.minimum(share, np.where(none, 0.0, low)), np.maximum(share, np.where(all_of_them, 1.0, high))


def score_interval(sample: Observations) -> tuple[Floats, Floats]:
    """95 % limits of means of scores between 0 and 1."""
    tie_share, value = sample.commonest
    unseen = unseen_weight(tie_share, len(sample))
    low, high = bounded_interval(sample, unseen * (1 - value), unseen * value, SHOWN_LEVEL)
    # All equal: nothing is known but the share of others that would have shown.
    share = unseen_share(sample, SHOWN_LEVEL)
    equal = tie_share >= 1
    return np.where(equal, value * (1 - share), low), np.where(equal, value + (1 - value) * share, high)


def mean_intervals(values: Floats, clusters: Clusters, ranges: Sequence[tuple[float, float]]) -> list[tuple[float, float] | None]:
    """One interval per column of ``values``, None where there are too few independent cases or no value is defined.

    ``ranges`` are the lowest and highest values that each column could have. None for one without an end: how far off an unseen
    case could be is not known then, and the limits would not hold.
    """
    result: list[tuple[float, float] | None] = [None] * values.shape[1]
    bounded_columns = [column for column, ends in enumerate(ranges) if np.isfinite(ends).all()]
    for defined, columns in _columns_by_defined_rows(values, bounded_columns):
        cluster_ids = None if clusters is None else np.asarray(clusters)[defined]
        lows, highs = np.array([ranges[column] for column in columns], np.float64).T
        spans = np.where(highs > lows, highs - lows, 1.0)
        sample = observations((values[defined][:, columns] - lows) / spans, cluster_ids)
        if not sample.enough:
            continue
        low, high = score_interval(sample)
        for column, *bounds in zip(columns, lows + low * spans, lows + high * spans, strict=True):
            result[column] = (float(bounds[0]), float(bounds[1]))
    return result


def _columns_by_defined_rows(values: Floats, columns: Iterable[int]) -> list[tuple[NDArray[np.bool_], list[int]]]:
    """Columns that are defined for the same rows, so that they are worked out together."""
    groups: dict[bytes, tuple[NDArray[np.bool_], list[int]]] = {}
    for column in columns:
        defined = ~np.isnan(values[:, column])
        groups.setdefault(defined.tobytes(), (defined, []))[1].append(column)
    return list(groups.values())


# Statistics of paired differences: intervals, a randomisation test, Holm. Arrays in, numbers out.
#
# Nothing is drawn, and all pairs and measures are worked out together, so that ten comparisons cost little more than one.

# Up to this many differences all sign patterns are tried: some 30,000 sums.
EXACT_UP_TO = 15

SMALLEST_VARIANCE = 0.2

SMALL_ROOT = 1e-3

SMALLEST_STEP = 1e-3

LOWEST_P = 1e-300

HIGHEST_TILT = 1e6


def difference_intervals(sample: Observations, level: ConfidenceLevel) -> tuple[Floats, Floats]:
    """Limits of the mean of each column of differences, which lie between -1 and 1.

    Gains and losses get separate limits, which are combined; so a few changes among many ties, or gains without any
    loss, are not taken for more than they prove.
    """
    tie_share, _ = sample.commonest
    weight = unseen_weight(tie_share, len(sample))
    parts = Observations(np.maximum(np.hstack([sample.sums, -sample.sums]), 0.0), sample.sizes)  # gains, then losses
    low, high = _part_limits(parts, np.tile(weight, 2), np.tile(tie_share, 2), level)
    (gain, loss), (low_gain, low_loss), (high_gain, high_loss) = (np.split(each, 2) for each in (parts.means, low, high))
    together = _correlation(parts)
    below = _combine_limits(gain - low_gain, high_loss - loss, together)
    above = _combine_limits(high_gain - gain, loss - low_loss, together)
    return gain - loss - below, gain - loss + above


def _part_limits(parts: Observations, weight: Floats, tie_share: Floats, level: ConfidenceLevel) -> tuple[Floats, Floats]:
    """Limits of mean gains and losses; where there was none at all, the share that may be unseen, as far as ties hide it."""
    low, high = bounded_interval(parts, weight, np.zeros_like(weight), level)
    never = parts.means <= EQUAL_WITHIN
    return np.where(never, 0.0, low), np.where(never, tie_share * unseen_share(parts, level), high)


def one_sided_size(sample: Observations) -> Floats:
    """How large a change of the kind counts that was not seen at all; 0 where there were gains and losses."""
    both = (sample.sums > EQUAL_WITHIN).any(axis=0) & (sample.sums < -EQUAL_WITHIN).any(axis=0)
    return np.where(both, 0.0, sample.commonest[0])


def statistic_variance(sample: Observations) -> Floats:
    """The variance of mean over standard error, to second order, if what was observed is true.

    It is 1 without a difference; below 1 where a larger mean comes with a larger spread, as that of rare gains does.
    """
    apart = sample.sums / sample.sizes[:, None] - sample.means
    spread = np.maximum(np.sqrt((apart**2).mean(axis=0)), EQUAL_WITHIN)
    effect = sample.means / spread
    skewness, kurtosis = ((apart**power).mean(axis=0) / spread**power for power in (3, 4))
    variance = 1 - effect * skewness + effect**2 * (kurtosis - 1) / 4
    return np.asarray(np.clip(variance, SMALLEST_VARIANCE, 1.0), np.float64)


def _correlation(parts: Observations) -> Floats:
    """Of mean gain and mean loss: what gains does not lose."""
    first, second = np.split(parts.sums - parts.means * parts.sizes[:, None], 2, axis=1)
    spread = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    return np.asarray(np.divide((first * second).sum(axis=0), spread, out=np.zeros_like(spread), where=spread > 0), np.float64)


def _combine_limits(first: Floats, second: Floats, correlation: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(0.0, first**2 + second**2 - 2 * correlation * first * second)), np.float64)


def standard_errors(sample: Observations) -> Floats:
    """The standard error of the mean of each column."""
    squares = ((sample.sums - sample.means * sample.sizes[:, None]) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(squares * len(sample) / (len(sample) - 1)) / sample.sizes.sum(), np.float64)


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
    rest = []
    for column, limit in enumerate(limits.tolist()):
        nonzero = sizes[sizes[:, column] > EQUAL_WITHIN, column]
        if len(nonzero) and nonzero[-1] - nonzero[0] <= EQUAL_WITHIN:
            result[column] = _sign_test_p(len(nonzero), round(limit / float(nonzero.mean())), mid=mid)
        elif len(nonzero) <= EXACT_UP_TO:
            result[column] = _exact_p(nonzero, limit)
        else:
            rest.append(column)
    if rest:
        result[rest] = _saddlepoint_p(sizes[:, rest], limits[rest] if mid else _half_a_step_back(sizes[:, rest], limits[rest]))
    return result


def _half_a_step_back(sizes: Floats, limits: Floats) -> Floats:
    """Where sums come in steps, the tail of a smooth distribution is that of p half a step before the limit, and mid-p at it."""
    steps = np.array([_common_step(column) for column in sizes.T])  # sums are two of them apart
    return np.where(limits >= sizes.sum(axis=0) * (1 - EQUAL_WITHIN), limits, np.maximum(0.0, limits - steps))


def _common_step(sizes: Floats) -> float:
    """What all sizes are multiples of; 0 if it is so small that their sums are as good as smooth."""
    step, largest = 0.0, float(sizes[-1])
    for size in distinct(np.round(sizes[sizes > EQUAL_WITHIN], 9)).tolist():
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


def _exact_p(differences: Floats, limit: float) -> float:
    """Over all sign patterns, by adding one difference after the other to all sums so far."""
    if not len(differences):
        return 1.0
    totals = np.zeros(1)
    for difference in differences:
        totals = np.concatenate([totals + difference, totals - difference])
    return float(np.mean(np.abs(totals) >= limit * (1 - EQUAL_WITHIN)))


def _saddlepoint_p(sizes: Floats, limits: Floats) -> Floats:
    scale = np.sqrt((sizes**2).sum(axis=0))
    sizes, limits = sizes / scale, limits / scale
    one_sided = limits >= sizes.sum(axis=0) * (1 - EQUAL_WITHIN)
    tilt = _tilt(sizes, np.where(one_sided, 0.0, limits))
    # The logarithm of cosh, written so that large arguments do not overflow.
    magnitude = np.abs(tilt * sizes)
    cumulant = (magnitude + np.log1p(np.exp(-2 * magnitude)) - np.log(2)).sum(axis=0)
    root = np.sqrt(np.maximum(0.0, 2 * (tilt * limits - cumulant)))
    width = tilt * np.sqrt((sizes**2 * (1 - np.tanh(tilt * sizes) ** 2)).sum(axis=0))
    small = (root < SMALL_ROOT) | (width <= 0)
    safe_root, safe_width = np.where(small, 1.0, root), np.where(small, 1.0, width)
    density = np.exp(-(safe_root**2) / 2) / sqrt(2 * pi)
    tail = np.where(small, 0.5 * _normal_tails(limits), 0.5 * _normal_tails(safe_root) + density * (1 / safe_width - 1 / safe_root))
    # Gains alone, or losses alone: one sign pattern of all.
    alone = 0.5 ** np.count_nonzero(sizes > EQUAL_WITHIN, axis=0).astype(np.float64)
    return np.asarray(np.clip(2 * np.where(one_sided, alone, tail), LOWEST_P, 1.0), np.float64)


def _tilt(sizes: Floats, limits: Floats) -> Floats:
    """The tilt under which the expected sum is the limit: Newton's method, kept within a bracket."""
    low, high = np.zeros_like(limits), np.full_like(limits, HIGHEST_TILT)
    tilt, converged = limits.copy(), np.zeros(len(limits), bool)
    for _ in range(_MOST_STEPS):
        slopes = np.tanh(tilt * sizes)
        excess = (sizes * slopes).sum(axis=0) - limits
        low, high = np.where(excess < 0, tilt, low), np.where(excess < 0, high, tilt)
        step = tilt - excess / np.maximum((sizes**2 * (1 - slopes**2)).sum(axis=0), LOWEST_P)
        following = np.where((low < step) & (step < high), step, (low + high) / 2)
        # What has settled stays: no column may depend on which others are worked out with it.
        following = np.where(converged, tilt, following)
        converged, tilt = converged | (np.abs(following - tilt) <= EQUAL_WITHIN * (1 + tilt)), following
        if converged.all():
            break
    return tilt


def _normal_tails(values: Floats) -> Floats:
    """The normal distribution beyond these many standard deviations, at both ends together."""
    return np.array([erfc(value / sqrt(2)) for value in values.tolist()])


def holm(values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): what each p is worth when so many were looked at."""
    order = np.argsort(values, kind="stable")
    adjusted_p = np.empty(len(values))
    highest = 0.0
    for place, index in enumerate(order.tolist()):
        highest = max(highest, min(1.0, values[index] * (len(values) - place)))
        adjusted_p[index] = highest
    return adjusted_p.tolist()
