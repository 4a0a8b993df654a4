"""An approximate index is asked for a few chunks, and for twice as many only while these are of too few files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.hnsw import HnswIndex, HnswSettings
from searchmark.agents.vectors.index import Neighbours, SearchedIndex, TimedIndex, TimedScoringIndex, VectorIndex
from searchmark.agents.vectors.pooling import ChunkTable, FileHit, Pooling, files_of_nearest, nearest_files

QUERY = np.array([1, 0], dtype=np.float32)


class AskedIndex(TimedIndex):
    """Keeps how many were asked for; it can only search, as an approximate one."""

    def __init__(self, index: SearchedIndex) -> None:
        super().__init__(index)
        self.asked: list[int] = []

    def search(self, query: np.ndarray, k: int) -> Neighbours:
        self.asked.append(k)
        return super().search(query, k)


def filled(files: dict[str, np.ndarray], index: VectorIndex) -> ChunkTable:
    table = ChunkTable()
    keys = {name: [f"{name}{place}".encode() for place in range(len(rows))] for name, rows in files.items()}
    index.put(np.array(list(table.put(keys).values())), np.concatenate(list(files.values())))
    index.build()
    return table


def directions(*degrees: float) -> np.ndarray:
    turned = np.radians(degrees)
    return np.column_stack((np.cos(turned), np.sin(turned))).astype(np.float32)


# The five nearest chunks are all of one file.
CROWDED = {"a": directions(1, 2, 3, 4, 5), "b": directions(10, 50), "c": directions(20), "d": directions(80, 30)}


@pytest.mark.parametrize(
    ("k", "candidates", "asked"),
    [
        (1, None, [1]),
        (2, None, [2, 4, 8]),  # the sixth chunk is of the second file
        (2, 6, [6]),
        (2, 3, [3, 6]),
        (3, 7, [7]),
        (4, 10, [10]),
        (4, None, [4, 8]),
        (9, None, [9, 18]),  # no more than four files, and nine may not be all
        (9, 11, [11]),  # fewer came than were asked for
    ],
)
def test_twice_as_many_are_asked_for_until_there_are_enough_files(k: int, candidates: int | None, asked: list[int]) -> None:
    exact = ExactIndex(2)
    table, index = filled(CROWDED, exact), AskedIndex(exact)
    found = files_of_nearest(index, table.layout(), QUERY, k, candidates)
    assert [hit.name for hit in found.hits] == ["a", "b", "c", "d"][:k]
    assert (index.asked, found.asked) == (asked, asked[0])
    assert found.near.numbers.tolist() == index.search(QUERY, asked[0]).numbers.tolist()


def test_a_file_scores_as_its_best_chunk_and_says_which_it_is() -> None:
    index = ExactIndex(2)
    table = filled(CROWDED, index)
    hits = files_of_nearest(index, table.layout(), QUERY, 4, 10).hits
    assert [(hit.name, hit.chunk) for hit in hits] == [("a", 0), ("b", 0), ("c", 0), ("d", 1)]
    assert [hit.score for hit in hits] == pytest.approx(np.cos(np.radians([1, 10, 20, 30])), abs=1e-6)


def test_files_with_equal_scores_are_ordered_by_name() -> None:
    index = ExactIndex(2)
    table = filled({"c": directions(5), "a": directions(5), "b": directions(5)}, index)
    assert [hit.name for hit in files_of_nearest(index, table.layout(), QUERY, 3).hits] == ["a", "b", "c"]


def test_a_chunk_of_several_files_is_found_for_each() -> None:
    index, table = ExactIndex(2), ChunkTable()
    table.put({"x": [b"same"], "y": [b"same", b"other"]})
    index.put(np.arange(2), directions(0, 90))
    found = files_of_nearest(index, table.layout(), QUERY, 2)
    assert found.hits == [FileHit("x", 1.0, 0), FileHit("y", 1.0, 0)]
    assert found.near.numbers.tolist() == [0, 1]


def test_nothing_is_found_for_nothing() -> None:
    exact = ExactIndex(2)
    index = AskedIndex(exact)
    assert files_of_nearest(index, ChunkTable().layout(), QUERY, 3).hits == []
    table = filled(CROWDED, exact)
    assert files_of_nearest(index, table.layout(), np.zeros(2, dtype=np.float32), 3).hits == []
    assert files_of_nearest(index, table.layout(), QUERY, 0).hits == []
    assert index.asked == [3, 3, 1]


@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from([None, 1, 5, 200]))
def test_an_exhaustive_graph_finds_the_files_that_an_exact_index_finds(seed: int, k: int, candidates: int | None) -> None:
    random = np.random.default_rng(seed)
    files = {f"f{n:02}": random.normal(size=(random.integers(1, 6), 8)).astype(np.float32) for n in range(20)}
    graph, exact = HnswIndex(8, "ip", HnswSettings(m=100, ef_construction=200, ef_search=200)), ExactIndex(8, "ip")
    table, _ = filled(files, graph), filled(files, exact)
    query = random.normal(size=8).astype(np.float32)
    found = files_of_nearest(graph, table.layout(), query, k, candidates)
    expected = nearest_files(exact, table.layout(), query, k, Pooling())
    assert [(hit.name, hit.chunk) for hit in found.hits] == [(hit.name, hit.chunk) for hit in expected]
    assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in expected], abs=1e-5)


def test_only_time_in_the_index_is_added_up() -> None:
    """Every search adds something, and nothing but searches, scores and estimates does."""
    exact = ExactIndex(2)
    table, index = filled(CROWDED, exact), TimedScoringIndex(exact)
    assert index.spent_ns == 0
    spent = [0]
    for asked in (
        lambda: index.search(QUERY, 3),
        lambda: index.scores(QUERY, np.arange(3)),
        lambda: index.estimates(QUERY, np.arange(3)),
        lambda: nearest_files(index, table.layout(), QUERY, 2, Pooling("sum")),
        lambda: files_of_nearest(index, table.layout(), QUERY, 2),
    ):
        asked()
        spent.append(index.spent_ns)
    assert sorted(set(spent)) == spent
