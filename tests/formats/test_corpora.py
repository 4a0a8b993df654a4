"""Corpora: streamed from JSON, JSONL, CSV and directories; odd documents are reported."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Document, FieldMapping, FormatError, NothingEvaluated, UsageError, load_corpus, load_suite
from searchmark.agents.chunks import content_chunks
from searchmark.formats.corpora.corpus import corpus_of
from tests.conftest import ROOT

RECORDS = [{"id": "a", "title": "First", "text": "one", "price": 3}, {"id": 2, "text": "two"}]
EXPECTED = [Document("a", "one", "First", {"price": 3}), Document("2", "two")]


def test_json_and_jsonl_hold_the_same_documents(file) -> None:
    array = load_corpus(file("corpus.json", json.dumps(RECORDS)))
    lines = load_corpus(file("corpus.jsonl", "\n\n".join(map(json.dumps, RECORDS))))
    assert list(array) == list(lines) == EXPECTED
    assert array.survey == lines.survey


def test_csv_has_its_fields_by_header(file) -> None:
    corpus = load_corpus(file("c.csv", 'id,title,text\r\n007,"A, b","two\nlines"\r\n8,,\r\n'))
    assert list(corpus) == [Document("007", "two\nlines", "A, b"), Document("8", "")]
    assert corpus.survey.empty == 1


def test_a_corpus_can_be_read_again_and_again(file) -> None:
    corpus = load_corpus(file("corpus.jsonl", "\n".join(map(json.dumps, RECORDS))))
    assert list(corpus) == list(corpus)


def test_duplicates_and_empty_documents_are_reported_and_the_first_one_counts(file) -> None:
    corpus = load_corpus(file("c.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n{"id": "b", "text": " "}\n'))
    assert (corpus.survey.duplicates, corpus.survey.empty, corpus.survey.ids) == (1, 1, {"a", "b"})
    assert [document.text for document in corpus] == ["x", " "]


def test_a_mapping_names_the_fields(file) -> None:
    record = {"asin": "B1", "name": "Boot", "bullets": ["dry", None, {"sole": "rubber"}], "description": "warm"}
    mapping = FieldMapping.parse(("id=asin", "title=name", "text=bullets,description"))
    (document,) = load_corpus(file("c.json", json.dumps([record])), mapping)
    assert document == Document("B1", "dry\nrubber\nwarm", "Boot")


@pytest.mark.parametrize("text", ["asin", "id=", "shop.id=asin"])
def test_an_unreadable_mapping_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read; write it like id=asin"):
        FieldMapping.parse((text,))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("c.json", "{}", "is not a JSON array"),
        ("c.json", '[{"id": "a"}, {"id"', "document 1: not valid JSON"),
        ("c.json", '[{"id": "a"}', "the array does not end"),
        ("c.json", '[{"text": "a"}]', "document 0: has no id (looked for id, _id"),
        ("c.json", "[3]", "document 0: is not a mapping"),
        ("c.jsonl", '{"id": "a"}\n[]\n', "line 2: is not a mapping"),
        ("c.jsonl", '{"id": "a"}\n{"id": 1.5}\n', "line 2: has the id 1.5, which is neither text nor a whole number"),
        ("c.jsonl", '{"id": "a"\n', "line 1, column 11: not valid JSON"),
        ("c.csv", "id,text\na\n", "line 2: has 1 columns, the header 2"),
        ("c.csv", 'id,text\na,"b\n', "not valid CSV"),
        ("c.json", '[{"id": "a"} {"id": "b"}]', "a comma or the end of the array is missing before it"),
        ("c.json", '[{"id": "a"}] more', "something follows the array"),
        ("c.json", '[{"id": "a", "id": "b"}]', "duplicate key 'id'"),
        ("c.json", '[{"id": "a", "x": NaN}]', "not valid JSON: NaN"),
        ("c.csv", "id,id,text\na,b,c\n", "line 1: duplicate column name"),
        ("c.parquet", "x", "not valid Parquet"),
        ("c.xyz", "x", "is not a corpus: it is none of JSON (.json, .jsonl), CSV"),
    ],
)
def test_refuses_with_file_place_and_reason(file, name: str, content: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        _ = load_corpus(file(name, content)).survey
    assert complaint in str(caught.value)


def test_a_missing_corpus_is_one_sentence() -> None:
    with pytest.raises(FormatError, match=r"nowhere\.jsonl: cannot be read"):
        load_corpus("nowhere.jsonl")


@given(
    st.lists(
        st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2), max_size=2),
        max_size=8,
    ),
    st.integers(1, 30),
)
def test_an_array_is_streamed_as_it_would_be_parsed(tmp_path: Path, records: list[dict[str, object]], piece: int) -> None:
    from unittest.mock import patch

    from searchmark.formats.corpora.documents import records_of_array
    from searchmark.formats.input_file import InputFile

    path = tmp_path / "c.json"
    path.write_text(json.dumps(records, indent=1))
    with patch("searchmark.formats.corpora.documents._PIECE", piece):
        assert [value for _, value in records_of_array(InputFile(path))] == records


@pytest.mark.slow
def test_streaming_holds_one_document_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    line = json.dumps({"id": "{}", "text": "x" * 10_000})
    with path.open("w") as file:
        file.writelines(line.replace("{}", str(number)) + "\n" for number in range(3000))
    tracemalloc.start()
    try:
        assert len(load_corpus(path).survey.ids) == 3000
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "content"), [("c.json", "[]"), ("c.jsonl", ""), ("c.csv", ""), ("c.csv", "id,text\n")])
def test_an_empty_corpus_is_nothing_to_evaluate_against(file, name: str, content: str) -> None:
    with pytest.raises(NothingEvaluated, match="the corpus 'c' holds no documents"):
        _ = load_corpus(file(name, content)).survey


class TestDirectory:
    def test_files_are_documents_and_what_is_no_text_is_counted(self, tmp_path: Path) -> None:
        for name, content in {
            "b/x.py": b"x",
            "a.py": b"caf\xe9",
            ".git/config": b"c",
            "img.png": b"\x89\x00",
            "empty": b"",
        }.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        (tmp_path / "link").symlink_to(tmp_path / "a.py")
        corpus = load_corpus(tmp_path)
        assert [document.id for document in corpus] == ["a.py", "empty", "b/x.py"]
        assert (corpus.survey.skipped, corpus.survey.empty) == (2, 1)

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such file names")
    def test_names_that_are_not_utf8_survive(self, tmp_path: Path) -> None:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")).write_text("x")
        (document,) = load_corpus(tmp_path)
        assert os.fsencode(document.id) == b"caf\xe9.py"


def test_a_suite_may_bring_its_documents_along() -> None:
    corpus = corpus_of(load_suite(ROOT / "examples/formats/fixtures.json"))
    assert corpus.survey.ids == {"bread", "cake", "tyres"}
    with pytest.raises(NothingEvaluated, match="has no documents of its own"):
        corpus_of(load_suite(ROOT / "examples/formats/gold_set.json"))


def test_the_digest_depends_on_content_and_not_on_order(file) -> None:
    first = load_corpus(file("a.json", json.dumps(RECORDS))).survey.digest
    assert load_corpus(file("b.json", json.dumps(RECORDS[::-1]))).survey.digest == first
    assert load_corpus(file("c.json", json.dumps([{**RECORDS[0], "text": "other"}, RECORDS[1]]))).survey.digest != first


TEXTS = ["", "\n", "a", "a\n\nb\n", "def a():\n  1\n\n  2\n\n\ndef b():\n  3\n", "x\r\n\r\ny", "\n\n a\n\nb", "a\n\n" * 200]


@pytest.mark.parametrize("text", TEXTS)
def test_chunks_make_up_the_text(text: str) -> None:
    assert "".join(content_chunks(text)) == text


def test_a_chunk_ends_at_a_blank_line_before_unindented_text() -> None:
    assert content_chunks("import a\n\n\ndef b():\n    1\n\n    2\n\ndef c(): 3\n") == [
        "import a\n\n\n",
        "def b():\n    1\n\n    2\n\n",
        "def c(): 3\n",
    ]


def test_a_long_chunk_is_cut_again_at_its_blank_lines() -> None:
    assert content_chunks("def b():\n    1\n\n    2\n", longest=3) == ["def b():\n    1\n\n", "    2\n"]


def test_an_edit_changes_one_chunk_and_not_those_that_follow() -> None:
    before = "".join(f"def f{i}():\n    return {i}\n\n\n" for i in range(50))
    after = before.replace("return 7\n", "x = 7\n    return x\n")
    assert len(set(content_chunks(after)) - set(content_chunks(before))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("c.jsonl", '{"id": "1", "name": "x"}\n'), ("c.csv", "id,name\n1,x\n"), ("c.json", '[{"id": 1, "name": "x"}]')],
)
def test_a_mapping_to_a_field_that_no_document_has_is_refused_with_those_that_exist(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match="no document has the field 'nmae' that the mapping names; the fields are id, name"):
        list(load_corpus(tmp_path / name, FieldMapping.parse(("title=nmae",))))


def test_a_mapping_to_a_field_that_some_documents_have_is_taken(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "1"}\n{"id": "2", "name": "x"}\n')
    assert [each.title for each in load_corpus(tmp_path / "c.jsonl", FieldMapping(title="name"))] == [None, "x"]


def test_a_mapping_for_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory of files, which have no fields"):
        load_corpus(tmp_path, FieldMapping(title="name"))
