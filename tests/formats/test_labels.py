"""Labels and their lists of queries: which file is taken, what is refused, and that nothing is asked as it is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from searchmark import FormatError, load_suite
from searchmark.formats.suites.labels import read_queries

EXAMPLES = Path(__file__).parents[2] / "examples" / "formats"
LABEL = {"query_id": "1", "item_id": "a", "grade": 3}


def folder(tmp_path: Path, queries: dict[str, str], *labels: dict[str, object]) -> Path:
    for name, text in queries.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels or (LABEL,)))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("queries.txt", "red dress\n"),
        ("queries_fashion.txt", "red dress\n"),
        ("queries.jsonl", '{"id": 1, "query": "red dress", "type": "attribute"}\n'),
        ("queries_fashion.tsv", "id\tquery\ttype\n1\tred dress\tattribute\n"),
    ],
)
def test_the_list_of_queries_in_a_folder_is_found(tmp_path: Path, name: str, text: str) -> None:
    (case,) = load_suite(folder(tmp_path, {name: text})).cases
    assert (case.id, case.query) == ("1", "red dress")
    assert case.fields == ({} if name.endswith(".txt") else {"type": "attribute"})


def test_queries_txt_goes_before_others_and_several_others_are_refused(tmp_path: Path) -> None:
    both = folder(tmp_path, {"queries.txt": "red dress\n", "queries_a.txt": "a\n", "queries_b.txt": "b\n"})
    assert load_suite(both).cases[0].query == "red dress"
    (tmp_path / "queries.txt").unlink()
    with pytest.raises(FormatError, match=r"several lists of queries \(queries_a.txt, queries_b.txt\)"):
        load_suite(both)


def test_labels_without_texts_and_without_a_list_have_no_queries(tmp_path: Path) -> None:
    assert load_suite(folder(tmp_path, {})).cases[0].query is None


def test_labels_with_texts_need_no_list(tmp_path: Path) -> None:
    (case,) = load_suite(folder(tmp_path, {}, LABEL | {"query": "red dress", "type": "attribute"})).cases
    assert (case.query, case.fields) == ("red dress", {"type": "attribute"})


def test_a_text_that_is_not_that_of_the_list_is_refused(tmp_path: Path) -> None:
    shifted = folder(tmp_path, {"queries.txt": "blue hat\nred dress\n"}, LABEL | {"query": "red dress"})
    with pytest.raises(FormatError, match=r"line 1\.query: is 'red dress', but queries\.txt, line 1, is 'blue hat'"):
        load_suite(shifted)


def test_two_texts_of_one_query_are_refused(tmp_path: Path) -> None:
    labels = (LABEL | {"query": "red dress"}, LABEL | {"item_id": "b", "query": "blue hat"})
    with pytest.raises(FormatError, match=r"line 2\.query: is 'blue hat', but another label of this query has 'red dress'"):
        load_suite(folder(tmp_path, {}, *labels))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("q.txt", 'red\n{"id": 1, "query": "red dress"}\n', "line 2: .* is JSON; name the file .jsonl"),
        ("q.txt", "1\tred dress\tattribute\n", "line 1: .* is tab-separated; name the file .tsv"),
        ("q.tsv", "1\tred dress\n", "line 1: the first line must name the columns"),
        ("q.tsv", "id\tquery\n1\tred\tdress\n", "line 2: has 3 columns, the header 2"),
        ("q.tsv", "id\tquery\n1\t\n", "line 2.query: is missing"),
        ("q.jsonl", '{"id": 1, "query": "a"}\n{"id": 1, "query": "b"}\n', "line 2: duplicate id '1'"),
        ("q.jsonl", '{"id": 1}\n', "line 1.query: is missing"),
        ("q.txt", "# nothing\n", "holds no queries"),
    ],
)
def test_a_list_that_would_be_asked_as_it_is_written_is_refused(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=reason):
        read_queries(tmp_path / name)


def test_quotation_marks_of_a_tab_separated_query_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text('id\tquery\n7\t12" vinyl\n')
    assert read_queries(tmp_path / "q.tsv")["7"].text == '12" vinyl'


def test_a_line_separator_of_unicode_is_part_of_a_query(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,query\n7,red\u2028shoes\n", encoding="utf-8")
    assert read_queries(tmp_path / "q.csv")["7"].text == "red\u2028shoes"


@pytest.mark.parametrize("given", [".", "../shop", "../shop/", "inner/.."])
@pytest.mark.parametrize("form", ["labels", "beir"])
def test_a_folder_has_its_name_however_it_is_written(
    form: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(EXAMPLES / form, tmp_path / "shop")
    (tmp_path / "shop" / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    assert load_suite(given).name == "shop"


def test_a_split_of_beir_is_named_after_its_folder_also_from_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / "beir", tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop" / "qrels")
    assert load_suite("test.tsv").name == "shop"
