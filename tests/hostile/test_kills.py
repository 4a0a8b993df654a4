"""Interrupted and killed at any moment, a command leaves no process, no lie and no rubbish, and ends with the same result."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main
from searchmark.git.builtin import build_shop

pytestmark = [pytest.mark.hostile, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")]

SLOW = Path(__file__).parent.parent / "running" / "slow.py"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
# A signal that comes before our first line or after our last one ends Python in its own way.
ENDINGS = (0, 130, *(-number for number in SIGNALS))
DOUBLED = 0.2  # share of signals that are sent twice
SEARCH = ["--gold-set", "suite.json", "--corpus", "corpus", "--num-runs", "1", "-m", "nDCG@10"]
COMMANDS = {
    "evaluate": (12, ["evaluate", *SEARCH, "--agent", f"{SLOW}:SlowAgent"]),
    "evaluate with three workers": (12, ["evaluate", *SEARCH, "--agent", f"{SLOW}:SlowAgent", "--jobs", "3"]),
    "compare": (10, ["compare", *SEARCH, "--agents", f"a={SLOW}:SlowAgent", f"b={SLOW}:SlowAgent", "bm25"]),
    "generate": (15, ["generate", "--repo", "shop=repository"]),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "tmp").mkdir()
    for number in range(6):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"query {number}")
    cases = [{"id": f"c{i}", "query": f"query {i}", "ground_truth_files": [f"f{i % 6}.txt"]} for i in range(80)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOSTILE", str(tmp_path))
    return tmp_path


@pytest.fixture
def repository(folder: Path) -> None:
    build_shop(Path("repository"))


def resumable(command: list[str]) -> list[str]:
    """The command, resumed if there is something to resume."""
    return [*command, *(["--resume"] if list(Path().glob(".searchmark/*.jsonl")) else []), "-o", "broken.json"]


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "searchmark", *resumable(command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # no threads here
    )


def interrupted(command: list[str], delay: float, number: signal.Signals, *, twice: bool) -> tuple[int, str]:
    """Start a command and stop it after a while; its exit code and what it said."""
    process = start(command)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        for _ in range(1 + twice):
            process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, (out + err).decode(errors="replace")


def left_behind(folder: Path) -> list[str]:
    mark = f"HOSTILE={folder}".encode()
    return [pid for pid in _pids() if pid != str(os.getpid()) and mark in _environment(pid)]


def _pids() -> Iterator[str]:
    return filter(str.isdigit, os.listdir("/proc"))


def _environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def result(path: str) -> Any:
    """What a command found, without what depends on the moment."""
    data = json.loads(Path(path).read_text())
    if "agents" not in data:
        return data
    return {
        agent: {case: (each["status"], each["hits"], each["measures"]) for case, each in found["cases"].items()}
        for agent, found in data["agents"].items()
    }


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", COMMANDS)
def test_whatever_ends_a_command_the_result_is_the_same(name: str, folder: Path) -> None:
    kills, command = COMMANDS[name]
    begin = time.monotonic()
    assert main([*command, *([] if name == "generate" else ["--journal", "other"]), "-o", "whole.json"]) == 0
    whole = time.monotonic() - begin
    draw = random.Random(kills)
    for number in range(kills):
        which, twice = draw.choice(SIGNALS), draw.random() < DOUBLED
        code, said = interrupted(command, draw.random() * 1.2 * whole, which, twice=twice)
        assert code in ENDINGS, f"kill {number} by {which.name}: exit code {code}\n{said}"
        assert "Traceback" not in said, f"kill {number} by {which.name}:\n{said}"
        deadline = time.monotonic() + 20
        while left_behind(folder) and time.monotonic() < deadline:
            os.sched_yield()
        assert left_behind(folder) == [], f"kill {number} by {which.name} left processes behind"
    # A process of its own: it removes what killed ones have left.
    last = subprocess.run([sys.executable, "-m", "searchmark", *resumable(command)], capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    assert result("broken.json") == result("whole.json")
    rubbish = [path for path in folder.rglob("*") if ".tmp" in path.name or path.parent.parent == folder / "tmp"]
    assert rubbish == []
