"""Confidence intervals of means: how far the number could be off with other cases of the same kind.

A mean of values between 0 and 1 is treated as a proportion in as many trials as have its standard error: binary values
are the trials themselves, values that vary less are worth more of them. The limits of a proportion lie between those of
Clopper and Pearson (1934) and Jeffreys (Brown, Cai and DasGupta, 2001), the number of trials is Korn and Graubard's
(1998). Ties prove little: an unseen case at the far end of the range is counted with a weight that is 1 if all
observations are equal, and goes to 0 the more of them differ. A mean of differences is that of the gains less that of
the losses, each with its own limits, combined as Newcombe (1998) and Zou and Donner (2008) do.

Cases of one origin, or with the same targets, are one observation. Nothing is drawn, and the order of the cases changes no digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.distributions import NORMAL, Floats, beta_quantile, t_quantile

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
SAME = 1e-9


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
    def worth(self) -> float:
        """How many observations of equal size they are worth."""
        return float(self.sizes.sum() ** 2 / (self.sizes**2).sum()) if len(self.sizes) else 0.0

    @property
    def enough(self) -> bool:
        """Whether they are worth an interval: one large origin beside many small ones is not worth as many as there are."""
        return self.worth >= FEWEST_CASES - SAME

    @property
    def commonest(self) -> tuple[Floats, Floats]:
        """For each column the share of observations that repeat its commonest value, and that value."""
        ordered = np.sort(self.sums / self.sizes[:, None], axis=0)
        rows, columns = ordered.shape
        position = np.arange(rows)[:, None]
        starts = np.vstack([np.ones((1, columns), bool), np.diff(ordered, axis=0) > SAME])
        repeats = position - np.maximum.accumulate(np.where(starts, position, 0), axis=0)
        last, every = repeats.argmax(axis=0), np.arange(columns)
        return repeats[last, every] / max(1, rows - 1), ordered[last, every]


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
class Level:
    """How sure an interval is: the share outside at either end, and how far its limits lean from the exact ones."""

    tail: float
    lean: float


SHOWN = Level((1 - LEVEL) / 2, LEAN)
# Two one-sided 5 % tests (Schuirmann, 1987), by exact limits: equality is a claim that ties must not make cheap.
EQUIVALENCE = Level(0.05, 0.0)


def unseen_share(found: Observations, level: Level) -> float:
    """The largest share of cases that may have been missed altogether."""
    return float(1 - level.tail ** (1 / found.worth))


def unseen_weight(tied: Floats, count: int) -> Floats:
    """How much an unseen case at the far end weighs: one case if all are ties, less the more that differ."""
    return np.asarray(tied / (1 + (1 - tied) * (count - 1) / ENOUGH_SEEN), np.float64)


def bounded_interval(found: Observations, far: Floats, near: Floats, level: Level) -> tuple[Floats, Floats]:
    """Limits of means of values between 0 and 1; ``far`` and ``near`` weigh an unseen case of value 1 and of value 0."""
    ratio = _variance_ratio(found, far, near)
    # The t distribution makes up for a variance that is only estimated; no mean can vary more than a proportion.
    expanded = ratio * (t_quantile(1 - level.tail, int(found.worth + SAME) - 1) / NORMAL.inv_cdf(1 - level.tail)) ** 2
    largest = np.maximum(1.0, ratio * (len(found) - 1) / len(found))
    return proportion_limits(np.clip(found.means, 0, 1), found.worth / np.minimum(expanded, largest), level)


def _variance_ratio(found: Observations, far: Floats, near: Floats) -> Floats:
    """The variance of observations over that of a proportion of the same mean, unseen cases included."""
    sums, sizes = found.sums, found.sizes
    usual = sizes.mean()
    mean = (sums.sum(axis=0) + far * usual) / (sizes.sum() + (far + near) * usual)
    squares = ((sums - mean * sizes[:, None]) ** 2).sum(axis=0) + usual**2 * (far * (1 - mean) ** 2 + near * mean**2)
    variance = squares / ((sizes**2).sum() + (far + near) * usual**2) * len(sizes) / (len(sizes) - 1)
    return np.asarray(np.maximum(variance, SAME**2) / np.maximum(mean * (1 - mean), SAME**2), np.float64)


def proportion_limits(share: Floats, trials: Floats, level: Level) -> tuple[Floats, Floats]:
    """Limits of a proportion; ``trials`` need not be whole."""
    hits, misses = share * trials, (1 - share) * trials
    lean = level.lean * np.minimum(1.0, np.minimum(hits, misses))
    none, all_of_them = hits <= SAME, misses <= SAME
    # The upper limit of a share is the lower one of the rest; both are found in one search.
    first = np.concatenate([np.where(none, 1.0, hits + lean), np.where(all_of_them, 1.0, misses + lean)])
    second = np.concatenate([misses + 1 - lean, hits + 1 - lean])
    low, rest = np.split(beta_quantile(level.tail, first, second), 2)
    high = 1 - rest
    return np.minimum(share, np.where(none, 0.0, low)), np.maximum(share, np.where(all_of_them, 1.0, high))


def score_interval(found: Observations) -> tuple[Floats, Floats]:
    """95 % limits of means of scores between 0 and 1."""
    tied, value = found.commonest
    unseen = unseen_weight(tied, len(found))
    low, high = bounded_interval(found, unseen * (1 - value), unseen * value, SHOWN)
    # All equal: nothing is known but the share of others that would have shown.
    share = unseen_share(found, SHOWN)
    equal = tied >= 1
    return np.where(equal, value * (1 - share), low), np.where(equal, value + (1 - value) * share, high)


def mean_intervals(values: Floats, clusters: Clusters, ranges: Sequence[tuple[float, float]]) -> list[tuple[float, float] | None]:
    """One interval per column of ``values``, None where there are too few independent cases or no value is defined.

    ``ranges`` are the lowest and highest values that each column could have. None for one without an end: how far off an unseen
    case could be is not known then, and the limits would not hold.
    """
    result: list[tuple[float, float] | None] = [None] * values.shape[1]
    bounded = [column for column, ends in enumerate(ranges) if np.isfinite(ends).all()]
    for defined, columns in _columns_by_defined_rows(values, bounded):
        kept = None if clusters is None else np.asarray(clusters)[defined]
        lows, highs = np.array([ranges[column] for column in columns], np.float64).T
        spans = np.where(highs > lows, highs - lows, 1.0)
        found = observations((values[defined][:, columns] - lows) / spans, kept)
        if not found.enough:
            continue
        low, high = score_interval(found)
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
