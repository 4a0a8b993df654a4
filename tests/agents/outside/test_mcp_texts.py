"""Texts of MCP tools: without a word in the config only JSON and lines that look like ids are hits, and all else is an error."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import CallToolResult, TextContent

from searchmark.agents.outside.mcp import AnswerReader, ToolAnswerParts
from searchmark.agents.outside.results import ResultFormat, UnreadableAnswer


def ids(*texts: str, structured: Any = None, **results: Any) -> list[str]:
    content = [TextContent(type="text", text=text) for text in texts]
    answer = ToolAnswerParts.of(CallToolResult(content=content, structured_content=structured))
    return [hit.id for hit in AnswerReader(ResultFormat(**results)).read(answer).hits]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (['[{"id": "a.py"}, {"id"'], "the answer is not JSON"),
        (["{'id': 'a.py'}"], "the answer is not JSON"),
        (["null"], "the answer is JSON without hits: 'null'"),
        (["42"], "the answer is JSON without hits: '42'"),
        (['"a.py"'], "the answer is JSON without hits"),
        (["Error: index not found"], "does not look like an id: 'Error: index not found'"),
        (["[]", "Error: timeout while searching"], "the answer has JSON and other text: '[] Error: timeout while searching'"),
        (["a.py", "null"], "the answer has JSON and other text"),
        (["Found 2 files:\n\na.py\nb.py"], "does not look like an id: 'Found 2 files:'"),
        (["Results:\na.py"], "does not look like an id: 'Results:'"),
        (["---\na.py"], "does not look like an id: '---'"),
        (["a.py\nmy notes.md"], "does not look like an id: 'my notes.md'; say with results how hits are read"),
        ([], "the answer is empty; if that means no hits, say so with results.nothing: ^$"),
        ([" \n"], "the answer is empty"),
        (['{"error": "locked", "results": []}'], "say where its hits are with results.hits"),
    ],
)
def test_a_text_that_may_be_no_list_of_hits_is_an_error(texts: list[str], reason: str) -> None:
    with pytest.raises(UnreadableAnswer) as raised:
        ids(*texts)
    assert reason in str(raised.value)


@pytest.mark.parametrize("results", [{"format": "json"}, {"format": "lines"}, {"pattern": "(?P<id>.+)"}, {"hits": "hits"}])
def test_an_empty_answer_is_an_error_however_hits_are_read(results: dict[str, Any]) -> None:
    with pytest.raises(UnreadableAnswer, match="the answer is empty"):
        ids("", **results)
    assert ids("", nothing="^$", **results) == []


@pytest.mark.parametrize(
    ("texts", "results", "found"),
    [
        (["a.py\r\nsrc/b-c.py:12\r\n"], {}, ["a.py", "src/b-c.py:12"]),
        (["a.py", "", "Makefile"], {}, ["a.py", "Makefile"]),
        (["C:\\src\\a.pas", "repo://b#c"], {}, ["C:\\src\\a.pas", "repo://b#c"]),
        (["[]"], {}, []),
        (["my notes.md\n42"], {"format": "lines"}, ["my notes.md", "42"]),
        (["No files: none\nTry again"], {"nothing": "No files.*|Try again"}, []),
        (["a.py: No matches found"], {"pattern": "^(?P<id>[^:]+):", "nothing": "No matches found"}, ["a.py"]),
        (['[{"id": "a", "text": "No matches found"}]'], {"nothing": "No matches found"}, ["a"]),
    ],
)
def test_ids_are_read_from_texts(texts: list[str], results: dict[str, Any], found: list[str]) -> None:
    assert ids(*texts, **results) == found


def test_an_empty_text_beside_structured_content_does_not_hide_it() -> None:
    assert ids("", structured={"result": ["a"]}, nothing="^$") == ["a"]
    assert ids(structured={"result": []}) == []
