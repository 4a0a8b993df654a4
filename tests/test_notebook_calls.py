"""What the command line does can be done in a notebook: the same numbers, with public names only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Evaluation,
    SearchScope,
    baseline_in_use,
    compare_runs,
    load_run,
    load_suite,
    parse_threshold,
    render,
    saved_runs_on,
    survey_of,
    with_fields_of_targets,
)
from searchmark.cli.main import main
from tests.conftest import ROOT

QUICKSTART = ROOT / "examples" / "quickstart"
SUITE, CORPUS = str(QUICKSTART / "suite.yaml"), str(QUICKSTART / "corpus.jsonl")
RUNS = [str(QUICKSTART / "bm25.json"), str(QUICKSTART / "semantic.json")]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main([*arguments, "-o", "-"])
    return json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_two_saved_runs_are_compared_as_the_command_line_does(capsys) -> None:
    expected = printed(capsys, "compare", "--gold-set", SUITE, "--run", RUNS[0], "--run", RUNS[1])

    report = compare_runs(load_suite(SUITE), [load_run(path) for path in RUNS])

    assert json.loads(render(report, "json")) == expected


@pytest.mark.slow
def test_a_gate_on_a_saved_run_is_checked_as_the_command_line_does(capsys) -> None:
    gates = ["--fail-under", "nDCG@10=0.4", "--against", RUNS[1]]
    expected = printed(capsys, "gate", RUNS[0], "--gold-set", SUITE, "--corpus", CORPUS, "--by", "target.title", *gates)

    where, rules = SearchScope(corpus=CORPUS), [parse_threshold("nDCG@10=0.4")]
    suite = with_fields_of_targets(load_suite(SUITE), ["target.title"], rules, where)
    ran = saved_runs_on(suite, [load_run(RUNS[0])], where)
    baseline = baseline_in_use(RUNS[1], None, rules)
    report = Evaluation(suite, by=["target.title"], rules=rules, baseline=baseline).on(ran).evaluate(ran.runs)

    assert survey_of(suite, where) is not None
    assert {**json.loads(render(report, "json")), "next_step": None} == {**expected, "next_step": None}
