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
from tests.support.sandboxes import mechanisms
from tests.support.small_histories import FILE, write_history

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
    *(
        "OddFiles",
        "Shouts",
        "EndlessAnswer",
        "AnswersEarly",
        "AnswersTwice",
        "ReadsTheFuture",
        "RemembersTheFuture",
        "ReadsTheNewestCommit",
    ),
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


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "HOSTILE": str(folder),
        "HOSTILE_TARGET": str(folder / "target"),
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home" / "cache"),
    }


def attack(folder: Path, name: str, *more: str) -> Attack:
    command = [
        *(sys.executable, "-m", "searchmark", "compare", "--gold-set", "suite.json", "--corpus", "corpus"),
        *("--agents", "bm25", f"{name}={HERE / 'agents.py'}:{name}", "-m", "nDCG@10", "--num-runs", "1", "--timeout", "1"),
        *("--initialize-timeout", "5", "--max-failures", "2", "--memory-limit", "1000", "--no-warm-up", "-o", "report.json", *more),
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, errors="replace", timeout=120, check=False
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


def history(folder: Path, seconds: int) -> None:
    """A repository in which commit n changes file n, dated so many seconds apart, and the cases that would be mined from it."""
    states = [[f"state {number}" if number == changed else "state 0" for number in range(10)] for changed in range(3, 10)]
    trees = [{b"f%d.txt" % number: (FILE, text.encode()) for number, text in enumerate(texts)} for texts in states]
    commits = write_history(folder / "shop", trees, seconds=seconds)
    cases = [
        {"id": f"c{number}", "query": "word", "parent_commit": commit, "ground_truth_files": [f"f{number}.txt"]}
        for number, commit in enumerate(commits[:-1], 4)
    ]
    (folder / "gold.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))


def recall(folder: Path, name: str, *more: str) -> float:
    command = [
        *(sys.executable, "-m", "searchmark", "evaluate", "--gold-set", "gold.json"),
        *("--agent", f"{name}={HERE / 'agents.py'}:{name}", "-m", "R@10", "--num-runs", "1", "-o", "report.json", *more),
    ]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((folder / "report.json").read_text())["agents"][name]
    assert {case["status"] for case in report["cases"].values()} == {"ok"}
    mean: float = report["measures"]["R@10"]["mean"]
    return mean


# Where parents are dated after their children, and are therefore visited later, only the first case cannot be remembered.
@pytest.mark.parametrize(("name", "seconds", "reached"), [("ReadsTheFuture", 60, 1.0), ("RemembersTheFuture", -60, 5 / 6)])
def test_a_sandboxed_agent_finds_no_answer_in_later_commits(name: str, seconds: int, reached: float, folder: Path) -> None:
    history(folder, seconds)
    where = ("--repo", "shop", "--snapshot", "parent")
    assert recall(folder, name, *where) == pytest.approx(reached)
    assert {level: recall(folder, name, *where, "--sandbox", level) for level in mechanisms()} == dict.fromkeys(mechanisms(), 0.0)


def test_a_sandboxed_agent_finds_no_answer_in_the_repository_of_a_folder(folder: Path) -> None:
    history(folder, 60)
    where = ("--corpus", "shop", "-k", "c9")
    assert recall(folder, "ReadsTheNewestCommit", *where) == 1.0
    found = {level: recall(folder, "ReadsTheNewestCommit", *where, "--sandbox", level) for level in mechanisms()}
    assert found == dict.fromkeys(mechanisms(), 0.0)
