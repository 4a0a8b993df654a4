"""MCP servers that are started: how they end, how they fail, and what is left of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from searchmark import Changes, UsageError, load_corpus
from searchmark.agents.outside.mcp import MOST_RESTARTS, McpAgent
from searchmark.agents.outside.mcp_connection import McpServerFailed
from searchmark.agents.outside.options import McpSettings
from searchmark.agents.outside.results import ResultFormat
from tests.agents.outside.mcp_servers import misbehaving_agent, stdio_agent

SHORT = 0.3  # seconds, for a server that will never answer


@contextmanager
def misbehaving(mode: str = "", **options: Any) -> Iterator[McpAgent]:
    agent = misbehaving_agent(mode, **options)
    try:
        yield agent
    finally:
        agent.close()


def server_of(agent: McpAgent) -> int:
    """The process that has answered."""
    return int(agent.retrieve("pid", 5).files[0])


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_server_answers_all_queries_and_is_gone_at_the_end() -> None:
    with misbehaving() as agent:
        first, second = server_of(agent), server_of(agent)
        assert first == second
        assert is_running(first)
    assert not is_running(first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("hang", "did not answer 'search' within 0.3 s; the end of its stderr: about to hang"),
        ("die", "has failed in 'search': Connection closed; it exited with code 7; the end of its stderr: out of luck"),
        ("garbage", "did not answer 'search' within 0.3 s; it wrote a line to stdout that is not an MCP message: 'what is JSON?'"),
        ("huge", "it wrote a message of more than 1000000 bytes"),
    ],
)
def test_a_server_that_fails_is_an_error_with_its_words_and_is_started_again(query: str, sentence: str) -> None:
    with misbehaving(timeout_seconds=SHORT, max_answer_bytes=1_000_000) as agent:
        agent.reset()
        before = server_of(agent)
        with pytest.raises(McpServerFailed) as caught:
            agent.retrieve(query, 5)
        assert sentence in str(caught.value)
        agent.reset()
        assert server_of(agent) != before
        assert not is_running(before)


def test_a_server_that_fails_again_and_again_is_left_alone() -> None:
    with misbehaving() as agent:
        for _ in range(MOST_RESTARTS + 1):
            with pytest.raises(McpServerFailed, match="exited with code 7"):
                agent.retrieve("die", 5)
        with pytest.raises(UsageError, match="has failed 6 times in a row, and is not started again"):
            agent.retrieve("alpha", 5)


def test_what_a_server_prints_beside_its_messages_is_ignored_while_it_answers() -> None:
    with misbehaving("babbles") as agent:
        assert agent.retrieve("babble", 5).files[1] == "babble"


@pytest.mark.parametrize(
    ("mode", "options", "sentence"),
    [
        ("exits", {}, "cannot be started: Connection closed; it exited with code 1; the end of its stderr: no licence found"),
        ("silent", {"start_timeout_seconds": SHORT}, "did not get ready within 0.3 s"),
        ("wrong-schema", {}, "the schema of the tool 'search' is invalid: 'txet' is not valid"),
        ("no-tools", {}, "the MCP server offers no tools"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(mode: str, options: dict[str, Any], sentence: str) -> None:
    with misbehaving(mode, **options) as agent, pytest.raises(UsageError) as caught:
        agent.reset()
    assert sentence in str(caught.value)


def test_a_program_that_is_not_there_is_named() -> None:
    agent = McpAgent(McpSettings(argv=("no-such-server", "--fast")))
    with pytest.raises(UsageError, match="the program 'no-such-server' cannot be started: it is not on the PATH"):
        agent.reset()


def test_what_a_server_has_started_ends_with_it(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    with misbehaving(results=ResultFormat(format="lines")) as agent:
        agent.retrieve(f"orphan {alive}", 5)
        held = alive.open("rb")  # opened at the other end by a child of the server
    with held:
        assert held.read() == b""  # it ends with the last process that holds it


def test_the_sdk_says_nothing_on_our_streams(capfd: pytest.CaptureFixture[str]) -> None:
    with misbehaving("babbles") as agent:
        agent.retrieve("babble", 5)
        with pytest.raises(McpServerFailed):
            agent.retrieve("die", 5)
    assert capfd.readouterr() == ("", "")
    assert not logging.getLogger("mcp").propagate


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text("alpha\n")
    return tmp_path / "one", tmp_path / "two"


def test_a_server_that_is_told_the_corpus_is_started_for_each(folders: tuple[Path, Path]) -> None:
    with misbehaving("{corpus}") as agent:
        assert agent.needs_corpus
        told = []
        for folder in folders:
            agent.initialize(load_corpus(folder))
            told.append(agent.retrieve("alpha", 5).files[2])
    assert told == [str(folder) for folder in folders]


def test_a_server_that_reads_its_corpus_once_is_started_again_for_a_change_in_place(folders: tuple[Path, Path]) -> None:
    with misbehaving("{corpus}", restart_on_change=True) as agent:
        agent.initialize(load_corpus(folders[0]))
        before = server_of(agent)
        assert not agent.update(Changes(load_corpus(folders[0]), ("one.txt",), ()))
        agent.initialize(load_corpus(folders[0]))
        assert server_of(agent) != before


@pytest.mark.slow
def test_a_tool_that_is_told_the_corpus_stays_with_its_server(folders: tuple[Path, Path]) -> None:
    agent = stdio_agent("stdio", folders[0], tool="in_folder", arguments={"query": "{query}", "folder": "{corpus}"})
    agent.initialize(load_corpus(folders[0]))
    first, connection = agent.retrieve("alpha", 5).files, agent._connection
    assert agent.update(Changes(load_corpus(folders[0]), ("one.txt",), ()))
    assert not agent.update(Changes(load_corpus(folders[1]), ("two.txt",), ("one.txt",)))
    agent.initialize(load_corpus(folders[1]))
    second = agent.retrieve("alpha", 5).files
    assert agent._connection is connection
    agent.close()
    assert (first, second) == (["one.txt"], ["two.txt"])


def test_an_agent_whose_server_has_its_own_corpus_asks_for_none() -> None:
    assert not misbehaving_agent().needs_corpus


def test_a_config_without_a_server_is_refused() -> None:
    with pytest.raises(UsageError, match="say which MCP server"):
        McpAgent()


def test_a_server_has_a_command_or_an_address() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        McpSettings(argv=("python",), url="http://127.0.0.1/mcp")
