"""Parquet files as they come: under any name, packed, damaged, or holding far more than they seem to."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from searchmark import FieldMapping, FormatError, load_corpus, load_run, load_suite
from searchmark.io import rows


@pytest.mark.parametrize("name", ["ratings.parquet", "RATINGS.PARQUET", "ratings.pq", "ratings", "ratings.parquet.gz"])
def test_ratings_in_parquet_are_a_suite_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    pl.DataFrame({"query": ["a", "a", "b"], "docid": ["1", "2", "3"], "rating": [3.0, None, 0.5]}).write_parquet(path)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    suite = load_suite(path)
    assert [(case.id, [(each.target, each.grade, each.gain) for each in case.judgments]) for case in suite.cases] == [
        ("a", [("1", 3, None)]),
        ("b", [("3", 1, 0.5)]),
    ]
    assert dict(suite.dropped) == {"hits_without_rating": 1}


def test_packed_runs_and_corpora_in_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"id": ["a"], "title": ["A"], "text": ["x"]}).write_parquet(tmp_path / "c.parquet")
    pl.DataFrame({"q_id": ["q"], "doc_id": ["a"], "score": [0.5]}).write_parquet(tmp_path / "r.parquet")
    for name in ("c.parquet", "r.parquet"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert [document.id for document in load_corpus(tmp_path / "c.parquet.gz")] == ["a"]
    assert load_run(tmp_path / "r.parquet.gz").case_ids == ("q",)


def test_a_text_that_is_repeated_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "UNPACKED_FREE", 100_000)
    path = tmp_path / "q.parquet"
    frame = pl.DataFrame({"query": ["long " * 100] * 3000, "docid": list(map(str, range(3000))), "rating": [1] * 3000})
    frame.write_parquet(path)
    monkeypatch.setattr(rows, "UNPACKED_MOST_TIMES", 10)
    for read in (load_suite, lambda given: list(load_corpus(given, FieldMapping(id="docid", text=("query",))))):
        with pytest.raises(FormatError, match="the most that is read of a file of its size"):
            read(path)
    with pytest.raises(FormatError, match="the most that is read of a file of its size"):
        load_run(path, format="parquet")
