"""evaluate and compare with live agents: what a stranger types, and what comes of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_run
from searchmark.cli.main import main
from searchmark.cli.options import repeat_option
from tests.support.archives import texts_below
from tests.support.small_histories import git

HERE = Path(__file__).parent
FILES = {
    "src/login.py": "def login(user): pass",
    "src/cart.py": "class Cart: pass",
    "docs/guide.md": "How to log in and fill the cart.",
}
CASES = [
    {"id": "c1", "query": "login user", "ground_truth_files": ["src/login.py"], "category": "auth"},
    {"id": "c2", "query": "cart", "ground_truth_files": ["src/cart.py"], "category": "shop"},
    {"id": "c3", "query": "guide", "ground_truth_files": ["docs/guide.md"], "category": "shop"},
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / name).write_text(text)
    save(tmp_path / "gold.json", CASES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(path: Path, cases: list[dict[str, Any]], **metadata: Any) -> None:
    path.write_text(json.dumps({"test_cases": cases, "metadata": metadata}))


def evaluate(*arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["evaluate", "--gold-set", "gold.json", "--num-runs", "2", *arguments, "-o", "out.json"])
    return code, json.loads(Path("out.json").read_text()) if Path("out.json").exists() else {}


@pytest.mark.slow
def test_a_built_in_agent_is_run_and_scored(shop: Path) -> None:
    code, report = evaluate("--agent", "bm25", "--repo", "shop", "-m", "RR")
    agent = report["agents"]["bm25"]
    assert code == 0
    assert agent["status"] == "ok"
    assert agent["measures"]["RR"]["mean"] == 1.0
    assert agent["counts"] == {"ok": 3, "empty": 0, "error": 0, "timeout": 0, "not_run": 0}
    assert agent["latency_ms"]["cold"]["samples"] == agent["latency_ms"]["warm"]["samples"] == 3
    assert agent["latency_ms"]["cold"]["definition"] == "nearest rank"
    assert agent["index"]["seconds"] > 0
    assert len(agent["cases"]["c1"]["details"]["warm_ms"]) == 1
    assert agent["run"]["environment"]["python"]
    assert set(report["suite"]["hashes"]) == {"queries", "corpus", "judgments"}
    assert None not in report["suite"]["hashes"].values()


def test_the_agent_of_a_file_is_run_as_its_author_wrote_it(shop: Path) -> None:
    Path("mine.py").write_text(
        "from dataclasses import dataclass, field\nimport os\n\n\n@dataclass\nclass RetrievalResult:\n    files: list\n    scores: list = field(default_factory=list)\n"
        "    metadata: dict = field(default_factory=dict)\n\n\nclass Mine:\n"
        "    def initialize(self, repo_path: str) -> None:\n        assert type(repo_path) is str\n        self.root = repo_path\n\n"
        "    def retrieve(self, query: str) -> RetrievalResult:\n        return RetrievalResult([os.path.join(self.root, 'src/login.py')])\n\n"
        "    def reset(self) -> None:\n        pass\n"
    )
    code, report = evaluate("--agent", "mine.py:Mine", "--repo", "shop", "-m", "Success@1")
    assert code == 0
    assert report["agents"]["Mine"]["measures"]["Success@1"]["mean"] == pytest.approx(1 / 3)


def test_a_run_that_was_saved_scores_the_same(shop: Path, capsys) -> None:
    evaluate("--agent", "bm25", "--repo", "shop", "--save-run", "bm25.jsonl")
    live = json.loads(Path("out.json").read_text())["agents"]["bm25"]
    main(["evaluate", "--gold-set", "gold.json", "--run", "bm25.jsonl", "--corpus", "shop", "-o", "again.json"])
    again = json.loads(Path("again.json").read_text())["agents"]["bm25"]
    assert again == live


@pytest.mark.slow
def test_several_repositories_are_each_searched_for_their_own_cases(shop: Path) -> None:
    (shop / "other").mkdir()
    (shop / "other" / "login.txt").write_text("login")
    cases = [
        CASES[0] | {"repository": "a"},
        CASES[1] | {"id": "c9", "repository": "b", "query": "login", "ground_truth_files": ["login.txt"]},
    ]
    save(shop / "gold.json", cases)
    code, report = evaluate("--agent", "bm25", "--repo", "a=shop", "--repo", "b=other", "-m", "Success@1")
    assert code == 0
    assert report["agents"]["bm25"]["measures"]["Success@1"]["mean"] == 1.0
    assert evaluate("--agent", "bm25", "--repo", "a=shop")[0] == 4


@pytest.mark.slow
def test_the_repository_comes_from_the_gold_set_if_it_has_the_commits_of_the_cases(shop: Path) -> None:
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        git(shop / "shop", *command)
    cases = [{**case, "commit_hash": git(shop / "shop", "rev-parse", "HEAD").decode().strip()} for case in CASES]
    for metadata in ({"repositories": {"shop": {"path": "shop"}}}, {"repository": "shop"}):
        save(shop / "gold.json", cases, **metadata)
        assert evaluate("--agent", "bm25")[0] == 0
        save(shop / "gold.json", CASES, **metadata)
        assert evaluate("--agent", "bm25")[0] == 4


@pytest.mark.slow
def test_cases_that_bring_documents_are_searched_in_their_own(shop: Path) -> None:
    suite = {
        "schema_version": 1,
        "name": "own",
        "cases": [
            {
                "id": "a",
                "query": "tea",
                "judgments": [{"target": "x"}],
                "documents": [{"id": "x", "text": "green tea"}, {"id": "y", "text": "coffee"}],
            },
            {"id": "b", "query": "tea", "judgments": [{"target": "z"}], "documents": [{"id": "z", "text": "black tea"}]},
        ],
    }
    Path("gold.json").write_text(json.dumps(suite))
    code, report = evaluate("--agent", "bm25", "-m", "Success@1", "--save-run", "run.jsonl")
    assert code == 0
    assert report["agents"]["bm25"]["measures"]["Success@1"]["mean"] == 1.0
    assert load_run("run.jsonl").provenance.index.full_builds == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--agent", "bm25"], 4, "name a folder with --repo"),
        (["--agent", "bm25", "--repo", "nowhere"], 4, "nowhere is not a folder"),
        (["--agent", "bm25", "--repo", "shop", "--corpus", "shop"], 4, "give one of them"),
        (["--agent", "bm25", "--repo", "shop", "--run", "x"], 4, "either the agent"),
        ([], 4, "either the agent"),
        (["--agent", "bm26", "--repo", "shop"], 4, "did you mean bm25"),
        (["--agent", "nothing.here:Agent", "--repo", "shop"], 4, "cannot be loaded: ModuleNotFoundError"),
        (["--agent", "nothing.here:Agent", "--repo", "shop", "--no-exec"], 4, "--no-exec allows built-in agents only"),
        (
            ["--agent", "svc=http://localhost:9/search", "--repo", "shop"],
            4,
            "'http://localhost:9/search' is asked without the query",
        ),
        (["--agent", "mcp:files", "--repo", "shop"], 4, "the program 'files' cannot be started: it is not on the PATH"),
        (["--agent", "command:files {query}", "--repo", "shop"], 4, "the program 'files' cannot be started: it is not on the PATH"),
        (["--agent", "shop.py:", "--repo", "shop"], 4, "does not name an agent"),
        (["--agent", "bm25", "--repo", "shop", "-k", "zebra"], 5, "no case"),
        (["--agent", "bm25", "--repo", "shop", "--last-failed"], 4, "there is no last run"),
        (["--agent", "bm25", "--repo", "shop", "--timeout", "0"], 4, "timeout"),
        (["--agent", "bm25", "--repo", "shop", "--shard", "3/2"], 4, "write it like 1/4"),
        (["--run", "x.jsonl", "--timeout", "3"], 4, "belongs to a run with --agent"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_request_that_cannot_be_carried_out_gets_a_sentence(
    arguments: list[str], code: int, said: str, shop: Path, capsys
) -> None:
    assert main(["evaluate", "--gold-set", "gold.json", *arguments]) == code
    found = capsys.readouterr()
    assert said in found.err
    assert found.err.count("\n") == 1 or "Usage:" in found.err


def test_an_arm_of_a_strangers_config_is_refused_before_anything_is_started(shop: Path, capsys) -> None:
    Path("evil.py").write_text("open('executed', 'w').close()\n")
    Path("searchmark.yaml").write_text(
        "agents: [{name: both, class: hybrid, config: {arms: [bm25, "
        "{name: deep, source: rerank, config: {arm: {name: x, source: 'evil.py:Agent'}}}]}}]\n"
    )
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "both", "--repo", "shop"]) == 4
    assert "the arm 'x' of 'deep' is code (evil.py:Agent)" in capsys.readouterr().err
    assert not Path("executed").exists()
    assert not Path(".searchmark").exists()


def test_an_agent_that_fails_to_start_is_a_result_not_to_be_trusted(shop: Path, capsys) -> None:
    Path("bad.py").write_text(
        "class Bad:\n    def initialize(self, corpus): raise OSError('no index')\n    def retrieve(self, query): return []\n"
    )
    code, report = evaluate("--agent", "bad.py:Bad", "--repo", "shop")
    assert code == 5
    assert report["agents"]["Bad"]["status"] == "failed"
    assert report["agents"]["Bad"]["counts"]["not_run"] == 3
    assert "the agent could not be started: OSError: no index" in capsys.readouterr().out


@pytest.mark.slow
def test_one_agent_that_fails_to_start_does_not_stop_the_others(shop: Path, capsys) -> None:
    Path("bad.py").write_text(
        "class Bad:\n    def initialize(self, corpus): raise OSError('no index')\n    def retrieve(self, query): return []\n"
    )
    code = main(
        ["compare", "--gold-set", "gold.json", "--agents", "bm25", "bad.py:Bad", "--repo", "shop", "-o", "out.json", "-m", "RR"]
    )
    report = json.loads(Path("out.json").read_text())
    assert code == 2
    assert report["agents"]["bm25"]["measures"]["RR"]["mean"] == 1.0
    assert report["agents"]["Bad"]["status"] == "failed"
    assert "comparisons" not in report


@pytest.mark.slow
def test_errors_are_retried_and_only_they(shop: Path, capsys) -> None:
    Path("flaky.py").write_text(
        "from pathlib import Path\n\n\nclass Flaky:\n    def initialize(self, corpus): pass\n\n    def retrieve(self, query):\n"
        "        with Path('asked').open('a') as file: file.write(query + '\\n')\n"
        "        if query == 'cart' and not Path('mended').exists(): raise OSError('down')\n        return ['src/cart.py']\n"
    )
    Path("searchmark.yaml").write_text("evaluation: {warm_up: false}")
    command = [
        "evaluate",
        "--gold-set",
        "gold.json",
        "--agent",
        "flaky.py:Flaky",
        "--repo",
        "shop",
        "--num-runs",
        "1",
        "-m",
        "Success@1",
    ]
    assert main(command) == 2
    Path("mended").touch()
    Path("asked").unlink()
    assert main([*command, "--last-failed", "-o", "failed.json"]) == 0
    assert list(json.loads(Path("failed.json").read_text())["agents"]["Flaky"]["cases"]) == ["c2"]
    Path("asked").unlink()
    assert main([*command, "--retry-errors", "-o", "all.json"]) == 0
    assert set(Path("asked").read_text().split("\n")) == {"cart", ""}
    assert json.loads(Path("all.json").read_text())["agents"]["Flaky"]["counts"]["ok"] == 3
    capsys.readouterr()
    assert main([*command, "--last-failed"]) == 5
    assert "no case failed in the last run" in capsys.readouterr().err


@pytest.mark.slow
def test_shards_are_scored_together(shop: Path, capsys) -> None:
    for number in (1, 2):
        main(
            [
                "evaluate",
                "--gold-set",
                "gold.json",
                "--agent",
                "bm25",
                "--repo",
                "shop",
                "--shard",
                f"{number}/2",
                "--save-run",
                f"{number}.jsonl",
            ]
        )
    whole = evaluate("--agent", "bm25", "--repo", "shop", "-m", "nDCG@10")[1]["agents"]["bm25"]["measures"]
    main(["evaluate", "--gold-set", "gold.json", "--run", "1.jsonl", "--run", "2.jsonl", "-m", "nDCG@10", "-o", "out.json"])
    assert json.loads(Path("out.json").read_text())["agents"]["bm25"]["measures"] == whole
    assert main(["evaluate", "--gold-set", "gold.json", "--run", "1.jsonl", "--run", "1.jsonl"]) == 4


@pytest.mark.slow
def test_side_by_side_gives_the_same_answers_and_says_that_times_were_under_load(shop: Path, capsys) -> None:
    alone = evaluate("--agent", "bm25", "--repo", "shop")[1]["agents"]["bm25"]
    together = evaluate("--agent", "bm25", "--repo", "shop", "--jobs", "2")[1]["agents"]["bm25"]
    assert together["measures"] == alone["measures"]
    assert "under load: 2 workers" in capsys.readouterr().out


def test_agents_are_compared_live(shop: Path, capsys) -> None:
    code = main(
        [
            "compare",
            "--gold-set",
            "gold.json",
            "--agents",
            "bm25",
            "path-match",
            "random",
            "--repo",
            "shop",
            "-m",
            "RR",
            "-o",
            "out.json",
            "-o",
            "out.md",
        ]
    )
    report = json.loads(Path("out.json").read_text())
    assert code == 0
    assert list(report["agents"]) == ["bm25", "path-match", "random"]
    assert len(report["comparisons"]) == 3
    assert "cold p50 / p95" in Path("out.md").read_text()


@pytest.mark.slow
def test_an_agent_against_itself_shows_the_noise_floor(shop: Path, capsys) -> None:
    assert main(["compare", "--gold-set", "gold.json", "--agents", "bm25", "--repeat-agent", "--repo", "shop", "-m", "RR"]) == 0
    assert "noise floor, bm25 asked twice: the means differ by RR 0.0000; the times by cold p50" in capsys.readouterr().out.replace(
        "\n", " "
    )


@pytest.mark.slow
def test_a_saved_run_of_other_queries_is_not_compared(shop: Path, capsys) -> None:
    evaluate("--agent", "bm25", "--repo", "shop", "--save-run", "old.jsonl")
    save(shop / "gold.json", [case | {"query": f"{case['query']} again"} for case in CASES])
    assert main(["compare", "--gold-set", "gold.json", "--run", "old.jsonl", "--agents", "bm25", "--repo", "shop"]) == 2
    assert "was asked different queries" in capsys.readouterr().err


@pytest.mark.slow
def test_every_format_of_the_config_is_written(shop: Path, capsys) -> None:
    Path("searchmark.yaml").write_text(
        "evaluation: {num_runs: 1, depth: 2}\nagents:\n  - {name: fast, class: bm25, config: {k1: 2.0}}\noutput: {directory: results, formats: [json, csv, markdown]}\n"
    )
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "fast", "--repo", "shop"]) == 0
    assert sorted(path.name for path in Path("results").iterdir()) == ["report.csv", "report.json", "report.md"]
    run = json.loads(Path("results/report.json").read_text())["agents"]["fast"]["run"]
    assert (run["agent"]["source"], run["agent"]["config"]) == ("bm25", {"k1": 2.0})
    assert (run["options"]["depth"], run["options"]["num_runs"]) == (2, 1)
    rows = list(csv.DictReader(Path("results/report.csv").read_text().splitlines()))
    assert [(row["test_case_id"], row["status"], json.loads(row["retrieved_files"])[0]) for row in rows] == [
        ("c1", "ok", "src/login.py"), ("c2", "ok", "src/cart.py"), ("c3", "ok", "docs/guide.md")
    ]  # fmt: skip
    assert float(rows[0]["cold_ms"]) > 0


def test_secrets_of_the_config_reach_no_file(shop: Path) -> None:
    Path("mine.py").write_text(
        "class Mine:\n    def __init__(self, api_key): pass\n    def initialize(self, corpus): pass\n    def retrieve(self, query): return []\n"
    )
    Path("searchmark.yaml").write_text("agents: [{name: Mine, config: {api_key: very-secret}}]\n")
    named = ("--config", "searchmark.yaml")
    assert evaluate("--agent", "mine.py:Mine", "--repo", "shop", "--save-run", "run.jsonl", *named)[0] == 2
    for text in (*map(Path.read_text, Path().glob("*.json*")), *texts_below(Path(".searchmark"))):
        assert "very-secret" not in text
    assert load_run("run.jsonl").provenance.agent.config == {"api_key": "(removed)"}


@pytest.mark.parametrize(
    ("arguments", "spread_out"),
    [
        (["--agents", "a", "b", "-o", "x"], ["--agents", "a", "--agents", "b", "-o", "x"]),
        (["-o", "x", "--agents", "a"], ["-o", "x", "--agents", "a"]),
        (["--agents"], ["--agents"]),
        (["--agents", "-o", "x"], ["--agents", "-o", "x"]),
        (["--agents", "a", "--agents", "b"], ["--agents", "a", "--agents", "b"]),
    ],
)
def test_an_option_takes_several_values(arguments: list[str], spread_out: list[str]) -> None:
    assert repeat_option(arguments, "--agents") == spread_out
