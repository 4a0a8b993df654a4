"""How likely a count is by chance alone, exactly: the upper tails of the hypergeometric and the binomial distribution."""

from __future__ import annotations

from math import exp, inf, lgamma, log

import numpy as np

from searchmark.measures.formulas import Floats


def hypergeometric_tail(seen: int, drawn: int, marked: int, total: int) -> float:
    """The chance that ``drawn`` of ``total`` hold at least ``seen`` of the ``marked`` ones: Fisher's exact test, one-sided."""
    least, most = max(0, drawn + marked - total), min(drawn, marked)
    if seen <= least:
        return 1.0
    if seen > most:
        return 0.0
    first = _log_choose(marked, seen) + _log_choose(total - marked, drawn - seen) - _log_choose(total, drawn)
    k = np.arange(seen, most, dtype=np.float64)
    return _summed(first, np.log((marked - k) * (drawn - k)) - np.log((k + 1) * (total - marked - drawn + k + 1)))


def binomial_tail(seen: int, trials: int, share: float) -> float:
    """The chance of at least ``seen`` successes in so many trials with this share; a share of a half is the sign test."""
    if seen <= 0:
        return 1.0
    if seen > trials:
        return 0.0
    first = _log_choose(trials, seen) + seen * log(share) + (trials - seen) * log(1 - share)
    k = np.arange(seen, trials, dtype=np.float64)
    return _summed(first, np.log(trials - k) - np.log(k + 1) + log(share / (1 - share)))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else -inf


def _summed(first: float, steps: Floats) -> float:
    """The sum of terms, given the logarithm of the first and of the ratio of each to the one before it."""
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    largest = float(logs.max())
    return min(1.0, exp(first + largest) * float(np.exp(logs - largest).sum()))
