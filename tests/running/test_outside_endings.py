"""However a run ends, programs of outside agents and all that they have started end with it; and it can be resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes by /proc")]

PROGRAM = str(Path(__file__).with_name("outside_hanging.py"))
AGENTS = [
    {"name": "command", "config": {"argv": [sys.executable, PROGRAM, "{query}"]}},
    {"name": "mcp", "config": {"argv": [sys.executable, PROGRAM, "--serve"], "tool": "search", "timeout_seconds": 600}},
]
PATIENCE = 60


@pytest.fixture(params=AGENTS, ids=lambda agent: agent["name"])
def agent(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    write_config(request.param)
    write_suite("quick", "slow")
    return request.param


def write_config(agent: dict[str, Any]) -> None:
    Path("agents.json").write_text(json.dumps({"agents": [agent]}))


def write_suite(*queries: str) -> None:
    cases = [{"id": f"c{number}", "query": query, "judgments": [{"target": "d1"}]} for number, query in enumerate(queries)]
    Path("suite.json").write_text(json.dumps({"schema_version": 1, "name": "suite", "cases": cases}))


def started(agent: dict[str, Any], mark: str, *more: str) -> subprocess.Popen[str]:
    arguments = ["--gold-set", "suite.json", "--config", "agents.json", "--agent", agent["name"], "--num-runs", "1", "--no-warm-up"]
    command = [sys.executable, "-m", "searchmark", "evaluate", *arguments, "--no-randomize-order", "--no-archive", *more]
    return subprocess.Popen(
        command,
        env=os.environ | {"SEARCHMARK_TEST_MARK": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # no threads here
    )


def marked(mark: str) -> list[int]:
    """The processes that have this mark in their environment."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and has_mark(entry, mark)]


def has_mark(process: Path, mark: str) -> bool:
    try:
        return f"SEARCHMARK_TEST_MARK={mark}\0".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def asked() -> list[str]:
    return Path("asked").read_text().split() if Path("asked").exists() else []


def until_hanging(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while "slow" not in asked() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)  # between two looks


def left_of(mark: str) -> list[int]:
    deadline = time.monotonic() + PATIENCE
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.01)  # as above
    return marked(mark)


def mark_of(request: pytest.FixtureRequest) -> str:
    return f"{os.getpid()}-{request.node.name}"


def test_one_that_hangs_is_ended_at_the_deadline_with_its_children(agent: dict[str, Any], request) -> None:
    mark = mark_of(request)
    process = started(agent, mark, "--timeout", "3", "--save-run", "run.jsonl")
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, said
    assert [answer.status for answer in load_run("run.jsonl").answers] == ["ok", "timeout"]
    assert left_of(mark) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_an_ended_runner_leaves_no_process_and_its_run_can_be_resumed(
    number: int, code: int, agent: dict[str, Any], request
) -> None:
    mark = mark_of(request)
    process = started(agent, mark, "--timeout", "600")
    until_hanging(process)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert (process.returncode, left_of(mark)) == (code, [])
    Path("calm").touch()
    again = started(agent, mark, "--timeout", "600", "--resume", "--save-run", "run.jsonl")
    _, said = again.communicate(timeout=PATIENCE)
    assert again.returncode == 0, said
    assert [answer.status for answer in load_run("run.jsonl").answers] == ["ok", "ok"]
    assert (asked(), left_of(mark)) == (["quick", "slow", "slow"], [])


def test_a_run_is_not_resumed_with_different_words(agent: dict[str, Any], request) -> None:
    write_suite("quick")
    mark = mark_of(request)
    assert started(agent, mark).communicate(timeout=PATIENCE) is not None
    write_config({**agent, "config": {**agent["config"], "results": {"nothing": "^never$"}}})
    process = started(agent, mark, "--resume")
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "cannot be resumed: different agent" in said) == (2, True), said
