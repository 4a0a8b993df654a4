"""Who may start a program or ask an address: never a file that was only found, and nobody where it was forbidden.

Every spelling is tried with a real mark: a program that would make a file, and a server that would hear of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from searchmark.cli.main import main
from tests.support.listener import Listener, listening

pytestmark = pytest.mark.slow

TOUCH = ["touch", "MARK", "{query}"]
TOUCHING = "command:touch MARK {query}"
PROGRAMS: dict[str, Any] = {
    "text": TOUCHING,
    "source": {"name": "x", "source": TOUCHING},
    "class": {"name": "x", "class": TOUCHING},
    "capitals": {"name": "x", "source": "COMMAND:touch MARK {query}"},
    "config": {"name": "x", "source": "command", "config": {"argv": TOUCH}},
    "name": {"name": "command", "config": {"argv": TOUCH}},
    "startup": {"name": "x", "source": "command:true {query}", "config": {"startup": ["touch", "MARK"]}},
    "stays": {"name": "x", "source": "command", "config": {"argv": ["touch", "MARK"], "stays": True}},
    "mode": {"name": "x", "source": "command", "modes": {"m": {"argv": TOUCH}}},
    "arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", TOUCHING]}},
    "class of an arm": {"name": "x", "class": "hybrid", "config": {"arms": ["bm25", {"name": "y", "class": TOUCHING}]}},
    "config of an arm": {"name": "x", "source": "rerank", "config": {"arm": {"name": "command", "config": {"argv": TOUCH}}}},
    "arm of an arm": {
        "name": "x",
        "source": "rerank",
        "config": {"arm": {"name": "y", "source": "hybrid", "config": {"arms": ["bm25", TOUCHING]}}},
    },
    "arm of a mode": {"name": "x", "source": "hybrid", "modes": {"m": {"arms": ["bm25", TOUCHING]}}},
    "mode of an arm": {
        "name": "x",
        "source": "rerank",
        "config": {"arm": {"name": "y", "source": "command", "modes": {"m": {"argv": TOUCH}}}},
    },
    "arm of a mode of an arm": {
        "name": "x",
        "source": "rerank",
        "config": {"arm": {"name": "y", "source": "hybrid", "modes": {"m": {"arms": ["bm25", TOUCHING]}}}},
    },
    "arm of our own pair": {"name": "x", "source": "fts5+vector", "config": {"arms": ["bm25", TOUCHING]}},
    "server": {"name": "x", "source": "mcp:touch MARK", "config": {"tool": "t"}},
    "server in a config": {"name": "x", "source": "mcp", "config": {"argv": ["touch", "MARK"], "tool": "t"}},
    "server in a mode": {"name": "x", "source": "mcp", "modes": {"m": {"argv": ["touch", "MARK"], "tool": "t"}}},
    "server as an arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", "mcp:touch MARK"]}},
}
ADDRESSES: dict[str, Any] = {
    "text": "URL?q={query}",
    "source": {"name": "x", "source": "URL?q={query}"},
    "class": {"name": "x", "class": "URL?q={query}"},
    "capitals": {"name": "x", "source": "HURL?q={query}"},
    "config": {"name": "x", "source": "http", "config": {"url": "URL?q={query}"}},
    "name": {"name": "http", "config": {"url": "URL?q={query}"}},
    "parameters": {"name": "x", "source": "http", "config": {"url": "URL", "parameters": {"q": "{query}"}}},
    "mode": {"name": "x", "source": "http", "modes": {"m": {"url": "URL?q={query}"}}},
    "preset": {"name": "x", "source": "http", "config": {"preset": "elasticsearch", "url": "URL", "index": "i"}},
    "arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", "URL?q={query}"]}},
    "class of an arm": {"name": "x", "class": "rerank", "config": {"arm": {"name": "y", "class": "URL?q={query}"}}},
    "arm of an arm": {
        "name": "x",
        "source": "rerank",
        "config": {"arm": {"name": "y", "source": "hybrid", "config": {"arms": ["bm25", "URL?q={query}"]}}},
    },
    "arm of a mode": {"name": "x", "source": "hybrid", "modes": {"m": {"arms": ["bm25", "URL?q={query}"]}}},
    "mode of an arm": {
        "name": "x",
        "source": "rerank",
        "config": {"arm": {"name": "y", "source": "http", "modes": {"m": {"url": "URL?q={query}"}}}},
    },
    "server": {"name": "x", "source": "mcp:URL", "config": {"tool": "t"}},
    "server in capitals": {"name": "x", "source": "mcp:HURL", "config": {"tool": "t"}},
    "server in a config": {"name": "x", "source": "mcp", "config": {"url": "URL", "tool": "t"}},
    "server as an arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", "mcp:URL"]}},
    "server in a mode": {"name": "x", "source": "mcp", "modes": {"m": {"url": "URL", "tool": "t"}}},
}
# Nothing here says where the database is: it is the one in the environment of whoever runs this.
STORED = {"embedder": "hashing", "index": "pgvector"}
TABLE = {"embedder": "hashing", "table": "users", "id_column": "pwhash"}
DATABASES: dict[str, Any] = {
    "index": {"name": "x", "source": "semantic", "config": STORED},
    "name": {"name": "semantic", "config": STORED},
    "class": {"name": "x", "class": "semantic", "config": STORED},
    "index with options": {"name": "x", "source": "semantic", "config": {"index": {"name": "pgvector", "schema": "public"}}},
    "default as it is written": {
        "name": "x",
        "source": "semantic",
        "config": {"index": {"name": "pgvector", "dsn": "${SEARCHMARK_DSN}"}},
    },
    "empty address": {"name": "x", "source": "semantic", "config": {"index": {"name": "pgvector", "dsn": ""}}},
    "mode": {"name": "x", "source": "semantic", "config": {"embedder": "hashing"}, "modes": {"m": {"index": "pgvector"}}},
    "arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", {"name": "semantic", "config": STORED}]}},
    "arm of an arm": {
        "name": "x",
        "source": "rerank",
        "config": {"arm": {"name": "y", "source": "hybrid", "config": {"arms": ["bm25", {"name": "semantic", "config": STORED}]}}},
    },
    "arm of a mode": {"name": "x", "source": "hybrid", "modes": {"m": {"arms": ["bm25", {"name": "semantic", "config": STORED}]}}},
    "arm of our own pair": {
        "name": "x",
        "source": "fts5+vector",
        "config": {"arms": ["bm25", {"name": "semantic", "config": STORED}]},
    },
    "table": {"name": "x", "source": "vector-table", "config": TABLE},
    "table by name": {"name": "vector-table", "config": TABLE},
    "table with an empty address": {"name": "x", "source": "vector-table", "config": {**TABLE, "dsn": ""}},
    "table with an empty file": {"name": "x", "source": "vector-table", "config": {**TABLE, "database": ""}},
    "table in a mode": {"name": "x", "source": "vector-table", "modes": {"m": TABLE}},
    "table in a mode in place of a file": {
        "name": "x",
        "source": "vector-table",
        "config": {**TABLE, "database": "docs.jsonl"},
        "modes": {"m": {"database": ""}},
    },
    "table as an arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", {"name": "vector-table", "config": TABLE}]}},
}
SPELLINGS = {
    **{f"program, {name}": each for name, each in PROGRAMS.items()},
    **{f"address, {name}": each for name, each in ADDRESSES.items()},
    **{f"database, {name}": each for name, each in DATABASES.items()},
}


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with listening() as found:
        yield found


@pytest.fixture
def project(tmp_path: Path, listener: Listener, monkeypatch) -> Path:
    monkeypatch.setenv("SEARCHMARK_DSN", f"postgresql://me@127.0.0.1:{urlsplit(listener.url).port}/mine")
    (tmp_path / ".git").mkdir()
    (tmp_path / "docs.jsonl").write_text('{"id": "d1", "text": "one word"}\n{"id": "d2", "text": "two words"}\n')
    write_suite(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_suite(folder: Path, **header: Any) -> None:
    cases = [{"id": "c1", "query": "word", "judgments": [{"target": "d1"}]}]
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "s", **header, "cases": cases}))


def filled(entry: Any, project: Path, listener: Listener) -> Any:
    text = json.dumps(entry).replace("MARK", str(project / "mark")).replace("HURL", listener.url.replace("http", "HTTP", 1))
    return json.loads(text.replace("URL", listener.url))


def arguments(*more: str) -> list[str]:
    return ["evaluate", "--gold-set", "suite.json", "--corpus", "docs.jsonl", "--num-runs", "1", "--no-archive", *more]


def name_of(entry: Any) -> list[str]:
    """How the agent is asked for on the command line; one that is only named in a config cannot be asked for by its text."""
    modes = ["--mode", "m"] if isinstance(entry, dict) and entry.get("modes") else []
    return ["--agent", entry if isinstance(entry, str) else entry["name"], *modes]


def assert_untouched(project: Path, listener: Listener, before: int) -> None:
    assert not (project / "mark").exists()
    assert listener.connections == before


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("file", ["searchmark.yaml", "pyproject.toml"])
def test_a_config_that_was_only_found_names_no_program_and_no_address(
    spelling: str, file: str, project: Path, listener: Listener, capsys
) -> None:
    before, entry = listener.connections, filled(SPELLINGS[spelling], project, listener)
    write_config(project / file, entry)
    code = main(arguments(*name_of(entry)))
    said = capsys.readouterr().err
    assert (code, "which only a config that you name may set" in said) == (4, True), said
    assert_untouched(project, listener, before)


def write_config(file: Path, entry: Any) -> None:
    if file.suffix == ".toml":
        inline = json.dumps(entry).replace('": ', '" = ').replace("true", "true")
        file.write_text(f"[tool.searchmark]\nagents = [{inline}]\n")
    else:
        file.write_text(json.dumps({"agents": [entry]}))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_header_of_a_suite_names_no_program_and_no_address(spelling: str, project: Path, listener: Listener, capsys) -> None:
    before, entry = listener.connections, filled(SPELLINGS[spelling], project, listener)
    modes = {"mode": "m"} if isinstance(entry, dict) and entry.get("modes") else {}
    write_suite(project, agent=entry, **modes)
    code = main(arguments("--no-config"))
    said = capsys.readouterr().err
    assert (code, "the suite sets" in said) == (4, True), said
    assert_untouched(project, listener, before)


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if not each.startswith("database")])
def test_no_exec_refuses_all_of_them_in_a_config_that_was_named(spelling: str, project: Path, listener: Listener, capsys) -> None:
    before, entry = listener.connections, filled(SPELLINGS[spelling], project, listener)
    write_config(project / "mine.json", entry)
    code = main(arguments("--config", "mine.json", *name_of(entry), "--no-exec"))
    said = capsys.readouterr().err
    assert (code, bool(re.search("--no-exec allow|an arm is asked in one way", said))) == (4, True), said
    assert_untouched(project, listener, before)


@pytest.mark.parametrize("spelling", ADDRESSES)
def test_offline_refuses_every_address_loopback_too(spelling: str, project: Path, listener: Listener, capsys) -> None:
    before, entry = listener.connections, filled(ADDRESSES[spelling], project, listener)
    write_config(project / "mine.json", entry)
    code = main(arguments("--config", "mine.json", *name_of(entry), "--offline"))
    said = capsys.readouterr().err
    assert (code, bool(re.search("--offline and --no-exec allow no network|an arm is asked in one way", said))) == (4, True), said
    assert_untouched(project, listener, before)


@pytest.mark.parametrize("spelling", ["name", "startup", "mode", "arm of an arm"])
def test_a_config_that_was_named_starts_a_program_offline_too(spelling: str, project: Path, listener: Listener) -> None:
    """Only a sandbox keeps a program from the network; and this is what the marks above would look like."""
    entry = filled(PROGRAMS[spelling], project, listener)
    write_config(project / "mine.json", entry)
    assert main(arguments("--config", "mine.json", *name_of(entry), "--offline")) in (0, 2)
    assert (project / "mark").exists()


@pytest.mark.parametrize("spelling", ["text", "name", "mode", "arm of an arm"])
def test_a_config_that_was_named_asks_an_address(spelling: str, project: Path, listener: Listener) -> None:
    before, entry = listener.connections, filled(ADDRESSES[spelling], project, listener)
    write_config(project / "mine.json", entry)
    assert main(arguments("--config", "mine.json", *name_of(entry))) == 0
    assert listener.connections > before
    assert listener.requests[-1] == "/search?q=word"


@pytest.mark.parametrize("spelling", DATABASES)
@pytest.mark.parametrize("flag", ["--offline", "--no-exec"])
def test_without_the_network_no_database_is_asked(spelling: str, flag: str, project: Path, listener: Listener, capsys) -> None:
    before, entry = listener.connections, DATABASES[spelling]
    write_config(project / "mine.json", entry)
    code = main(arguments("--config", "mine.json", *name_of(entry), flag))
    said = capsys.readouterr().err
    assert (code, "asks a database, and --offline and --no-exec allow no network" in said) == (4, True), said
    assert_untouched(project, listener, before)


@pytest.mark.slow
@pytest.mark.parametrize("spelling", ["index", "mode", "table"])
def test_a_config_that_was_named_asks_the_database_of_the_environment(spelling: str, project: Path, listener: Listener) -> None:
    before, entry = listener.connections, DATABASES[spelling]
    write_config(project / "mine.json", entry)
    main(arguments("--config", "mine.json", *name_of(entry)))
    assert listener.connections > before


def test_a_file_of_sqlite_in_the_project_is_no_database_of_the_environment(project: Path, listener: Listener, capsys) -> None:
    before = listener.connections
    write_config(
        project / "searchmark.yaml", {"name": "x", "source": "vector-table", "config": {**TABLE, "database": "docs.jsonl"}}
    )
    main(arguments("--agent", "x"))
    assert "which only a config that you name may set" not in capsys.readouterr().err
    assert_untouched(project, listener, before)


@pytest.mark.parametrize("choice", ["index", "arm", "mode"])
def test_only_a_config_that_was_named_has_vectors_written_to_a_file(choice: str, project: Path, capsys) -> None:
    written = {"embedder": "hashing", "index": {"name": "exact", "file": str(project / "vectors")}}
    entry: dict[str, Any] = {
        "index": {"name": "x", "source": "semantic", "config": written},
        "arm": {"name": "x", "source": "hybrid", "config": {"arms": ["bm25", {"name": "semantic", "config": written}]}},
        "mode": {"name": "x", "source": "semantic", "modes": {"m": written}},
    }[choice]
    write_config(project / "searchmark.yaml", entry)
    assert main(arguments(*name_of(entry))) == 4
    assert "is a file to write to, which only a config that you name may set" in capsys.readouterr().err
    write_suite(project, agent=entry, **({"mode": "m"} if choice == "mode" else {}))
    assert main(arguments("--no-config")) == 4
    assert "index.file of its agent, which is a file to write to" in capsys.readouterr().err
    assert not (project / "vectors").exists()


@pytest.mark.parametrize("option", ["m", "ef_construction", "ef_search", "threads"])
def test_the_header_of_a_suite_cannot_ask_for_a_graph_without_bounds(option: str, project: Path, capsys) -> None:
    write_suite(
        project, agent={"name": "semantic", "config": {"embedder": "hashing", "index": {"name": "hnsw", option: 1_000_000}}}
    )
    assert main(arguments("--no-config")) == 4
    assert "less than or equal to" in capsys.readouterr().err
