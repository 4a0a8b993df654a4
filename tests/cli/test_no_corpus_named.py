"""An agent with a corpus of its own is asked for none, and a report says what cannot be known then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import load_run
from tests.support.small_histories import FILE

TREES = [{b"app.py": (FILE, b"%d\n" % number), b"main.py": (FILE, b"old\n")} for number in range(4)]
AGENTS = """
def search(query, k):
    return ["app.py", "nowhere.py"]


class Indexer:
    def initialize(self, repo_path: str):
        pass

    def retrieve(self, query, k):
        return ["app.py"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENTS)
    cases = [{"id": f"c{number}", "query": f"word {number}", "judgments": [{"target": "app.py"}]} for number in range(3)]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "s", "cases": cases}))
    return tmp_path


def searchmark(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "searchmark", *arguments, "--num-runs", "1", "-m", "RR", "--no-archive"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_function_searches_what_it_has_and_hits_are_not_known_to_be_valid(folder: Path) -> None:
    arguments = ["evaluate", "--gold-set", "suite.json", "--agent", "agents.py:search"]
    ran = searchmark(folder, *arguments, "--save-run", "run.jsonl")
    assert ran.returncode == 0, ran.stderr
    run = load_run(folder / "run.jsonl")
    assert (run.provenance.own_corpus, run.valid, list(run.ids[:2])) == (True, None, ["app.py", "nowhere.py"])


@pytest.mark.slow
def test_an_agent_that_turns_out_to_need_a_corpus_is_refused_in_one_sentence(folder: Path) -> None:
    ran = searchmark(folder, "evaluate", "--gold-set", "suite.json", "--agent", "agents.py:Indexer")
    assert ran.returncode == 4
    assert "the agent 'Indexer' needs a corpus: name what to search with --corpus or --repo" in ran.stderr


@pytest.mark.slow
def test_an_agent_that_is_known_to_need_a_corpus_is_refused_before_anything_starts(folder: Path) -> None:
    ran = searchmark(folder, "evaluate", "--gold-set", "suite.json", "--agent", "command:rg {query} {corpus}")
    assert ran.returncode == 4
    assert "there is nothing to search; name a folder with --repo or documents with --corpus" in ran.stderr
