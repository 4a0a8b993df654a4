"""Hits as people have them: every form names the same documents, and what is none of them says which entry it is."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from searchmark import RetrievalResult
from searchmark.agents.answers import (
    AnswerParts,
    HitReader,
    InvalidAnswer,
    InvalidHit,
    RawHit,
    as_stream,
    parse_chunk_rule,
    read_hit,
)
from searchmark.running.worker.protocol import read_remarks


@dataclass
class Document:
    """As LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    """As LlamaIndex's."""

    node: Document | TextNode
    score: float | None = None


@dataclass
class TextNode:
    """As LlamaIndex's."""

    text: str
    metadata: dict[str, Any]
    start_char_idx: int | None = None


SOURCE = Document("text", {"source": "a.py"})


@pytest.mark.parametrize(
    ("entry", "hit"),
    [
        ("a.py", RawHit("a.py")),
        (Path("a.py"), RawHit("a.py")),
        (b"a.py", RawHit("a.py")),
        (7, RawHit("7")),
        (np.int64(7), RawHit("7")),
        (np.str_("a.py"), RawHit("a.py")),
        (("a.py", 0.5), RawHit("a.py", 0.5)),
        (["a.py", 2], RawHit("a.py", 2.0)),
        (("a.py", np.float32(0.5)), RawHit("a.py", 0.5)),
        ({"id": "a.py", "score": 0.5}, RawHit("a.py", 0.5)),
        ({"_id": "a.py", "_score": 0.5, "_source": {"title": "A"}}, RawHit("a.py", 0.5)),
        ({"path": "a.py", "lines": [3, 9]}, RawHit("a.py", None, (3, 9))),
        ({"page_content": "text", "metadata": {"source": "a.py"}}, RawHit("a.py", text="text")),
        (SOURCE, RawHit("a.py", text="text")),
        ((SOURCE, 0.5), RawHit("a.py", 0.5, text="text")),
        (Document("text", {"file_path": "a.py"}), RawHit("a.py", text="text")),
        (Document("text", {"source": "a.py", "start_index": 7}), RawHit("a.py", text="text", start=7)),
        (Document("text", {"source": "a.py", "start_line": 3, "end_line": 9}), RawHit("a.py", None, (3, 9), "text")),
        (NodeWithScore(SOURCE, 0.5), RawHit("a.py", 0.5, text="text")),
        (NodeWithScore(TextNode("text", {"file_path": "a.py"}, 7), 0.5), RawHit("a.py", 0.5, text="text", start=7)),
        (NodeWithScore(SOURCE), RawHit("a.py", text="text")),
        (({"id": "a.py", "lines": [3, 9]}, 0.5), RawHit("a.py", 0.5, (3, 9))),
        ({"id": "7f3a", "score": 0.5, "metadata": {"source": "a.py"}}, RawHit("a.py", 0.5)),
        ({"id": "a.py", "metadata": {"author": "me"}}, RawHit("a.py")),
        (np.array("a.py"), RawHit("a.py")),
        (np.array(7), RawHit("7")),
        (np.array(["a.py", 0.5], dtype=object), RawHit("a.py", 0.5)),
        ({"id": np.array("a.py"), "score": np.array(0.5)}, RawHit("a.py", 0.5)),
        (pd.Series({"path": "a.py", "score": 0.5}), RawHit("a.py", 0.5)),
    ],
)
def test_every_usual_form_is_a_hit(entry: Any, hit: RawHit) -> None:
    assert read_hit(entry) == hit


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (None, "None is not a hit"),
        (True, "True is not a hit"),
        (0.5, "0.5 is not a hit"),
        (("a.py", 0.5, 3), "is not a hit"),
        (("a.py", "b.py"), "the score of ('a.py', 'b.py') is not a number"),
        (("a.py", 10**400), "is not a number"),
        ({"title": "A"}, "has none of id, _id, path"),
        ("", "the id of '' is empty"),
        (b"", "the id of b'' is empty"),
        ({"id": "", "score": 1.0}, "the id of {'id': '', 'score': 1.0} is empty"),
        (np.array([0.5, 0.25]), "0.5 is not a hit"),
        (np.array(["a.py", "b.py", "c.py"]), "is not a hit"),
        (np.array(0.5), "is not a hit"),
        ({"metadata": {"author": "me"}}, "the metadata of {'metadata': {'author': 'me'}} has none of source"),
        (Document("text"), "the metadata of Document(page_content='text', metadata={}) has none of source"),
        ("x" * 4097, "an id has 4097 characters, more than 4096"),
        (("x" * 4097, 1.0), "an id has 4097 characters, more than 4096"),
    ],
)
def test_what_names_no_document_is_not_a_hit(entry: Any, reason: str) -> None:
    with pytest.raises(InvalidHit) as caught:
        read_hit(entry)
    assert reason in str(caught.value)


def read(found: Any, depth: int = 10, chunk_of: str | None = None) -> HitReader:
    rule = None if chunk_of is None else parse_chunk_rule(chunk_of)
    reader, stream = HitReader(depth, rule), as_stream(found)
    if stream is None:
        reader.read_all(AnswerParts.of(found, depth, rule))
    else:
        stream.feed(reader.take)
    return reader


def test_scores_by_id_are_in_the_order_of_scores_and_then_ids_both_descending() -> None:
    reader = read({"a": 1.0, "c": 2, "b": 2.0})
    assert (reader.ids, reader.scores) == (["c", "b", "a"], [2.0, 2.0, 1.0])
    assert read({}).ids == []


def test_a_document_may_be_called_as_a_field_is() -> None:
    assert read({"path": 1.0, "source": 2.0}).ids == ["source", "path"]


def test_scores_that_are_not_finite_are_counted_wherever_they_are_from() -> None:
    reader = read([("a", float("nan")), ("b", 1.0), "c"])
    assert (reader.scores, reader.dropped()) == ([None, 1.0, None], {"scores_unusable": 2})
    assert read([("a", float("inf"))]).dropped() == {"scores_unusable": 1}
    assert read(["a", "b"]).dropped() == {}


def test_scores_and_lines_given_apart_count_for_more_than_those_of_the_entries() -> None:
    @dataclass
    class Result:
        files: list[Any]
        scores: list[float]
        lines: list[Any]

    reader = read(Result([("a", 1.0), {"id": "b", "lines": [1, 2]}], [5.0, 4.0], [(7, 8), None]))
    assert (reader.ids, reader.scores, reader.lines) == (["a", "b"], [5.0, 4.0], [(7, 8), (1, 2)])


@pytest.mark.parametrize("form", [list, iter, tuple, lambda hits: (hit for hit in hits)])
def test_an_entry_that_is_none_is_named_by_its_position_in_every_form(form: Any) -> None:
    with pytest.raises(InvalidAnswer, match=r"hit 3 of the answer cannot be read: None is not a hit"):
        read(form(["a", ("b", 1.0), None]))


FRAME = {"id": ["b.py", "a.py", "c.py"], "score": [0.9, 0.4, 0.1], "metadata": [None, {"source": "d.py"}, None]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_data_frame_has_a_hit_in_every_row(frame: Any) -> None:
    reader = read(frame(FRAME), depth=2)
    assert (reader.ids, reader.scores, reader.dropped()) == (["b.py", "d.py"], [0.9, 0.4], {"beyond_depth": 1})
    assert read(frame({"id": [], "score": []})).ids == []


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_data_frame_are_not_what_an_agent_says_beside_its_hits(frame: Any) -> None:
    found = frame(FRAME | {"cost": [1, 2, 3], "files": [1, 2, 3]})
    assert read(found).ids == ["b.py", "d.py", "c.py"]
    assert set(read_remarks(found).values()) == {None}


@pytest.mark.parametrize("column", [pd.Series, pd.Index, pl.Series, np.array])
def test_a_column_is_a_list_of_ids(column: Any) -> None:
    assert read(column(["b.py", "a.py"])).ids == ["b.py", "a.py"]


def test_a_data_frame_without_a_column_of_ids_is_an_error_that_names_the_row() -> None:
    with pytest.raises(InvalidAnswer, match=r"hit 1 of the answer cannot be read: \{'title': 'A'\} has none of id, _id, path"):
        read(pd.DataFrame({"title": ["A"]}))


def test_rows_of_an_array_are_hits() -> None:
    reader = read(pd.DataFrame({"id": ["b.py", "a.py"], "score": [0.9, 0.4]}).values)
    assert (reader.ids, reader.scores) == (["b.py", "a.py"], [0.9, 0.4])


def test_an_array_of_one_value_is_no_answer() -> None:
    with pytest.raises(InvalidAnswer, match="retrieve returned ndarray, not a list of hits, best first"):
        read(np.array("a.py"))


def test_rows_of_sqlite_are_hits_by_the_names_of_their_columns() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    found = connection.execute("select 0.5 as score, 'a.py' as path, 1 as other").fetchall()
    assert (read(found).ids, read(found).scores) == (["a.py"], [0.5])
    connection.close()


@pytest.mark.parametrize("mode", ["r", "rb"])
def test_an_open_file_is_its_lines_without_their_ends(tmp_path: Path, mode: str) -> None:
    (tmp_path / "found").write_bytes(b"b.py\r\na.py\n\n")
    file = (tmp_path / "found").open(mode)
    assert (read(file).ids, file.closed) == (["b.py", "a.py"], True)


@pytest.mark.parametrize("lines", [[3, 1], "3-4", [0, 2], [1], 7, [1.5, 2], [True, 2]])
@pytest.mark.parametrize("form", [list, iter])
def test_lines_that_are_no_range_are_counted(form: Any, lines: Any) -> None:
    reader = read(form([{"id": "a", "lines": lines}, {"id": "b", "lines": [2, 2]}, {"id": "c", "lines": None}, "d"]))
    assert (reader.lines, reader.dropped()) == ([None, (2, 2), None, None], {"lines_unusable": 1})


def test_lines_that_are_given_apart_and_no_range_are_counted() -> None:
    assert read(RetrievalResult(["a", "b", "c"], lines=[(3, 1), (1, 3), None])).dropped() == {"lines_unusable": 1}
    assert read(RetrievalResult([("a", 1), "b"], lines=[(3, 1)])).dropped() == {"lines_unusable": 2, "scores_unusable": 1}


CHUNKS = ["a.py#chunk-3", ("a.py#chunk-1", 0.9), "b.py", "c.py#chunk-2", "a.py#chunk-9", "b.py"]


@pytest.mark.parametrize("form", [list, iter])
def test_the_best_chunk_of_a_file_wins_and_the_others_are_counted(form: Any) -> None:
    reader = read(form(CHUNKS), chunk_of="{file}#chunk-{n}")
    assert reader.ids == ["a.py", "b.py", "c.py"]
    assert reader.dropped() == {"merged_chunks": 3, "not_chunks": 2}


def test_the_depth_is_one_of_files_where_an_agent_gives_more_chunks() -> None:
    reader = read([f"{name}#{n}" for name in "abc" for n in range(5)], depth=2, chunk_of="{file}#{n}")
    assert (reader.ids, reader.dropped()) == (["a", "b"], {"merged_chunks": 4, "beyond_depth": 9})


def test_a_stream_that_repeats_one_file_for_ever_ends() -> None:
    reader = read(iter(lambda: "a#1", None), depth=2, chunk_of="{file}#{n}")
    assert (reader.ids, reader.dropped()) == (["a"], {"merged_chunks": 199})
