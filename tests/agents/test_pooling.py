"""The best files are those that a brute force in float64 finds, and no shortcut on the way changes a bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.agents.vectors.embedder import normalize_rows
from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.pooling import CHUNKS_PER_FILE, SPARE_CHUNKS, ChunkTable, FileHit, Pooling, nearest_files
from tests.agents.jira import jira_vectors

KINDS = ["max", "mean", "sum"]


class Indexed:
    """Files with their vectors, in a table and an index."""

    def __init__(self, files: dict[str, np.ndarray], cosine: bool = True) -> None:
        self.table, self.index = ChunkTable(), ExactIndex(next(iter(files.values())).shape[1], "cosine" if cosine else "ip")
        keys = {name: [f"{name}{place}".encode() for place in range(len(rows))] for name, rows in files.items()}
        self.index.put(np.array(list(self.table.put(keys).values())), np.concatenate(list(files.values())))

    def search(self, query: np.ndarray, k: int, kind: str = "max") -> list[FileHit]:
        return nearest_files(self.index, self.table.layout(), query, k, Pooling(kind))

    def every_file(self, query: np.ndarray, kind: str) -> list[FileHit]:
        """Every chunk scored, every file pooled, everything sorted."""
        layout = self.table.layout()
        scores = self.index.scores(query, layout.numbers)
        pooled = Pooling(kind).pool(scores, layout.starts, layout.counts)
        best = [int(np.argmax(scores[start : start + count])) for start, count in zip(layout.starts, layout.counts, strict=True)]
        hits = [FileHit(name, float(score), chunk) for name, score, chunk in zip(layout.names, pooled, best, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.name))


def brute_force(vectors: dict[str, np.ndarray], query: np.ndarray, pooling: str, n: int = 3) -> list[tuple[str, float]]:
    """Cosines in float64, one row at a time, pooled in plain Python, sorted by score and name."""
    wide = query.astype(np.float64)
    scored = []
    for name, rows in vectors.items():
        products = [(row.astype(np.float64) * wide).sum() for row in rows]
        lengths = [float(np.sqrt((row.astype(np.float64) ** 2).sum() * (wide**2).sum())) for row in rows]
        cosines = sorted(
            (product / length if length else 0.0 for product, length in zip(products, lengths, strict=True)), reverse=True
        )
        best = cosines[:n] if pooling == "mean" else cosines[:1] if pooling == "max" else cosines
        scored.append((name, sum(best) / (len(best) if pooling == "mean" else 1)))
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_real_vectors_are_ranked_as_in_float64(shared_data: Path, kind: str) -> None:
    ids, rows = jira_vectors(shared_data)
    # Files of one to four operations; each operation asks in turn, so that near ties are many.
    files = {f"{ids[start]}": rows[start : start + 1 + start % 4] for start in range(0, len(ids) - 4, 2)}
    indexed = Indexed(files)
    for query in rows[::7]:
        found = indexed.search(query, 20, kind)
        expected = brute_force(files, query, kind)[:20]
        assert [hit.name for hit in found] == [name for name, _ in expected]
        assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], abs=1e-14)
        assert found == indexed.every_file(query, kind)[:20]


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from(KINDS))
def test_any_vectors_are_ranked_as_in_float64(seed: int, k: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    # Few distinct numbers make many ties, and some rows are zero.
    rows = [normalize_rows(random.integers(-1, 2, size=(random.integers(1, 6), 4)).astype(np.float32)) for _ in range(30)]
    files = {f"f{number}": row for number, row in enumerate([*rows, rows[0]])}
    query = normalize_rows(random.integers(-1, 2, size=(1, 4)).astype(np.float32))[0]
    found = [hit.score for hit in Indexed(files).search(query, k, kind)]
    expected = [score for _, score in brute_force(files, query, kind)[:k]]
    assert found == pytest.approx(expected if query.any() else [], abs=1e-14)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(KINDS), st.booleans(), st.sampled_from([2, 16]))
def test_looking_at_the_nearest_chunks_first_changes_no_bit(seed: int, k: int, kind: str, cosine: bool, dimension: int) -> None:
    """With two dimensions of few values most scores are ties; with sixteen there are hardly any."""
    random = np.random.default_rng(seed)
    counts = random.geometric(0.15, size=120)
    values = (
        random.integers(-1, 2, size=(counts.sum(), dimension)) if dimension == 2 else random.normal(size=(counts.sum(), dimension))
    )
    rows = normalize_rows(values.astype(np.float32)) if cosine else values.astype(np.float32)
    indexed = Indexed({f"f{number:03}": part for number, part in enumerate(np.split(rows, np.cumsum(counts)[:-1]))}, cosine)
    query = random.normal(size=dimension).astype(np.float32)

    assert counts.sum() > CHUNKS_PER_FILE * k + SPARE_CHUNKS  # otherwise there would be no shortcut
    assert indexed.search(query, k, kind) == indexed.every_file(query, kind)[:k]


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_file_without_a_near_chunk_is_found_by_its_sum_and_by_nothing_else(kind: str) -> None:
    query = np.array([1, 0], np.float32)
    near, far = np.array([[1, 0]], np.float32), np.array([[0.6, 0.8]], np.float32)
    files = {f"near{number:03}": near for number in range(100)} | {"large": np.repeat(far, 200, axis=0)}
    assert (Indexed(files).search(query, 1, kind)[0].name == "large") == (kind == "sum")


def test_equal_vectors_have_equal_scores_and_are_ordered_by_name() -> None:
    rows = np.random.default_rng(2).normal(size=(1, 64)).astype(np.float32)
    files = dict.fromkeys(("c", "a", "b"), rows) | {f"z{n}": -rows for n in range(50)}
    found = Indexed(files).search(rows[0] + 0.1, 3)
    assert [hit.name for hit in found] == ["a", "b", "c"]
    assert len({hit.score for hit in found}) == 1


def test_of_equal_chunks_the_first_of_a_file_is_the_best() -> None:
    rows = np.array([[0, 1], [1, 0], [1, 0]], np.float32)
    files = {f"{number:03}": rows for number in range(100)}
    for kind in KINDS:
        assert [hit.chunk for hit in Indexed(files).search(rows[1], 3, kind)] == [1, 1, 1]


def test_nothing_is_found_for_nothing() -> None:
    files = {"a": np.ones((1, 2), np.float32)}
    assert Indexed(files).search(np.zeros(2, np.float32), 3) == []
    assert Indexed(files).search(np.ones(2, np.float32), 0) == []
    assert nearest_files(ExactIndex(2), ChunkTable().layout(), np.ones(2, np.float32), 3, Pooling()) == []


STATES = st.lists(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.integers(0, 12), max_size=5), max_size=6), max_size=8)


@given(STATES)
def test_a_table_and_an_index_that_followed_every_change_equal_new_ones(states: list[dict[str, list[int]]]) -> None:
    rows = np.random.default_rng(3).normal(size=(13, 8)).astype(np.float32)
    table, index = ChunkTable(), ExactIndex(8)
    for state in states:
        keys = {name: [bytes([number]) for number in dict.fromkeys(numbers)] for name, numbers in state.items()}
        table.remove([name for name in "abcdef" if name not in state])
        new = table.put(keys)
        index.put(np.array(list(new.values()), np.int64), rows[[key[0] for key in new]])
        index.drop(table.collect())
        fresh = {name: rows[[key[0] for key in own]] for name, own in keys.items() if own}
        expected = Indexed(fresh).search(rows[0], 6) if fresh else []
        assert nearest_files(index, table.layout(), rows[0], 6, Pooling()) == expected


def test_numbers_that_no_file_holds_are_given_out_again() -> None:
    table = ChunkTable()
    assert table.put({"x": [b"a", b"b"], "y": [b"b"]}) == {b"a": 0, b"b": 1}
    table.put({"x": [b"b"]})
    assert table.collect().tolist() == [0]
    assert (b"a" in table, b"b" in table) == (False, True)
    assert table.put({"z": [b"c", b"d"]}) == {b"c": 0, b"d": 2}


def test_new_chunks_of_a_file_take_the_numbers_of_its_former_ones() -> None:
    table = ChunkTable()
    table.put({"x": [b"a", b"b"]})
    assert table.put({"x": [b"b", b"c"]}) == {b"c": 0}
    assert table.collect().tolist() == []


def test_a_chunk_that_moves_keeps_its_number() -> None:
    table = ChunkTable()
    table.put({"x": [b"a"]})
    table.remove(["x"])
    assert table.put({"y": [b"a"]}) == {}
    assert table.collect().tolist() == []


def test_a_table_that_grows_step_by_step_takes_no_more_room_than_it_needs() -> None:
    table = ChunkTable()
    for number in range(5000):  # room that doubled with every step would be more than any machine has
        table.put({str(number): [str(number).encode()]})
    assert table.size() == 5000 * 8
    assert table.put({"0": [b"x"]}) == {b"x": 0}
