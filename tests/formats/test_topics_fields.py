"""``--map`` with topics names the fields of the topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import UsageError, load_suite


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, topics = tmp_path / "qrels.tsv", tmp_path / "queries.jsonl"
    qrels.write_text("B1\t0\td0\t1\nB2\t0\td1\t1\n")
    lines = ({"id": "B1", "en": "oil", "pt": "petróleo", "split": "test"}, {"id": "B2", "en": "sea", "pt": "mar", "split": "dev"})
    topics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return qrels, topics


def test_queries_are_those_of_the_named_field(files: tuple[Path, Path]) -> None:
    qrels, topics = files
    suite = load_suite(qrels, topics=topics, mapping={"query": "pt", "category": "split"})
    assert [(case.query, case.category) for case in suite.cases] == [("petróleo", "test"), ("mar", "dev")]


def test_a_field_that_topics_do_not_have_is_refused(files: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match=r"--map names suite.grade, but topics have case, query and category"):
        load_suite(files[0], topics=files[1], mapping={"grade": "pt"})


def test_topics_without_fields_are_not_mapped(files: tuple[Path, Path], tmp_path: Path) -> None:
    tabbed = tmp_path / "topics.tsv"
    tabbed.write_text("B1\toil\nB2\tsea\n")
    with pytest.raises(UsageError, match="only topics in JSON lines have such"):
        load_suite(files[0], topics=tabbed, mapping={"query": "pt"})
