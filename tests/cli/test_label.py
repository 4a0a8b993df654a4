"""``searchmark label``: labels that are a suite, samples for people, and what they wrote back."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_suite
from searchmark.cli.main import main
from tests.conftest import ROOT

SHOP = ("--corpus", "catalogue.jsonl", "--queries", "queries_shop.txt")


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples/labelling/shop", tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")


def labels(*more: str) -> list[dict[str, Any]]:
    assert main(["label", *SHOP, *more, "-o", "labels.jsonl"]) == 0
    return [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["label", *arguments]) == 4
    return capsys.readouterr().err


def edited(column: int, text: str, line: int = 2) -> None:
    """The review with another cell."""
    rows = list(csv.reader(Path("review.csv").read_text().splitlines()))
    rows[line - 1][column] = text
    with Path("review.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_labels_say_the_query_the_rule_and_what_it_saw() -> None:
    first = labels()[0]
    assert {name: first[name] for name in ("query_id", "query", "type", "item_id", "grade", "rule")} == {
        "query_id": "1", "query": "women's black leather boots", "type": "audience", "item_id": "A1", "grade": 3,
        "rule": "category and attributes",
    }  # fmt: skip
    assert first["matched"]["material"] == [{"query": "leather", "value": "leather", "from": "title"}]
    assert first["matched"]["color"] == [{"query": "black", "value": "black", "from": "field"}]


def test_pairs_of_grade_0_are_written_if_asked_for() -> None:
    assert {each["grade"] for each in labels()} == {1, 2, 3}
    assert len(labels("--zeros")) == 8 * 10


@pytest.mark.slow
@pytest.mark.parametrize("suite", [".", "labels.jsonl"])
def test_a_query_that_no_item_meets_is_a_case_that_scores_0(capsys: pytest.CaptureFixture[str], suite: str) -> None:
    with Path("queries_shop.txt").open("a") as file:
        file.write("unicorn\n")
    *_, last = labels()
    assert "of these, all items have grade 0 for 1; each has one line of grade 0, and is a case" in capsys.readouterr().err
    assert {**last, "type": ""} == {
        "query_id": "9", "query": "unicorn", "type": "", "item_id": "A1", "grade": 0, "rule": "none", "matched": {},
    }  # fmt: skip
    assert len(load_suite(suite).cases) == 9
    assert main(["evaluate", "--suite", suite, "--agent", "bm25", "--corpus", "catalogue.jsonl", "--no-archive"]) == 0
    assert (
        "cases without a target of grade 2 or higher, which can only score 0 in R(rel=2)@10, P(rel=2)@10, RR(rel=2)@10: 2"
        in capsys.readouterr().out.replace("\n", " ")
    )


def test_labels_are_those_of_the_example_every_time() -> None:
    example = Path("labels.jsonl").read_text()
    assert labels() == labels()
    assert Path("labels.jsonl").read_text() == example


@pytest.mark.slow
def test_the_folder_is_a_suite_that_splits_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    labels()
    assert main(["evaluate", "--suite", ".", "--agent", "bm25", "--corpus", "catalogue.jsonl", "--by", "type", "--no-archive"]) == 0
    assert "by type" in capsys.readouterr().out
    assert {case.fields["type"] for case in load_suite(".").cases} == {"audience", "attribute", "category", "brand"}


def test_labels_alone_are_a_suite() -> None:
    labels()
    alone, beside = load_suite("labels.jsonl"), load_suite(".")
    assert [(case.id, case.query) for case in alone.cases] == [(case.id, case.query) for case in beside.cases]


def test_an_inserted_line_is_refused_with_both_texts(capsys: pytest.CaptureFixture[str]) -> None:
    labels()
    Path("queries_shop.txt").write_text("new query\n" + Path("queries_shop.txt").read_text())
    assert main(["evaluate", "--suite", ".", "--agent", "bm25", "--corpus", "catalogue.jsonl"]) == 4
    said = capsys.readouterr().err
    assert "line 1.query: is \"women's black leather boots\", but queries_shop.txt, line 1, is 'new query'" in said


def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    labels()
    said = capsys.readouterr().err
    assert "category: field category, missing in 1 of 10; found in the title of 1" in said
    assert "fashion.txt" in said


def test_a_review_is_blind_and_spread_over_all_kinds_of_pairs() -> None:
    assert main(["label", *SHOP, "--review", "20", "--seed", "3", "-o", "new.csv"]) == 0
    rows = list(csv.DictReader(Path("new.csv").read_text().splitlines()))
    assert {row["grade"] for row in rows} == {""}
    assert len({(row["query_id"], row["item_id"]) for row in rows}) == 20
    assert "rule" not in rows[0]
    graded = {(each["query_id"], each["item_id"]): each["grade"] for each in labels()}
    drawn = [graded.get((row["query_id"], row["item_id"]), 0) for row in rows]
    assert {grade: drawn.count(grade) for grade in (0, 1, 2, 3)} == {0: 6, 1: 5, 2: 5, 3: 4}
    assert drawn != sorted(drawn)


def test_the_same_seed_draws_the_same_review_and_another_one_another() -> None:
    for name, seed in (("a.jsonl", "1"), ("b.jsonl", "1"), ("c.jsonl", "2")):
        assert main(["label", *SHOP, "--review", "20", "--seed", seed, "-o", name]) == 0
    assert Path("a.jsonl").read_text() == Path("b.jsonl").read_text() != Path("c.jsonl").read_text()


def test_an_import_shows_the_agreement_and_its_grades_replace_those_of_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    written = {(each["query_id"], each["item_id"]): (each["grade"], each["rule"]) for each in labels("--import", "review.csv")}
    said = capsys.readouterr().out
    assert "20 pairs graded in the sample and by the rule: 10 equal, 20 at most one apart" in said
    assert "weighted kappa of all pairs, each stratum weighted by its size: 0.88" in said
    assert written["5", "A1"] == (3, "human")
    assert written["2", "A1"] == (0, "human")
    assert written["5", "A3"] == (2, "category")


def test_pairs_that_were_chosen_are_imported_and_stay_out_of_kappa(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = '5,,A3,0,,,,"chosen, not drawn at random"\n'
    with Path("review.csv").open("a") as file:
        file.write(chosen)
    written = {(each["query_id"], each["item_id"]): each["grade"] for each in labels("--import", "review.csv", "--zeros")}
    said = capsys.readouterr()
    assert written["5", "A3"] == 0
    assert "20 pairs graded in the sample and by the rule: 10 equal, 20 at most one apart" in said.out
    assert "pairs that were chosen, not drawn at random, and say nothing about agreement: 1" in said.err
    Path("review.csv").write_text("query_id,query,item_id,grade,title,text,fields,drawn_from\n" + chosen)
    assert main(["label", *SHOP, "--import", "review.csv"]) == 0
    assert "kappa" not in capsys.readouterr().out


def test_a_review_of_another_catalogue_says_nothing_about_all_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    items = Path("catalogue.jsonl").read_text().splitlines(keepends=True)
    Path("catalogue.jsonl").write_text("".join(items) + items[0].replace('"A1"', '"A9"'))
    assert main(["label", *SHOP, "--import", "review.csv"]) == 0
    assert "weighted kappa of all pairs: not known" in capsys.readouterr().out


def test_a_review_without_its_pairs_of_grade_0_says_nothing_about_all_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("review.csv").read_text().splitlines(keepends=True)
    positive = {(each["query_id"], each["item_id"]) for each in labels()}
    kept = [line for line, row in zip(lines[1:], csv.reader(lines[1:]), strict=True) if (row[0], row[2]) in positive]
    Path("review.csv").write_text("".join([lines[0], *kept]))
    assert main(["label", *SHOP, "--import", "review.csv"]) == 0
    said = "weighted kappa of all pairs: not known; none was judged of grade 0 (53 pairs); 0, near miss (2 pairs)"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        (3, "", "line 2: has no grade; grade every pair"),
        (3, "4", "line 2: grade '4' is none of 0, 1, 2, 3"),
        (3, "1.5", "line 2: grade '1.5' is none of"),
        (3, "good", "line 2: grade 'good' is none of"),
        (2, "X9", "line 2: the catalogue has no item 'X9'"),
        (0, "99", "line 2: there is no query '99'"),
        (1, "other words", "line 2: query '1' is 'other words' here"),
    ],
)
def test_a_review_that_cannot_be_read_is_refused_with_its_line(
    capsys: pytest.CaptureFixture[str], column: int, text: str, reason: str
) -> None:
    edited(column, text)
    assert f"review.csv, {reason}" in refused(capsys, *SHOP, "--import", "review.csv")


def test_a_half_filled_review_counts_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    edited(3, "", 2)
    edited(3, "", 5)
    assert "line 2: has no grade (2 of 20 pairs have none); grade every pair" in refused(capsys, *SHOP, "--import", "review.csv")


def test_a_pair_that_is_graded_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("review.csv").read_text().splitlines(keepends=True)
    Path("review.csv").write_text("".join([*lines, lines[1]]))
    assert "line 22: item 'C1' is graded a second time for query '1'" in refused(capsys, *SHOP, "--import", "review.csv")


def test_cells_that_a_spreadsheet_would_compute_are_quoted() -> None:
    Path("catalogue.jsonl").write_text('{"id": "1", "title": "=cmd()", "category": "boots"}\n')
    assert main(["label", *SHOP, "--review", "3", "-o", "new.csv"]) == 0
    assert {row["title"] for row in csv.DictReader(Path("new.csv").read_text().splitlines())} == {"'=cmd()"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "nothing says where to write"),
        (("--review", "5", "--zeros", "-o", "x.csv"), "belong to another call"),
        (("--review", "5", "-o", "x.txt"), "written as .csv or .jsonl"),
        (("-o", "labels.csv"), "name the file .jsonl"),
        (("--fields", "category", "-o", "x.jsonl"), "write it like category=style"),
        (("--map", "title=nmae", "-o", "x.jsonl"), "no document has the field 'nmae' that the mapping names; the fields are brand"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], reason: str
) -> None:
    assert reason in refused(capsys, *SHOP, *arguments)
