"""An exact index finds what a brute force in float64 finds, to the last bit, for one query and for many at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searchmark.agents.vectors.exact import COLUMNS, QUERIES_AT_ONCE
from searchmark.agents.vectors.index import Distance
from searchmark.agents.vectors.models import WordLlamaModel
from tests.agents.brute_force import DISTANCES, brute_force, filled, plain
from tests.agents.jira import jira_vectors

every_distance = pytest.mark.parametrize("distance", DISTANCES)


def check(rows: np.ndarray, queries: np.ndarray, k: int, distance: Distance) -> None:
    """Both ways of searching against the brute force."""
    index = filled(rows, distance)
    expected = [brute_force(rows, query, k, distance) for query in queries]
    assert [plain(index.search(query, k)) for query in queries] == expected
    assert [plain(near) for near in index.search_many(queries, k)] == expected


@pytest.mark.slow
@every_distance
@pytest.mark.parametrize("k", [1, 10, 700])
def test_random_vectors_of_any_length(distance: Distance, k: int) -> None:
    random = np.random.default_rng(3)
    rows = (random.normal(size=(COLUMNS + 900, 24)) * random.uniform(0.1, 30, size=(COLUMNS + 900, 1))).astype(np.float32)
    check(rows, random.normal(size=(5, 24)).astype(np.float32) * 7, k, distance)


@every_distance
def test_real_vectors_of_a_transformer(shared_data: Path, distance: Distance) -> None:
    _, rows = jira_vectors(shared_data)
    check(rows, rows[::20] + rows[1::20][: len(rows[::20])].mean(axis=0), 10, distance)


@pytest.mark.slow
@every_distance
def test_real_vectors_of_texts_as_the_model_gives_them(distance: Distance) -> None:
    """Not normalised, with duplicates: each text is there twice."""
    words = ["red", "blue", "silk", "cotton", "long", "short", "dress", "shirt", "skirt", "coat", "summer", "winter"]
    texts = [f"{one} {other}" for one in words for other in words]
    rows = WordLlamaModel().encode(texts + texts)
    check(rows, rows[:40:3], 10, distance)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from(DISTANCES))
def test_small_integers_where_most_scores_are_tied(seed: int, k: int, distance: Distance) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(-1, 2, size=(30, 4)).astype(np.float32)
    queries = np.column_stack((random.integers(-1, 2, size=(6, 3)), np.ones(6))).astype(np.float32)
    check(rows, queries, k, distance)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 25), st.sampled_from(DISTANCES))
def test_magnitudes_from_the_smallest_to_the_largest_number_of_float32(seed: int, k: int, distance: Distance) -> None:
    """Products and squares of many of these are infinity or zero in float32."""
    random = np.random.default_rng(seed)
    scales = np.array([0, 1e-45, 1e-40, 1e-25, 1e-19, 1e-3, 1, 1e3, 1e15, 1e19, 1e25, 1e38])
    rows = (random.uniform(-1, 1, size=(40, 6)) * random.choice(scales, size=(40, 1))).astype(np.float32)
    queries = (random.uniform(0.1, 3, size=(8, 6)) * random.choice(scales[2:], size=(8, 1))).astype(np.float32)
    check(rows, queries, k, distance)


@every_distance
@pytest.mark.parametrize("scale", [1e-42, 1e-22, 1e22, 3e38])
def test_vectors_that_are_all_too_small_or_too_large_for_float32(distance: Distance, scale: float) -> None:
    random = np.random.default_rng(8)
    values = (random.uniform(-1, 1, size=(300, 16)) * scale).astype(np.float32)
    check(values[:290], values[290:], 12, distance)


@every_distance
def test_vectors_closer_to_each_other_than_float32_can_see(distance: Distance) -> None:
    random = np.random.default_rng(5)
    rows = (random.normal(size=256) + 1e-6 * random.normal(size=(900, 256))).astype(np.float32)
    check(rows, rows[:4], 10, distance)


@every_distance
def test_a_crowd_of_duplicates_is_ordered_by_number(distance: Distance) -> None:
    """More of them in one matmul than a query is allowed to have in question, beside a query that is near to others."""
    random = np.random.default_rng(9)
    rows = random.normal(size=(2 * COLUMNS, 8)).astype(np.float32)
    rows[::2] = rows[0]
    check(rows, np.stack((rows[0], -rows[0], rows[1])), 10, distance)


def test_more_queries_than_one_matmul_takes() -> None:
    random = np.random.default_rng(2)
    index = filled(random.normal(size=(500, 8)).astype(np.float32), "ip")
    queries = random.normal(size=(QUERIES_AT_ONCE + 3, 8)).astype(np.float32)
    assert [plain(near) for near in index.search_many(queries, 3)] == [plain(index.search(query, 3)) for query in queries]


@every_distance
def test_many_queries_find_nothing_that_was_dropped(distance: Distance) -> None:
    random = np.random.default_rng(2)
    rows = random.normal(size=(400, 8)).astype(np.float32)
    index = filled(rows, distance)
    index.drop(np.arange(0, 400, 2))
    numbers, _ = brute_force(rows[1::2], rows[0], 250, distance)
    assert [near.numbers.tolist() for near in index.search_many(rows[:1].repeat(2, axis=0), 250)] == [
        [2 * n + 1 for n in numbers]
    ] * 2


def test_zeros_have_no_direction_but_a_distance() -> None:
    rows = np.array([[3, 4], [0, 1], [0, 0]], np.float32)
    zeros = np.zeros((2, 2), np.float32)
    assert [len(near) for near in filled(rows, "cosine").search_many(zeros, 3)] == [0, 0]
    assert [len(near) for near in filled(rows, "ip").search_many(zeros, 3)] == [0, 0]
    assert plain(filled(rows, "l2").search_many(zeros, 3)[1]) == ([2, 1, 0], [0.0, -1.0, -5.0])
    assert plain(filled(rows, "cosine").search(rows[0], 3)) == ([0, 1, 2], [1.0, 0.8, 0.0])


@every_distance
def test_nothing_is_found_in_an_empty_index_or_when_nothing_is_wanted(distance: Distance) -> None:
    rows = np.ones((2, 2), np.float32)
    assert [len(near) for near in filled(rows[:0], distance).search_many(rows, 3)] == [0, 0]
    assert [len(near) for near in filled(rows, distance).search_many(rows, 0)] == [0, 0]
    assert filled(rows, distance).search_many(rows[:0], 3) == []


@every_distance
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 50.0, 1e30])
def test_no_estimate_is_further_from_the_exact_score_than_it_says(distance: Distance, scale: float) -> None:
    rows = (scale * np.random.default_rng(4).normal(size=(2000, 96))).astype(np.float32)
    index, numbers = filled(rows, distance), np.arange(0, 2000, 3)
    estimates = index.estimates(rows[1], numbers)
    off = np.abs(estimates.scores.astype(np.float64) - index.scores(rows[1], numbers))
    assert off.max() <= estimates.error
