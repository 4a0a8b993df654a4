"""``searchmark evaluate`` and ``searchmark agents --probe`` with MCP servers, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.agents.vectors.chunking import TOKENIZER_NAME
from tests.agents.outside.mcp_servers import MISBEHAVING, SERVER
from tests.support.commands import searchmark

pytestmark = pytest.mark.slow

SUITE = """
schema_version: 1
cases:
  - {id: a, query: alpha, judgments: [{target: alpha.txt}]}
  - {id: b, query: install gamma, judgments: [{target: docs/install.md}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "searched" / "docs").mkdir(parents=True)
    (tmp_path / "searched" / "alpha.txt").write_text("alpha and beta\n")
    (tmp_path / "searched" / "docs" / "install.md").write_text("how to install gamma\n")
    (tmp_path / "suite.yaml").write_text(SUITE)
    describe(tmp_path, [sys.executable, SERVER, "stdio", "{corpus}"])
    return tmp_path


def describe(project: Path, argv: list[str], tool: str = "search") -> None:
    config = {"argv": argv, "tool": tool, "results": {"nothing": "^No matches found$"}}
    agent = {"name": "files", "source": "mcp", "config": config}
    (project / "searchmark.json.yaml").write_text(json.dumps({"agents": [agent]}))


def evaluated(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    config = ("--config", "searchmark.json.yaml", "--no-archive")
    return searchmark("evaluate", "--gold-set", "suite.yaml", "--agent", "files", *config, *arguments, cwd=project)


def test_a_server_is_evaluated_and_the_report_has_the_tokens_of_each_answer(project: Path) -> None:
    done = evaluated(project, "--corpus", "searched", "-o", "out.json")
    assert done.returncode == 0, done.stderr
    cases = json.loads((project / "out.json").read_text())["agents"]["files"]["cases"]
    assert [case["hits"][0]["id"] for case in cases.values()] == ["alpha.txt", "docs/install.md"]
    assert all(case["details"]["tokens"] > 0 for case in cases.values())
    assert {case["details"]["tokens_by"] for case in cases.values()} == {TOKENIZER_NAME}


def test_a_config_that_the_server_does_not_fit_ends_the_run_with_a_sentence(project: Path) -> None:
    describe(project, [sys.executable, MISBEHAVING, "{corpus}"], tool="find")
    done = evaluated(project, "--corpus", "searched")
    assert done.returncode != 0
    assert "the MCP server has no tool 'find'; it offers search" in done.stdout + done.stderr


def test_a_server_does_not_get_the_keys_of_others(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789abcdef")
    describe(project, [sys.executable, MISBEHAVING, "{corpus}"])
    (project / "suite.yaml").write_text(SUITE.replace("query: alpha", "query: key"))
    evaluated(project, "--corpus", "searched", "-o", "out.json")
    case = json.loads((project / "out.json").read_text())["agents"]["files"]["cases"]["a"]
    assert [hit["id"] for hit in case["hits"]] == ["withheld"]


def test_probe_shows_the_tools_of_a_server_and_what_they_take_harmless_to_a_terminal(project: Path) -> None:
    done = searchmark("agents", "files", "--config", "searchmark.json.yaml", "--probe", cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("files 1.2 offers ")
    assert "\nsearch: Find files that hold words.\n  query: string (required)\n  limit: integer\n" in done.stdout
    assert "\ncoloured: \\x1b[31mred" in done.stdout
    assert not {"\x1b", "\x07"} & set(done.stdout)


def test_probe_takes_a_server_as_it_is_named_on_the_command_line(tmp_path: Path) -> None:
    done = searchmark("agents", "--probe", f"mcp:{sys.executable} {MISBEHAVING} by-hand", cwd=tmp_path)
    assert done.stdout == "by-hand 0 offers 1 tool.\n\nsearch\n  query: string (required)\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mcp:no-such-server",), "the program 'no-such-server' cannot be started: it is not on the PATH"),
        (("mcp:python x", "--no-exec"), "'mcp:python x' is an outside system, and --no-exec allows built-in agents only"),
        (("mcp:http://127.0.0.1:9/mcp", "--offline"), "asks a service"),
        ((), "--probe needs an agent"),
    ],
)
def test_what_cannot_be_probed_is_said_in_a_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = searchmark("agents", "--probe", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (f"command:{sys.executable} -c 1 {{query}}", f"starts {sys.executable}; only MCP servers offer tools"),
        ("http://127.0.0.1:9/?q={query}", "asks the service at http://127.0.0.1:9/?q={query}; only MCP servers offer tools"),
        ("bm25", "'bm25' is not an outside system; only MCP servers offer tools"),
    ],
)
def test_of_other_agents_probe_says_what_they_ask(tmp_path: Path, agent: str, sentence: str) -> None:
    done = searchmark("agents", "--probe", agent, cwd=tmp_path)
    assert done.returncode == 0
    assert sentence in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_probe_that_is_ended_leaves_no_server_behind(tmp_path: Path, number: signal.Signals) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    server = f"import os, sys; os.open({str(alive)!r}, os.O_WRONLY); sys.stdin.read(); import time; time.sleep(3600)"
    command = [sys.executable, "-m", "searchmark", "agents", "--probe", f'mcp:{sys.executable} -c "{server}"']
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as probing, alive.open("rb") as held:
        probing.send_signal(number)  # the pipe is open at both ends: the server runs
        assert held.read() == b""  # which ends with the last process that holds it
        assert probing.wait() == (130 if number is signal.SIGINT else -signal.SIGKILL)
