"""What every index must do, whatever it is made of: each check is given how to open an empty one whose search is exhaustive."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors.index import Distance, Neighbours, VectorIndex

Opened = Callable[[int, Distance], VectorIndex]

ROWS = 60
DIMENSION = 16


def random_rows(seed: int, rows: int = ROWS, *, unit: bool = True) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(rows, DIMENSION)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True) if unit else values


def float64_scores(rows: np.ndarray, query: np.ndarray, distance: Distance) -> np.ndarray:
    """Cosine, inner product or negative Euclidean distance by definition; a row of zeros has the cosine 0."""
    wide, asked = rows.astype(np.float64), query.astype(np.float64)
    if distance == "l2":
        return -np.sqrt(((wide - asked) ** 2).sum(axis=1))
    products = (wide * asked).sum(axis=1)
    if distance == "ip":
        return products
    lengths = np.sqrt((wide**2).sum(axis=1) * (asked**2).sum())
    return np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0)


def holding(opened: Opened, rows: np.ndarray, distance: Distance) -> VectorIndex:
    index = opened(rows.shape[1], distance)
    index.put(np.arange(len(rows)), rows)
    index.build()
    return index


def assert_finds(found: Neighbours, rows: dict[int, np.ndarray], query: np.ndarray, k: int, distance: Distance, off: float) -> None:
    """The nearest ``k`` of these rows were found, with their scores, in order; each within what the index may be off."""
    numbers = np.array(sorted(rows), dtype=np.int64)
    exact = dict(zip(numbers.tolist(), float64_scores(np.stack([rows[n] for n in numbers]), query, distance), strict=True))
    nearest = sorted(exact.values(), reverse=True)[:k]
    given = found.numbers.tolist()

    assert len(set(given)) == len(given) == min(k, len(rows))
    assert set(given) <= set(exact)
    np.testing.assert_allclose(found.scores, [exact[number] for number in given], atol=off)
    np.testing.assert_allclose(found.scores, nearest, atol=off)
    assert_ordered(found)


def assert_ordered(found: Neighbours) -> None:
    """Best first, equal scores by number."""
    assert found.numbers.dtype == np.int64
    assert found.scores.dtype == np.float64
    assert np.lexsort((found.numbers, -found.scores)).tolist() == list(range(len(found)))


def check_nearest_are_found(opened: Opened, distance: Distance, off: float, *, unit: bool) -> None:
    rows, queries = random_rows(1, unit=unit), random_rows(2, 8, unit=unit)
    index = holding(opened, rows, distance)
    for query in queries:
        for k in (1, 10, ROWS, ROWS + 50):
            assert_finds(index.search(query, k), dict(enumerate(rows)), query, k, distance, off)
    index.close()


def check_long_and_short_vectors_keep_their_cosine(opened: Opened, off: float) -> None:
    """Lengths from a millionth to a million, of vectors and queries alike."""
    lengths = np.float32(10.0) ** np.linspace(-6, 6, ROWS, dtype=np.float32)
    rows = random_rows(3) * lengths[:, np.newaxis]
    index = holding(opened, rows, "cosine")
    for length in (1e-6, 1, 1e6):
        query = random_rows(4, 1)[0] * np.float32(length)
        assert_finds(index.search(query, 10), dict(enumerate(rows)), query, 10, "cosine", off)
    index.close()


def check_numbers_are_overwritten_dropped_and_used_again(opened: Opened, distance: Distance, off: float) -> None:
    rows, others = random_rows(5), random_rows(6)
    index = holding(opened, rows, distance)
    held = dict(enumerate(rows))
    for numbers in (np.arange(0, 40, 2), np.array([59, 0, 7])):  # overwritten, and some of them twice
        index.put(numbers, others[numbers])
        held |= {int(number): others[number] for number in numbers}
    gone = np.array([3, 59, 10])
    index.drop(gone)
    held = {number: row for number, row in held.items() if number not in gone}
    index.build()
    for query in (others[0], rows[3], others[59]):
        assert_finds(index.search(query, 10), held, query, 10, distance, off)
        assert_finds(index.search(query, ROWS), held, query, ROWS, distance, off)

    index.put(np.array([59, 60]), rows[[3, 10]])  # one that is used again, and a new one
    index.build()
    held |= {59: rows[3], 60: rows[10]}
    assert_finds(index.search(rows[3], 5), held, rows[3], 5, distance, off)
    assert_finds(index.search(rows[10], 5), held, rows[10], 5, distance, off)
    index.close()


def check_dropping_everything_leaves_an_index_that_can_be_filled(opened: Opened, distance: Distance, off: float) -> None:
    rows = random_rows(7)
    index = holding(opened, rows, distance)
    index.drop(np.arange(ROWS))
    index.build()
    assert len(index.search(rows[0], 3)) == 0
    index.put(np.arange(10), rows[10:20])
    index.build()
    assert_finds(index.search(rows[12], 4), dict(enumerate(rows[10:20])), rows[12], 4, distance, off)
    index.close()


def check_nothing_is_found_where_nothing_can_be(opened: Opened, distance: Distance) -> None:
    """An empty index, no neighbour wanted, and, except by Euclidean distance, a query of zeros; changes of nothing change nothing."""
    rows, none = random_rows(8), np.empty(0, dtype=np.int64)
    empty = opened(DIMENSION, distance)
    empty.put(none, rows[:0])
    empty.drop(none)
    empty.build()
    assert len(empty.search(rows[0], 3)) == 0
    empty.close()
    index = holding(opened, rows, distance)
    assert len(index.search(np.zeros(DIMENSION, dtype=np.float32), 3)) == (3 if distance == "l2" else 0)
    assert len(index.search(rows[0], 0)) == 0
    index.close()


def check_vectors_of_zeros_score_and_are_no_nan(opened: Opened, distance: Distance, off: float) -> None:
    rows = random_rows(9)
    rows[[4, 17, 41]] = 0
    index = holding(opened, rows, distance)
    query = random_rows(10, 1)[0]
    assert_finds(index.search(query, ROWS), dict(enumerate(rows)), query, ROWS, distance, off)
    index.put(np.array([4]), query[np.newaxis])
    index.drop(np.array([17]))
    index.build()
    held = {number: row for number, row in enumerate(rows) if number != 17} | {4: query}  # dropped above
    assert_finds(index.search(query, ROWS), held, query, ROWS, distance, off)
    index.close()


def check_zeros_are_a_query_by_euclidean_distance(opened: Opened, off: float) -> None:
    """All vectors are as far from zeros as they are long."""
    rows = random_rows(17)
    rows[[4, 17, 41]] = 0
    index = holding(opened, rows, "l2")
    found = index.search(np.zeros(DIMENSION, dtype=np.float32), ROWS)
    assert set(found.numbers[:3].tolist()) == {4, 17, 41}
    assert_finds(found, dict(enumerate(rows)), np.zeros(DIMENSION, dtype=np.float32), ROWS, "l2", off)
    index.close()


def check_what_is_not_finite_is_refused_and_nothing_of_it_stays(opened: Opened, distance: Distance, off: float) -> None:
    rows, wrong = random_rows(18), random_rows(19, 2)
    wrong[1, 3] = np.nan
    index = holding(opened, rows, distance)
    with pytest.raises(UsageError, match="vector 7 holds NaN or infinity; an index takes finite numbers only"):
        index.put(np.array([60, 7]), wrong)
    with pytest.raises(UsageError, match="a query holds NaN or infinity; an index takes finite numbers only"):
        index.search(wrong[1], 3)
    index.build()
    assert_finds(index.search(rows[7], ROWS), dict(enumerate(rows)), rows[7], ROWS, distance, off)
    index.close()


def check_equal_vectors_score_the_same_and_are_ordered_by_number(opened: Opened, distance: Distance, off: float) -> None:
    rows = random_rows(11)
    copies = np.array([50, 2, 31, 17])
    rows[copies] = rows[2]
    index = holding(opened, rows, distance)
    found = index.search(rows[2], 6)
    assert found.numbers[:4].tolist() == [2, 17, 31, 50]
    assert len(set(found.scores[:4].tolist())) == 1
    assert_finds(found, dict(enumerate(rows)), rows[2], 6, distance, off)
    index.close()


def check_cosine_and_inner_product_rank_normalised_vectors_the_same(opened: Opened, apart: float) -> None:
    """Wherever two neighbours are further apart than the index can be off."""
    rows = random_rows(12)
    by_cosine, by_product = holding(opened, rows, "cosine"), holding(opened, rows, "ip")
    for query in random_rows(13, 8):
        exact = np.sort(float64_scores(rows, query, "cosine"))[::-1]
        clear = np.append(exact[:-1] - exact[1:] > 2 * apart, True)
        cosine, product = by_cosine.search(query, ROWS), by_product.search(query, ROWS)
        groups = np.cumsum(np.append(0, clear[:-1]))
        assert [set(cosine.numbers[groups == group]) for group in range(groups[-1] + 1)] == [
            set(product.numbers[groups == group]) for group in range(groups[-1] + 1)
        ]
    by_cosine.close()
    by_product.close()


def check_two_builds_find_the_same(opened: Opened, distance: Distance) -> None:
    rows = random_rows(14)
    one, other = holding(opened, rows, distance), holding(opened, rows, distance)
    for query in random_rows(15, 8):
        first, second = one.search(query, 10), other.search(query, 10)
        assert first.numbers.tolist() == second.numbers.tolist()
        assert first.scores.tolist() == second.scores.tolist()
    one.close()
    other.close()


def check_it_says_what_it_is_and_what_it_takes(opened: Opened, distance: Distance, name: str) -> None:
    rows = random_rows(16)
    index = holding(opened, rows, distance)
    assert (index.dimension, index.distance) == (DIMENSION, distance)
    assert index.describe()["name"] == name
    size = index.size()
    assert size is None or size >= ROWS * DIMENSION
    index.close()
