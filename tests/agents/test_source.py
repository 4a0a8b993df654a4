"""What a text means is decided in one function; everything else asks the result."""

from __future__ import annotations

import pickle

import pytest

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import (
    AgentSource,
    BuiltIn,
    Command,
    EntryPoint,
    Http,
    InProcess,
    Mcp,
    PythonClass,
    parse_named,
    parse_source,
)
from searchmark.config import load_config
from searchmark.errors import FormatError, UsageError

SOURCES: list[tuple[str, AgentSource]] = [
    ("bm25", BuiltIn("bm25")),
    ("in-memory", BuiltIn("in-memory")),
    ("vector", BuiltIn("semantic")),
    ("their-agent", EntryPoint("their-agent")),
    ("package.module:Class", PythonClass("package.module", "Class")),
    ("package.module:Outer.Inner", PythonClass("package.module", "Outer.Inner")),
    ("a/file.py:Class", PythonClass("a/file.py", "Class")),
    ("/a:b/file.py:Class", PythonClass("/a:b/file.py", "Class")),
    ("http://localhost:9/search", Http("http://localhost:9/search")),
    ("HTTPS://host/a:b", Http("HTTPS://host/a:b")),
    ("command:rg --json -e {query}", Command("command:rg --json -e {query}")),
    ("mcp:files", Mcp("mcp:files")),
    ("mcp.server:Agent", PythonClass("mcp.server", "Agent")),
]


@pytest.mark.parametrize(("text", "source"), SOURCES)
def test_every_kind_is_told_by_how_it_is_written(text: str, source: AgentSource) -> None:
    assert parse_source(text) == source
    assert parse_source(source.text) == source
    spec = AgentSpec("name", source, {"k": 1}, network=True, env=("NAME",))
    assert AgentSpec.from_plain(spec.to_plain()) == spec


def test_only_built_in_agents_execute_nothing_foreign() -> None:
    assert [text for text, source in SOURCES if not source.executes] == ["bm25", "in-memory", "vector"]
    assert InProcess(print).executes


@pytest.mark.parametrize(
    "text", ["", "=", "mine=", "=bm25", ":Class", "module:", "module:1", "http:/one", "in-process:a.b", "in-process:a.<lambda>"]
)
def test_what_names_no_agent_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"does not name an agent; write it as NAME, module:Class, file.py:Class, command:ARGV"):
        parse_named(text)


@pytest.mark.parametrize(
    ("text", "name", "source"),
    [
        ("mine=http://host/?a=b", "mine", Http("http://host/?a=b")),
        ("http://host/?a=b", None, Http("http://host/?a=b")),
        ("mine=command:x --a=b", "mine", Command("command:x --a=b")),
        ("command:x --a=b", None, Command("command:x --a=b")),
        ("a=b=c.py:D", "a", PythonClass("b=c.py", "D")),
    ],
)
def test_the_first_equals_sign_names_an_agent_unless_it_is_part_of_an_address(text: str, name: str, source: AgentSource) -> None:
    assert parse_named(text) == (name, source)


def test_an_agent_of_this_process_stays_there() -> None:
    source = InProcess(lambda query, k: [])
    assert source.text.startswith("in-process:tests.agents.test_source.")
    assert not AgentSpec("mine", source).isolated
    assert AgentSpec("mine", BuiltIn("bm25")).isolated
    with pytest.raises(TypeError, match="cannot be sent to a different one"):
        pickle.dumps(source)


def test_an_entry_of_a_config_file_is_a_spec(tmp_path) -> None:
    file = tmp_path / "searchmark.yaml"
    file.write_text("agents:\n  - {name: keyword_search, class: KeywordSearchAgent, config: {max_words: 4}}\n  - {name: vector}\n")
    assert load_config(file).agents == (
        AgentSpec("keyword_search", BuiltIn("keyword"), {"max_words": 4}),
        AgentSpec("vector", BuiltIn("semantic")),
    )


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (
            "{name: a, klass: bm25}",
            "agents.0: an agent is a name, or has a name, a source, a config, network, env, chunk_of and modes; 'klass' is not one of these",
        ),
        ("{class: bm25}", "the name is missing"),
        ("{name: a, class: 3}", "the source of 'a' is not text"),
        ("{name: a, config: [1]}", "the config of 'a' is not a mapping"),
        ("{name: a, network: 1}", "network of 'a' is neither true nor false"),
        ("{name: a, env: TOKEN}", "env of 'a' is not a list of names of environment variables"),
        ("{name: a, class: 'module:'}", "agents.0: 'module:' does not name an agent"),
        ("[a]", "list is neither"),
    ],
)
def test_an_entry_that_makes_no_sense_names_its_file_and_field(entry: str, sentence: str, tmp_path) -> None:
    file = tmp_path / "searchmark.yaml"
    file.write_text(f"agents:\n  - {entry}\n")
    with pytest.raises(FormatError) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}, agents.0: ")
    assert sentence in str(caught.value)
