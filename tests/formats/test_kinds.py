"""A suite knows how its cases were collected, and is measured by what suits that."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from searchmark import Case, Judgment, Run, Suite, build_report, load_suite, match_hits, read_report, save_suite, score
from searchmark.cli.main import main
from searchmark.formats.suites.case_lists import suite_of_rows
from searchmark.reports.render import write_report
from searchmark.scoring.scores import DEFAULT_MEASURES

GOLD_SET = {"test_cases": [{"id": "c1", "query": "fix it", "ground_truth_files": ["a.py"]}]}
CASE_LIST = [{"query": "fix it", "expectedIds": ["a", "b"]}]
SYMBOLS = {"queries": [{"id": "C1", "query": "send mail", "expected_symbols": ["SendMail"]}]}
LABEL = {"query_id": 1, "item_id": "a", "grade": 3}
KINDS = {
    "gold-set": ["nDCG@10", "RR", "R@10", "F1@10", "F1"],
    "case-list": ["P@5", "R@5", "RR@5", "Relevance", "Tau"],
    "labels": ["nDCG@10", "R@10", "P@10", "RR@10"],
    "symbols": ["P@5", "P@10", "RR@10", "Success@5"],
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """One suite of every kind, as users have them."""
    paths = {kind: tmp_path / f"{kind}.json" for kind in KINDS} | {"labels": tmp_path / "labels.jsonl"}
    paths["gold-set"].write_text(json.dumps(GOLD_SET))
    paths["case-list"].write_text(json.dumps(CASE_LIST))
    paths["symbols"].write_text(json.dumps(SYMBOLS))
    paths["labels"].write_text(json.dumps(LABEL) + "\n")
    return paths


@pytest.mark.parametrize(("kind", "measures"), KINDS.items())
def test_a_kind_decides_on_the_default_measures(files: dict[str, Path], kind: str, measures: list[str]) -> None:
    suite = load_suite(files[kind])
    assert suite.kind == kind
    names = score(match_hits(suite, Run.from_scores({suite.table.ids[0]: {"a": 1.0}}))).names
    assert [name.replace("(rel=2)", "").replace("(gain=exp)", "") for name in names] == measures


def test_a_suite_of_no_kind_keeps_the_usual_measures() -> None:
    suite = Suite.from_grades({"q": {"a": 1}})
    assert suite.kind is None
    assert score(match_hits(suite, Run.from_scores({"q": {"a": 1.0}}))).names == list(DEFAULT_MEASURES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_survives_native_files_and_copies(files: dict[str, Path], tmp_path: Path, kind: str) -> None:
    suite = load_suite(files[kind])
    assert pickle.loads(pickle.dumps(suite)) == suite  # noqa: S301  # our own bytes
    for name in ("saved.json", "saved.jsonl"):
        save_suite(suite, tmp_path / name)
        assert load_suite(tmp_path / name).kind == kind


def test_a_kind_survives_a_choice_of_cases() -> None:
    cases = [Case(name, "query", (Judgment("a"),)) for name in "pq"]
    assert Suite.from_cases("s", cases, kind="labels").only({"q"}).kind == "labels"


def test_what_is_mined_in_memory_is_a_gold_set() -> None:
    assert suite_of_rows("mined", GOLD_SET["test_cases"], {}).kind == "gold-set"


def test_a_kind_is_part_of_no_digest() -> None:
    cases = [Case("q", "query", (Judgment("a"),))]
    assert Suite.from_cases("s", cases, kind="labels").hashes == Suite.from_cases("s", cases).hashes


def test_convert_keeps_a_kind_or_says_that_it_does_not(files: dict[str, Path], tmp_path: Path, capsys) -> None:
    assert main(["convert", str(files["symbols"]), str(tmp_path / "native.json")]) == 0
    assert load_suite(tmp_path / "native.json").kind == "symbols"
    assert "not in it" not in capsys.readouterr().err
    assert main(["convert", str(files["labels"]), str(tmp_path / "suite.qrels")]) == 0
    assert "not in it: the suite's kind, which decides on default measures" in capsys.readouterr().err


def test_an_unknown_kind_is_refused_with_its_field(tmp_path: Path, capsys) -> None:
    native = {"schema_version": 1, "kind": "poem", "cases": [{"id": "q"}]}
    (tmp_path / "suite.json").write_text(json.dumps(native))
    assert main(["convert", str(tmp_path / "suite.json"), str(tmp_path / "other.json")]) == 4
    assert "suite.json, kind: input should be 'gold-set', 'case-list', 'labels' or 'symbols'" in capsys.readouterr().err


def test_a_report_names_the_kind(files: dict[str, Path], tmp_path: Path) -> None:
    suite = load_suite(files["symbols"])
    write_report(build_report(score(match_hits(suite, Run.from_scores({"C1": {"SendMail": 1.0}})))), tmp_path / "report.json")
    assert read_report(tmp_path / "report.json").suite.kind == "symbols"
