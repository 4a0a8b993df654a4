"""The whole command: ripgrep and git grep as agents of a config, on a folder and at the parents of commits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from searchmark import AgentSpec, RunLabel, RunSettings, load_run, load_suite
from searchmark.config.agents import parse_source
from searchmark.formats.corpora.locations import Remote
from searchmark.running.request import AgentJob, RunRequest
from searchmark.running.runner import run_agents
from tests.support.commands import searchmark
from tests.support.small_histories import FILE, write_history

FILES = {
    "src/login.py": "def login(user): ...\n",
    "docs/help.md": "Call tool --help to see this.\n",
    "docs/odd name é.md": '"; rm -rf / # is not executed\n',
}
QUERIES = {
    "login": "src/login.py",
    "--help": "docs/help.md",
    '"; rm -rf / #': "docs/odd name é.md",
    "$(touch made)": None,
    "-e": None,
}
RIPGREP = {
    "argv": ["rg", "--files-with-matches", "--fixed-strings", "--sort=path", "-e", "{query}", "{corpus}"],
    "nothing": [1],
    "startup": ["rg", "--version"],
}
GIT_GREP = {
    "argv": ["git", "-c", "core.quotePath=false", "grep", "--no-index", "-l", "--fixed-strings", "-e", "{query}"],
    "folder": "{corpus}",
    "nothing": [1],
    "startup": ["git", "--version"],
}
STAYING = """
import json, os, sys
print(json.dumps({"ready": True}), flush=True)
files = {os.path.join(where, name): open(os.path.join(where, name)).read() for where, _, names in os.walk(sys.argv[1]) for name in names}
for line in sys.stdin:
    asked = json.loads(line)
    hits = [path for path, text in files.items() if asked["query"] in text]
    print(json.dumps({"id": asked["id"], "hits": hits}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    cases = [
        {"id": f"c{number}", "query": query, "judgments": [{"target": target or "src/login.py"}]}
        for number, (query, target) in enumerate(QUERIES.items())
    ]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "small", "cases": cases}))
    return tmp_path


def configured(folder: Path, **agents: dict[str, Any]) -> None:
    entries = [{"name": name, "source": "command", "config": config} for name, config in agents.items()]
    (folder / "mine.json").write_text(json.dumps({"agents": entries}))


def evaluate(folder: Path, *arguments: str) -> CompletedProcess[str]:
    common = ("evaluate", "--num-runs", "1", "-m", "Success@1", "-o", "out.json")
    return searchmark(*common, *arguments, cwd=folder)


def reported(folder: Path) -> dict[str, Any]:
    (agent,) = json.loads((folder / "out.json").read_text())["agents"].values()
    return agent


def hits(agent: dict[str, Any]) -> dict[str, list[str]]:
    return {case: [hit["id"] for hit in data["hits"]] for case, data in agent["cases"].items()}


FOUND = {f"c{number}": [] if target is None else [target] for number, target in enumerate(QUERIES.values())}


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [RIPGREP, GIT_GREP, {"argv": [sys.executable, "-ISc", STAYING, "{corpus}"], "stays": True}],
    ids=["ripgrep", "git grep", "staying"],
)
def test_a_program_finds_what_it_finds_whatever_the_query_looks_like(folder: Path, config: dict[str, Any]) -> None:
    """Files with the queries in them are found by them: options, quotes, commands and all."""
    configured(folder, mine=config)
    done = evaluate(folder, "--gold-set", "suite.json", "--config", "mine.json", "--agent", "mine", "--corpus", "corpus")
    assert done.returncode == 0, done.stderr
    assert hits(reported(folder)) == FOUND
    assert [path.name for path in folder.rglob("made")] == []


@pytest.mark.slow
def test_the_text_of_an_agent_is_a_program_too(folder: Path) -> None:
    done = evaluate(folder, "--gold-set", "suite.json", "--agent", "command:rg -l -F -e {query} {corpus}", "--corpus", "corpus")
    assert done.returncode == 2
    assert "if that means that it found nothing, say so (nothing: [1])" in " ".join(done.stdout.split())


def test_a_program_that_is_not_there_ends_the_run(folder: Path) -> None:
    done = evaluate(folder, "--gold-set", "suite.json", "--agent", "command:no-such-tool {query}", "--corpus", "corpus")
    assert done.returncode == 4
    assert "the program 'no-such-tool' cannot be started: it is not on the PATH" in done.stderr


def test_a_program_with_a_corpus_of_its_own_is_ready_before_it_is_asked(folder: Path) -> None:
    """Its start is no part of the first search; had it been, it would have been said."""
    suite = load_suite(folder / "suite.json")
    argv = [sys.executable, "-ISc", STAYING, str(folder / "corpus")]
    spec = AgentSpec("mine", parse_source("command"), {"argv": argv, "stays": True})
    job = AgentJob(spec, dict.fromkeys(suite.table.ids, Remote("service")), RunLabel("mine"))
    run = run_agents(RunRequest(suite, (job,), RunSettings(num_runs=1))).runs[0]
    assert [answer.status for answer in run.answers] == ["ok", "ok", "ok", "empty", "empty"]
    assert [details.start_ms for details in run.details] == [None] * 5


STATES = [
    {"app/login.py": "def login(user): pass\n"},
    {"app/login.py": "def login(user): check(user)\n", "app/cart.py": "class Cart: pass\n"},
    {"core/login.py": "def login(user): check(user)\n", "app/cart.py": "class Cart:\n    discount = 1\n"},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "builds"),
    [(RIPGREP, 1), (GIT_GREP, 1), ({"argv": [sys.executable, "-ISc", STAYING, "{corpus}"], "stays": True}, 2)],
    ids=["ripgrep", "git grep", "staying"],
)
def test_a_program_searches_the_files_as_they_were_before_each_commit(tmp_path: Path, config: dict[str, Any], builds: int) -> None:
    """What the commit has brought is not there yet: the word of the second case is in no file, nor has the file moved."""
    commits = write_history(
        tmp_path / "shop", [{path.encode(): (FILE, text.encode()) for path, text in state.items()} for state in STATES]
    )
    cases = [
        {"id": "login", "query": "login", "ground_truth_files": ["app/login.py"], "commit_hash": commits[1], "parent_commit": commits[0]},
        {"id": "cart", "query": "Cart", "ground_truth_files": ["app/cart.py"], "commit_hash": commits[2], "parent_commit": commits[1]},
        {"id": "word", "query": "discount", "ground_truth_files": ["app/cart.py"], "commit_hash": commits[2], "parent_commit": commits[1]},
        {"id": "moved", "query": "check", "ground_truth_files": ["app/login.py"], "commit_hash": commits[2], "parent_commit": commits[1]},
    ]  # fmt: skip
    metadata = {"repositories": {"shop": {"path": "shop"}}, "options": {"kinds": ["code"], "exclude_patterns": []}}
    gold = {"test_cases": [case | {"repository": "shop"} for case in cases], "metadata": metadata}
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    configured(tmp_path, mine=config)
    done = evaluate(tmp_path, "--gold-set", "gold.json", "--config", "mine.json", "--agent", "mine", "--save-run", "run.jsonl")
    assert done.returncode == 0, done.stderr
    assert load_run(tmp_path / "run.jsonl").provenance.index.full_builds == builds
    assert hits(reported(tmp_path)) == {"login": ["app/login.py"], "cart": ["app/cart.py"], "word": [], "moved": ["app/login.py"]}
