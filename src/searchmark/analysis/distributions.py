"""Quantiles that intervals are made of. Arrays in, arrays out; scipy would cost every start more than it saves."""

from __future__ import annotations

from math import lgamma
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
        result[small] = _refined(start, share, a[small], b[small])
    return result


def _normal_approximation(share: float, a: Floats, b: Floats) -> Floats:
    y = NORMAL.inv_cdf(1 - share)
    term = (y * y - 3) / 6
    with np.errstate(all="ignore"):  # parameters below 1 are not started from here
        first, second = 1 / (2 * a - 1), 1 / (2 * b - 1)
        size = 2 / (first + second)
        w = y * np.sqrt(size + term) / size - (second - first) * (term + 5 / 6 - 2 / (3 * size))
        return np.asarray(a / (a + b * np.exp(2 * w)), np.float64)


def _refined(x: Floats, share: float, a: Floats, b: Floats) -> Floats:
    """Newton's method, kept within a bracket."""
    log_beta = _log_gammas(a) + _log_gammas(b) - _log_gammas(a + b)
    low, high, settled = np.zeros_like(a), np.ones_like(a), np.zeros(len(a), bool)
    for _ in range(_MOST_STEPS):
        excess = beta_below(x, a, b, log_beta) - share
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        with np.errstate(all="ignore"):  # a density of 0 or infinity: the bracket is halved instead
            step = x - excess / np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_beta)
        following = np.where((low < step) & (step < high), step, (low + high) / 2)
        # What has settled stays: no value may depend on which others are worked out with it.
        following = np.where(settled, x, following)
        settled, x = settled | (np.abs(following - x) <= _PRECISION * following + _TINY), following
        if settled.all():
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
    value, settled = d.copy(), np.zeros(len(x), bool)
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / _not_zero(1 + term * d), _not_zero(1 + term / c)
            value = np.where(settled, value, value * d * c)
        settled |= np.abs(d * c - 1) < _PRECISION / 100
        if settled.all():
            break
    return 1 / value


def _not_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)


def _log_gammas(values: Floats) -> Floats:
    return np.asarray(_log_gamma(values), np.float64)
