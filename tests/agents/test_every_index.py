"""Every index, when its search is exhaustive, finds what float64 finds, within what its numbers may be off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.index import Distance, VectorIndex
from tests.support import index_checks as checks


@dataclass(frozen=True)
class Kind:
    """An index, its distances, and how far a score of it may be from the exact one for vectors of length one."""

    choice: dict[str, Any]
    off: float
    distances: tuple[Distance, ...] = ("cosine", "ip", "l2")
    any_length: tuple[Distance, ...] = ("cosine", "ip", "l2")

    def open(self, dimension: int, distance: Distance) -> VectorIndex:
        return index_settings(self.choice).open(dimension, distance)


EXHAUSTIVE = {"name": "hnsw", "m": 64, "ef_search": 1000, "ef_construction": 1000}  # with a smaller m, hubs hide vectors
QUICK = {"hnsw": {"m": 8, "ef_construction": 32}}  # for more vectors than a search that misses none is worth
KINDS = {
    "exact": Kind({"name": "exact"}, 1e-12),
    "hnsw f32": Kind(EXHAUSTIVE, 1e-5),
    "hnsw f16": Kind({**EXHAUSTIVE, "scalar": "f16"}, 1e-2),
    "hnsw i8": Kind({**EXHAUSTIVE, "scalar": "i8"}, 0.05, any_length=("cosine",)),
    "sqlite_vec f32": Kind({"name": "sqlite_vec"}, 1e-5, ("cosine", "l2"), ("cosine", "l2")),
    "sqlite_vec in a file": Kind({"name": "sqlite_vec", "storage": "file"}, 1e-5, ("cosine", "l2"), ("cosine", "l2")),
    "sqlite_vec i8": Kind({"name": "sqlite_vec", "scalar": "i8"}, 0.05, ("cosine", "l2"), ("cosine",)),
}
EVERY = [pytest.param(kind, distance, id=f"{name} {distance}") for name, kind in KINDS.items() for distance in kind.distances]
ANY_LENGTH = [pytest.param(kind, distance, id=f"{name} {distance}") for name, kind in KINDS.items() for distance in kind.any_length]
ALL = [pytest.param(kind, id=name) for name, kind in KINDS.items()]
BY_PRODUCT = [pytest.param(kind, id=name) for name, kind in KINDS.items() if "ip" in kind.distances]


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_the_nearest_are_found_with_their_scores(kind: Kind, distance: Distance) -> None:
    checks.check_nearest_are_found(kind.open, distance, kind.off, unit=True)


@pytest.mark.parametrize(("kind", "distance"), ANY_LENGTH)
def test_the_nearest_of_unnormalised_vectors_are_found_too(kind: Kind, distance: Distance) -> None:
    checks.check_nearest_are_found(kind.open, distance, kind.off, unit=False)


@pytest.mark.parametrize("kind", ALL)
def test_the_cosine_of_long_and_short_vectors_is_the_true_one(kind: Kind) -> None:
    checks.check_long_and_short_vectors_keep_their_cosine(kind.open, kind.off)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_numbers_can_be_overwritten_dropped_and_used_again(kind: Kind, distance: Distance) -> None:
    checks.check_numbers_are_overwritten_dropped_and_used_again(kind.open, distance, kind.off)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_an_index_that_was_emptied_can_be_filled(kind: Kind, distance: Distance) -> None:
    checks.check_dropping_everything_leaves_an_index_that_can_be_filled(kind.open, distance, kind.off)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_nothing_is_found_where_nothing_can_be(kind: Kind, distance: Distance) -> None:
    checks.check_nothing_is_found_where_nothing_can_be(kind.open, distance)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_vectors_of_zeros_have_scores(kind: Kind, distance: Distance) -> None:
    checks.check_vectors_of_zeros_score_and_are_no_nan(kind.open, distance, kind.off)


@pytest.mark.parametrize("kind", ALL)
def test_zeros_are_a_query_by_euclidean_distance(kind: Kind) -> None:
    checks.check_zeros_are_a_query_by_euclidean_distance(kind.open, kind.off)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_what_is_not_finite_is_refused(kind: Kind, distance: Distance) -> None:
    checks.check_what_is_not_finite_is_refused_and_nothing_of_it_stays(kind.open, distance, kind.off)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_equal_vectors_score_the_same_and_are_ordered_by_number(kind: Kind, distance: Distance) -> None:
    checks.check_equal_vectors_score_the_same_and_are_ordered_by_number(kind.open, distance, kind.off)


@pytest.mark.parametrize("kind", BY_PRODUCT)
def test_cosine_and_inner_product_rank_normalised_vectors_the_same(kind: Kind) -> None:
    checks.check_cosine_and_inner_product_rank_normalised_vectors_the_same(kind.open, kind.off)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_two_builds_find_the_same(kind: Kind, distance: Distance) -> None:
    checks.check_two_builds_find_the_same(kind.open, distance)


@pytest.mark.parametrize(("kind", "distance"), EVERY)
def test_an_index_says_what_it_is_and_what_it_takes(kind: Kind, distance: Distance) -> None:
    checks.check_it_says_what_it_is_and_what_it_takes(kind.open, distance, kind.choice["name"])


@pytest.mark.parametrize("kind", ALL)
def test_its_size_is_at_least_that_of_the_vectors_it_holds(kind: Kind) -> None:
    rows = checks.random_rows(5, 1454)
    bytes_of_one = {"f32": 4, "f16": 2, "i8": 1}[kind.choice.get("scalar", "f32")]
    size = checks.holding(index_settings({**kind.choice, **QUICK.get(kind.choice["name"], {})}).open, rows, "cosine").size()
    assert size is not None
    assert size >= rows.size * bytes_of_one


def test_an_exact_index_counts_the_vectors_it_holds_and_not_the_room_for_more() -> None:
    rows = checks.random_rows(5, 1454)
    size = checks.holding(index_settings("exact").open, rows, "cosine").size()
    assert size is not None
    assert rows.nbytes <= size < 1.5 * rows.nbytes
