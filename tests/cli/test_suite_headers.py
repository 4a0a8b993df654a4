"""evaluate and gate take agent, corpus and gates from the header of a suite, and no code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark.cli.main import main

CASES = "cases: [{id: q1, query: green tea, judgments: [{target: a, grade: 1}]}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "docs.jsonl").write_text('{"id": "a", "text": "green tea"}\n{"id": "b", "text": "milk"}\n')
    (tmp_path / "mine.py").write_text("def search(query, k): return ['a']\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suite(folder: Path, header: str) -> str:
    (folder / "below" / "suite.yaml").write_text(f"schema_version: 1\ncorpus: docs.jsonl\n{header}\n{CASES}")
    return "below/suite.yaml"


@pytest.mark.slow
@pytest.mark.parametrize(("least", "code"), [("0.5", 0), ("1.5", 1)])
def test_evaluate_and_gate_check_what_the_header_says(folder: Path, least: str, code: int) -> None:
    path = suite(folder, f"agent: bm25\ngates: {{thresholds: {{RR: {least}}}}}")
    assert main(["evaluate", "--gold-set", path, "--save-run", "run.jsonl"]) == code
    assert main(["gate", "run.jsonl", "--gold-set", path]) == code


@pytest.mark.slow
def test_the_command_line_is_stronger_than_the_header(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold-set", suite(folder, "agent: nonsense"), "--agent", "path-match"]) == 0
    assert "path-match" in capsys.readouterr().out


@pytest.mark.slow
def test_gates_of_the_header_come_before_those_of_the_config(folder: Path) -> None:
    (folder / "searchmark.yaml").write_text("gates: {thresholds: {RR: 1.5}}\n")
    assert main(["evaluate", "--gold-set", suite(folder, "agent: bm25\ngates: {thresholds: {RR: 0.5}}")]) == 0
    assert main(["evaluate", "--gold-set", suite(folder, "agent: bm25")]) == 1


MANY = (
    "cases: ["
    + ", ".join(
        f"{{id: q{n}, query: green tea, judgments: [{{target: a{n}, grade: 1}}, {{target: b{n}, grade: 0}}]}}" for n in range(20)
    )
    + "]\n"
)


@pytest.fixture
def regressed(folder: Path) -> Path:
    """Twenty cases, a run that answers none of them, and one that answers all, which is to be the baseline."""
    for name, found in (("good", "a"), ("bad", "b")):
        (folder / "below" / f"{name}.json").write_text(json.dumps({f"q{n}": [f"{found}{n}"] for n in range(20)}))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base.json", "searchmark-baseline.jsonl"])
@pytest.mark.parametrize("verb", [["gate"], ["evaluate", "--run"]])
def test_a_baseline_alone_is_a_gate(regressed: Path, name: str, verb: list[str]) -> None:
    below = regressed / "below"
    (below / name).write_text((below / "good.json").read_text())
    (below / "suite.yaml").write_text(f"schema_version: 1\ngates: {{baseline: {name}}}\n{MANY}")
    assert main([*verb, "below/bad.json", "--gold-set", "below/suite.yaml"]) == 1
    assert main([*verb, "below/good.json", "--gold-set", "below/suite.yaml"]) == 0


@pytest.mark.parametrize("verb", [["gate"], ["evaluate", "--run"]])
def test_the_default_file_is_named_by_whoever_writes_its_name(regressed: Path, verb: list[str]) -> None:
    (regressed / "below" / "suite.yaml").write_text(f"schema_version: 1\n{MANY}")
    (regressed / "searchmark.yaml").write_text("gates: {baseline: searchmark-baseline.jsonl}\n")
    assert main([*verb, "below/bad.json", "--gold-set", "below/suite.yaml"]) == 2
    (regressed / "searchmark-baseline.jsonl").write_text((regressed / "below" / "good.json").read_text())
    assert main([*verb, "below/bad.json", "--gold-set", "below/suite.yaml"]) == 1


def test_an_update_writes_the_baseline_that_the_header_names(regressed: Path) -> None:
    (regressed / "below" / "suite.yaml").write_text(f"schema_version: 1\ngates: {{baseline: hb.jsonl}}\n{MANY}")
    update = ["baseline", "update", "below/good.json", "--gold-set", "below/suite.yaml", "--author", "Ann", "--yes"]
    assert main(update) == 0
    assert (regressed / "below" / "hb.jsonl").exists()
    assert not (regressed / "searchmark-baseline.jsonl").exists()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("agent: mine.py:search", "which is code: name it on the command line if you trust it (--agent mine.py:search)"),
        ("agent: {name: bm25, source: 'mine.py:search'}", "which is code"),
        ("agent: {name: semantic, config: {embedder: {name: openai, model: m, url: 'http://example.org'}}}", "is an address"),
        ("agent: {name: bm25, network: true}", "says what an agent is given or allowed"),
        ("agent: nonsense", "there is no agent 'nonsense'"),
        ("", "name either the agent to run (--agent) or the saved run to score (--run)"),
    ],
)
def test_code_and_addresses_are_not_taken_from_a_header(
    folder: Path, capsys: pytest.CaptureFixture[str], header: str, said: str
) -> None:
    assert main(["evaluate", "--gold-set", suite(folder, header)]) == 4
    assert said in capsys.readouterr().err


def test_code_that_the_header_and_the_command_line_name_runs(folder: Path) -> None:
    assert main(["evaluate", "--gold-set", suite(folder, "agent: mine.py:search"), "--agent", "mine.py:search"]) == 0


def test_convert_says_that_the_header_stays_behind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", suite(folder, "agent: bm25"), "out.json"]) == 0
    assert "not in it: how the suite is tested (agent, corpus, gates)" in capsys.readouterr().err
