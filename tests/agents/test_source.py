"""What a text means is decided in one function; everything else asks the result."""

from __future__ import annotations

import pickle

import pytest

from searchmark import AgentSpec, FormatError, UsageError, load_config
from searchmark.config.agents import (
    AgentSource,
    BuiltInSource,
    CommandSource,
    EntryPointSource,
    HttpSource,
    InProcessSource,
    McpSource,
    PythonSource,
    parse_named_source,
    parse_source,
)

SOURCES: list[tuple[str, AgentSource]] = [
    ("bm25", BuiltInSource("bm25")),
    ("in-memory", BuiltInSource("in-memory")),
    ("vector", BuiltInSource("semantic")),
    ("their-agent", EntryPointSource("their-agent")),
    ("package.module:Class", PythonSource("package.module", "Class")),
    ("package.module:Outer.Inner", PythonSource("package.module", "Outer.Inner")),
    ("a/file.py:Class", PythonSource("a/file.py", "Class")),
    ("/a:b/file.py:Class", PythonSource("/a:b/file.py", "Class")),
    ("http://localhost:9/search", HttpSource("http://localhost:9/search")),
    ("HTTPS://host/a:b", HttpSource("HTTPS://host/a:b")),
    ("command:rg --json -e {query}", CommandSource("command:rg --json -e {query}")),
    ("mcp:files", McpSource("mcp:files")),
    ("mcp.server:Agent", PythonSource("mcp.server", "Agent")),
]


@pytest.mark.parametrize(("text", "source"), SOURCES)
def test_every_kind_is_told_by_how_it_is_written(text: str, source: AgentSource) -> None:
    assert parse_source(text) == source
    assert parse_source(source.text) == source
    spec = AgentSpec("name", source, {"k": 1}, network=True, env=("NAME",))
    assert AgentSpec.from_plain(spec.to_plain()) == spec


def test_only_built_in_agents_execute_nothing_foreign() -> None:
    assert [text for text, source in SOURCES if not source.executes] == ["bm25", "in-memory", "vector"]
    assert InProcessSource(print).executes


@pytest.mark.parametrize(
    "text", ["", "=", "mine=", "=bm25", ":Class", "module:", "module:1", "http:/one", "in-process:a.b", "in-process:a.<lambda>"]
)
def test_what_names_no_agent_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"does not name an agent; write it as NAME, module:Class, file.py:Class, command:ARGV"):
        parse_named_source(text)


@pytest.mark.parametrize(
    ("text", "name", "source"),
    [
        ("mine=http://host/?a=b", "mine", HttpSource("http://host/?a=b")),
        ("http://host/?a=b", None, HttpSource("http://host/?a=b")),
        ("mine=command:x --a=b", "mine", CommandSource("command:x --a=b")),
        ("command:x --a=b", None, CommandSource("command:x --a=b")),
        ("a=b=c.py:D", "a", PythonSource("b=c.py", "D")),
    ],
)
def test_the_first_equals_sign_names_an_agent_unless_it_is_part_of_an_address(text: str, name: str, source: AgentSource) -> None:
    assert parse_named_source(text) == (name, source)


def test_an_agent_of_this_process_stays_there() -> None:
    source = InProcessSource(lambda query, k: [])
    assert source.text.startswith("in-process:tests.agents.test_source.")
    assert not AgentSpec("mine", source).isolated
    assert AgentSpec("mine", BuiltInSource("bm25")).isolated
    with pytest.raises(TypeError, match="cannot be sent to a different one"):
        pickle.dumps(source)


def test_an_entry_of_a_config_file_is_a_spec(tmp_path) -> None:
    file = tmp_path / "searchmark.yaml"
    file.write_text("agents:\n  - {name: keyword_search, class: KeywordSearchAgent, config: {max_words: 4}}\n  - {name: vector}\n")
    assert load_config(file).agents == (
        AgentSpec("keyword_search", BuiltInSource("keyword"), {"max_words": 4}),
        AgentSpec("vector", BuiltInSource("semantic")),
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
