"""An agent that runs with the user's rights and writes into caches: its rivals have the scores that they have without it, or are untrusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_histories import FILE, write_history

pytestmark = pytest.mark.hostile

HERE = Path(__file__).parent
WORDS = ("apple pear plum", "river lake sea", "iron gold tin", "oak birch elm")
AGENTS = [
    {"name": "semantic", "config": {"embedder": {"name": "hashing", "cache": True}}},
    {"name": "bm25", "config": {"cache": True}},
]


@dataclass(frozen=True)
class Scored:
    """How a command ended, and what it says of one agent."""

    code: int
    status: str
    score: float


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files in a repository, which its own agent finds all."""
    write_history(tmp_path / "shop", [{f"f{number}.txt".encode(): (FILE, words.encode()) for number, words in enumerate(WORDS)}])
    cases = [{"id": f"c{n}", "query": words, "ground_truth_files": [f"f{n}.txt"]} for n, words in enumerate(WORDS)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    (tmp_path / "searchmark.yaml").write_text(json.dumps({"agents": AGENTS}))
    return tmp_path


def searchmark(folder: Path, agent: str, verb: str, *more: str) -> Scored:
    caches = {"SEARCHMARK_CACHE": str(folder / "caches"), "POISONED": str(folder / "caches")}
    where = ["--gold-set", "suite.json", "--corpus", "shop", "--config", "searchmark.yaml", "-m", "nDCG@10", "-o", "report.json"]
    done = subprocess.run(
        [sys.executable, "-m", "searchmark", verb, *more, *where, "--num-runs", "1"],
        cwd=folder, env=os.environ | caches, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 2), done.stdout + done.stderr
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())["agents"][agent]
    return Scored(done.returncode, report["status"], report["measures"]["nDCG@10"]["mean"])


def attacked(folder: Path, agent: str, poisoner: str, *more: str) -> Scored:
    return searchmark(folder, agent, "compare", "--agents", f"{HERE / 'poisoners.py'}:{poisoner}", agent, *more)


def alone(folder: Path, agent: str) -> Scored:
    return searchmark(folder, agent, "evaluate", "--agent", agent)


@pytest.mark.parametrize(
    ("agent", "poisoner"),
    [("semantic", "Plants"), ("semantic", "PlantsOdd"), ("semantic", "PutsBack"), ("bm25", "PlantsCounts")],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_planted_in_an_empty_cache_changes_no_score_now_or_later(
    agent: str, poisoner: str, jobs: str, folder: Path
) -> None:
    assert attacked(folder, agent, poisoner, "--jobs", jobs) == Scored(0, "ok", 1.0)
    assert alone(folder, agent) == Scored(0, "ok", 1.0)


@pytest.mark.parametrize("agent", ["semantic", "bm25"])
def test_vectors_and_counts_that_are_put_back_in_time_have_changed_no_score(agent: str, folder: Path) -> None:
    assert alone(folder, agent) == Scored(0, "ok", 1.0)
    assert attacked(folder, agent, "PutsBack") == Scored(0, "ok", 1.0)
    assert alone(folder, agent) == Scored(0, "ok", 1.0)


@pytest.mark.parametrize("poisoner", ["Leaves", "PlantsOdd"])
def test_vectors_that_stay_changed_make_the_run_untrusted_and_are_removed(poisoner: str, folder: Path) -> None:
    assert alone(folder, "semantic") == Scored(0, "ok", 1.0)
    after = ["--agents", "semantic", f"{HERE / 'poisoners.py'}:{poisoner}"]
    assert searchmark(folder, "semantic", "compare", *after) == Scored(2, "untrusted", 1.0)
    assert alone(folder, "semantic") == Scored(0, "ok", 1.0)


def test_what_a_built_in_agent_caches_beside_a_foreign_one_is_used_by_the_next_run(folder: Path) -> None:
    attacked(folder, "semantic", "Honest")
    before = (folder / "caches" / "embeddings.sqlite").stat()
    attacked(folder, "semantic", "Honest")
    assert (folder / "caches" / "embeddings.sqlite").stat().st_mtime_ns == before.st_mtime_ns
