"""Encodings: UTF-16 is read as UTF-8 is, Latin-1 is named with its line and a way to convert it, ids of TREC keep their bytes."""

from __future__ import annotations

import codecs
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import FormatError, load_config, load_corpus, load_run, load_suite
from searchmark.cli.main import main
from searchmark.io.store import read_text
from searchmark.io.text import wide_encoding

RUN_TEXT = "q1 Q0 ä 1 3.0 t\nq2 Q0 c 1 1.0 t\n"
QRELS_TEXT = "q1 0 ä 1\nq2 0 c 1\n"
TOPICS_TEXT = "q1\tKäse\nq2\t芝士\n"
SUITE = {"schema_version": 1, "cases": [{"id": "q1", "query": "Käse", "judgments": [{"target": "a"}]}]}
WIDE = {
    "UTF-16 with a mark": "utf-16",
    "UTF-16, big end first": None,
    "UTF-16 without a mark": "utf-16-le",
    "UTF-16-BE without a mark": "utf-16-be",
    "UTF-32": "utf-32",
}


def wide(text: str, encoding: str | None) -> bytes:
    return codecs.BOM_UTF16_BE + text.encode("utf-16-be") if encoding is None else text.encode(encoding)


@pytest.mark.parametrize("encoding", WIDE.values(), ids=WIDE)
def test_utf_16_is_read_wherever_text_is_read(file, caplog: pytest.LogCaptureFixture, encoding: str | None) -> None:
    run = load_run(file("run.txt", wide(RUN_TEXT, encoding)))
    assert (run.case_ids, list(run.ids)) == (("q1", "q2"), ["ä", "c"])
    suite = load_suite(file("qrels.txt", wide(QRELS_TEXT, encoding)), topics=file("topics.tsv", wide(TOPICS_TEXT, encoding)))
    assert [case.query for case in suite.cases] == ["Käse", "芝士"]
    content = json.dumps(SUITE, ensure_ascii=False)
    assert load_suite(file("suite.json", wide(content, encoding))).cases[0].query == "Käse"
    assert load_suite(file("suite.json.gz", gzip.compress(wide(content, encoding)))).cases[0].query == "Käse"
    yaml = "schema_version: 1\ncases:\n- id: q1\n  query: Käse\n  judgments: [{target: a}]\n"
    assert load_suite(file("suite.yaml", wide(yaml, encoding))).cases[0].query == "Käse"
    corpus = load_corpus(file("corpus.csv", wide("id,text\r\na,Käse\r\n", encoding)))
    assert [document.text for document in corpus] == ["Käse"]
    config = load_config(file("c.yaml", wide("evaluation:\n  num_runs: 3\n", encoding)))
    assert config.evaluation.num_runs == 3
    assert f"is UTF-{'32' if encoding == 'utf-32' else '16'} and was read as such" in caplog.text


def test_the_command_line_says_once_that_a_file_was_utf_16(file, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, run = file("qrels.txt", QRELS_TEXT), file("run.txt", RUN_TEXT.encode("utf-16"))
    main(["evaluate", "--suite", str(qrels), "--run", str(run), "-m", "RR"])
    said = capsys.readouterr().err
    assert said.count(f"searchmark: note: {run} is UTF-16 and was read as such") == 1


def test_utf_16_that_breaks_off_is_named(file) -> None:
    with pytest.raises(FormatError, match="looks like UTF-16, and is not"):
        load_suite(file("qrels.txt", QRELS_TEXT.encode("utf-16")[:-1]))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"a\0b",
        b"PAR1\x15\x04\x15\x10\x15\x14",
        b"\x93NUMPY\x01\x00v\x00",
        b"SQLite format 3\0\x10\0\x01\x01",
        bytes(100),
    ],
    ids=["empty", "zero", "a zero between", "Parquet", "NumPy", "SQLite", "zeros"],
)
def test_other_files_with_zeros_are_not_taken_for_utf_16(content: bytes) -> None:
    assert wide_encoding(content) is None


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")).filter(lambda text: "\0" not in text))
def test_utf_8_is_never_taken_for_utf_16(text: str) -> None:
    assert wide_encoding(text.encode()) is None


LATIN_SUITE = json.dumps(SUITE, ensure_ascii=False, indent=1).encode("latin-1")


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("suite.json", LATIN_SUITE, "line 6"),
        ("suite.yaml", "schema_version: 1\ncases:\n- id: q1\n  query: Käse\n".encode("latin-1"), "line 4"),
        ("quepid.csv", "query,docid,rating\nKäse,a,1\n".encode("latin-1"), "line 2"),
    ],
)
def test_a_suite_in_latin_1_is_named_with_the_line_and_a_way_to_convert_it(
    file, capsys: pytest.CaptureFixture[str], name: str, content: bytes, line: str
) -> None:
    path = file(name, content)
    assert main(["evaluate", "--suite", str(path), "--agent", "bm25", "--corpus", str(path.parent)]) == 4
    said = capsys.readouterr().err
    assert f"{path}, {line}: byte" in said
    assert "(0xe4) is not UTF-8" in said
    assert "Käse" in said
    assert f"Windows-1252 or Latin-1; convert it: iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{name}" in said


def test_topics_configs_and_documents_in_latin_1_are_named(file) -> None:
    qrels = file("qrels.txt", "q1 0 a 1\n")
    with pytest.raises(FormatError, match=r"topics\.tsv, line 1: byte 5 \(0xe4\) is not UTF-8"):
        load_suite(qrels, topics=file("topics.tsv", "q1\tKäse\n".encode("latin-1")))
    with pytest.raises(FormatError, match=r"sm\.yaml, line 2: byte 4 \(0xe4\) is not UTF-8"):
        load_config(file("sm.yaml", "output:\n# Käse\n".encode("latin-1")))
    with pytest.raises(FormatError, match=r"c\.csv, line 3: byte 3 \(0xe4\) is not UTF-8"):
        list(load_corpus(file("c.csv", "id,text\nb,x\na,\u00e4\n".encode("latin-1"))))
    with pytest.raises(FormatError, match=r"c\.jsonl, line 2: byte \d+ \(0xe4\) is not UTF-8"):
        list(load_corpus(file("c.jsonl", '{"id": "a", "text": "x"}\n{"id": "b", "text": "Käse"}\n'.encode("latin-1"))))


def test_what_is_hardly_western_is_not_guessed_at(file) -> None:
    with pytest.raises(FormatError, match="is not UTF-8; convert the file: iconv -f ITS-ENCODING -t UTF-8"):
        load_suite(file("quepid.csv", "query,docid,rating\nсыр,a,1\n".encode("cp1251")))


def test_ids_of_trec_files_keep_their_bytes(file) -> None:
    run = load_run(file("run.txt", "q1 Q0 Käse 1 1.0 t\n".encode("latin-1")))
    suite = load_suite(file("qrels.txt", "q1 0 Käse 1\n".encode("latin-1")))
    assert run.ids[0] == suite.cases[0].judgments[0].target
    assert run.ids[0].encode("utf-8", "surrogateescape") == "Käse".encode("latin-1")


def test_reading_as_it_is_keeps_bytes_that_are_not_utf_8(file) -> None:
    assert read_text(file("x.txt", b"\xffx")) == "\udcffx"
