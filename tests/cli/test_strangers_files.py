"""Configs and gold sets of strangers, seen from outside: own processes, real files, and a server that must hear nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import searchmark
from tests.support.histories import odd_history
from tests.support.server import requests_to
from tests.support.small_histories import FILE, git, write_history

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "aws-secret",
    "GITHUB_TOKEN": "git-secret",
    "DATABASE_PASSWORD": "data-secret",
    "OPENAI_API_KEY": "own-secret",
}
CASES = [{"id": "c1", "query": "red", "ground_truth_files": ["red.txt"]}]


class Stranger:
    """A folder of a stranger with a config, a repository of ours inside of it, and a server that records what it hears."""

    def __init__(self, server: str, folder: Path) -> None:
        self.server, self.folder, self.project = server, folder, folder / "ours"
        self.path = f"/ok/{folder.parent.name}-{folder.name}"
        self.url = f"{server}{self.path}/v1"
        write_history(self.project, [{b"red.txt": (FILE, b"red\n"), b"blue.txt": (FILE, b"blue\n")}])
        (folder / "gold.json").write_text(json.dumps({"test_cases": CASES}))

    @property
    def heard(self) -> list[dict[str, Any]]:
        return requests_to(self.server, self.path)

    def config(self, **changes: Any) -> str:
        """All that a config could ask for at once, as JSON, which is YAML."""
        embedder = {"name": "openai", "model": "m", "url": self.url, "cache": False, **changes}
        reranker = {"name": "http", "url": f"{self.url}/rerank", "key_variable": "GITHUB_TOKEN"}
        rewriter = {"model": "m", "base_url": self.url, "key_variable": "DATABASE_PASSWORD"}
        semantic = {"name": "semantic", "config": {"embedder": embedder}}
        rerank = {"name": "rerank", "config": {"reranker": reranker, "arm": "bm25"}}
        both = {"name": "both", "source": "hybrid", "config": {"arms": ["bm25", rerank]}}
        return json.dumps({"agents": [semantic, rerank, both], "dataset": {"query": "llm", "rewriter": rewriter}})

    def run(self, *arguments: str, where: str = "ours", **environment: str) -> subprocess.CompletedProcess[str]:
        return searchmark(*arguments, cwd=self.folder / where, env={**os.environ, **SECRETS, **environment})

    def evaluate(self, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        return self.run(
            "evaluate", "--gold-set", str(self.folder / "gold.json"), "--corpus", str(self.project), *arguments, **options
        )


@pytest.fixture
def stranger(server: str, tmp_path: Path) -> Stranger:
    return Stranger(server, tmp_path)


COMMANDS = {
    "semantic": ["evaluate", "--gold-set", "../gold.json", "--corpus", ".", "--agent", "semantic", "--no-exec"],
    "rerank": ["evaluate", "--gold-set", "../gold.json", "--corpus", ".", "--agent", "rerank"],
    "generate": ["generate", "--repo", ".", "--output", "../out.json", "--without-rule", "short_query"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_config_of_a_parent_folder_sends_nothing_anywhere(stranger: Stranger, command: list[str]) -> None:
    (stranger.folder / "searchmark.yaml").write_text(stranger.config(key_variable="AWS_SECRET_ACCESS_KEY"))
    ended = stranger.run(*command)
    assert (ended.returncode, stranger.heard) == (4, [])
    assert ended.stderr.startswith(f"searchmark: the config {stranger.folder}/searchmark.yaml was found and lies above the project")
    assert "--config" in ended.stderr
    assert "--no-config" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_config_of_a_cloned_repository_sends_nothing_anywhere(stranger: Stranger, command: list[str]) -> None:
    (stranger.project / "searchmark.yaml").write_text(stranger.config(key_variable="AWS_SECRET_ACCESS_KEY"))
    ended = stranger.run(*command)
    assert (ended.returncode, stranger.heard) == (4, [])
    assert "searchmark.yaml, dataset.rewriter.base_url: is an address" in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_config_of_a_different_user_is_refused(stranger: Stranger) -> None:
    (stranger.project / "searchmark.yaml").write_text("evaluation: {num_runs: 1}")
    os.chown(stranger.project / "searchmark.yaml", 65534, 65534)
    ended = stranger.evaluate("--agent", "bm25")
    assert (ended.returncode, "belongs to a different user" in ended.stderr) == (4, True)
    assert stranger.evaluate("--agent", "bm25", "--no-config").returncode == 0
    assert stranger.evaluate("--agent", "bm25", "--config", "searchmark.yaml").returncode == 0


@pytest.mark.parametrize(
    "content",
    [
        {"output": {"directory": "../outside"}},
        {"output": {"directory": "results"}},
        {"agents": [{"name": "semantic", "config": {"index_file": "../outside/new/x.npz"}}]},
    ],
)
def test_a_found_config_writes_nothing_outside_of_the_project(stranger: Stranger, content: dict[str, Any]) -> None:
    outside = stranger.folder / "outside"
    outside.mkdir()
    (outside / "report.json").write_text("precious")
    (stranger.project / "results").mkdir()
    (stranger.project / "results" / "report.json").symlink_to("../../outside/report.json")
    (stranger.project / "searchmark.yaml").write_text(json.dumps(content))
    ended = stranger.evaluate("--agent", "semantic")
    assert (ended.returncode, "is outside of the project" in ended.stderr) == (4, True)
    assert [(file.name, file.read_text()) for file in outside.iterdir()] == [("report.json", "precious")]


@pytest.mark.slow
def test_a_config_that_is_named_may_send_the_key_that_it_names(stranger: Stranger) -> None:
    (stranger.project / "searchmark.yaml").write_text(stranger.config(key_variable="AWS_SECRET_ACCESS_KEY"))
    assert stranger.evaluate("--agent", "semantic", "--config", "searchmark.yaml").returncode == 0
    assert {request["headers"].get("authorization") for request in stranger.heard} == {"Bearer aws-secret"}


def test_the_key_of_a_service_is_sent_to_no_other_address(stranger: Stranger) -> None:
    (stranger.project / "named.yaml").write_text(stranger.config())
    assert stranger.evaluate("--agent", "semantic", "--config", "named.yaml").returncode == 0
    assert stranger.heard
    assert not any("own-secret" in json.dumps(request) for request in stranger.heard)


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--offline", "--no-exec"])
@pytest.mark.parametrize("agent", ["semantic", "rerank", "both"])
def test_without_network_an_agent_that_asks_a_service_is_refused_before_it_starts(
    stranger: Stranger, agent: str, flag: str
) -> None:
    (stranger.project / "named.yaml").write_text(stranger.config())
    ended = stranger.evaluate("--agent", agent, "--config", "named.yaml", flag)
    assert (ended.returncode, stranger.heard) == (4, [])
    assert "asks a service" in ended.stderr
    assert "--offline and --no-exec allow no network" in ended.stderr
    assert not (stranger.project / ".searchmark").exists()


def test_without_network_generate_asks_no_language_model(stranger: Stranger) -> None:
    (stranger.project / "named.yaml").write_text(stranger.config())
    ended = stranger.run("generate", "--repo", ".", "--output", "../out.json", "--config", "named.yaml", "--offline")
    assert (ended.returncode, stranger.heard, (stranger.folder / "out.json").exists()) == (4, [], False)
    assert "--query llm asks a service, and --offline allows no network" in ended.stderr


@pytest.mark.slow
def test_without_network_our_client_asks_nothing_whoever_uses_it(stranger: Stranger) -> None:
    (stranger.project / "mine.py").write_text(
        "from searchmark.io.http import Request\n"
        "from searchmark.io.json_service import JsonClient\n"
        "def search(query, k):\n"
        f"    return JsonClient('{stranger.url}').send(Request(path='/echo', body=query), lambda answer: ['red.txt']).value\n"
    )
    # Python may write bytecode: not beside an agent that lies in what is searched, which would have changed then.
    assert stranger.evaluate("--agent", "mine.py:search", PYTHONDONTWRITEBYTECODE="").returncode == 0
    before = len(stranger.heard)
    ended = stranger.evaluate("--agent", "mine.py:search", "--offline", "-o", "../out.json")
    assert (ended.returncode, before > 0, len(stranger.heard)) == (2, True, before)
    assert "was not asked: --offline and --no-exec allow no network" in (stranger.folder / "out.json").read_text()


@pytest.mark.slow
def test_agents_that_need_no_network_answer_the_same_without_it(stranger: Stranger) -> None:
    for name, flags in {"with.json": [], "without.json": ["--offline"]}.items():
        assert stranger.evaluate("--agent", "semantic", "-o", f"../{name}", *flags).returncode == 0
    with_network, without = (json.loads((stranger.folder / name).read_text()) for name in ("with.json", "without.json"))
    assert with_network["agents"]["semantic"]["measures"] == without["agents"]["semantic"]["measures"]


def test_a_mistyped_variable_is_told_with_the_nearest_one(stranger: Stranger) -> None:
    ended = stranger.evaluate("--agent", "bm25", SEARCHMARK_EVALUATION_NUM_RUN="1", SEARCHMARK_EVALUATION_SEED="1")
    assert ended.returncode == 0
    told = "the environment variable SEARCHMARK_EVALUATION_NUM_RUN has no effect; did you mean SEARCHMARK_EVALUATION_NUM_RUNS?"
    assert ended.stderr.count("has no effect") == 1
    assert told in ended.stderr


def test_config_and_no_config_exclude_each_other(stranger: Stranger) -> None:
    ended = stranger.evaluate("--agent", "bm25", "--config", "x.yaml", "--no-config")
    assert (ended.returncode, "--no-config wants none" in ended.stderr) == (4, True)


FOREIGN = {"commit_hash": "0123456789" * 4}
MISLEADING: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"repositories": {"r": {"path": "/etc"}}}, {}),
    ({"repositories": {"r": {"path": "/etc"}}}, FOREIGN),
    ({"repositories": {"r": {"path": "other"}}}, {}),
    ({"repositories": {"r": {"path": "other"}}}, FOREIGN),
    ({"repositories": {"r": {"path": "other"}}}, {"commit_hash": "HEAD"}),
    ({"repository": "/etc"}, FOREIGN),
    ({"repository": "other"}, {"parent_commit": "main"}),
]


@pytest.mark.parametrize(("metadata", "fields"), MISLEADING)
def test_a_gold_set_does_not_choose_what_is_read(stranger: Stranger, metadata: dict[str, Any], fields: dict[str, str]) -> None:
    write_history(stranger.folder / "other", [{b"a": (FILE, b"a")}])
    gold = stranger.folder / "gold.json"
    gold.write_text(json.dumps({"test_cases": [{**CASES[0], **fields}], "metadata": metadata}))
    ended = stranger.run("evaluate", "--gold-set", "gold.json", "--agent", "bm25", where=".")
    assert ended.returncode == 4
    assert ended.stderr.startswith("searchmark: the gold set names ")
    assert "which is not a Git repository with the commits of its cases; name it with --repo" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"repositories": {"r": True}}, "metadata.repositories.r: "),
        ({"repositories": {"r": [1]}}, "metadata.repositories.r: "),
        ({"repositories": {"r": {"path": 5}}}, "metadata.repositories.r.path: input should be a valid string, not 5"),
        ({"repositories": {"r": {"path": "x" * 300}}}, "is not a path that a folder can have"),
        ({"repositories": {"r": {"path": "a\0b"}}}, "is not a path that a folder can have"),
        ({"repositories": 5}, "there is nothing to search; name a folder with --repo"),
        ({"repository": {"a": 1}}, "there is nothing to search; name a folder with --repo"),
    ],
)
def test_odd_metadata_of_a_gold_set_is_one_sentence(stranger: Stranger, metadata: dict[str, Any], said: str) -> None:
    (stranger.folder / "gold.json").write_text(json.dumps({"test_cases": CASES, "metadata": metadata}))
    ended = stranger.run("evaluate", "--gold-set", "gold.json", "--agent", "bm25", where=".")
    assert (ended.returncode, said in ended.stderr, ended.stderr.count("\n")) == (4, True, 1)


@pytest.mark.parametrize("options", [{"kinds": 5}, {"exclude_patterns": [5]}])
def test_odd_options_of_a_gold_set_are_one_sentence(stranger: Stranger, options: dict[str, Any]) -> None:
    commit = git(stranger.project, "rev-parse", "HEAD").decode().strip()
    cases = [{**CASES[0], "parent_commit": commit}]
    (stranger.folder / "gold.json").write_text(json.dumps({"test_cases": cases, "metadata": {"options": options}}))
    ended = stranger.run("evaluate", "--gold-set", "gold.json", "--agent", "bm25", "--repo", "ours", where=".")
    assert (ended.returncode, "metadata.options." in ended.stderr, ended.stderr.count("\n")) == (4, True, 1)


@pytest.mark.slow
def test_straight_after_generate_no_repository_has_to_be_named(stranger: Stranger) -> None:
    odd_history().build(stranger.folder / "odd.git")
    assert stranger.run("generate", "--repo", "odd.git", "--output", "gold_set.json", "--max-cases", "3", where=".").returncode == 0
    ended = stranger.run("evaluate", "--gold-set", "gold_set.json", "--agent", "bm25", "--output", "results/", where=".")
    assert ended.returncode == 0, ended.stderr
