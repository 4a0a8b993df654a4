"""A file that is given as what it is not: the message says what it is and where it belongs."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from searchmark import FieldMapping, FormatError, load_corpus, load_run, load_suite
from searchmark.cli.main import main
from searchmark.formats.detection import detect_kind
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
QUICKSTART = EXAMPLES / "quickstart"
FORMATS = EXAMPLES / "formats"


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The files of a first hour in one folder, with a report and a saved run of our own."""
    for path in (*QUICKSTART.iterdir(), *FORMATS.iterdir()):
        if path.is_file():
            shutil.copy(path, tmp_path / path.name)
    (tmp_path / "beir-corpus.jsonl").write_bytes((FORMATS / "beir" / "corpus.jsonl").read_bytes())
    (tmp_path / "trec-topics.txt").write_text("<top>\n<num> Number: q1\n<title> harbour\n</top>\n")
    (tmp_path / "config.yaml").write_text("evaluation:\n  num_runs: 1\noutput:\n  formats: [json]\n")
    (tmp_path / "hits.csv").write_text("query,docid,rank\nharbour,p1,1\n")
    (tmp_path / "qrels.txt.gz").write_bytes(gzip.compress((QUICKSTART / "qrels.txt").read_bytes()))
    report, saved = tmp_path / "report.json", tmp_path / "saved.jsonl"
    arguments = ["evaluate", "--suite", str(QUICKSTART / "qrels.txt"), "--run", str(QUICKSTART / "bm25.trec"), "-m", "RR"]
    assert main([*arguments, "-o", str(report)]) == 0
    from searchmark import save_run

    save_run(load_run(QUICKSTART / "bm25.trec"), saved)
    capsys.readouterr()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bm25.trec", "is a TREC run, not a suite; name it with --run"),
        ("semantic.json", "is a list of ids for each query, as runs are, not a suite; name it with --run"),
        ("saved.jsonl", "is a saved run of Searchmark, not a suite; name it with --run"),
        ("corpus.jsonl", "is a corpus of documents, not a suite; name it with --corpus"),
        ("beir-corpus.jsonl", "is a BEIR corpus, not a suite; name it with --corpus"),
        ("topics.tsv", "is topics, lines of id and query, not a suite; name it with --topics, beside the judgments"),
        ("trec-topics.txt", "is TREC topics, not a suite; name it with --topics, beside the judgments"),
        ("report.json", "is a report of Searchmark, not a suite; show it with 'searchmark report'"),
        ("config.yaml", "is a config of Searchmark, not a suite; name it with --config"),
        ("run-msearch.json", "is a response of _msearch, not a suite; name it with --run"),
        ("run-rank-eval.json", "is a response of _rank_eval, not a suite; name it with --run"),
        ("run-mteb_predictions.json", "is predictions of MTEB, not a suite; name it with --run"),
        ("run-responses.json", "is the responses of a search engine by query, not a suite; name it with --run"),
        ("run-quepid.json", "is a snapshot of Quepid, not a suite; name it with --run"),
        ("run-quepid.csv", "is a snapshot of Quepid, not a suite; name it with --run"),
        ("run-cases.jsonl", "is a list of answers, not a suite; name it with --run"),
    ],
)
def test_what_is_given_as_a_suite(files: Path, capsys: pytest.CaptureFixture[str], name: str, told: str) -> None:
    assert main(["evaluate", "--suite", str(files / name), "--run", str(files / "bm25.trec")]) == 4
    assert f"searchmark: {files / name}: {told}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("qrels.txt", "is TREC qrels, not a run; name it with --suite"),
        ("qrels.txt.gz", "is TREC qrels, not a run; name it with --suite"),
        ("suite.yaml", "is a suite of Searchmark, not a run; name it with --suite"),
        ("gold_set.json", "is a gold set, not a run; name it with --suite"),
        ("case_list.json", "is a list of cases with expectedIds, not a run; name it with --suite"),
        ("fixtures.json", "is fixtures, not a run; name it with --suite"),
        ("rank_eval.json", "is a request to _rank_eval, not a run; name it with --suite"),
        ("baseline_metrics.json", "is a baseline of fixtures, not a run; name it with --against"),
        ("corpus.jsonl", "is a corpus of documents, not a run; name it with --corpus"),
        ("topics.tsv", "is topics, lines of id and query, not a run; name it with --topics"),
        ("trec-topics.txt", "is TREC topics, not a run; name it with --topics"),
        ("report.json", "is a report of Searchmark, not a run; show it with 'searchmark report'"),
        ("config.yaml", "is a config of Searchmark, not a run; name it with --config"),
        ("esci.csv", "is a table of ratings, not a run; name it with --suite"),
        ("table.csv", "is a table of queries and what should be found, not a run; name it with --suite"),
        ("table.jsonl", "is a table of queries and what should be found, not a run; name it with --suite"),
        ("opensearch.json", "is a judgment list of OpenSearch, not a run; name it with --suite"),
        ("quepid_case.json", "is a case of Quepid, not a run; name it with --suite"),
        ("quepid_ratings.json", "is ratings of documents by query, not a run; name it with --suite"),
        ("quepid_book.json", "is a book of Quepid, not a run; name it with --suite"),
        ("quepid_book.csv", "is a book of Quepid, not a run; name it with --suite"),
        ("ltr.txt", "is a list for learning to rank, not a run; name it with --suite"),
    ],
)
def test_what_is_given_as_a_run(files: Path, capsys: pytest.CaptureFixture[str], name: str, told: str) -> None:
    assert main(["evaluate", "--suite", str(files / "qrels.txt"), "--run", str(files / name)]) == 4
    assert f"searchmark: {files / name}: {told}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gold_set.json", "is a gold set, not a corpus; name it with --suite"),
        ("qrels.txt", "is TREC qrels, not a corpus; name it with --suite"),
        ("bm25.trec", "is a TREC run, not a corpus; name it with --run"),
        ("trec-topics.txt", "is TREC topics, not a corpus; name it with --topics"),
        ("quepid.csv", "is a table of ratings, not a corpus; name it with --suite"),
        ("run-hits.csv", "is a table of hits, not a corpus; name it with --run"),
        ("run-hits.jsonl", "is a table of hits, not a corpus; name it with --run"),
    ],
)
def test_what_is_given_as_a_corpus(files: Path, name: str, told: str) -> None:
    with pytest.raises(FormatError, match=told):
        list(load_corpus(files / name))


def test_what_is_given_as_topics_or_as_a_config(files: Path) -> None:
    with pytest.raises(FormatError, match="is TREC qrels, not topics; name it with --suite"):
        load_suite(files / "qrels.txt", topics=files / "qrels.txt")
    from searchmark import load_config

    with pytest.raises(FormatError, match="is a suite of Searchmark, not a config; name it with --suite"):
        load_config(files / "suite.yaml")


def test_a_fault_in_a_file_of_the_right_kind_is_told_as_before(file) -> None:
    with pytest.raises(FormatError, match="line 2: has 3 columns instead of 4"):
        load_suite(file("qrels.txt", "q1 0 a 1\nq1 0 b\n"))
    with pytest.raises(FormatError, match="line 2: the score 'x' is not a finite number"):
        load_run(file("run.txt", "q1 Q0 a 1 1 t\nq1 Q0 a 1 x t\n"))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("q.csv", "id,query,expected_file\n1,foo,a.md\n2,bar,b.md,zz\n", "line 3: has 4 columns, the header 3"),
        ("q.csv", "id,title,expected\n1,foo,a.md\n2,bar\n", "line 3: has 2 columns, the header 3"),
        ("q.csv", "id,query,answer\n1,foo,a.md\n", "it has 'id', 'query', 'answer'; name yours with --map suite.target=COLUMN"),
        ("q.json", '{"cases": [{"id": "1", "query": "a", "expectedIds": 5}]}', "cases.0.expected_ids: is a number, not a list"),
        ("q.csv", "query;docid;rating\na;1;0,5\n", "'0,5' has a decimal comma; write it with a point"),
        ("q.csv", "", "is empty: it has neither columns nor rows"),
    ],
)
def test_a_fault_in_a_suite_is_not_hidden_by_what_it_looks_like(file, name: str, content: str, told: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file(name, content))
    assert told in str(caught.value)


def test_a_wrong_name_of_a_column_is_told_and_not_what_the_file_looks_like(file) -> None:
    with pytest.raises(FormatError, match=r"has no column 'expected_fil'.*did you mean 'expected_file'"):
        load_suite(file("q.csv", "id,query,expected_file\n1,foo,a.md\n"), mapping={"target": "expected_fil"})


@pytest.mark.parametrize("name", ["run-hits.jsonl", "run-scores.tsv"])
def test_scores_of_a_search_are_not_grades_unless_somebody_says_so(name: str) -> None:
    with pytest.raises(FormatError, match=r"its scores are fractions.*give it with --run.*--map suite\.grade=score"):
        load_suite(FORMATS / name)
    assert len(load_suite(FORMATS / name, mapping={"grade": "score"}).cases) == 3


def test_documents_with_names_of_suites_are_documents(file) -> None:
    content = '{"id": "a", "title": "Lamp", "ratings": 4.5, "judgments": []}\n{"id": "b", "title": "Hat"}\n'
    assert [document.id for document in load_corpus(file("c.jsonl", content))] == ["a", "b"]
    questions = "id,question,answer,score\n1,How?,So.,7.5\n"
    assert [document.id for document in load_corpus(file("c.csv", questions))] == ["1"]
    assert len(list(load_corpus(FORMATS / "quepid.csv", FieldMapping(id="docid", text=("query",))))) == 4


def test_what_was_expected_beside_what_was_found_is_read_as_a_run(file) -> None:
    content = '{"id": "q1", "query": "x", "expected_ids": ["a"], "results": ["b"]}\n'
    assert load_run(file("run.jsonl", content)).case_ids == ("q1",)


def test_a_long_file_is_told_by_its_first_entry_and_not_by_names_further_down(file) -> None:
    hits = [{"id": f"d{number}", "_id": "x", "title": "t" * 99, "text": "u" * 99} for number in range(500)]
    found = detect_kind(file("long.json", json.dumps([{"query": "a", "hits": hits}, {"query": "b", "hits": hits}])))
    assert found is not None
    assert (found.name, found.roles) == ("a list of answers", ("run",))


def test_the_sections_of_a_config_are_known() -> None:
    from dataclasses import fields

    from searchmark import Config
    from searchmark.formats.detection import CONFIG_SECTIONS

    assert {each.name for each in fields(Config)} == CONFIG_SECTIONS


def test_every_format_that_names_tell_is_one_of_suites() -> None:
    from searchmark.formats import SUITE_FORMATS as SUITES
    from searchmark.formats.detection import KINDS_BY_ENTRY_NAMES, KINDS_BY_TOP_NAMES

    assert {each.format for each in (*KINDS_BY_TOP_NAMES, *KINDS_BY_ENTRY_NAMES)} <= {*SUITES, None}


def test_a_run_whose_hits_have_fields_of_suites_is_a_run(file) -> None:
    content = {"q1": [{"id": "a", "query": "x", "documents": [], "expectedIds": []}], "q2": []}
    assert load_run(file("run.json", json.dumps(content))).case_ids == ("q1", "q2")


def test_a_config_in_json_is_a_config(file) -> None:
    found = detect_kind(file("c.json", '{"evaluation": {"num_runs": 3}, "output": {"formats": ["json"]}}'))
    assert found is not None
    assert found.name == "a config of Searchmark"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"%PDF-1.7\n", "a PDF"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"BZh91AY&SY", "packed by bzip2, which is not unpacked here"),
        (b"<DOC>\n<DOCNO>a</DOCNO>\n", "TREC documents"),
        (b"\0\1\2", None),
        (b"", None),
        (b"nothing in particular\n", None),
        (b'{"a": ' + b"[" * 10_000, None),
    ],
)
def test_other_files(file, content: bytes, name: str | None) -> None:
    found = detect_kind(file("x", content))
    assert (found and found.name) == name


def test_a_large_file_is_recognised_by_its_beginning(file) -> None:
    cases = [{"id": f"q{n}", "query": "x", "ground_truth_files": ["a"] * 20} for n in range(2000)]
    found = detect_kind(file("gold.json", json.dumps({"test_cases": cases}, indent=2)))
    assert found is not None
    assert found.name == "a gold set"
    assert detect_kind(FORMATS / "beir") is not None
