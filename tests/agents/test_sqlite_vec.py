"""A table of vec0 finds all of the nearest, however many are wanted, and says what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.index import Distance, neighbour_recall
from searchmark.agents.vectors.sqlite_vec import MOST_NEIGHBOURS, SqliteVecIndex, SqliteVecSettings
from tests.support.index_checks import assert_finds, holding, random_rows


def test_every_true_neighbour_is_found() -> None:
    rows = random_rows(1, 3000)
    index, truth = holding(SqliteVecIndex, rows, "cosine"), holding(ExactIndex, rows, "cosine")
    for query in random_rows(2, 30):
        measured = neighbour_recall(truth, query, index.search(query, 10).numbers, 10)
        assert measured is not None
        assert (measured.recall, measured.overlap) == (1.0, 1.0)


@pytest.mark.parametrize("scalar", ["f32", "i8"])
@pytest.mark.parametrize("distance", ["cosine", "l2"])
def test_more_neighbours_than_vec0_gives_at_once_are_found_in_the_same_order(distance: Distance, scalar: str) -> None:
    rows = random_rows(3, MOST_NEIGHBOURS + 500)
    rows[[5, 4400]] = 0
    index = holding(index_settings({"name": "sqlite_vec", "scalar": scalar}).open, rows, distance)
    query = random_rows(4, 1)[0]
    most, more = index.search(query, MOST_NEIGHBOURS), index.search(query, MOST_NEIGHBOURS + 1)
    every = index.search(query, 10_000)
    assert (len(most), len(more), len(every)) == (MOST_NEIGHBOURS, MOST_NEIGHBOURS + 1, len(rows))
    np.testing.assert_allclose(more.scores[:-1], most.scores, atol=1e-6)
    assert_finds(every, dict(enumerate(rows)), query, 10_000, distance, 0.05)


def test_the_inner_product_is_refused_with_what_to_use_instead() -> None:
    with pytest.raises(UsageError, match="has no inner product; set distance to cosine, which ranks normalised vectors the same"):
        index_settings("sqlite_vec").open(4, "ip")


def test_i8_refuses_numbers_that_it_cannot_hold() -> None:
    index = SqliteVecIndex(16, "l2", SqliteVecSettings(scalar="i8"))
    index.put(np.arange(5), random_rows(5, 5))
    with pytest.raises(UsageError, match="holds numbers from -1 to 1, and a vector has a larger one; normalise the vectors"):
        index.put(np.array([5]), np.full((1, 16), 1.5, dtype=np.float32))
    with pytest.raises(UsageError, match="holds numbers from -1 to 1"):
        index.search(np.full(16, -1.5, dtype=np.float32), 3)
    assert len(index.search(random_rows(5, 1)[0], 10)) == 5


def test_smaller_numbers_take_less_room_and_a_file_takes_as_much_as_memory() -> None:
    rows = random_rows(6, 2000)
    sizes = {
        (scalar, storage): holding(SqliteVecSettings(scalar=scalar, storage=storage).open, rows, "l2").size()
        for scalar in ("f32", "i8")
        for storage in ("memory", "file")
    }
    assert sizes["f32", "memory"] == sizes["f32", "file"] >= 2000 * 16 * 4
    assert sizes["i8", "memory"] == sizes["i8", "file"] < sizes["f32", "memory"]


def test_it_names_every_parameter_with_its_value() -> None:
    described = SqliteVecSettings(storage="file").open(4, "l2").describe()
    assert described == {"name": "sqlite_vec", "scalar": "f32", "storage": "file"}
