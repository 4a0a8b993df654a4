"""Agents that hide a part of their time in every search: the runner's clock is used in place of theirs, and the run is untrusted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(sys.platform != "linux", reason="only there the kernel says who has waited for a core"),
]

HERE = Path(__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "f1.txt").write_text("word")
    cases = [{"id": f"c{number}", "query": f"word {number}", "ground_truth_files": ["f1.txt"]} for number in range(40)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    return tmp_path


def evaluated(folder: Path, liar: str, *more: str) -> tuple[int, dict[str, Any], str]:
    command = ["evaluate", "--gold-set", "suite.json", "--corpus", "corpus", "--agent", f"{HERE / 'liars.py'}:{liar}", "-m", "RR"]
    done = subprocess.run(
        [sys.executable, "-m", "searchmark", *command, "-o", "report.json", *more],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, json.loads((folder / "report.json").read_text())["agents"][liar], " ".join(done.stdout.split())


@pytest.mark.parametrize("liar", ["HidesForty", "HidesInHits"])
def test_a_lie_that_is_small_and_told_every_time_is_seen(liar: str, folder: Path) -> None:
    code, agent, said = evaluated(folder, liar)
    assert (code, agent["status"]) == (2, "untrusted")
    assert agent["latency_ms"]["warm"]["p50"] >= 40
    assert "of 120 searches are not believed" in said


def test_a_search_that_fails_is_held_against_the_clock_as_well(folder: Path) -> None:
    code, agent, said = evaluated(folder, "FailsSlowly", "--num-runs", "1", "--no-warm-up", "--max-failures", "1000")
    assert (code, agent["status"]) == (2, "untrusted")
    assert agent["latency_ms"]["cold"]["p95"] >= 200
    assert "of 40 searches are not believed" in said


def test_an_index_cannot_be_built_in_the_time_that_is_said_to_be_ours(folder: Path) -> None:
    code, agent, said = evaluated(folder, "BlamesUs", "--num-runs", "1")
    assert (code, agent["status"]) == (2, "untrusted")
    assert agent["index"]["seconds"] >= 2
    assert "1 preparations of the index are not believed" in said
