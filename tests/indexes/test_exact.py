"""An exact index finds the vectors that float64 finds, in its order, whatever was put and dropped before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.embedders.embedder import normalized
from searchmark.indexes.blocks import BLOCK
from searchmark.indexes.exact import ExactIndex
from searchmark.indexes.shortlist import kth_largest


def filled(rows: np.ndarray, *, cosine: bool = True) -> ExactIndex:
    index = ExactIndex(rows.shape[1], "cosine" if cosine else "ip")
    index.put(np.arange(len(rows)), rows)
    return index


def float64_scores(rows: np.ndarray, query: np.ndarray, cosine: bool) -> list[float]:
    wide = query.astype(np.float64)
    products = [float((row.astype(np.float64) * wide).sum()) for row in rows]
    lengths = [float(np.sqrt((row.astype(np.float64) ** 2).sum() * (wide**2).sum())) for row in rows]
    return [product / length if cosine and length else product for product, length in zip(products, lengths, strict=True)]


@pytest.mark.parametrize("cosine", [True, False])
def test_scores_that_float32_cannot_tell_apart_are_ordered_as_in_float64(cosine: bool) -> None:
    """300 vectors around one direction, closer to each other than a float32 dot product can see."""
    random = np.random.default_rng(5)
    centre = random.normal(size=256)
    centre /= np.linalg.norm(centre)
    rows = (centre + 1e-6 * random.normal(size=(300, 256))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    exact = float64_scores(rows, rows[7], cosine)
    expected = sorted(range(300), key=lambda number: (-exact[number], number))[:10]
    in_float32 = np.argsort(-(rows @ rows[7]), kind="stable")[:10].tolist()

    found = filled(rows, cosine=cosine).search(rows[7], 10)
    assert found.numbers.tolist() == expected
    assert found.scores.tolist() == [exact[number] for number in expected]
    assert in_float32 != expected  # otherwise this test would show nothing


@given(st.integers(0, 10_000), st.integers(1, 40), st.booleans())
def test_any_vectors_are_found_in_the_order_of_float64(seed: int, k: int, cosine: bool) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-1, 2, size=(30, 4)).astype(np.float32)
    rows = normalized(values) if cosine else values
    query = np.append(random.integers(-1, 2, size=3), 1).astype(np.float32)
    exact = float64_scores(rows, query, cosine)

    found = filled(rows, cosine=cosine).search(query, k)
    assert found.numbers.tolist() == sorted(range(30), key=lambda number: (-exact[number], number))[:k]


def test_a_long_vector_does_not_hide_behind_its_error() -> None:
    """Without cosine, the longer vectors are, the further float32 is off."""
    random = np.random.default_rng(6)
    rows = (1000 * (1 + 1e-7 * random.normal(size=(200, 128)))).astype(np.float32)
    exact = float64_scores(rows, rows[0], cosine=False)
    assert (
        filled(rows, cosine=False).search(rows[0], 5).numbers.tolist() == np.argsort(-np.array(exact), kind="stable")[:5].tolist()
    )


def test_what_was_dropped_is_not_found_until_its_number_is_used_again() -> None:
    rows = np.eye(3, dtype=np.float32)
    index = filled(rows)
    index.drop(np.array([1]))
    assert 1 not in index.search(rows[1], 3).numbers
    index.put(np.array([1]), rows[2:])
    assert index.search(rows[2], 2).numbers.tolist() == [1, 2]


def test_vectors_beyond_the_first_block_are_found_and_given_back() -> None:
    rows = normalized(np.random.default_rng(1).normal(size=(BLOCK + 10, 8)).astype(np.float32))
    index = filled(rows)
    last = BLOCK + 9
    some = np.array([last, 3, BLOCK, BLOCK - 1])
    assert index.search(rows[last], 1).numbers.tolist() == [last]
    assert (index.contents(some) == rows[some]).all()
    assert index.scores(rows[3], some)[1] == 1.0
    assert index.size() == 2 * BLOCK * (8 * 4 + 6)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=200), st.data())
def test_the_k_th_largest_is_that_of_sorting(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    assert kth_largest(np.array(values, np.float32), k) == sorted(values, reverse=True)[k - 1]


def test_nothing_is_near_to_zeros_and_nothing_is_in_an_empty_index() -> None:
    assert len(filled(np.ones((1, 2), np.float32)).search(np.zeros(2, np.float32), 3)) == 0
    assert len(ExactIndex(2).search(np.ones(2, np.float32), 3)) == 0
    assert len(filled(np.ones((1, 2), np.float32)).search(np.ones(2, np.float32), 3)) == 1


@pytest.mark.parametrize("cosine", [True, False])
def test_no_estimate_is_further_from_the_exact_score_than_it_says(cosine: bool) -> None:
    rows = normalized(np.random.default_rng(4).normal(size=(2000, 256)).astype(np.float32))
    index, numbers = filled(rows, cosine=cosine), np.arange(0, 2000, 3)
    estimates = index.estimates(rows[1], numbers)
    off = np.abs(estimates.scores.astype(np.float64) - index.scores(rows[1], numbers))
    assert 0 < off.max() <= estimates.error
