"""Hits as people have them: every form names the same documents, and what is none of them says which entry it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark.agents.answers import BadAnswer, HitReader, Parts, stream_of
from searchmark.agents.chunk_ids import chunk_rule
from searchmark.agents.hits import FoundHit, NotAHit, read_hit


@dataclass
class Document:
    """As LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    """As LlamaIndex's."""

    node: Document
    score: float | None = None


SOURCE = Document("text", {"source": "a.py"})


@pytest.mark.parametrize(
    ("entry", "hit"),
    [
        ("a.py", FoundHit("a.py")),
        (Path("a.py"), FoundHit("a.py")),
        (b"a.py", FoundHit("a.py")),
        (7, FoundHit("7")),
        (np.int64(7), FoundHit("7")),
        (np.str_("a.py"), FoundHit("a.py")),
        (("a.py", 0.5), FoundHit("a.py", 0.5)),
        (["a.py", 2], FoundHit("a.py", 2.0)),
        (("a.py", np.float32(0.5)), FoundHit("a.py", 0.5)),
        ({"id": "a.py", "score": 0.5}, FoundHit("a.py", 0.5)),
        ({"_id": "a.py", "_score": 0.5, "_source": {"title": "A"}}, FoundHit("a.py", 0.5)),
        ({"path": "a.py", "lines": [3, 9]}, FoundHit("a.py", None, (3, 9))),
        ({"page_content": "text", "metadata": {"source": "a.py"}}, FoundHit("a.py")),
        (SOURCE, FoundHit("a.py")),
        ((SOURCE, 0.5), FoundHit("a.py", 0.5)),
        (Document("text", {"file_path": "a.py"}), FoundHit("a.py")),
        (NodeWithScore(SOURCE, 0.5), FoundHit("a.py", 0.5)),
        (NodeWithScore(SOURCE), FoundHit("a.py")),
        (({"id": "a.py", "lines": [3, 9]}, 0.5), FoundHit("a.py", 0.5, (3, 9))),
    ],
)
def test_every_usual_form_is_a_hit(entry: Any, hit: FoundHit) -> None:
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
        (Document("text"), "the metadata of Document(page_content='text', metadata={}) has none of source"),
        ("x" * 4097, "an id has 4097 characters, more than 4096"),
        (("x" * 4097, 1.0), "an id has 4097 characters, more than 4096"),
    ],
)
def test_what_names_no_document_is_not_a_hit(entry: Any, reason: str) -> None:
    with pytest.raises(NotAHit) as caught:
        read_hit(entry)
    assert reason in str(caught.value)


def read(found: Any, depth: int = 10, chunk_of: str | None = None) -> HitReader:
    rule = None if chunk_of is None else chunk_rule(chunk_of)
    reader, stream = HitReader(depth, rule), stream_of(found)
    if stream is None:
        reader.read_all(Parts.of(found, depth, rule))
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
    with pytest.raises(BadAnswer, match=r"hit 3 of the answer cannot be read: None is not a hit"):
        read(form(["a", ("b", 1.0), None]))


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
