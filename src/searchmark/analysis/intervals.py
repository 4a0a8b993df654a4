"""Confidence intervals of means: how far the number could be off with other cases of the same kind.

Cases of one origin are resampled as one cluster. Resampling is seeded and sorted by cluster name, so that
neither the clock nor the order of the cases can change a digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
Z = 1.959963984540054  # the normal quantile of (1 + LEVEL) / 2
RESAMPLES = 10_000
SEED = 20_240_615
FEWEST_CASES = 10

# Drawn numbers held at once while resampling: 32 MB of counts.
_AT_ONCE = 1 << 22


def wilson(successes: float, cases: float) -> tuple[float, float]:
    """The score interval of a proportion (Wilson, 1927): honest even when all or none succeeded."""
    share = successes / cases
    centre = share + Z * Z / (2 * cases)
    half = Z * sqrt(share * (1 - share) / cases + Z * Z / (4 * cases * cases))
    scale = 1 + Z * Z / cases
    # Rounding must not leave the proportion itself outside.
    return min(share, max(0.0, (centre - half) / scale)), max(share, min(1.0, (centre + half) / scale))


def effective_size(clusters: Sequence[str]) -> float:
    """How many independent observations cases in clusters are worth: all clusters count alike only if they are of one size."""
    sizes = np.unique(np.asarray(clusters, dtype=object), return_counts=True)[1].astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def cluster_sums(values: Floats, clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """Sum of each column and number of rows per cluster, clusters sorted by name."""
    names, cluster = np.unique(np.asarray(clusters, dtype=object), return_inverse=True)
    sums = [np.bincount(cluster, column, minlength=len(names)) for column in values.T]
    return np.column_stack(sums).astype(np.float64), np.bincount(cluster, minlength=len(names)).astype(np.float64)


def resampled_means(sums: Floats, sizes: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Means of bootstrap samples of whole clusters: one row per sample, one column per measure."""
    means = np.empty((resamples, sums.shape[1]))
    for rows, counts in _drawn_counts(len(sizes), resamples, seed):
        means[rows] = counts @ sums / (counts @ sizes)[:, None]
    return means


def _drawn_counts(clusters: int, resamples: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """How often each cluster is drawn in each sample, a block of samples at a time."""
    random = np.random.default_rng(seed)
    small = np.uint16 if clusters <= 1 << 16 else np.uint32
    block = max(1, _AT_ONCE // clusters)
    for start in range(0, resamples, block):
        counts = np.empty((min(block, resamples - start), clusters))
        drawn = random.integers(0, clusters, size=counts.shape, dtype=small)
        for sample, numbers in zip(counts, drawn, strict=True):
            sample[:] = np.bincount(numbers, minlength=clusters)
        yield slice(start, start + len(counts)), counts


def percentile_interval(means: Floats) -> tuple[Floats, Floats]:
    """The middle LEVEL of the resampled means, per column."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def mean_intervals(values: Floats, clusters: Sequence[str], binary: Sequence[bool]) -> list[tuple[float, float] | None]:
    """One interval per column of ``values``, None where there are too few independent cases or no value is defined."""
    result: list[tuple[float, float] | None] = [None] * values.shape[1]
    for defined, columns in _columns_by_defined_rows(values):
        kept = [cluster for cluster, keep in zip(clusters, defined, strict=True) if keep]
        independent = len(set(kept))
        if independent < FEWEST_CASES:
            continue
        for column in columns:
            if binary[column]:
                # Cases of one origin are worth one observation, so that copies add no certainty.
                worth = effective_size(kept)
                result[column] = wilson(float(values[defined, column].mean()) * worth, worth)
        others = [column for column in columns if not binary[column]]
        if others:
            low, high = percentile_interval(resampled_means(*cluster_sums(values[defined][:, others], kept)))
            for place, column in enumerate(others):
                result[column] = (float(low[place]), float(high[place]))
    return result


def _columns_by_defined_rows(values: Floats) -> list[tuple[NDArray[np.bool_], list[int]]]:
    """Columns that are defined for the same rows, so that they can share one resampling."""
    groups: dict[bytes, tuple[NDArray[np.bool_], list[int]]] = {}
    for column in range(values.shape[1]):
        defined = ~np.isnan(values[:, column])
        groups.setdefault(defined.tobytes(), (defined, []))[1].append(column)
    return list(groups.values())
