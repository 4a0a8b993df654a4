"""``--dry-run`` says what a run would be like, from a few cases, and leaves nothing behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from searchmark import RunLabel
from searchmark.cli.live import plan_lines
from searchmark.records.provenance import Environment
from searchmark.running.estimate import AgentEstimate, PlannedMachine, RunEstimate
from tests.support.commands import searchmark

CASES = 40


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    for number in range(6):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"word{number} query")
    cases = [{"id": f"c{i}", "query": f"word{i % 6}", "ground_truth_files": [f"f{i % 6}.txt"]} for i in range(CASES)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    return tmp_path


def planned(place: Path, verb: str, *words: str) -> str:
    done = searchmark(verb, "--gold-set", "suite.json", "--corpus", "corpus", *words, "--dry-run", cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_blocks_places_time_and_memory_are_said_and_nothing_is_written(place: Path) -> None:
    before = sorted(place.rglob("*"))
    said = planned(place, "compare", "--agents", "bm25", "random", "--executor", "process:2")
    assert "80 cases in 16 blocks of at most 5, on process:2" in said  # 40 // (2 workers * 4 rounds)
    for agent in ("bm25", "random"):
        assert re.search(
            rf"  {agent}: 40 cases, corpus 8 blocks; \S+ s per case \(8 cases sampled\); \S+ s to start a worker", said
        )
    assert re.search(r"where: 2 workers on 1 host\n  \S+ \(\d+ cores?, \S+ GB\): 2 workers, about 16 blocks", said)
    assert re.search(r"estimated: \S+ s of work, about \S+ s with 2 workers\nmemory: \d+ MB per worker", said)
    assert sorted(path for path in place.rglob("*") if ".searchmark" not in path.parts) == before
    assert not list(place.glob(".searchmark/*.jsonl"))


@pytest.mark.slow
def test_without_an_executor_it_is_about_this_process(place: Path) -> None:
    assert "40 cases in 2 blocks of at most 25, on this process" in planned(place, "evaluate", "--agent", "bm25")


@pytest.mark.slow
def test_an_agent_that_answers_nothing_has_no_time_rather_than_none(place: Path) -> None:
    (place / "broken.py").write_text(
        "class Broken:\n    def initialize(self, corpus): raise ValueError('no')\n    def retrieve(self, query, k): return []\n"
    )
    said = planned(place, "evaluate", "--agent", "broken.py:Broken")
    assert re.search(r"no time is known, since none of \d+ sampled cases was answered", said)
    assert "how long it takes cannot be told" in said


def test_a_saved_run_is_not_planned(place: Path) -> None:
    (place / "run.trec").write_text("c1 Q0 f1.txt 1 1.0 run\n")
    done = searchmark("evaluate", "--gold-set", "suite.json", "--run", "run.trec", "--dry-run", cwd=place)
    assert (done.returncode, "--dry-run belongs to a run with --agent" in done.stderr) == (4, True)


def test_the_estimate_is_work_by_workers_and_a_host_that_is_too_small_is_named() -> None:
    """By hand: 1,000 cases of 0.5 s and 4 starts of 10 s are 540 s, by 4 workers 135 s; 4 workers of 3 GB need 12 GB."""
    gigabyte = 1 << 30
    agent = AgentEstimate(RunLabel("bm25"), {"shop": 40}, 1000, 8, 0.5, 10.0, 3 * gigabyte, 0)
    machine = PlannedMachine(Environment("3.12", "Linux", cores=4, memory_bytes=8 * gigabyte, host="node-1"), 4)
    plan = RunEstimate("dask://host:1", 4, 25, (agent,), (machine,))
    assert (plan.work_seconds, plan.seconds) == (540.0, 135.0)
    said = list(plan_lines(plan))
    assert "estimated: 9 min of work, about 2 min with 4 workers" in said
    assert "  node-1 (4 cores, 8.0 GB) would need 12.0 GB: use fewer workers there" in said
