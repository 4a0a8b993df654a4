"""Measures as a researcher types them: lists, several cutoffs, sets by name, and those of trec_eval and ndeval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark.cli.main import main

QRELS = "".join(f"q{n} 0 d{n} 2\nq{n} 0 e{n} 1\nq{n} 0 x{n} 0\n" for n in range(12))
RUN = "".join(
    f"q{n} Q0 {hit}{n} 0 {score} mine\n" for n in range(12) for hit, score in (("u", 3), ("e" if n % 3 else "x", 2), ("d", 1))
)
WEB = "".join(f"q{n} 1 d{n} 1\nq{n} 2 d{n} 1\nq{n} 1 e{n} 1\n" for n in range(12))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "web.qrels").write_text(WEB)
    (tmp_path / "mine.run").write_text(RUN)
    (tmp_path / "other.run").write_text(RUN.replace("mine", "other").replace("Q0 u", "Q0 v"))
    return tmp_path


def means(*arguments: str, suite: str = "qrels.txt") -> dict[str, float]:
    assert main(["evaluate", "--suite", suite, "--run", "mine.run", *arguments, "-o", "out.json"]) == 0
    (agent,) = json.loads(Path("out.json").read_text())["agents"].values()
    return {name: found["mean"] for name, found in agent["measures"].items()}


def test_one_option_takes_a_list(here: Path) -> None:
    assert list(means("-m", "nDCG@10,MRR")) == ["nDCG@10", "RR"]


def test_brackets_are_several_cutoffs(here: Path) -> None:
    assert list(means("-m", "P@[5,10]", "-m", "P(rel=2)@[1, 3],IPrec@[0.1,0.5]")) == [
        *("P@5", "P@10", "P(rel=2)@1", "P(rel=2)@3", "IPrec@0.1", "IPrec@0.5"),
    ]


def test_a_comma_inside_of_an_option_or_a_formula_separates_nothing(here: Path) -> None:
    asked = "nDCG(gains=0:0,1:1,2:10)@10,mine = 0.5*P(rel=2,judged_only=true)@5 + 0.5*RR"
    assert list(means("-m", asked)) == ["nDCG(gains=0:0,1:1,2:10)@10", "mine"]


def test_the_official_set_of_trec_eval(here: Path) -> None:
    found = means("-m", "official")
    assert list(found)[:9] == ["NumRet", "NumRel", "NumRelRet", "AP", "GMAP", "Rprec", "Bpref", "RR", "IPrec@0"]
    assert list(found)[-1] == "P@1000"
    assert found["NumRet"] == 3
    assert 0 < found["GMAP"] < found["AP"]


@pytest.mark.parametrize(("name", "holds"), [("beir", "R@100"), ("MTEB", "RR@10")])
def test_sets_of_others(here: Path, name: str, holds: str) -> None:
    assert {"nDCG@10", holds} <= set(means("-m", name))


def test_a_set_for_aspects(here: Path) -> None:
    found = means("-m", "ndeval", suite="web.qrels")
    assert {"ERR_IA@20", "alpha_nDCG@10", "StRecall@5"} <= set(found)
    assert 0 < found["alpha_nDCG@10"] < 1


def test_trec_evals_own_names(here: Path) -> None:
    found = means("-m", "iprec_at_recall_0.10,gm_map,infAP,set_map,num_rel_ret")
    assert list(found) == ["IPrec@0.1", "GMAP", "infAP", "SetAP", "NumRelRet"]


def test_a_list_in_the_suite_and_in_python(here: Path) -> None:
    from searchmark import load_run, load_suite, match_hits, score

    suite, run = load_suite("qrels.txt"), load_run("mine.run")
    assert score(match_hits(suite, run), ["P@[5,10]", "nDCG@10,MRR"]).names == ["P@5", "P@10", "nDCG@10", "RR"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("nDGC@10,MRR", "there is no measure 'nDGC'; did you mean nDCG"),
        ("offical", "did you mean official"),
        ("NumQ", "the number of cases is in every report"),
        ("IPrec", "IPrec needs a recall; write it like IPrec@0.1"),
        ("P@[5,]", "measure 'P@[5,]': an empty place between the brackets; write them like P@[5,10]"),
        ("P@[5,ten]", "the cutoff after @ must be a whole number from 1, not 'ten'"),
        ("nDCG(gains=0:0,1:1)@10", "says nothing about the grade 2, which the judgments of 'qrels' have; add 2:GAIN"),
    ],
)
def test_wrong_names_say_what_is_wrong(here: Path, capsys: pytest.CaptureFixture[str], asked: str, told: str) -> None:
    assert main(["evaluate", "--suite", "qrels.txt", "--run", "mine.run", "-m", asked]) == 4
    assert told in capsys.readouterr().err


def test_gmap_is_shown_in_a_comparison_and_never_a_verdict(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = ["--suite", "qrels.txt", "--run", "mine.run", "--run", "other.run"]
    assert main(["compare", *runs, "-m", "GMAP,AP"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "GMAP: EXPLORATORY, GMAP is one number for all cases: there is no difference case by case that could be tested" in said
    assert "MAP (AP)" in said
    assert "GMAP – – – – – EXPLORATORY" in said
    assert main(["compare", *runs, "-m", "GMAP,AP", "--primary", "GMAP"]) == 4
    assert "GMAP is one number for all cases and cannot be compared case by case; AP can" in capsys.readouterr().err


def test_examples_and_warnings_go_by_the_first_measure_of_quality(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "qrels.txt").write_text(QRELS + "".join(f"q{n} 0 common 2\n" for n in range(12)))
    assert main(["evaluate", "--suite", "qrels.txt", "--run", "mine.run", "-m", "NumRet,RR"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "lowest cases query RR expected" in said
    assert "an agent that answers nothing else, whatever the query, gets RR 1.0000" in said


def gate(here: Path, text: str) -> int:
    (here / "gates.yaml").write_text(text)
    return main(["gate", "mine.run", "--suite", "qrels.txt", "--config", "gates.yaml"])


def test_a_gate_bounds_gmap(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(here, "gates: {thresholds: {GMAP: 0.1}}") == 0
    assert gate(here, "gates: {thresholds: {GMAP: 0.9}}") == 1
    assert "Expected GMAP >= 0.9, but got 0.3" in capsys.readouterr().out


def test_the_self_test_of_a_gate_sees_what_gmap_loses(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "gates.yaml").write_text("gates: {thresholds: {GMAP: 0.3}}")
    main(["gate", "--self-test", "mine.run", "--suite", "qrels.txt", "--config", "gates.yaml"])
    assert "the gate on the run as it is: passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("rules: [{measure: GMAP, against: baseline}]", "cannot be held against a baseline case by case; AP can"),
        ("each_case: {GMAP: 0.1}", "cannot be bounded case by case; AP can"),
    ],
)
def test_rules_that_look_at_cases_refuse_gmap(here: Path, capsys: pytest.CaptureFixture[str], rules: str, told: str) -> None:
    assert gate(here, f"gates: {{{rules}}}") == 4
    assert told in " ".join(capsys.readouterr().err.split())


def test_an_audit_takes_every_measure(here: Path) -> None:
    asked = "official,nERR@10,Compat,infAP,SetAP,SetF(beta=4),nDCG(judged_only=true)@10,nDCG(gains=0:0,1:1,2:10)@10"
    assert main(["audit", "qrels.txt", "--run", "mine.run", "--run", "other.run", "-m", asked]) in (0, 2)
    assert main(["audit", "web.qrels", "--run", "mine.run", "--run", "other.run", "-m", "ndeval"]) in (0, 2)


def test_measures_explains_a_name_that_needs_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "IPrec", "gm_map", "SetF", "official"]) == 0
    first, second, third, fourth = capsys.readouterr().out.strip().split("\n\n")
    assert first.startswith("IPrec(rel=, judged_only=)@recall\n")
    assert second.startswith("GMAP(rel=)\n")
    assert "it cannot be compared case by case" in second
    assert third.startswith("SetF(rel=, beta=, judged_only=)@k\n")
    assert fourth.startswith("official\n  a set of 28 measures: trec_eval's default output")
