"""An exact index finds the vectors that float64 finds, in its order, whatever was put and dropped before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import UsageError
from searchmark.agents.vectors.embedder import normalize_rows
from searchmark.agents.vectors.exact import BLOCK_ROWS, ExactIndex, kth_largest
from tests.agents.brute_force import filled, plain


def test_what_was_dropped_is_not_found_until_its_number_is_used_again() -> None:
    rows = np.eye(3, dtype=np.float32)
    index = filled(rows)
    index.drop(np.array([1]))
    assert 1 not in index.search(rows[1], 3).numbers
    index.put(np.array([1]), rows[2:])
    assert index.search(rows[2], 2).numbers.tolist() == [1, 2]


def test_vectors_beyond_the_first_block_are_found_and_given_back() -> None:
    rows = normalize_rows(np.random.default_rng(1).normal(size=(BLOCK_ROWS + 10, 8)).astype(np.float32))
    index = filled(rows)
    last = BLOCK_ROWS + 9
    some = np.array([last, 3, BLOCK_ROWS, BLOCK_ROWS - 1])
    assert index.search(rows[last], 1).numbers.tolist() == [last]
    assert (index.contents(some) == rows[some]).all()
    assert index.scores(rows[3], some)[1] == 1.0
    assert index.size() == (BLOCK_ROWS + 10) * (8 * 4 + 6)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=200), st.data())
def test_the_k_th_largest_is_that_of_sorting(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    assert kth_largest(np.array(values, np.float32), k) == sorted(values, reverse=True)[k - 1]


def test_nothing_is_near_to_zeros_and_nothing_is_in_an_empty_index() -> None:
    assert len(filled(np.ones((1, 2), np.float32)).search(np.zeros(2, np.float32), 3)) == 0
    assert len(ExactIndex(2).search(np.ones(2, np.float32), 3)) == 0
    assert len(filled(np.ones((1, 2), np.float32)).search(np.ones(2, np.float32), 3)) == 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_refused_with_all_that_came_with_it(wrong: float) -> None:
    index, rows = ExactIndex(2), np.array([[1, 0], [0, wrong]], np.float32)
    with pytest.raises(UsageError, match=r"^vector 7 holds NaN or infinity; an index takes finite numbers only$"):
        index.put(np.array([3, 7]), rows)
    with pytest.raises(UsageError, match=r"^a query holds NaN or infinity; an index takes finite numbers only$"):
        index.search(rows[1], 1)
    assert len(index.search(rows[0], 5)) == 0


def test_a_vector_or_query_of_another_dimension_is_refused() -> None:
    index = ExactIndex(3)
    with pytest.raises(UsageError, match=r"^vectors of 2 numbers cannot be put into an index of 3$"):
        index.put(np.arange(2), np.ones((2, 2), np.float32))
    with pytest.raises(UsageError, match=r"^a query of 2 numbers cannot be searched for among vectors of 3$"):
        index.search(np.ones(2, np.float32), 1)
    with pytest.raises(UsageError, match=r"^2 vectors need as many numbers, counted from 0$"):
        index.put(np.arange(3), np.ones((2, 3), np.float32))


def test_a_vector_in_place_of_one_that_only_float64_could_score_is_found_as_any() -> None:
    index = filled(np.array([[1e38, 1e38], [2, 1]], np.float32), "l2")
    index.put(np.array([0]), np.array([[1, 1]], np.float32))
    assert plain(index.search(np.array([1, 1], np.float32), 2)) == ([0, 1], [0.0, -1.0])
