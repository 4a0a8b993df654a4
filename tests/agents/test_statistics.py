"""Statistics of vectors are those of the vectors that are there, whatever came and went before."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark.agents.vectors.index import BLOCK, VectorStatisticsTracker, statistics_of
from searchmark.records.provenance import VectorStatistics


def rows(*vectors: list[float]) -> np.ndarray:
    return np.array(vectors, dtype=np.float32)


def test_lengths_and_all_that_is_odd_are_counted_by_hand() -> None:
    vectors = rows([3, 4], [0, 0], [-0.0, 0], [4, 3], [3, 4], [0, 1], [np.nan, 1], [np.inf, 0], [0, 1])
    assert statistics_of([vectors[:4], vectors[4:]], 2, normalized=False) == VectorStatistics(
        count=9,
        dimension=2,
        normalized=False,
        norm_mean=pytest.approx(17 / 7),  # 5, 0, 0, 5, 5, 1, 1
        norm_std=pytest.approx(2.258769757263128),
        norm_min=0.0,
        norm_min_nonzero=1.0,
        norm_max=5.0,
        zero=2,
        duplicates=2,
        not_finite=2,
    )


def test_no_vectors_have_no_lengths() -> None:
    for empty in (statistics_of([], 3), statistics_of([rows([0, np.nan, 0])], 3)):
        assert (empty.norm_mean, empty.norm_std, empty.norm_min, empty.norm_max) == (None, None, None, None)


def test_half_of_the_vectors_being_zeros_halves_the_mean() -> None:
    found = statistics_of([rows([1, 0], [0, 0], [0, 1], [0, 0])], 2)
    assert (found.norm_mean, found.norm_std, found.norm_min, found.norm_min_nonzero, found.finite) == (0.5, 0.5, 0.0, 1.0, 4)


def test_minus_zero_makes_no_other_vector() -> None:
    assert statistics_of([rows([0.0, 1], [-0.0, 1])], 2).duplicates == 1


def test_what_was_overwritten_or_dropped_does_not_count() -> None:
    ledger = VectorStatisticsTracker(2)
    ledger.put(np.arange(4), rows([1, 0], [0, 1], [1, 0], [0, 0]))
    assert (ledger.statistics().duplicates, ledger.statistics().zero) == (1, 1)
    ledger.put(np.array([2]), rows([0, 7]))
    ledger.drop(np.array([3]))
    assert (ledger.statistics().count, ledger.statistics().duplicates, ledger.statistics().zero) == (3, 0, 0)
    assert ledger.statistics().norm_max == 7.0


def test_many_blocks_are_the_same_as_all_at_once() -> None:
    vectors = np.random.default_rng(0).normal(size=(2 * BLOCK + 7, 5)).astype(np.float32)
    vectors[BLOCK + 3] = vectors[1]
    found = statistics_of([vectors], 5)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert found.norm_mean == pytest.approx(lengths.mean(), rel=1e-12)
    assert found.norm_std == pytest.approx(lengths.std(), rel=1e-9)
    assert (found.count, found.duplicates) == (len(vectors), 1)
