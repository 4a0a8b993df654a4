"""The index ``pgvector`` on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.index import Distance, VectorIndex
from searchmark.agents.vectors.postgres import exact_scores
from searchmark.errors import ServiceError

pytestmark = pytest.mark.servers

ROWS, DIMENSION = 1500, 24
DISTANCES: tuple[Distance, ...] = ("cosine", "ip", "l2")
Opening = Callable[..., VectorIndex]


@pytest.fixture
def opened(postgres: str) -> Iterator[Opening]:
    made: list[VectorIndex] = []

    def open_index(distance: Distance = "cosine", dimension: int = DIMENSION, **options: Any) -> VectorIndex:
        made.append(index_settings({"name": "pgvector", "dsn": postgres, **options}).open(dimension, distance))
        return made[-1]

    yield open_index
    for index in made:
        index.close()


@pytest.fixture(scope="module")
def vectors() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Clusters, as real vectors have them, of lengths that differ, with some that are twice there."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(40, DIMENSION))
    made = centres[random.integers(0, 40, ROWS)] + 0.4 * random.normal(size=(ROWS, DIMENSION))
    made[100:130] = made[0]
    return made.astype(np.float32)


def filled(index: VectorIndex, vectors: np.ndarray[Any, Any]) -> VectorIndex:
    index.put(np.arange(len(vectors)), vectors)
    index.build()
    return index


def best(vectors: np.ndarray[Any, Any], query: np.ndarray[Any, Any], distance: Distance, k: int) -> tuple[list[int], list[float]]:
    scores = exact_scores(vectors.astype(np.float64), query.astype(np.float64), distance)
    order = np.lexsort((np.arange(len(vectors)), -scores))[:k]
    return order.tolist(), scores[order].tolist()


def recall(index: VectorIndex, vectors: np.ndarray[Any, Any], k: int = 10) -> float:
    """The share of the nearest that is found, all that are as near as the last of them being as good."""
    return float(np.mean([near(index.search(query, k).numbers, vectors, query, index.distance, k) for query in asked(60)]))


def near(found: Any, vectors: np.ndarray[Any, Any], query: np.ndarray[Any, Any], distance: Distance, k: int) -> float:
    scores = exact_scores(vectors.astype(np.float64), query.astype(np.float64), distance)
    return float((scores[found] >= np.sort(scores)[-k]).sum() / k)


def asked(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(11).normal(size=(count, DIMENSION)).astype(np.float32)


@pytest.mark.parametrize("distance", DISTANCES)
def test_without_an_index_the_search_is_exact_ties_included(opened: Opening, vectors: Any, distance: Distance) -> None:
    index = filled(opened(distance, method="none"), vectors)
    assert index.exact
    for query in (*asked(20), vectors[0], vectors[500]):
        found = index.search(query, 20)
        numbers, scores = best(vectors, query, distance, 20)
        assert found.numbers.tolist() == numbers
        assert found.scores.tolist() == scores


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    "options",
    [
        {"method": "ivfflat", "lists": 20, "probes": 20},
        {"method": "hnsw", "m": 32, "ef_construction": 400, "ef_search": 1000},
        {"method": "hnsw", "m": 32, "ef_construction": 400, "ef_search": 1000, "iterative_scan": "strict_order"},
    ],
)
def test_exhaustive_parameters_find_what_an_exact_search_finds(
    opened: Opening, vectors: Any, distance: Distance, options: dict[str, Any]
) -> None:
    index = filled(opened(distance, **options), vectors)
    assert not index.exact
    for query in asked(20):
        found = index.search(query, 10)
        numbers, scores = best(vectors, query, distance, 10)
        assert found.numbers.tolist() == numbers
        assert found.scores == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("distance", DISTANCES)
def test_halves_find_nearly_the_same_and_take_less_room(opened: Opening, vectors: Any, distance: Distance) -> None:
    whole, half = (filled(opened(distance, method="none", type=kind), vectors) for kind in ("vector", "halfvec"))
    assert not half.exact
    assert recall(half, vectors) > 0.95
    assert half.search(vectors[3], 1).scores == pytest.approx(whole.search(vectors[3], 1).scores, abs=0.02)
    assert (half.size() or 0) < (whole.size() or 0)


def test_recall_grows_with_probes_and_with_ef_search(opened: Opening, vectors: Any) -> None:
    by_probes = [recall(filled(opened(method="ivfflat", lists=30, probes=probes), vectors), vectors) for probes in (1, 4, 30)]
    assert by_probes[0] < by_probes[1] < by_probes[2] == 1
    scattered = np.random.default_rng(3).normal(size=(ROWS, DIMENSION)).astype(np.float32)
    by_ef = [recall(filled(opened(m=6, ef_construction=12, ef_search=ef), scattered), scattered, k=3) for ef in (3, 30, 600)]
    assert by_ef[0] < by_ef[1] < by_ef[2]


REACH: dict[str, dict[str, int]] = {"none": {}, "ivfflat": {"lists": 5, "probes": 5}, "hnsw": {"ef_search": 200}}


@pytest.mark.parametrize("method", ["none", "ivfflat", "hnsw"])
def test_vectors_are_put_overwritten_and_dropped(opened: Opening, vectors: Any, method: str) -> None:
    index = filled(opened("l2", method=method, **REACH[method]), vectors[:300])
    index.put(np.array([7, 300]), vectors[1000:1002])
    index.drop(np.array([8, 9]))
    index.build()
    assert index.search(vectors[1000], 1).numbers.tolist() == [7]
    assert index.search(vectors[1001], 1).numbers.tolist() == [300]
    assert not {8, 9} & set(index.search(vectors[8], 50).numbers.tolist())
    assert len(index.search(vectors[8], 50)) == 50
    index.put(np.array([8]), vectors[8:9])
    index.build()
    assert index.search(vectors[8], 1).numbers.tolist() == [8]


def test_the_index_is_made_again_when_most_vectors_are_others(opened: Opening, vectors: Any) -> None:
    """Lists that were made of three vectors would be bad ones for all that follow."""
    index = filled(opened(method="ivfflat", lists=30, probes=3), vectors[:3])
    index.put(np.arange(3, ROWS), vectors[3:])
    index.build()
    fresh = filled(opened(method="ivfflat", lists=30, probes=3), vectors)
    assert recall(index, vectors) == pytest.approx(recall(fresh, vectors), abs=0.1)


def test_more_than_the_graph_gives_at_once_are_found_all_the_same(opened: Opening, vectors: Any) -> None:
    index = filled(opened("l2", m=16), vectors)
    assert len(index.search(vectors[0], 100)) == 100
    assert len(index.search(vectors[0], 1400)) == 1400
    assert len(index.search(vectors[0], 5)) == 5


@pytest.mark.parametrize("method", ["none", "ivfflat", "hnsw"])
def test_zeros_are_near_to_nothing(opened: Opening, vectors: Any, method: str) -> None:
    index = opened(method=method, **(REACH["ivfflat"] if method == "ivfflat" else {}))
    index.put(np.arange(3), np.vstack([np.zeros(DIMENSION, dtype=np.float32), vectors[:1], -vectors[:1]]))
    index.build()
    assert len(index.search(np.zeros(DIMENSION, dtype=np.float32), 3)) == 0
    found = index.search(vectors[0], 3)
    assert found.numbers[0] == 1
    assert np.isfinite(found.scores).all()


def test_an_empty_index_finds_nothing(opened: Opening, vectors: Any) -> None:
    index = opened()
    index.build()
    assert len(index.search(vectors[0], 5)) == 0


def test_the_description_holds_what_decides_and_no_address(opened: Opening) -> None:
    described = opened(ef_search=77).describe()
    assert {key: described[key] for key in ("name", "method", "m", "ef_search")} == {
        "name": "pgvector",
        "method": "hnsw",
        "m": 16,
        "ef_search": 77,
    }
    assert set(described) == {
        *("name", "method", "type", "m", "ef_construction", "ef_search", "iterative_scan", "pgvector", "postgresql")
    }


def test_vectors_that_postgresql_refuses_are_an_error_in_one_sentence(opened: Opening) -> None:
    index = opened(method="none")
    with pytest.raises(ServiceError, match="PostgreSQL failed while vectors were stored: NaN not allowed in vector"):
        index.put(np.array([0]), np.full((1, DIMENSION), np.nan, dtype=np.float32))


@pytest.mark.parametrize(
    ("dimension", "options", "reason"),
    [
        (2001, {}, "up to 2000 numbers per vector, and the vectors have 2001; type: halfvec takes 4000"),
        (4001, {"type": "halfvec"}, "up to 4000 numbers per halfvec, and the vectors have 4001$"),
        (8, {"m": 40}, "ef_construction must be at least twice m, 80, and is 64"),
    ],
)
def test_what_pgvector_cannot_index_is_refused_before_anything_is_stored(
    opened: Opening, dimension: int, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        opened(dimension=dimension, **options)


def test_long_vectors_are_taken_as_halves_or_without_an_index(opened: Opening) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 2500)).astype(np.float32)
    assert filled(opened(dimension=2500, method="none"), rows).search(rows[4], 1).numbers.tolist() == [4]
    assert filled(opened(dimension=2500, type="halfvec"), rows).search(rows[4], 1).numbers.tolist() == [4]
