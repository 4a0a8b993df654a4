"""Saved runs as people have them, with the commands that they type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import load_run
from searchmark.cli.main import main
from tests.conftest import ROOT
from tests.formats.reading import ANSWERS, answers_of

FORMATS = "examples/formats"
SUITE = f"{FORMATS}/run-suite.json"
EVALUATE = ["evaluate", "--gold-set", SUITE, "-m", "nDCG@10"]
COMPARE = ["compare", "--gold-set", SUITE, "-m", "nDCG@10", "--brief"]
BY_TEXT = "note run-as-read: answers joined with cases by the text of their query, since their ids differ: 3 of 3"


@pytest.fixture(autouse=True)
def in_repository(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (["run-hits.csv"], BY_TEXT),
        (["run-scores.tsv"], ""),
        (["run-hits.jsonl"], BY_TEXT),
        (["run-cases.jsonl", "--map", "run.id=sku"], ""),
        (["run-responses.json"], BY_TEXT),
        (["run-msearch.json"], "note run-as-read: answers taken in the order of the suite's cases: 3"),
        (["run-folder"], ""),
        (["run-rank-eval.json"], ""),
        (["run-quepid.csv"], BY_TEXT),
        (["run-quepid.json"], "documents that the snapshot has only since they were rated, left out: 1"),
        (["run-mteb_predictions.json", "--map", "run.split=test"], ""),
        (["run-ranx.json"], ""),
    ],
)
def test_a_run_is_scored_as_it_is(capsys, arguments: list[str], note: str) -> None:
    assert main([*EVALUATE, "--run", f"{FORMATS}/{arguments[0]}", *arguments[1:]]) == 0
    said = capsys.readouterr().out
    assert "3 cases: 3 ok" in said
    assert " nDCG@10   0.7970 " in said
    assert note in said
    assert ("run-as-read" in said) is bool(note)


class TestSeveral:
    def test_several_runs_follow_one_flag(self, capsys) -> None:
        assert main([*COMPARE, "--run", f"old={FORMATS}/run-hits.csv", f"new={FORMATS}/run-scores.tsv"]) == 0
        said = capsys.readouterr().out
        assert " a   old " in said
        assert " b   new " in said

    def test_a_file_with_two_agents_is_compared(self, file, capsys) -> None:
        both = file("both.csv", "system,query,docid,rank\nold,red shoes,s2,1\nnew,red shoes,s1,1\n")
        assert main([*COMPARE, "--run", str(both), "--missing", "zero"]) == 0
        assert " new   old " in capsys.readouterr().out

    def test_two_agents_given_to_evaluate_are_told_of_compare(self, capsys) -> None:
        runs = [f"{FORMATS}/run-hits.csv", f"bm25={FORMATS}/run-ranx.json"]
        assert main([*EVALUATE, "--run", *runs]) == 4
        assert (
            "these are runs of different agents, not parts of one: run-hits, bm25; to compare them: "
            f"searchmark compare --gold-set {SUITE} --run {runs[0]} {runs[1]}"
        ) in capsys.readouterr().err

    def test_and_so_are_those_given_to_gate(self, capsys) -> None:
        runs = [f"{FORMATS}/run-hits.csv", f"{FORMATS}/run-ranx.json"]
        assert main(["gate", *runs, "--gold-set", SUITE, "--fail-under", "RR=0.1"]) == 4
        assert f"searchmark compare --gold-set {SUITE} --run {runs[0]} {runs[1]}" in capsys.readouterr().err

    def test_shards_of_one_name_are_one_run(self, file, capsys) -> None:
        first = file("a.csv", "query,docid,rank\nred shoes,s1,1\nrain coat,c1,1\n")
        second = file("b.csv", "query,docid,rank\nhats,h1,1\n")
        assert main([*EVALUATE, "--run", f"mine={first}", f"mine={second}"]) == 0
        said = capsys.readouterr().out
        assert "mine on shop" in said
        assert "3 cases: 3 ok" in said

    @pytest.mark.parametrize(
        "words",
        [
            ["audit", SUITE, "--run", "A", "B"],
            ["audit", "--gold-set", SUITE, "--run", "A", "B"],
            ["audit", "--run", "A", "B", "--gold-set", SUITE],
            ["audit", "--run", "A", "--run", "B", SUITE],
        ],
    )
    def test_audit_takes_several_wherever_the_suite_is_named(self, capsys, words: list[str]) -> None:
        names = {"A": f"old={FORMATS}/run-hits.csv", "B": f"new={FORMATS}/run-scores.tsv"}
        assert main([names.get(word, word) for word in words]) == 0
        said = capsys.readouterr().out
        assert " old " in said
        assert " new " in said

    def test_a_file_whose_name_has_an_equals_sign_stays_readable(self, tmp_path: Path, monkeypatch, capsys) -> None:
        (tmp_path / "a=b.json").write_bytes(Path(f"{FORMATS}/run-ranx.json").read_bytes())
        suite = Path(SUITE).resolve()
        monkeypatch.chdir(tmp_path)
        assert main(["evaluate", "--gold-set", str(suite), "--run", "a=b.json"]) == 0
        assert "a=b on shop" in capsys.readouterr().out


class TestWrongFiles:
    def test_columns_that_nobody_knows_are_named(self, file, capsys) -> None:
        strange = str(file("run.csv", "frage,treffer\nred shoes,s1\n"))
        assert main([*EVALUATE, "--run", strange]) == 4
        said = capsys.readouterr().err
        assert "found the columns 'frage', 'treffer'; name yours with --map run.query=COLUMN and --map run.id=COLUMN" in said
        assert main([*EVALUATE, "--run", strange, "--map", "run.query=frage", "--map", "run.id=treffer", "--missing", "zero"]) == 0

    def test_a_wrong_count_of_answers_is_refused(self, file, capsys) -> None:
        two = json.loads(Path(f"{FORMATS}/run-msearch.json").read_text())
        two["responses"].pop()
        assert main([*EVALUATE, "--run", str(file("two.json", json.dumps(two)))]) == 2
        assert "has 2 answers without what was asked, and the suite 'shop' has 3 cases" in capsys.readouterr().err

    def test_failed_searches_make_the_result_untrusted(self, file, capsys) -> None:
        data = json.loads(Path(f"{FORMATS}/run-msearch.json").read_text())
        data["responses"][1] = {"error": {"type": "timeout", "reason": "no shard \x1b[31m answered"}, "status": 503}
        assert main([*EVALUATE, "--run", str(file("failed.json", json.dumps(data)))]) == 2
        said = capsys.readouterr().out
        assert "untrusted: 1 of 3 cases ended in an error" in said
        assert "\x1b" not in said


class TestConvert:
    def test_to_trec(self, tmp_path: Path, capsys) -> None:
        assert main(["convert", f"{FORMATS}/run-scores.tsv", str(tmp_path / "run.trec")]) == 0
        assert answers_of(load_run(tmp_path / "run.trec")) == ANSWERS
        assert (tmp_path / "run.trec").read_text().splitlines()[0] == "shoes Q0 s1 1 7.5 run-scores"
        assert "run.trec, answers: 3" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["run-hits.csv", "run-msearch.json"])
    def test_queries_become_the_ids_of_a_suite(self, tmp_path: Path, capsys, name: str) -> None:
        target = str(tmp_path / "run.trec")
        assert main(["convert", f"{FORMATS}/{name}", target]) == 4
        assert "name the suite that has them with --gold-set, or write .jsonl" in capsys.readouterr().err
        assert main(["convert", f"{FORMATS}/{name}", target, "--gold-set", SUITE]) == 0
        assert answers_of(load_run(target)) == ANSWERS

    def test_to_our_own_format_nothing_is_lost(self, tmp_path: Path) -> None:
        for name in ("run-hits.csv", "run-msearch.json", "run-quepid.json"):
            assert main(["convert", f"new={FORMATS}/{name}", str(tmp_path / "run.jsonl")]) == 0
            assert load_run(tmp_path / "run.jsonl") == load_run(f"{FORMATS}/{name}", name="new")

    def test_what_could_be_a_suite_is_a_run_if_somebody_says_so(self, tmp_path: Path) -> None:
        assert main(["convert", "--run", f"{FORMATS}/run-ranx.json", str(tmp_path / "run.trec")]) == 0
        assert answers_of(load_run(tmp_path / "run.trec")) == ANSWERS

    def test_a_suite_stays_a_suite(self, tmp_path: Path, capsys) -> None:
        assert main(["convert", f"{FORMATS}/rank_eval.json", str(tmp_path / "suite.json")]) == 0
        assert "cases: 2" in capsys.readouterr().err

    def test_other_formats_are_not_written(self, tmp_path: Path, capsys) -> None:
        assert main(["convert", f"{FORMATS}/run-hits.csv", str(tmp_path / "run.csv")]) == 4
        assert "a run is written as TREC (.trec) or in Searchmark's own format (.jsonl)" in capsys.readouterr().err
