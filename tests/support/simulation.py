"""Simulated comparisons: scores of two runs on the same cases, correlated as real ones are, with a known true difference."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import stats

Kind = Literal["beta", "binary", "zero-inflated"]
KINDS: tuple[Kind, ...] = ("beta", "binary", "zero-inflated")


def simulated(kind: Kind, cases: int, trials: int, shift: float, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores of baseline and candidate (trials x cases) and the true difference of their means; 0 for ``shift`` 0."""
    random = np.random.default_rng(seed)
    difficulty = random.normal(size=(trials, cases))
    first, second = (stats.norm.cdf((difficulty + random.normal(size=(trials, cases))) / np.sqrt(2)) for _ in range(2))
    if kind == "beta":
        better = 2 + 2 * shift
        return stats.beta.ppf(first, 2, 2), stats.beta.ppf(second, better, 2), better / (better + 2) - 0.5
    if kind == "binary":
        return (first < 0.5).astype(float), (second < 0.5 + 0.2 * shift).astype(float), 0.2 * shift
    return _zero_inflated(first, 0.4), _zero_inflated(second, 0.4 - 0.2 * shift), 0.1 * shift


def _zero_inflated(uniform: np.ndarray, zeros: float) -> np.ndarray:
    rest = np.clip((uniform - zeros) / (1 - zeros), 0, 1)
    return np.where(uniform < zeros, 0.0, stats.beta.ppf(rest, 2, 2))
