"""What every index must do, on a real PostgreSQL with parameters that leave nothing out."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.index import Distance, VectorIndex
from tests.support import index_checks

pytestmark = pytest.mark.servers

KINDS: dict[str, tuple[dict[str, Any], float]] = {
    "none": ({"method": "none"}, 1e-12),
    "none halfvec": ({"method": "none", "type": "halfvec"}, 1e-2),
    "ivfflat": ({"method": "ivfflat", "lists": 8, "probes": 8}, 1e-5),
    "hnsw": ({"method": "hnsw", "m": 64, "ef_construction": 500, "ef_search": 1000}, 1e-5),
    "hnsw halfvec": ({"method": "hnsw", "type": "halfvec", "m": 64, "ef_construction": 500, "ef_search": 1000}, 1e-2),
}


class Kind:
    """Opens indexes of one kind and closes all of them."""

    def __init__(self, dsn: str, options: dict[str, Any], off: float) -> None:
        self.choice, self.off = {"name": "pgvector", "dsn": dsn, **options}, off
        self.made: list[VectorIndex] = []

    def open(self, dimension: int, distance: Distance) -> VectorIndex:
        self.made.append(index_settings(self.choice).open(dimension, distance))
        return self.made[-1]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest, postgres: str) -> Any:
    made = Kind(postgres, *KINDS[request.param])
    yield made
    for index in made.made:
        index.close()


@pytest.fixture(params=["cosine", "ip", "l2"])
def distance(request: pytest.FixtureRequest) -> Distance:
    chosen: Distance = request.param
    return chosen


def test_the_nearest_are_found_with_their_scores(kind: Kind, distance: Distance) -> None:
    index_checks.check_nearest_are_found(kind.open, distance, kind.off, unit=True)


def test_the_cosine_of_long_and_short_vectors_is_the_true_one(kind: Kind) -> None:
    index_checks.check_long_and_short_vectors_keep_their_cosine(kind.open, kind.off)


def test_numbers_can_be_overwritten_dropped_and_used_again(kind: Kind, distance: Distance) -> None:
    index_checks.check_numbers_are_overwritten_dropped_and_used_again(kind.open, distance, kind.off)


def test_an_index_that_was_emptied_can_be_filled(kind: Kind, distance: Distance) -> None:
    index_checks.check_dropping_everything_leaves_an_index_that_can_be_filled(kind.open, distance, kind.off)


def test_nothing_is_found_where_nothing_can_be(kind: Kind, distance: Distance) -> None:
    index_checks.check_nothing_is_found_where_nothing_can_be(kind.open, distance)


def test_vectors_of_zeros_have_scores(kind: Kind, distance: Distance) -> None:
    index_checks.check_vectors_of_zeros_score_and_are_no_nan(kind.open, distance, kind.off)


def test_equal_vectors_score_the_same_and_are_ordered_by_number(kind: Kind, distance: Distance) -> None:
    index_checks.check_equal_vectors_score_the_same_and_are_ordered_by_number(kind.open, distance, kind.off)


def test_cosine_and_inner_product_rank_normalised_vectors_the_same(kind: Kind) -> None:
    index_checks.check_cosine_and_inner_product_rank_normalised_vectors_the_same(kind.open, kind.off)


def test_two_builds_find_the_same(kind: Kind, distance: Distance) -> None:
    index_checks.check_two_builds_find_the_same(kind.open, distance)


def test_an_index_says_what_it_is_and_what_it_takes(kind: Kind, distance: Distance) -> None:
    index_checks.check_it_says_what_it_is_and_what_it_takes(kind.open, distance, "pgvector")
