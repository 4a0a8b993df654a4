"""Saved runs on some of the cases: the options that live runs have, with the same meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import Answer, Hit, Run, Suite, load_run, save_run
from searchmark.cli.main import main
from searchmark.records.merge import restrict_to_suite, without_cases

CASES = """
schema_version: 1
cases:
  - {id: c1, query: login form, category: auth, judgments: [{target: a}]}
  - {id: c2, query: shopping cart, category: shop, tags: [slow], judgments: [{target: b}]}
  - {id: c3, query: cart total, category: shop, judgments: [{target: c}]}
  - {id: c4, query: log out, category: auth, judgments: [{target: d}]}
"""
GOOD = "c1 Q0 a 1 2.0 t\nc2 Q0 b 1 2.0 t\nc3 Q0 c 1 2.0 t\nc4 Q0 d 1 2.0 t\n"
BAD = "c1 Q0 x 1 2.0 u\nc2 Q0 b 1 2.0 u\nc2 Q0 x 2 1.0 u\nc3 Q0 y 1 2.0 u\nc4 Q0 z 1 2.0 u\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"suite.yaml": CASES, "good.trec": GOOD, "bad.trec": BAD}.items():
        Path(name).write_text(text)


def reported(verb: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([verb, *arguments, "--gold-set", "suite.yaml", "-m", "RR", "-o", "out.json"])
    return code, json.loads(Path("out.json").read_text())


@pytest.mark.parametrize(
    ("options", "cases", "mean"),
    [
        (("-k", "cart"), {"c2", "c3"}, 0.5),
        (("-k", "c4"), {"c4"}, 0.0),
        (("--category", "auth"), {"c1", "c4"}, 0.0),
        (("--category", "auth", "--category", "shop", "-k", "shopping"), {"c2"}, 1.0),
    ],
)
def test_evaluate_scores_the_cases_that_were_asked_for(options: tuple[str, ...], cases: set[str], mean: float) -> None:
    code, report = reported("evaluate", "--run", "bad.trec", *options)
    (agent,) = report["agents"].values()
    assert code == 0
    assert set(agent["cases"]) == cases
    assert agent["measures"]["RR"]["mean"] == mean
    assert agent["dropped"]["cases_filtered_out"] == 4 - len(cases)
    assert agent["dropped"]["cases_not_in_suite"] == 0


HALF_NAMED = """query_id,query,docid,rank
c1,login form,a,1
c2,shopping cart,b,1
903,cart total,c,1
904,log out,d,1
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("texts.json", '{"login form": ["a"], "shopping cart": ["b"], "cart total": ["c"], "log out": ["d"]}'),
        ("half.csv", HALF_NAMED),
        ("places.json", json.dumps({"responses": [{"hits": {"hits": [{"_id": each}]}} for each in "abcd"]})),
    ],
)
def test_answers_without_the_ids_of_cases_are_filtered_like_others(name: str, text: str) -> None:
    Path(name).write_text(text)
    for options, cases in ((("--category", "auth"), {"c1", "c4"}), (("-k", "cart"), {"c2", "c3"})):
        code, report = reported("evaluate", "--run", name, *options)
        (agent,) = report["agents"].values()
        assert (code, set(agent["cases"]), agent["measures"]["RR"]["mean"]) == (0, cases, 1.0)
        assert agent["dropped"]["cases_not_in_suite"] == 0
    code, report = reported("compare", "--run", "bad.trec", name, "--category", "auth")
    assert (code, [each["measures"]["RR"]["mean"] for each in report["agents"].values()]) == (0, [0.0, 1.0])


def test_a_sample_of_a_saved_run_is_drawn_by_its_seed() -> None:
    drawn = [
        {*reported("evaluate", "--run", "bad.trec", "--sample", "2", "--seed", seed)[1]["agents"]["bad"]["cases"]}
        for seed in "0123"
    ]
    assert {len(cases) for cases in drawn} == {2}
    assert len({frozenset(cases) for cases in drawn}) > 1


def test_a_seed_alone_is_about_running(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold-set", "suite.yaml", "--run", "bad.trec", "--seed", "1"]) == 4
    assert "--seed belongs to a run with --agent" in capsys.readouterr().err


def test_parts_of_a_saved_run_are_all_of_it() -> None:
    parts = [{*reported("evaluate", "--run", "bad.trec", "--shard", f"{part}/2")[1]["agents"]["bad"]["cases"]} for part in (1, 2)]
    assert parts[0] | parts[1] == {"c1", "c2", "c3", "c4"}
    assert not parts[0] & parts[1]


def test_compare_holds_runs_against_each_other_on_these_cases() -> None:
    code, report = reported("compare", "--run", "good.trec", "--run", "bad.trec", "--category", "shop", "--by", "category")
    assert code == 0
    assert {name: agent["measures"]["RR"]["mean"] for name, agent in report["agents"].items()} == {"good": 1.0, "bad": 0.5}
    assert set(report["agents"]["bad"]["segments"]["category"]) == {"shop"}


def test_saved_runs_are_split_by_what_cases_say() -> None:
    _, report = reported("evaluate", "--run", "bad.trec", "--by", "category")
    means = {name: values["RR"]["mean"] for name, values in report["agents"]["bad"]["segments"]["category"].items()}
    assert means == {"auth": 0.0, "shop": 0.5}


def test_a_gate_checks_these_cases() -> None:
    assert reported("gate", "bad.trec", "--fail-under", "RR=0.5")[0] == 1
    assert reported("gate", "bad.trec", "--fail-under", "RR=0.5", "--category", "shop")[0] == 0


def test_an_audit_is_about_these_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "suite.yaml", "--run", "bad.trec", "-k", "c2", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["suite"]["cases"] == 1


def test_a_filter_that_leaves_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold-set", "suite.yaml", "--run", "bad.trec", "-k", "nothing like it"]) == 5
    assert "no case of the suite 'suite' is left after filtering" in capsys.readouterr().err
    assert main(["gate", "bad.trec", "--gold-set", "suite.yaml", "--category", "aut", "--fail-under", "RR=0"]) == 4
    assert "no case is of the category 'aut'; the categories are: auth, shop" in capsys.readouterr().err


def test_what_failed_last_is_known_of_live_runs_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold-set", "suite.yaml", "--run", "bad.trec", "--last-failed"]) == 4
    assert "--last-failed belongs to a run with --agent" in capsys.readouterr().err


def test_a_run_keeps_everything_of_the_answers_that_stay() -> None:
    hits = (Hit("a", 1, 0.5, lines=(1, 3)), Hit("b", 2, 0.25, valid=False))
    run = Run.from_answers("r", [Answer("q1", "ok", hits), Answer("q2", "error"), Answer("q3", "ok", (Hit("c", 1),))])
    assert list(without_cases(run, {"q2"}).answers) == [answer for answer in run.answers if answer.case != "q2"]
    assert without_cases(run, {"other"}) is run
    save_run(run, "run.jsonl")
    assert list(without_cases(load_run("run.jsonl"), {"q1"}).answers) == list(load_run("run.jsonl").answers)[1:]


def test_answers_to_cases_of_no_suite_stay_to_be_counted() -> None:
    whole = Suite.from_grades({"q1": {"a": 1}, "q2": {"b": 1}})
    run = Run.from_scores({"q1": {"a": 1.0, "b": 2.0}, "q2": {"b": 1.0}, "other": {"z": 1.0}})
    (less,) = restrict_to_suite([run], whole, whole.only({"q1"}))
    assert [(answer.case, [hit.id for hit in answer.hits]) for answer in less.answers] == [("q1", ["b", "a"]), ("other", ["z"])]


RESPONSES = {
    "responses": [{"took": 1, "hits": {"hits": [{"_id": name}]}} for name in "xbyd"],
}
TEXTS = {"login form": ["x"], "shopping cart": ["b"], "cart total": ["y"], "log out": ["d"]}


@pytest.mark.parametrize("content", [RESPONSES, TEXTS], ids=["in order", "by text"])
def test_runs_that_name_cases_by_text_or_order_are_filtered_by_case(content: dict[str, Any]) -> None:
    Path("run.json").write_text(json.dumps(content))
    code, report = reported("evaluate", "--run", "run.json", "--category", "shop")
    assert (code, report["agents"]["run"]["measures"]["RR"]["mean"]) == (0, 0.5)
    assert report["agents"]["run"]["dropped"]["cases_not_in_suite"] == 0
    code, report = reported("compare", "--run", "run.json", "good.trec", "-k", "login")
    assert [agent["measures"]["RR"]["mean"] for agent in report["agents"].values()] == [0.0, 1.0]


@pytest.mark.parametrize("content", [RESPONSES, TEXTS], ids=["in order", "by text"])
def test_such_runs_are_approved_and_become_baselines_under_the_ids_of_cases(content: dict[str, Any], capsys) -> None:
    Path("run.json").write_text(json.dumps(content))
    assert main(["approve", "suite.yaml", "--run", "run.json", "--dry-run", "--reason", "r"]) == 0
    assert "would be approved: 2 of 2 changed expectations" in capsys.readouterr().out
    update = ["baseline", "update", "run.json", "--gold-set", "suite.yaml", "--reason", "r", "--author", "a", "--yes"]
    assert main(update) == 0
    assert load_run("searchmark-baseline.jsonl").case_ids == ("c1", "c2", "c3", "c4")


def test_the_answers_of_the_kept_cases_keep_what_they_were_asked() -> None:
    Path("run.csv").write_text("query_id,query,docid\nc1,login form,a\nc2,shopping cart,b\nc3,cart total,c\n")
    assert without_cases(load_run("run.csv"), {"c1"}).queries == ("shopping cart", "cart total")


def test_responses_to_the_kept_cases_alone_are_theirs() -> None:
    Path("run.json").write_text(json.dumps({"responses": RESPONSES["responses"][1:3]}))
    assert reported("evaluate", "--run", "run.json", "--category", "shop")[1]["agents"]["run"]["measures"]["RR"]["mean"] == 0.5


@pytest.mark.parametrize(
    "words", [["suite.yaml", "c1", "--run", "good.trec", "bad.trec"], ["suite.yaml", "--run", "good.trec", "bad.trec", "c1"]]
)
def test_cases_takes_several_runs_behind_one_flag(capsys, words: list[str]) -> None:
    assert main(["cases", *words, "-o", "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)["answers"]) == 2
