"""Recall counts what is as near as the last of the true neighbours, overlap what is one of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.index import NeighbourRecall, neighbour_recall
from tests.support.index_checks import holding

RIGHT, NEAR, UP = (1.0, 0.0), (0.8, 0.6), (0.0, 1.0)  # nearest first, for a query to the right
QUERY = np.array(RIGHT, dtype=np.float32)


def measured(rows: list[tuple[float, float]], found: list[int], k: int, query: np.ndarray = QUERY) -> NeighbourRecall | None:
    truth = holding(ExactIndex, np.array(rows, dtype=np.float32).reshape(-1, 2), "cosine")
    return neighbour_recall(truth, query, np.array(found, dtype=np.int64), k)


def test_what_was_not_found_is_missing_from_both() -> None:
    assert measured([RIGHT, NEAR, UP], [0, 2], 2) == NeighbourRecall(2, 0.5, 0.5)
    assert measured([RIGHT, NEAR, UP], [0, 1], 2) == NeighbourRecall(2, 1.0, 1.0)
    assert measured([RIGHT, NEAR, UP], [2], 2) == NeighbourRecall(2, 0.0, 0.0)
    assert measured([RIGHT, NEAR, UP], [], 2) == NeighbourRecall(2, 0.0, 0.0)


def test_the_order_of_what_was_found_does_not_matter_within_the_first_k() -> None:
    assert measured([RIGHT, NEAR, UP], [1, 0], 2) == NeighbourRecall(2, 1.0, 1.0)


def test_what_comes_after_the_first_k_does_not_count() -> None:
    assert measured([RIGHT, NEAR, UP], [2, 0, 1], 2) == NeighbourRecall(2, 0.5, 0.5)
    assert measured([RIGHT, NEAR, UP], [0, 2, 1], 1) == NeighbourRecall(1, 1.0, 1.0)


def test_any_of_several_equal_vectors_is_as_good_but_only_the_first_numbers_overlap() -> None:
    """Three vectors share the second rank: numbers 1 and 2 are the true ones, and 3 is no worse."""
    rows = [RIGHT, NEAR, NEAR, NEAR, UP]
    assert measured(rows, [0, 3, 2], 3) == NeighbourRecall(3, 1.0, pytest.approx(2 / 3))
    assert measured(rows, [0, 3, 4], 3) == NeighbourRecall(3, pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_what_ties_with_the_last_counts_even_where_a_nearer_one_was_missed() -> None:
    assert measured([RIGHT, NEAR, NEAR, NEAR, UP], [1, 2, 3], 3) == NeighbourRecall(3, 1.0, pytest.approx(2 / 3))
    assert measured([RIGHT, RIGHT, NEAR, NEAR], [2, 3], 2) == NeighbourRecall(2, 0.0, 0.0)


def test_all_duplicates_of_one_vector_are_equally_good() -> None:
    assert measured([NEAR] * 6, [5, 4], 2) == NeighbourRecall(2, 1.0, 0.0)


def test_a_number_that_was_found_twice_is_one() -> None:
    assert measured([RIGHT, NEAR, UP], [0, 0], 2) == NeighbourRecall(2, 0.5, 0.5)


def test_with_fewer_vectors_than_k_it_is_of_all_there_are() -> None:
    assert measured([RIGHT, UP], [0, 1], 10) == NeighbourRecall(2, 1.0, 1.0)
    assert measured([RIGHT, UP], [1], 10) == NeighbourRecall(2, 0.5, 0.5)


def test_where_nothing_is_near_recall_is_not_known() -> None:
    assert measured([RIGHT, UP], [], 3, np.zeros(2, dtype=np.float32)) is None
    assert measured([], [], 3) is None
    assert measured([RIGHT], [0], 0) is None


@given(st.integers(0, 10_000), st.integers(1, 12), st.data())
def test_any_answer_is_measured_as_by_definition(seed: int, k: int, data: st.DataObject) -> None:
    """Few distinct numbers make many ties, and integers make every score exact."""
    random = np.random.default_rng(seed)
    rows = random.integers(-1, 2, size=(10, 3)).astype(np.float32)
    query = np.append(random.integers(-1, 2, size=2), 1).astype(np.float32)
    found = data.draw(st.lists(st.integers(0, 9), unique=True))

    scores = {number: float(row @ query) for number, row in enumerate(rows)}
    true = sorted(scores, key=lambda number: (-scores[number], number))[:k]
    as_near = [number for number in found[: len(true)] if scores[number] >= scores[true[-1]]]
    same = set(found[: len(true)]) & set(true)
    expected = NeighbourRecall(len(true), len(as_near) / len(true), len(same) / len(true))
    assert neighbour_recall(holding(ExactIndex, rows, "ip"), query, np.array(found, dtype=np.int64), k) == expected
    assert expected.overlap <= expected.recall
