"""Hostile agents beside an honest one: each may cost its own cases, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import agents

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes and pipes in /proc"),
]

HERE = Path(__file__).parent
NAMES = [
    name
    for name, each in vars(agents).items()
    if isinstance(each, type) and issubclass(each, agents.Honest) and each is not agents.Honest
]
CASES = 4
# What does not hinder an answer, or only sometimes; all others fail in their own way.
HARMLESS = {
    *("Churn", "Daemon", "DeepFolders", "FileForTmpdir", "FillsTmpdir", "ForksAndReturns", "HangsInClose", "HangsInDel"),
    *("LinkForTmpdir", "LockedFolders", "ManyChildren", "ManyHits", "ManyMemory", "ManyThreads", "OddAnswers", "OddDescription"),
    *("OddFiles", "Shouts", "EndlessAnswer", "AnswersEarly", "AnswersTwice"),
}
UNTRUSTED = {"WritesIntoTheCorpus", "LiesAboutTime"}


@dataclass(frozen=True)
class Attack:
    """A comparison in which one of two agents is hostile, and what came of it."""

    folder: Path
    code: int
    said: str
    report: dict[str, Any]

    def statuses(self, agent: str) -> set[str]:
        return {case["status"] for case in self.report["agents"][agent]["cases"].values()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("corpus", "tmp", "home", "target", "target/inner"):
        (tmp_path / name).mkdir(mode=0o755)
    for number in range(3):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"word{number}")
    cases = [{"id": f"c{i}", "query": f"word{i % 3}", "ground_truth_files": [f"f{i % 3}.txt"]} for i in range(CASES)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    return tmp_path


def attack(folder: Path, name: str, *more: str) -> Attack:
    environment = os.environ | {
        "HOSTILE": str(folder),
        "HOSTILE_TARGET": str(folder / "target"),
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home" / "cache"),
    }
    command = [
        *(sys.executable, "-m", "searchmark", "compare", "--gold-set", "suite.json", "--corpus", "corpus"),
        *("--agents", "bm25", f"{name}={HERE / 'agents.py'}:{name}", "-m", "nDCG@10", "--num-runs", "1", "--timeout", "1"),
        *("--initialize-timeout", "5", "--max-failures", "2", "--memory-limit", "1000", "--no-warm-up", "-o", "report.json", *more),
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120, check=False
    )
    report = folder / "report.json"
    return Attack(folder, done.returncode, done.stdout + done.stderr, json.loads(report.read_text()) if report.exists() else {})


def left_behind(folder: Path) -> list[int]:
    """Processes of this attack that are still there, by their environment or their working folder."""
    mark, found = f"HOSTILE={folder}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark in Path(f"/proc/{pid}/environ").read_bytes() or str(Path(f"/proc/{pid}/cwd").readlink()).startswith(
                str(folder)
            ):
                found.append(int(pid))
        except OSError:
            continue
    return found


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o7777 for path in sorted((folder / "target").rglob("*"))}


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_agent_costs_its_own_cases_and_nothing_else(name: str, folder: Path) -> None:
    outside = modes(folder)
    first = attack(folder, name)
    assert "internal error" not in first.said
    assert "Traceback" not in first.said
    assert first.code in (0, 2), first.said
    assert first.statuses("bm25") == {"ok"}
    assert first.report["agents"]["bm25"]["measures"]["nDCG@10"]["mean"] == 1.0
    assert first.code == 2 or name in HARMLESS
    assert "ok" not in first.statuses(name) or name in HARMLESS | UNTRUSTED
    assert left_behind(folder) == []
    assert modes(folder) == outside
    assert sorted(os.listdir(folder / "target")) == ["inner"]
    assert not list((folder / "tmp").glob("searchmark-*/*")), "temporary files are left"

    again = attack(folder, name, "--resume")
    assert again.code == first.code, again.said
    assert again.statuses("bm25") == {"ok"}
    assert (
        subprocess.run([sys.executable, "-m", "searchmark", "doctor"], cwd=folder, capture_output=True, check=False).returncode == 0
    )
