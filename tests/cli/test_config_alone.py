"""A config that says everything: suite, corpus, measures and agents, so that a command is short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main

CASES = """
schema_version: 1
cases:
  - {id: c1, query: login user, judgments: [{target: login.md, match: path}]}
  - {id: c2, query: shopping cart, judgments: [{target: cart.md, match: path}]}
"""
CONFIG = """
suite: {path: cases.yaml, measures: [RR, P@1]}
corpus: {path: docs}
evaluation: {num_runs: 1}
agents: [keyword, bm25]
"""
AGENT = "class Mine:\n    def initialize(self, path): pass\n    def retrieve(self, query): return ['cart.md']\n    def reset(self): pass\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "docs" / "login.md").write_text("How a user can log in: login.")
    (folder / "docs" / "cart.md").write_text("The shopping cart.")
    (folder / "cases.yaml").write_text(CASES)
    (folder / "sm.yaml").write_text(CONFIG)
    monkeypatch.chdir(folder)
    return folder


def reported(*arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([*arguments, "-o", "out.json", "--no-archive"])
    return code, json.loads(Path("out.json").read_text()) if Path("out.json").exists() else {}


@pytest.mark.slow
def test_compare_takes_agents_suite_corpus_and_measures_from_the_config(project: Path) -> None:
    code, report = reported("compare", "--config", "sm.yaml")
    assert code == 0
    assert list(report["agents"]) == ["keyword", "bm25"]
    assert all(list(agent["measures"]) == ["RR", "P@1"] for agent in report["agents"].values())
    assert report["agents"]["bm25"]["measures"]["RR"]["mean"] == 1.0


@pytest.mark.slow
def test_paths_of_a_config_are_taken_from_its_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    code, report = reported("evaluate", "--config", "project/sm.yaml", "--agent", "bm25")
    assert code == 0
    assert report["agents"]["bm25"]["measures"]["RR"]["mean"] == 1.0


def test_the_command_line_takes_precedence(project: Path) -> None:
    Path("other.yaml").write_text(CASES.replace("cart.md", "nothing.md"))
    _, report = reported("evaluate", "--config", "sm.yaml", "--gold-set", "other.yaml", "--agent", "bm25", "-m", "P@2")
    assert report["suite"]["name"] == "other"
    assert list(report["agents"]["bm25"]["measures"]) == ["P@2"]
    _, report = reported("compare", "--config", "sm.yaml", "--agents", "bm25", "random")
    assert list(report["agents"]) == ["bm25", "random"]


@pytest.mark.slow
def test_saved_runs_that_are_given_alone_are_compared_alone(project: Path) -> None:
    Path("a.trec").write_text("c1 Q0 login.md 1 1.0 a\nc2 Q0 cart.md 1 1.0 a\n")
    Path("b.trec").write_text("c1 Q0 cart.md 1 1.0 b\nc2 Q0 cart.md 1 1.0 b\n")
    _, report = reported("compare", "--config", "sm.yaml", "--run", "a.trec", "--run", "b.trec")
    assert list(report["agents"]) == ["a", "b"]
    _, report = reported("compare", "--config", "sm.yaml", "--run", "a.trec", "--agents", "bm25")
    assert list(report["agents"]) == ["a", "bm25"]


def test_a_gate_and_an_audit_need_no_suite_either(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.trec").write_text("c1 Q0 login.md 1 1.0 a\nc2 Q0 elsewhere.md 1 1.0 a\n")
    assert main(["gate", "a.trec", "--config", "sm.yaml", "--fail-under", "RR=0.6"]) == 1
    assert "do not exist in the corpus: 1" in capsys.readouterr().out
    assert main(["audit", "--config", "sm.yaml", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["suite"]["cases"] == 2
    assert main(["baseline", "update", "a.trec", "--config", "sm.yaml", "--yes", "--author", "me", "--against", "base.jsonl"]) == 0


@pytest.mark.slow
def test_evaluate_takes_the_only_agent_of_the_config(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--config", "sm.yaml"]) == 4
    assert "the config lists several agents: name one with --agent (keyword, bm25) or as suite.agent" in capsys.readouterr().err
    Path("one.yaml").write_text(CONFIG.replace("keyword, ", ""))
    code, report = reported("evaluate", "--config", "one.yaml")
    assert code == 0
    assert list(report["agents"]) == ["bm25"]
    Path("none.yaml").write_text("suite: {path: cases.yaml}\n")
    assert main(["evaluate", "--config", "none.yaml"]) == 4
    assert "name either the agent to run (--agent) or the saved run to score (--run)" in capsys.readouterr().err


@pytest.mark.slow
def test_evaluate_takes_the_agent_that_the_config_wants_evaluated(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cases.yaml").write_text(f"agent: random\n{CASES}")
    Path("sm.yaml").write_text(CONFIG.replace("{path: cases.yaml,", "{path: cases.yaml, agent: bm25,"))
    code, report = reported("evaluate", "--config", "sm.yaml")
    assert (code, list(report["agents"])) == (0, ["bm25"])
    _, report = reported("evaluate", "--config", "sm.yaml", "--agent", "keyword")
    assert list(report["agents"]) == ["keyword"]


@pytest.mark.parametrize("agent", ["fts5", "command:touch x", "mine.py:Mine"])
def test_the_agent_that_a_config_wants_evaluated_is_one_that_it_lists(
    agent: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("searchmark.yaml").write_text(CONFIG.replace("{path: cases.yaml,", f"{{path: cases.yaml, agent: '{agent}',"))
    assert main(["evaluate"]) == 4
    message = capsys.readouterr().err
    assert f"suite.agent must be one of the agents of the config (keyword, bm25), not '{agent}'" in message
    assert not Path("x").exists()


@pytest.mark.slow
def test_the_config_says_which_files_of_its_corpus_are_searched(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sm.yaml").write_text(CONFIG.replace("{path: docs}", "{path: docs, exclude: [login.md]}"))
    code, report = reported("evaluate", "--config", "sm.yaml", "--agent", "bm25")
    assert (code, report["agents"]["bm25"]["measures"]["RR"]["mean"]) == (0, 0.5)
    Path("some.jsonl").write_text('{"_id": "login.md", "text": "login"}\n')
    assert main(["evaluate", "--config", "sm.yaml", "--agent", "bm25", "--corpus", "some.jsonl"]) == 4
    assert "--kinds, also in the section corpus of a config, choose files of a folder, and " in capsys.readouterr().err


@pytest.mark.slow
def test_a_config_that_is_found_says_as_much(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sm.yaml").rename("searchmark.yaml")
    monkeypatch.chdir("docs")
    code, report = reported("compare", "--archive-folder", "../kept")
    assert code == 0
    assert list(report["agents"]) == ["keyword", "bm25"]


@pytest.mark.parametrize("named", [(), ("--config", "searchmark.yaml")])
def test_code_is_run_only_if_the_command_line_names_it(
    named: tuple[str, ...], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.py").write_text(AGENT)
    Path("searchmark.yaml").write_text(CONFIG.replace("keyword", "{name: mine, source: 'mine.py:Mine'}"))
    assert main(["compare", *named]) == 4
    assert "name it on the command line if you trust it (--agent mine=mine.py:Mine)" in capsys.readouterr().err


@pytest.mark.parametrize("field", ["suite.path", "suite.topics", "corpus.path"])
@pytest.mark.parametrize("outside", ["../secret.yaml", "~/secret.yaml", "docs/../../secret.yaml"])
def test_a_config_that_was_only_found_reads_nothing_outside_of_its_project(
    field: str, outside: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.parent / "secret.yaml").write_text(CASES)
    section, name = field.split(".")
    path = "path: cases.yaml, " if field == "suite.topics" else ""
    Path("searchmark.yaml").write_text(f"{section}: {{{path}{name}: {outside}}}\n")
    monkeypatch.chdir("docs")  # from here ../secret.yaml is inside, from the config it is not
    assert main(["evaluate", "--agent", "bm25"]) == 4
    message = capsys.readouterr().err
    assert f"{field}: is outside of the project" in message
    assert "which only a config that you name may set" in message


def test_a_baseline_of_a_found_config_is_looked_for_from_its_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("searchmark.yaml").write_text("gates: {baseline: ../secret.jsonl}\n")
    monkeypatch.chdir("docs")
    assert main(["evaluate", "--gold-set", "../cases.yaml", "--agent", "bm25", "--corpus", "."]) == 4
    assert "gates.baseline: is outside of the project" in capsys.readouterr().err


def test_what_is_missing_or_wrong_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--no-config", "--agents", "bm25", "keyword"]) == 4
    assert "nothing says which suite: name it with --gold-set, or in the config as suite: {path: FILE}" in capsys.readouterr().err
    Path("wrong.yaml").write_text("suite: {path: cases.yaml, format: nativ}\n")
    assert main(["evaluate", "--config", "wrong.yaml", "--agent", "bm25"]) == 4
    assert "wrong.yaml, suite.format: must be one of native, qrels" in capsys.readouterr().err
    Path("wrong.yaml").write_text("corpus: docs\n")
    assert main(["evaluate", "--config", "wrong.yaml", "--agent", "bm25"]) == 4
    assert "corpus: should be a mapping with fields such as path, include, exclude, not 'docs'" in capsys.readouterr().err
    Path("wrong.yaml").write_text("suite: {topics: t.tsv}\n")
    assert main(["evaluate", "--config", "wrong.yaml", "--agent", "bm25"]) == 4
    assert "suite.format and suite.topics say how the suite is read; name it with suite.path" in capsys.readouterr().err
