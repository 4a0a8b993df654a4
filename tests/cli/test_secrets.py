"""No key of the environment is in anything that the program writes or prints, and no name speaks to the terminal."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support import commands
from tests.support.server import requests_to

KEY = "Abc123Def456-Ghi789Jkl012"
TELLING = ("Abc123Def456", "Ghi789Jkl012", "QWJjMTIzRGVmNDU2")  # its beginning, its end, and its beginning in base64
SUITE = {
    "schema_version": 1,
    "name": "s",
    "cases": [
        {"id": "a", "query": "login one", "judgments": [{"target": "one.txt", "grade": 1}]},
        {"id": "b", "query": "login two", "judgments": [{"target": "two.txt", "grade": 1}]},
    ],
}
# It has the key from wherever: what counts is that the runner knows it for a secret.
LEAKY = f"""
import base64, sys

KEY = {KEY!r}

class Leaky:
    def initialize(self, corpus):
        print("the key is", KEY)
        print("the key is", KEY, file=sys.stderr)

    def retrieve(self, query, k):
        if "two" in query:
            raise RuntimeError(f"401 for {{KEY}}, {{base64.b64encode(('me:' + KEY).encode()).decode()}}, " + "x" * 130 + KEY + "y" * 300)
        class Found:
            files, metadata = ["one.txt", KEY], {{"key": KEY, "more": [KEY]}}
        return Found()

    def describe(self):
        return {{"key": KEY}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(SUITE))
    (tmp_path / "leaky.py").write_text(LEAKY)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/one.txt").write_text("login one")
    (tmp_path / "corpus/two.txt").write_text("login two")
    return tmp_path


def searchmark(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"SEARCHMARK_CACHE": str(folder / "cache"), "PYTHONPATH": str(folder)} | variables
    return commands.searchmark(*arguments, cwd=folder, env=environment, timeout=60)


def evaluated(folder: Path, agent: str, *arguments: str) -> str:
    """Everything that an evaluation has written and printed."""
    where = ("--gold-set", "s.json", "--corpus", "corpus", "--journal", "out/journal", "--save-run", "out/run.jsonl")
    files = (argument for name in ("json", "md", "txt", "csv") for argument in ("-o", f"out/report.{name}"))
    done = searchmark(folder, "evaluate", "--agent", agent, *where, *files, *arguments, MY_SERVICE_TOKEN=KEY)
    written = [path.read_text() for path in sorted((folder / "out").rglob("*")) if path.is_file()]
    assert len(written) >= 6
    return "\n".join([done.stdout, done.stderr, *written])


@pytest.mark.slow
def test_a_key_that_a_service_repeats_is_nowhere(project: Path, server: str) -> None:
    embedder = f"{{name: openai, model: m, url: {server}/denied/cli, key_variable: MY_SERVICE_TOKEN, cache: false}}"
    (project / "c.yaml").write_text(f"agents:\n  - name: semantic\n    config:\n      embedder: {embedder}\n")
    told = evaluated(project, "semantic", "--config", "c.yaml")
    assert requests_to(server, "/denied/cli")[0]["headers"]["authorization"] == f"Bearer {KEY}"
    assert "no such key: Bearer (removed)" in told
    assert [part for part in TELLING if part in told] == []


def test_a_key_that_an_agent_prints_returns_and_raises_is_nowhere(project: Path) -> None:
    told = evaluated(project, "leaky:Leaky")
    assert "401 for (removed)" in told
    assert [part for part in TELLING if part in told] == []


def test_a_key_in_a_saved_run_is_not_in_its_report(project: Path) -> None:
    run = {"a": {"one.txt": 2.0, KEY: 1.0}, "b": {}}
    (project / "r.json").write_text(json.dumps(run))
    told = [
        searchmark(project, "evaluate", "--gold-set", "s.json", "--run", "r.json", "-o", output, MY_SERVICE_TOKEN=KEY)
        for output in ("-", "o.json")
    ]
    assert '"(removed)"' in told[0].stdout
    assert KEY not in told[0].stdout + told[0].stderr + (project / "o.json").read_text()


@pytest.mark.parametrize("arguments", [["evaluate", "--gold-set", KEY, "--run", "x"], ["evaluate", f"--{KEY}"], [KEY]])
def test_an_error_does_not_repeat_a_key(tmp_path: Path, arguments: list[str]) -> None:
    done = searchmark(tmp_path, *arguments, MY_SERVICE_TOKEN=KEY)
    assert done.returncode == 4
    assert "(removed)" in done.stderr
    assert KEY not in done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for number in range(3):
        (folder / "login.py").write_text(f"def login(): return {number}\n")
        message = f"Return the number {number} from the login function where the user is unknown"
        for command in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", message]):
            subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


def test_the_name_of_a_repository_does_not_speak_to_the_terminal(tmp_path: Path, repository: Path) -> None:
    done = searchmark(tmp_path, "generate", "--repo", f"a\x1b]0;pwned\x07b={repository}", "-o", "g.json")
    assert r"a\x1b]0;pwned\x07b: 3 commits read" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout


@pytest.mark.slow
def test_a_service_that_drips_does_not_hold_up_mining(tmp_path: Path, repository: Path, server: str) -> None:
    rewriter = f"{{model: m, base_url: {server}/slow-headers/mining, timeout_seconds: 0.2, retries: 1, key_variable: ''}}"
    (tmp_path / "c.yaml").write_text(f"dataset:\n  query: llm\n  rewriter: {rewriter}\n")
    done = searchmark(tmp_path, "generate", "--repo", str(repository), "--config", "c.yaml", "-o", "g.json")
    assert done.returncode == 0
    assert "gave no complete answer within 0.2 seconds" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("value", ["testtest1", "local-dev", "schema_version", "0123456789abcdef0123456789abcdef01234567"])
def test_an_ordinary_value_of_a_variable_changes_no_score_and_no_case(value: str, project: Path) -> None:
    cases = [{"id": name, "query": f"login {name}", "judgments": [{"target": f"{name}.txt"}]} for name in ("one", value)]
    (project / "s.json").write_text(json.dumps(SUITE | {"cases": cases}))
    (project / f"corpus/{value}.txt").write_text(f"login {value}")
    command = (
        "evaluate",
        "--gold-set",
        "s.json",
        "--corpus",
        "corpus",
        "--agent",
        "bm25",
        "-m",
        "RR",
        "-o",
        "o.json",
        "--save-run",
        "r.jsonl",
    )
    assert searchmark(project, *command, CACHE_KEY=value, SESSION_COOKIE=value).returncode == 0
    report = json.loads((project / "o.json").read_text())
    assert {case: found["measures"]["RR"] for case, found in report["agents"]["bm25"]["cases"].items()} == {"one": 1.0, value: 1.0}
    assert f'"{value}.txt"' in (project / "r.jsonl").read_text()
