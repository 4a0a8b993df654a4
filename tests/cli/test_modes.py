"""Modes on the command line: chosen by --mode, named in every output, decided about by --decide vector-search."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from searchmark import load_config, load_run
from searchmark.cli.main import main

ROOT = Path(__file__).parents[2]
CONFIG = """\
agents:
  - name: lookup
    class: bm25
    config: {b: 0.3}
    modes: {fts5: , fts5+vector: {k1: 0.9}, fts5+vector+reranker: {k1: 2.0}}
  - {name: other, source: fts5, modes: {fts5: {}, trigram: {tokenizer: trigram}}}
"""
DOCUMENTS = {"tea": "green tea from Japan", "milk": "fresh milk", "coffee": "black coffee and milk"}
ARMS = ["fts5", "fts5+vector", "fts5+vector+reranker"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs.json").write_text(json.dumps([{"id": name, "text": text} for name, text in DOCUMENTS.items()]))
    queries = [
        {"id": f"C{n}", "category": n % 2 + 1, "query": word, "expected_symbols": [word]} for n, word in enumerate(DOCUMENTS)
    ]
    gold = {"categories": {"1": "conceptual", "2": "bilingual"}, "queries": queries}
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    (tmp_path / "modes.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def searchmark(verb: str, *arguments: str) -> int:
    named = ["--gold-set", "gold.json", "--corpus", "docs.json", "--config", "modes.yaml", "--num-runs", "1"]
    return main([verb, *named, *arguments])


def agents(*arguments: str) -> dict:
    assert searchmark(*arguments, "-o", "report.json") == 0
    return json.loads(Path("report.json").read_text())["agents"]


def test_evaluate_asks_an_agent_in_one_mode(capsys: pytest.CaptureFixture[str]) -> None:
    found = agents("evaluate", "--agent", "lookup", "--mode", "fts5+vector", "--category", "1")
    assert list(found) == ["fts5+vector"]
    assert found["fts5+vector"]["run"]["agent"]["config"] == {"b": 0.3, "k1": 0.9}
    assert list(found["fts5+vector"]["cases"]) == ["C0", "C2"]
    assert capsys.readouterr().out.startswith("fts5+vector on gold\n2 cases: 2 ok")


def test_a_mode_may_be_named_alone_where_one_agent_of_the_config_has_it() -> None:
    assert list(agents("evaluate", "--mode", "trigram")) == ["trigram"]


@pytest.mark.slow
def test_an_agent_without_modes_is_its_own_only_mode() -> None:
    assert list(agents("evaluate", "--mode", "bm25")) == ["bm25"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("evaluate --agent lookup", f"'lookup' has several modes, {', '.join(ARMS)}; choose one: --mode NAME"),
        ("evaluate --agent lookup --mode x", f"there is no mode 'x': lookup has {', '.join(ARMS)}"),
        ("evaluate --agent bm25 --mode x", "there is no mode 'x': bm25 has no modes"),
        ("evaluate --mode fts5", "needs the agent that it is a mode of (--agent NAME); these have it: lookup, other"),
        ("evaluate --mode x", "there is no agent 'x'"),
        ("evaluate --run r.json --mode fts5", "--mode, --num-runs belong to a run with --agent"),
        ("compare --agents bm25 lookup --mode x", f"there is no mode 'x': bm25 has no modes; lookup has {', '.join(ARMS)}"),
        ("compare --agents lookup --baseline other:fts5", f"'other:fts5' is not among the runs: {', '.join(ARMS)}"),
    ],
)
def test_what_cannot_be_asked_gets_a_sentence(arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.json").write_text("{}")
    assert searchmark(*arguments.split()) == 4
    assert sentence in capsys.readouterr().err


@pytest.mark.slow
def test_compare_asks_all_modes_or_those_that_are_named() -> None:
    assert list(agents("compare", "--agents", "bm25", "lookup")) == ["bm25", *ARMS]
    assert list(agents("compare", "--agents", "lookup", "--mode", ARMS[2], "--mode", ARMS[0])) == [ARMS[2], ARMS[0]]


@pytest.mark.slow
def test_modes_that_would_be_called_alike_get_the_name_of_their_agent() -> None:
    found = agents("compare", "--agents", "lookup", "other", "--mode", "fts5", "--baseline", "other:fts5")
    assert [(name, agent["run"]["agent"]["source"]) for name, agent in found.items()] == [
        ("lookup:fts5", "bm25"),
        ("other:fts5", "fts5"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["lookup:fts5"], {"fts5": "bm25"}),
        (["lookup:fts5+vector", "lookup:fts5"], {"fts5+vector": "bm25", "fts5": "bm25"}),
        (["lookup:fts5", "other:fts5"], {"lookup:fts5": "bm25", "other:fts5": "fts5"}),
        (["fts5=sole", "fts5+vector=lookup:fts5+vector"], {"fts5": "keyword", "fts5+vector": "bm25"}),
        (["mine=single"], {"mine": "bm25"}),
    ],
)
def test_agents_of_the_config_are_asked_by_agent_and_mode_and_under_other_names(asked: list[str], names: dict[str, str]) -> None:
    more = "  - {name: sole, source: keyword}\n  - {name: single, source: bm25, modes: {only: {}}}\n"
    Path("modes.yaml").write_text(CONFIG + more)
    found = agents("compare", "--agents", *asked) if len(asked) > 1 else agents("evaluate", "--agent", *asked)
    assert {name: agent["run"]["agent"]["source"] for name, agent in found.items()} == names


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("lookup:x", "ModuleNotFoundError: No module named 'lookup'"),
        ("other=lookup:fts5", "'other=lookup:fts5' could be the agent 'other' of the config from another source, or its agent"),
        ("x=code", "the config says that 'code' is 'mine:Agent', which is code"),
    ],
)
def test_names_that_mean_nothing_or_two_things_are_refused(asked: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("modes.yaml").write_text(f"{CONFIG}  - {{name: code, source: 'mine:Agent'}}\n")
    assert searchmark("evaluate", "--agent", asked) in (2, 4)
    assert sentence in "".join(capsys.readouterr())


def test_an_agent_that_is_called_as_a_mode_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("modes.yaml").write_text(f"{CONFIG}  - {{name: 'other:fts5', source: bm25}}\n")
    assert searchmark("evaluate", "--agent", "other:fts5") == 4
    assert "the agent 'other:fts5' is called as the mode 'fts5' of 'other' is; rename one of them" in capsys.readouterr().err


@pytest.mark.slow
def test_code_that_the_command_line_names_has_the_modes_of_the_config() -> None:
    Path("mine.py").write_text("class Mine:\n    def __init__(self, first): self.first = first\n    def initialize(self, corpus): ...\n"
                               "    def retrieve(self, query, k): return [self.first]\n")  # fmt: skip
    Path("modes.yaml").write_text("agents: [{name: mine, source: mine.py:Mine, modes: {a: {first: tea}, b: {first: milk}}}]")
    found = agents("compare", "--agents", "mine=mine.py:Mine", "-m", "RR")
    assert {name: agent["cases"]["C0"]["measures"]["RR"] for name, agent in found.items()} == {"a": 1.0, "b": 0.0}


@pytest.mark.slow
def test_a_name_with_a_plus_is_itself_in_every_output(folder: Path) -> None:
    outputs = ["r.html", "r.md", "r.comment.md", "r.xml", "r.tex", "r.csv", "r.txt", "r.summary.txt", "r.summary.csv"]
    named = [word for output in outputs for word in ("-o", output)]
    assert searchmark("compare", "--agents", "lookup", "--baseline", "fts5+vector", "--save-run", "runs", *named) == 0
    assert all("fts5+vector+reranker" in (folder / output).read_text() for output in outputs)
    assert sorted(path.name for path in Path("runs").iterdir()) == sorted(f"{name}.jsonl" for name in ARMS)
    assert load_run("runs/fts5+vector.jsonl").label.agent == "fts5+vector"
    assert {suite.get("name") for suite in ET.parse("r.xml").iter("testsuite")} >= {f"gold.{name}" for name in ARMS}  # noqa: S314  # our own file
    assert len(list(Path(".searchmark").glob("gold.lookup-fts5*.jsonl"))) == len(ARMS)
    assert main(["history"]) == 0


@pytest.mark.slow
def test_another_mode_has_a_journal_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert searchmark("evaluate", "--agent", "lookup", "--mode", "fts5") == 0
    assert searchmark("evaluate", "--agent", "lookup", "--mode", "fts5+vector", "--resume") == 0
    assert "nothing to resume" in capsys.readouterr().err
    assert searchmark("evaluate", "--agent", "lookup", "--mode", "fts5", "--resume") == 0
    assert "nothing to resume" not in capsys.readouterr().err


@pytest.mark.slow
def test_modes_of_two_agents_with_one_name_have_journals_of_their_own() -> None:
    for asked in (("--agent", "lookup", "--mode", "fts5"), ("--agent", "other", "--mode", "fts5"), ("--agent", "fts5")):
        assert searchmark("evaluate", *asked) == 0
    assert not list(Path(".searchmark").glob("*.previous*"))
    assert searchmark("evaluate", "--agent", "lookup", "--mode", "fts5", "--resume", "--save-run", "run.jsonl") == 0
    assert load_run("run.jsonl").provenance.resumed == 3


@pytest.mark.slow
def test_a_run_is_resumed_under_the_name_that_it_has_beside_others() -> None:
    assert searchmark("evaluate", "--agent", "lookup", "--mode", "fts5") == 0
    assert searchmark("evaluate", "--agent", "other", "--mode", "fts5") == 0
    assert searchmark("compare", "--agents", "lookup:fts5", "other:fts5", "--resume", "--save-run", "runs") == 0
    found = [load_run(path) for path in sorted(Path("runs").iterdir())]
    assert [(run.agent, run.provenance.resumed) for run in found] == [("lookup:fts5", 3), ("other:fts5", 3)]


@pytest.mark.slow
def test_what_two_agents_do_in_modes_of_one_name_is_neither_a_drift_nor_a_trend(capsys: pytest.CaptureFixture[str]) -> None:
    Path("slow.yaml").write_text("agents: [{name: slow, source: 'command:echo {query}', modes: {fts5: {}}}]")
    asked = (
        "evaluate",
        "--gold-set",
        "gold.json",
        "--corpus",
        "docs.json",
        "--mode",
        "fts5",
        "--num-runs",
        "1",
        "-o",
        "report.json",
    )
    assert main([*asked, "--config", "slow.yaml"]) == 0
    assert main([*asked, "--no-config"]) == 0
    report = json.loads(Path("report.json").read_text())
    assert (report.get("drifts", []), report.get("trends", [])) == ([], [])
    capsys.readouterr()
    assert main(["history", "trend", "--no-config", "--measure", "P@5", "-o", "all.csv"]) == 0
    assert {line.split(",")[1] for line in Path("all.csv").read_text().splitlines()[1:]} == {"fts5", "slow:fts5"}
    assert main(["history", "trend", "--no-config", "--agent", "slow:fts5", "-o", "one.csv"]) == 0
    assert {line.split(",")[1] for line in Path("one.csv").read_text().splitlines()[1:]} == {"fts5"}


class TestSuiteHeader:
    CASES = "cases: [{id: q, query: tea, judgments: [{target: tea, grade: 1}]}]\n"

    def evaluated(self, header: str, *arguments: str) -> int:
        Path("suite.yaml").write_text(f"schema_version: 1\ncorpus: docs.json\n{header}\n{self.CASES}")
        return main(["evaluate", "--gold-set", "suite.yaml", "--config", "modes.yaml", *arguments, "-o", "report.json"])

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("header", "arguments", "name"),
        [
            ("agent: lookup\nmode: fts5+vector", (), "fts5+vector"),
            ("agent: lookup\nmode: fts5+vector", ("--mode", "fts5"), "fts5"),
            ("agent: {name: x, source: bm25, modes: {a: {k1: 0.9}, b: {}}}\nmode: a", (), "a"),
            ("agent: lookup\nmode: fts5+vector", ("--agent", "bm25"), "bm25"),
        ],
    )
    def test_it_names_the_mode_unless_the_command_line_does(self, header: str, arguments: tuple[str, ...], name: str) -> None:
        assert self.evaluated(header, *arguments) == 0
        assert list(json.loads(Path("report.json").read_text())["agents"]) == [name]

    def test_several_modes_and_none_named_get_a_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.evaluated("agent: lookup") == 4
        assert "has several modes" in capsys.readouterr().err


@pytest.mark.slow
class TestDecision:
    def decided(self, *arguments: str) -> dict:
        assert searchmark("compare", "--decide", "vector-search", *arguments, "-o", "report.json") == 0
        return json.loads(Path("report.json").read_text())

    @pytest.mark.parametrize("asked", [["lookup"], ARMS], ids=["modes", "built in"])
    def test_the_preset_finds_its_arms_by_name_and_decides_by_p5(self, asked: list[str]) -> None:
        report = self.decided("--agents", *asked, "-m", "RR")
        assert [(each["candidate"], each["baseline"], each["measure"]) for each in report["decisions"]] == [
            ("fts5+vector", "fts5", "P@5"),
            ("fts5+vector+reranker", "fts5+vector", "P@5"),
        ]
        assert [each["measure"] for each in report["comparisons"]] == ["RR", "P@5"] * 3

    def test_a_primary_measure_decides_where_one_is_declared(self) -> None:
        assert [each["measure"] for each in self.decided("--agents", "lookup", "--primary", "R@5")["decisions"]] == ["R@5", "R@5"]

    def test_all_categories_are_those_of_the_suite_and_not_of_the_cases_that_are_asked(self) -> None:
        first = self.decided("--agents", "lookup", "--category", "1")["decisions"][0]
        assert first["decision"] == "not enough evidence"
        assert "bilingual: no case of this category" in first["evidence"]

    def test_missing_arms_are_said_before_anything_is_run(self, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr("searchmark.cli.verbs.compare.run_with_progress", lambda *_: pytest.fail("it was run all the same"))
        assert searchmark("compare", "--agents", "bm25", "semantic", "--decide", "vector-search") == 4
        said = capsys.readouterr().err
        assert "--decide vector-search compares fts5 and fts5+vector or fts5+vector and fts5+vector+reranker" in said
        assert "the runs are bm25, semantic. Name agents so (--agents fts5=AGENT fts5+vector=AGENT)" in said

    def test_a_decision_that_a_baseline_prevents_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.decided("--agents", "lookup", "--baseline", "fts5")
        assert "nothing is decided about fts5+vector+reranker against fts5+vector" in capsys.readouterr().err


@pytest.mark.slow
def test_the_example_runs_as_it_is_documented(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.chdir(ROOT)
    example = ["--gold-set", "examples/modes/symbols.json", "--config", "examples/modes/searchmark.yaml"]
    kept = ["--journal", str(folder / "journals"), "--no-archive"]
    report = folder / "report.json"
    command = ["compare", *example, "--agents", "lookup", "--decide", "vector-search", "--category", "1"]
    assert main([*command, "--sample", "3", *kept, "-o", str(report)]) == 0
    read = json.loads(report.read_text())
    assert {name: agent["counts"]["ok"] for name, agent in read["agents"].items()} == dict.fromkeys(ARMS, 3)
    assert [each["candidate"] for each in read["decisions"]] == ARMS[1:]
    assert read["comparisons"][0]["difference"] > 0
    assert "fts5+vector against fts5 by P@5: not enough evidence" in capsys.readouterr().out
    assert main(["evaluate", *example, "--mode", "fts5", "--category", "1", "--sample", "1", *kept]) == 0


def test_a_found_config_gives_no_mode_what_it_may_not_give_an_agent(capsys: pytest.CaptureFixture[str]) -> None:
    Path("searchmark.yaml").write_text("agents: [{name: x, source: command, modes: {a: {argv: [rm, x]}}}]")
    assert main(["evaluate", "--gold-set", "gold.json", "--corpus", "docs.json", "--agent", "x"]) == 4
    assert "only a config that you name may set" in capsys.readouterr().err
    assert load_config("searchmark.yaml").agents[0].modes == {"a": {"argv": ["rm", "x"]}}
