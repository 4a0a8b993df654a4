"""Two runs on one machine at the same time, one of them with an agent that is not built in: both keep what they cache."""

from __future__ import annotations

import json
import os
import select
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # commands in processes of their own

DOCUMENTS = 200
AGENTS = [
    {"name": "semantic", "config": {"embedder": {"name": "hashing", "cache": True}}},
    {"name": "bm25", "config": {"cache": True}},
]
WAITS = """
from pathlib import Path
from searchmark import RetrievalAgent, RetrievalResult


class Waits(RetrievalAgent):
    def initialize(self, corpus):
        Path("begun").write_text("")
        Path("go").read_text()

    def retrieve(self, query, k):
        return RetrievalResult(["d1.txt"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    for number in range(DOCUMENTS):
        (tmp_path / "corpus" / f"d{number}.txt").write_text(f"document {number} about {number * number}")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "corpus", check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", "add", "."], cwd=tmp_path / "corpus", check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "all"], cwd=tmp_path / "corpus", check=True)
    (tmp_path / "suite.json").write_text(
        json.dumps({"test_cases": [{"id": "c", "query": "document 1", "ground_truth_files": ["d1.txt"]}], "metadata": {}})
    )
    (tmp_path / "searchmark.yaml").write_text(json.dumps({"agents": AGENTS}))
    (tmp_path / "waits.py").write_text(WAITS)
    for pipe in ("begun", "go"):
        os.mkfifo(tmp_path / pipe)
    return tmp_path


def started(folder: Path, *agents: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "searchmark", "compare", "--agents", *agents, "--gold-set", "suite.json", "--corpus", "corpus"]
    variables = os.environ | {"SEARCHMARK_CACHE": str(folder / "cache")}
    return subprocess.Popen(
        [*command, "--config", "searchmark.yaml", "--num-runs", "1", "--journal", f"journal-{len(list(folder.iterdir()))}", "-q"],
        cwd=folder,
        env=variables,
    )


def vectors(folder: Path) -> int:
    with sqlite3.connect(folder / "cache" / "embeddings.sqlite") as database:
        return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])


def wait_for_writer(pipe: Path) -> None:
    """Until the pipe has been written to; an agent that fails before that must not keep the test waiting for ever."""
    descriptor, poller = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), select.poll()
    poller.register(descriptor, select.POLLIN | select.POLLHUP)
    came = poller.poll(60_000)
    os.close(descriptor)
    assert came, "the agent was not started"


def test_a_run_of_a_foreign_agent_leaves_what_another_run_caches_meanwhile(folder: Path) -> None:
    with started(folder, "waits.py:Waits", "bm25") as foreign:
        try:
            wait_for_writer(folder / "begun")
            with started(folder, "semantic", "bm25") as other:
                assert other.wait() == 0
            counts = sorted((folder / "cache").glob("bm25/*/*.npz"))
            stored = vectors(folder)
            assert stored >= DOCUMENTS
            assert counts
            assert foreign.poll() is None
            (folder / "go").write_text("")
            assert foreign.wait() == 0
        finally:
            foreign.terminate()
    assert (vectors(folder), sorted((folder / "cache").glob("bm25/*/*.npz"))) == (stored, counts)
    last = (folder / "cache" / "embeddings.sqlite").stat().st_mtime_ns
    with started(folder, "semantic", "bm25") as again:
        assert again.wait() == 0
    assert (folder / "cache" / "embeddings.sqlite").stat().st_mtime_ns == last
