"""Answers of MCP tools in all their shapes, from one server on the official SDK over streamable HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from searchmark import RetrievalResult, UsageError
from searchmark.agents.outside.mcp import McpAgent
from searchmark.agents.outside.options import McpSettings
from searchmark.agents.outside.results import ResultFormat, UnreadableAnswer
from searchmark.agents.protocol import Usage
from searchmark.agents.vectors.chunking import STATED_BY_SERVER, TOKENIZER_NAME, count_tokens
from tests.agents.outside.mcp_servers import SERVER

BOTH = ["alpha.txt", "docs/install.md"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    (folder / "docs").mkdir()
    (folder / "alpha.txt").write_text("alpha and beta\n")
    (folder / "docs" / "install.md").write_text("how to install gamma\n")
    return folder


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[int]:
    """A server over HTTP, by its port."""
    command = [sys.executable, SERVER, "http", str(folder), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.kill()


def url_at(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as port:
        yield url_at(port)


def asked(url: str, tool: str, query: str = "alpha install", **options: Any) -> RetrievalResult:
    agent = McpAgent(McpSettings(url=url, tool=tool, **options))
    try:
        return agent.retrieve(query, 5)
    finally:
        agent.close()


def test_structured_content_is_read_with_its_scores(url: str) -> None:
    result = asked(url, "search", arguments={"query": "{query}", "limit": "{k}"})
    assert (result.files, result.scores) == (BOTH, [1.0, 0.5])


def test_the_argument_is_inferred_where_a_tool_needs_one_text(url: str) -> None:
    assert asked(url, "search").files == BOTH


def test_paths_lead_to_hits_and_to_the_usage_that_a_server_states(url: str) -> None:
    result = asked(url, "nested", results=ResultFormat(hits="hits", id="doc.file", tokens="usage.tokens"))
    assert (result.files, result.usage) == (BOTH, Usage(tokens=321, tokens_by=STATED_BY_SERVER))


def test_usage_may_be_stated_beside_the_answer(url: str) -> None:
    result = asked(url, "stated", results=ResultFormat(tokens="_meta.usage.output_tokens"))
    assert (result.files, result.usage) == (BOTH, Usage(tokens=77, tokens_by=STATED_BY_SERVER))


def test_an_object_without_a_list_is_an_error_and_no_empty_answer(url: str) -> None:
    with pytest.raises(UnreadableAnswer, match=r"say where its hits are with results\.hits, such as results: \{hits: hits\}"):
        asked(url, "nested")


@pytest.mark.parametrize("tool", ["lines", "blocks", "json_blocks"])
def test_lines_and_blocks_are_hits(url: str, tool: str) -> None:
    assert asked(url, tool).files == BOTH


def test_json_in_a_text_is_read_by_paths(url: str) -> None:
    result = asked(url, "json_text", results=ResultFormat(hits="results", id="file_path"))
    assert result.files == BOTH


def test_paths_and_ranges_of_lines_are_found_in_a_text_by_a_pattern(url: str) -> None:
    result = asked(url, "ranges", results=ResultFormat(pattern=r"^## (?P<id>\S+?):(?P<first>\d+)-(?P<last>\d+)"))
    assert (result.files, result.lines) == (BOTH, [(1, 3), (2, 4)])


def test_a_text_that_does_not_fit_the_pattern_is_an_error(url: str) -> None:
    with pytest.raises(UnreadableAnswer, match="no line of the answer fits the pattern"):
        asked(url, "lines", results=ResultFormat(pattern=r"^(?P<id>\S+):\d+$"))


def test_nothing_is_found_where_the_tool_says_so(url: str) -> None:
    result = asked(url, "lines", "zebra", results=ResultFormat(nothing="^No matches found$"))
    assert result.files == []


def test_an_empty_list_is_an_empty_answer(url: str) -> None:
    assert asked(url, "search", "zebra").files == []


def test_links_to_files_are_their_paths(url: str, folder: Path) -> None:
    assert asked(url, "links").files == [str(folder / name) for name in BOTH]


def test_other_resources_are_named_by_their_address(url: str) -> None:
    assert asked(url, "embedded").files == [f"repo://{name}" for name in BOTH]


def test_an_answer_without_text_or_data_is_an_error(url: str) -> None:
    with pytest.raises(UnreadableAnswer, match="it has image"):
        asked(url, "picture")


def test_a_tool_that_reports_an_error_is_an_error_with_its_text(url: str) -> None:
    with pytest.raises(UnreadableAnswer, match="the tool reports an error: the index for 'alpha install' is locked"):
        asked(url, "fails")


@pytest.mark.parametrize("query", ['"; rm -rf / #', "--help", "{k} {corpus} ${HOME}", "a\nb\t\u00e4"])
def test_a_query_arrives_as_it_was_typed(url: str, query: str) -> None:
    assert asked(url, "echo", query).files == [query]


def test_a_number_becomes_text_where_the_tool_wants_text(url: str) -> None:
    assert asked(url, "text_limit", arguments={"query": "{query}", "limit": "{k}"}).files == ["5"]


def test_tokens_are_those_of_the_text_that_a_model_reads(url: str) -> None:
    agent = McpAgent(McpSettings(url=url, tool="lines"))
    agent.retrieve("alpha install", 5)
    usage = agent.usage_of_last()
    agent.close()
    assert usage == count_tokens("alpha.txt\ndocs/install.md")
    assert usage.tokens_by == TOKENIZER_NAME


def test_tokens_are_not_counted_where_nobody_wants_them(url: str) -> None:
    agent = McpAgent(McpSettings(url=url, tool="lines", count_tokens=False))
    agent.retrieve("alpha", 5)
    usage = agent.usage_of_last()
    agent.close()
    assert usage == Usage()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "offers several tools: say with tool which one searches: search, in_folder"),
        ({"tool": "serach"}, "has no tool 'serach'; it offers search, in_folder"),
        (
            {"tool": "search", "arguments": {"query": "{query}", "limt": 3}},
            "'limt' is none of its arguments; it takes query (string, required), limit (integer)",
        ),
        ({"tool": "search", "arguments": {"limit": "{query}"}}, "'query' is missing; it takes query (string, required)"),
        ({"tool": "search", "arguments": {"query": "{query}", "limit": "many"}}, "limit: 'many' is not of type 'integer'"),
        ({"tool": "in_folder"}, "say with arguments what the tool 'in_folder' is given"),
    ],
)
def test_what_does_not_fit_the_server_is_said_when_the_agent_starts(url: str, options: dict[str, Any], sentence: str) -> None:
    agent = McpAgent(McpSettings(url=url, **options))
    with pytest.raises(UsageError) as caught:
        agent.reset()
    agent.close()
    assert sentence in str(caught.value)


def test_keys_are_sent_from_the_environment_and_a_missing_one_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANTED_API_KEY", raising=False)
    agent = McpAgent(McpSettings(url=url, tool="search", headers={"Authorization": "Bearer ${PLANTED_API_KEY}"}))
    with pytest.raises(UsageError, match="the environment variable PLANTED_API_KEY is not set"):
        agent.reset()
    monkeypatch.setenv("PLANTED_API_KEY", "k")
    assert agent.retrieve("alpha", 5).files == ["alpha.txt"]
    agent.close()


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_PASSWORD", "pw-of-the-server")
    agent = McpAgent(McpSettings(url="http://user:${MCP_PASSWORD}@127.0.0.1:1/mcp", tool="search"))
    with pytest.raises(UsageError, match=r"the MCP server 'http://[^']*@127.0.0.1:1/mcp' cannot be started: ConnectError"):
        agent.reset()
    agent.close()


@pytest.mark.slow
def test_a_server_that_was_away_is_asked_again(folder: Path) -> None:
    with serving(folder) as port:
        agent = McpAgent(McpSettings(url=url_at(port), tool="lines"))
        agent.reset()
    with pytest.raises(UsageError, match="has failed in 'lines'"):
        agent.retrieve("alpha", 5)
    with serving(folder, port):
        agent.reset()
        assert agent.retrieve("alpha", 5).files == ["alpha.txt"]
        agent.close()
