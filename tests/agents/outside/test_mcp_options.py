"""What an MCP server is described by: keys only by the names of their variables."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark import UsageError
from searchmark.agents.outside.mcp import McpAgent
from searchmark.agents.outside.options import McpSettings


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"url": "http://h/mcp", "headers": {"Authorization": "Bearer abcdef123456"}}, r"Bearer \$\{MY_AUTHORIZATION\}"),
        ({"url": "http://me:secret@h/mcp"}, r"\$\{MY_"),
        ({"argv": ("server",), "arguments": {"api_key": "abcdef123456"}}, r"\$\{MY_API_KEY\}"),
    ],
)
def test_a_key_that_is_written_out_is_refused_with_how_to_write_it(options: dict[str, Any], advice: str) -> None:
    with pytest.raises(UsageError, match=f"holds a secret, which would be stored with the config.*{advice}"):
        McpSettings(**options)


def test_a_key_that_is_named_is_taken() -> None:
    assert McpSettings(url="http://h/mcp", headers={"Authorization": "Bearer ${MY_KEY}"}).headers


def test_arguments_without_the_query_are_refused() -> None:
    with pytest.raises(UsageError, match=r"the query goes nowhere: write {query} in arguments"):
        McpAgent(McpSettings(argv=("server",), arguments={"query": "fixed", "limit": "{k}"}))
