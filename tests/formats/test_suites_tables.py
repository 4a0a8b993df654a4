"""Tables of questions and what should be found: usual names, own names by --map, lists in cells, words and fractions as grades."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from searchmark import FormatError, Judgment, UsageError, load_suite
from searchmark.cli.main import main
from searchmark.formats.suites import detect_suite_format
from searchmark.formats.suites.source import Source
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "formats"
ESCI = {"E": 3, "S": 2, "C": 1, "I": 0}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def judged(path: Path, **options: object) -> dict[str, list[tuple[str, str, int]]]:
    suite = load_suite(path, **options)  # type: ignore[arg-type]
    return {case.id: [(j.target, j.match, j.grade) for j in case.judgments] for case in suite.cases}


def test_cells_hold_lists_by_semicolon_or_json() -> None:
    suite = load_suite(EXAMPLES / "table.csv")
    assert [[j.target for j in case.judgments] for case in suite.cases] == [
        ["docs/testing.md", "Makefile"], ["config/server.toml"], ["docs/exit-codes.md"],
    ]  # fmt: skip
    assert {j.match for case in suite.cases for j in case.judgments} == {"path"}
    assert next((case.id, case.query, case.category) for case in suite.cases) == (
        "How do I run the tests?", "How do I run the tests?", "development",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "question,expected_file\na,x.md\na,y.md\nb,z.md\n"),
        ("q.csv", "question,expected_files\na,x.md;y.md\nb,z.md\n"),
        ("q.csv", "Question;Expected Files\na;\"[\"\"x.md\"\", \"\"y.md\"\"]\"\nb;z.md\n"),
        ("q.tsv", "question\texpected_file\na\tx.md\na\ty.md\nb\tz.md\n"),
        ("q.txt", "query\tpath\na\tx.md\na\ty.md\nb\tz.md\n"),
        ("q.jsonl", '{"question": "a", "expected_files": ["x.md", "y.md"]}\n{"question": "b", "expected_files": "z.md"}\n'),
        ("q.jsonl", '{"query": "a", "answer_file": "x.md"}\n{"query": "a", "answer_file": "y.md"}\n{"query": "b", "answer_file": "z.md"}\n'),
        ("q.json", '[{"question": "a", "relevantFiles": ["x.md", "y.md"]}, {"question": "b", "relevantFiles": ["z.md"]}]'),
        ("q.json", '{"version": 2, "questions": [{"question": "a", "files": ["x.md", "y.md"]}, {"question": "b", "files": ["z.md"]}]}'),
        ("q.yaml", "cases:\n- question: a\n  expected_files: [x.md, y.md]\n- question: b\n  expected_files: z.md\n"),
    ],
)  # fmt: skip
def test_one_row_per_question_or_per_pair_in_any_kind_of_file(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, name, text)
    assert detect_suite_format(Source(path)) == "table"
    assert judged(path) == {"a": [("x.md", "path", 1), ("y.md", "path", 1)], "b": [("z.md", "path", 1)]}


def test_ids_with_a_semicolon_are_whole_where_rows_have_grades(tmp_path: Path) -> None:
    path = written(tmp_path, "q.csv", "query_id,query,product_id,relevance\n1,a,http://x/;s=1,2\n1,a,d2,0\n")
    assert judged(path) == {"1": [("http://x/;s=1", "id", 2), ("d2", "id", 0)]}


def test_fractions_are_gains(tmp_path: Path) -> None:
    suite = load_suite(written(tmp_path, "q.csv", "query,docid,rating\na,d1,0.5\na,d2,2\n"))
    assert suite.cases[0].judgments == (Judgment("d1", grade=1, gain=0.5), Judgment("d2", grade=2))


def test_letters_are_grades_by_a_mapping() -> None:
    suite = load_suite(EXAMPLES / "esci.csv", grades=ESCI)
    assert [(j.target, j.grade) for j in suite.cases[0].judgments] == [("S-118", 3), ("S-240", 2), ("B-007", 1), ("P-431", 0)]
    assert (suite.cases[0].id, suite.cases[0].query) == ("1", "hiking socks for winter")


def test_letters_without_a_mapping_are_counted_and_the_option_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["convert", str(EXAMPLES / "esci.csv"), str(tmp_path / "s.json")]) == 4
    told = capsys.readouterr().err
    assert "esci_label: holds grades that are not numbers: 'E' (2×), 'I' (2×), 'S' (1×), 'C' (1×)" in told
    assert "--grades E=3,S=2,C=1,I=0" in told
    assert main(["convert", str(EXAMPLES / "esci.csv"), str(tmp_path / "s.json"), "--grades", "E=3,S=2,C=1,I=0"]) == 0
    assert load_suite(tmp_path / "s.json").cases[0].judgments[0] == Judgment("S-118", grade=3)


def test_other_words_are_listed_with_the_option_to_explain_them(tmp_path: Path) -> None:
    path = written(tmp_path, "q.csv", "query,docid,rating\na,d1,good\na,d2,bad\nb,d1,good\n")
    with pytest.raises(FormatError, match=r"'good' \(2×\), 'bad' \(1×\).*--grades good=NUMBER,bad=NUMBER"):
        load_suite(path)
    assert judged(path, grades={"good": 1, "bad": 0}) == {"a": [("d1", "id", 1), ("d2", "id", 0)], "b": [("d1", "id", 1)]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("E", "cannot be read"), ("E=x", "which is not a number"), ("E=3,E=2", "names 'E' twice"), ("=3", "cannot be read"), ("E=inf", "which is not a number")],
)  # fmt: skip
def test_a_mapping_of_grades_that_cannot_be_read_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, complaint: str
) -> None:
    assert main(["convert", str(EXAMPLES / "esci.csv"), str(tmp_path / "s.json"), "--grades", text]) == 4
    assert complaint in capsys.readouterr().err


def test_words_for_grades_are_refused_where_grades_are_numbers() -> None:
    with pytest.raises(UsageError, match="grades in qrels files are whole numbers"):
        load_suite(EXAMPLES / "../quickstart/qrels.txt", grades=ESCI)


def test_fractions_in_qrels_are_refused_with_where_they_may_be_kept(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"'0.5' is not a whole number .*; qrels hold nothing else, a CSV of query,docid,rating"):
        load_suite(written(tmp_path, "q.qrels", "q1 0 d1 0.5\n"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "Ask,Page,Worth,Nr,Area\na,x,2,7,ops\n"),
        ("q.tsv", "Ask\tPage\tWorth\tNr\tArea\na\tx\t2\t7\tops\n"),
        ("q.jsonl", '{"Ask": "a", "Page": "x", "Worth": 2, "Nr": 7, "Area": "ops"}\n'),
        ("q.json", '{"rows": [{"Ask": "a", "Page": ["x"], "Worth": "2", "Nr": "7", "Area": "ops"}]}'),
    ],
)
def test_map_names_columns_that_have_other_names(tmp_path: Path, name: str, text: str) -> None:
    path = written(tmp_path, name, text)
    roles = {"query": "Ask", "target": "Page", "grade": "Worth", "case": "Nr", "category": "Area"}
    options = [part for role, column in roles.items() for part in ("--map", f"suite.{role}={column}")]
    assert main(["convert", str(path), str(tmp_path / "out.json"), *options]) == 0
    (case,) = load_suite(tmp_path / "out.json").cases
    assert (case.id, case.query, case.category, case.judgments) == ("7", "a", "ops", (Judgment("x", grade=2),))
    assert list(load_suite(path, mapping=roles).cases) == [case]


def test_parquet_is_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "examples.parquet"
    frame = pl.DataFrame({"query_id": [1, 1], "query": ["a", "a"], "product_id": ["d1", "d2"], "esci_label": ["E", "I"]})
    frame.write_parquet(path)
    assert judged(path, grades=ESCI) == {"1": [("d1", "id", 3), ("d2", "id", 0)]}
    frame.rename({"query": "ask", "product_id": "sku"}).write_parquet(path)
    roles = {"query": "ask", "target": "sku"}
    assert judged(path, grades=ESCI, mapping=roles) == {"1": [("d1", "id", 3), ("d2", "id", 0)]}
    pl.DataFrame({"query": ["a"], "docid": ["d1"], "rating": [2]}).write_parquet(path)  # the columns of Quepid
    assert list(judged(path).values()) == [[("d1", "id", 2)]]


def test_map_to_a_column_that_is_not_there_lists_the_columns_and_the_nearest(tmp_path: Path) -> None:
    path = written(tmp_path, "q.csv", "question,expected_page\na,x\n")
    with pytest.raises(FormatError) as caught:
        load_suite(path, mapping={"target": "expected_pagee"})
    assert str(caught.value).endswith(
        "has no column 'expected_pagee', which --map names as suite.target; it has 'question', 'expected_page'; "
        "did you mean 'expected_page'?"
    )


def test_unknown_columns_say_which_formats_were_tried_and_which_map_helps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = written(tmp_path, "q.csv", "ask,page\na,x\n")
    assert main(["audit", str(path)]) == 4
    told = capsys.readouterr().err
    assert "tried quepid (no query, document, rating), table (no column for the query or the target)" in told
    assert "it has 'ask', 'page'; name yours with --map suite.query=COLUMN --map suite.target=COLUMN" in told
    assert main(["audit", str(path), "--map", "suite.query=ask", "--map", "suite.target=page"]) == 0


def test_unknown_keys_name_what_every_format_missed(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(written(tmp_path, "q.jsonl", '{"question": "a", "answer": "because"}\n'))
    told = str(caught.value)
    for missed in (
        "gold-set (no ground_truth_files)", "case-list (no expected_ids)", "symbols (no expected_symbols or expected_patterns)",
        "rank-eval (no ratings)", "native (no schema_version)", "rre (no relevant_documents)", "table (no column for the target)",
    ):  # fmt: skip
        assert missed in told
    assert told.endswith("it has 'question', 'answer'; name yours with --map suite.target=COLUMN")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("query,docid,rank,score\na,d1,1,2.5\n", "is a table of hits, not a suite; name it with --run"),
        ("question,expected_file\na,x.md\na,x.md\n", "line 3.expected_file: 'x.md' is named a second time for 'a'"),
        ("question,expected_file\n,x.md\n", "line 2.question: is empty"),
        ("question,expected_file\na,\n", "expected_file: is empty in every row"),
        ("question,expected_file\na,x.md,more\n", "line 2: has 3 columns, the header 2"),
        ("id,question,expected_file\n1,a,x.md\n1,b,y.md\n", "line 3.query: is 'b', but an earlier row of '1' has 'a'"),
    ],
)  # fmt: skip
def test_a_table_that_contradicts_itself_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(written(tmp_path, "q.csv", text))
    assert complaint in str(caught.value)


def test_what_is_left_out_of_a_table_is_counted_and_said(tmp_path: Path) -> None:
    text = "query,docid,relevance,title,language\na,d1,2,One,en\na,d2,,Two,en\nb,,,,\n"
    suite = load_suite(written(tmp_path, "q.csv", text), format="table")
    assert dict(suite.dropped) == {"hits_without_rating": 1, "queries_without_judgments": 1}
    assert suite.unjudged == ("b",)
    assert suite.notes == ("columns that differ between rows of one case, left out: title",)
    assert dict(suite.cases[0].fields) == {"language": "en"}


def test_map_is_refused_for_files_whose_names_are_fixed() -> None:
    with pytest.raises(UsageError, match="--map names 1 column of the suite, but beir files have names of their own"):
        load_suite(EXAMPLES / "beir", mapping={"query": "text"})
    with pytest.raises(UsageError, match="a suite has no 'qery'; it has case, query, target, grade, category; did you mean query"):
        load_suite(EXAMPLES / "table.csv", mapping={"qery": "question"})


def test_broken_parquet_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FormatError, match="not valid Parquet"):
        load_suite(path)


def test_a_report_says_once_what_becomes_of_fractions_and_repeats_the_notes_of_the_reader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path, "run.json", json.dumps({"gas stove": {"ST-1": 2.0, "ST-4": 1.0}, "head torch": {"LA-2": 1.0}}))
    report = tmp_path / "report.json"
    again = json.loads((EXAMPLES / "opensearch.json").read_text())
    ratings = again["hits"]["hits"][0]["_source"]["judgmentRatings"]
    ratings.append(ratings[0])
    suite = written(tmp_path, "suite.json", json.dumps(again))
    assert main(["evaluate", "--gold-set", str(suite), "--run", str(run), "-o", str(report)]) == 0
    notes = [each["message"] for each in json.loads(report.read_text())["audit"] if each["severity"] == "note"]
    assert [each for each in notes if "fraction" in each] == [
        "2 judgments have a fractional gain: nDCG and DCG pay it, other measures see it rounded up"
    ]
    assert "queries that are listed again, of which the first list counts: 1" in notes
    capsys.readouterr()
