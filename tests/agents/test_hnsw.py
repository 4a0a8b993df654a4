"""A graph of neighbours finds the more, the more of it is looked at; it is the same for the same vectors, and says what it cannot hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import UsageError
from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.hnsw import HnswIndex, HnswSettings, ScalarType
from searchmark.agents.vectors.index import Distance, VectorIndex, neighbour_recall
from searchmark.agents.vectors.sqlite_vec import SqliteVecSettings
from tests.support.index_checks import assert_finds, holding, random_rows

MANY = 1500
SCALARS: list[ScalarType] = ["f32", "f16", "i8"]


def many_rows() -> np.ndarray:
    """Unit vectors of 64 dimensions without structure, which are the hardest to search."""
    values = np.random.default_rng(1).normal(size=(MANY, 64)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def graph(options: HnswSettings, rows: np.ndarray, distance: Distance = "cosine") -> VectorIndex:
    return holding(options.open, rows, distance)


def mean_recall(index: VectorIndex, rows: np.ndarray) -> float:
    truth = holding(ExactIndex, rows, "cosine")
    queries = rows[::50] + np.float32(0.05) * rows[1::50]
    measured = [neighbour_recall(truth, query, index.search(query, 10).numbers, 10) for query in queries]
    return float(np.mean([each.recall for each in measured if each is not None]))


def test_recall_rises_with_the_candidates_that_are_kept_and_reaches_one() -> None:
    rows = many_rows()
    recalls = [mean_recall(graph(HnswSettings(m=8, ef_construction=40, ef_search=ef), rows), rows) for ef in (10, 40, MANY)]
    assert 0.5 < recalls[0] < recalls[1] < recalls[2]
    assert recalls[2] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("scalar", SCALARS)
def test_a_built_graph_that_is_searched_with_other_options_finds_what_one_of_their_own_does(scalar: ScalarType) -> None:
    rows, few, many = many_rows(), HnswSettings(m=4, ef_search=10, scalar=scalar), HnswSettings(m=4, ef_search=200, scalar=scalar)
    tuned, own = HnswIndex(64, "cosine", few), graph(many, rows)
    tuned.put(np.arange(MANY), rows)
    tuned.build()
    before = [tuned.search(query, 10).numbers.tolist() for query in rows[::25]]
    tuned.searching_with(many)
    after = [tuned.search(query, 10).numbers.tolist() for query in rows[::25]]
    assert after == [own.search(query, 10).numbers.tolist() for query in rows[::25]] != before
    assert tuned.describe() == own.describe()


def test_what_a_graph_was_built_with_cannot_be_changed() -> None:
    index = HnswIndex(64)
    with pytest.raises(UsageError, match="an index that is built cannot change its m, scalar; build another one"):
        index.searching_with(HnswSettings(m=8, ef_search=10, scalar="f16"))
    with pytest.raises(UsageError, match="an index takes options of its own kind; build another index"):
        index.searching_with(SqliteVecSettings())
    assert index.describe()["ef_search"] == 64


@pytest.mark.slow
def test_smaller_numbers_cost_recall_even_if_everything_is_looked_at() -> None:
    """The truth is that of the vectors that were put, so rounding them is a loss like any other."""
    rows = many_rows()
    by_scalar = [mean_recall(graph(HnswSettings(m=32, ef_search=MANY, scalar=scalar), rows), rows) for scalar in SCALARS]
    assert by_scalar[0] == 1.0
    assert by_scalar[0] >= by_scalar[1] > by_scalar[2] > 0.8


def test_smaller_numbers_take_less_room() -> None:
    sizes = [graph(HnswSettings(scalar=scalar), many_rows()).size() for scalar in SCALARS]
    assert [sizes[0] - sizes[1], sizes[1] - sizes[2]] == [MANY * 64 * 2, MANY * 64]  # 4, 2 and 1 bytes for each number


def test_the_size_is_that_of_a_saved_index_but_for_its_header() -> None:
    index = HnswIndex(64)
    index.put(np.arange(MANY), many_rows())
    index.build()
    saved = len(index._graph.save())
    assert 0 < saved - index.size() < 4096
    assert index.size() > MANY * 64 * 4


def test_dropped_vectors_make_room_for_others() -> None:
    index = HnswIndex(64)
    rows = many_rows()
    index.put(np.arange(200), rows[:200])
    index.build()
    before = index.size()
    for start in (200, 400, 600):
        index.drop(np.arange(100))
        index.put(np.arange(100), rows[start : start + 100])
        index.build()
    assert index.size() <= before * 1.1


@pytest.mark.parametrize("scalar", SCALARS)
def test_the_same_vectors_give_the_same_graph_in_whatever_parts_and_order_they_come(scalar: ScalarType) -> None:
    """With few candidates, so that any difference between the graphs would show."""
    rows, options = many_rows(), HnswSettings(m=4, ef_construction=10, ef_search=10, scalar=scalar)
    one, other = graph(options, rows), HnswIndex(64, "cosine", options)
    shuffled = np.random.default_rng(2).permutation(MANY)
    for part in np.split(shuffled, (1, 700, 1000)):
        other.put(part, rows[part])
    other.build()
    for query in rows[::25]:
        assert one.search(query, 10).numbers.tolist() == other.search(query, 10).numbers.tolist()


STEPS = st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 19), max_size=12)), max_size=8)


@given(STEPS, st.sampled_from(SCALARS))
def test_any_history_of_numbers_leaves_what_was_put_last(steps: list[tuple[bool, set[int]]], scalar: ScalarType) -> None:
    rows = random_rows(21, 300)
    index, held = HnswIndex(16, "cosine", HnswSettings(m=32, ef_construction=100, ef_search=100, scalar=scalar)), {}
    for step, (put, chosen) in enumerate(steps):
        if put:
            new = {number: rows[20 * step + number] for number in chosen}
            index.put(np.array(sorted(new), dtype=np.int64), rows[[20 * step + number for number in sorted(new)]])
            held |= new
        else:
            gone = chosen & set(held)
            index.drop(np.array(sorted(gone), dtype=np.int64))
            held = {number: row for number, row in held.items() if number not in gone}
    assert set(index.search(rows[0], 30).numbers.tolist()) == set(held)
    if held:
        assert_finds(index.search(rows[0], 5), held, rows[0], 5, "cosine", 0.05)


@pytest.mark.parametrize("distance", ["ip", "l2"])
@pytest.mark.parametrize("length", [0.5, 3.0])
def test_i8_refuses_lengths_that_it_would_lose(distance: Distance, length: float) -> None:
    """usearch brings every vector to length one for i8, so the longer of two would not be the nearer one by inner product."""
    index = HnswIndex(16, distance, HnswSettings(scalar="i8"))
    index.put(np.arange(5), random_rows(22, 5))
    sentence = f"scalar i8 keeps no lengths, and a vector has length {length:g} instead of 1; normalise the vectors"
    with pytest.raises(UsageError, match=sentence):
        index.put(np.array([5]), random_rows(23, 1) * np.float32(length))
    with pytest.raises(UsageError, match=sentence):
        index.search(random_rows(23, 1)[0] * np.float32(length), 3)
    assert len(index.search(random_rows(23, 1)[0], 10)) == 5


@pytest.mark.parametrize("distance", ["ip", "l2"])
def test_f16_refuses_numbers_that_it_cannot_hold(distance: Distance) -> None:
    index = HnswIndex(16, distance, HnswSettings(scalar="f16"))
    index.put(np.arange(5), random_rows(24, 5) * 1000)
    with pytest.raises(UsageError, match="scalar f16 holds numbers up to 65504, and a vector has a larger one; set scalar to f32"):
        index.put(np.array([5]), np.full((1, 16), 70_000, dtype=np.float32))
    with pytest.raises(UsageError, match="set scalar to f32"):
        index.search(np.full(16, 70_000, dtype=np.float32), 3)


def test_i8_is_what_usearch_makes_of_the_same_vectors() -> None:
    from usearch.index import Index

    rows = random_rows(25)
    theirs = Index(ndim=16, metric="cos", dtype="i8")
    theirs.add(np.arange(len(rows)), rows, threads=1)
    ours = HnswIndex(16, "cosine", HnswSettings(scalar="i8"))
    ours.put(np.arange(len(rows)), rows)
    ours.build()
    apart = np.abs(theirs.get(np.arange(60)).astype(int) - ours._graph.get(np.arange(60)).astype(int))
    assert apart.max() <= 1  # a length that was rounded differently
    assert apart.mean() < 0.001


def test_it_names_every_parameter_with_its_value() -> None:
    options = HnswSettings(m=8, scalar="f16")
    assert options.open(4, "l2").describe() == {
        "name": "hnsw",
        "m": 8,
        "ef_construction": 128,
        "ef_search": 64,
        "scalar": "f16",
        "threads": 1,
    }


def test_several_threads_build_an_index_that_is_as_good() -> None:
    rows = many_rows()
    assert mean_recall(graph(HnswSettings(threads=2, ef_search=400), rows), rows) > 0.95
