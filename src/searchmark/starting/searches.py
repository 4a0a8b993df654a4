"""Searches that files of a project name: they are told to the user as something to say, and never asked or started from here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchmark.errors import SearchmarkError
from searchmark.files.store import open_stored
from searchmark.files.toml_files import parse_toml
from searchmark.files.yaml_files import parse_yaml

LARGEST = 1 << 20  # bytes of a description that is read
_DESCRIPTIONS = (
    "openapi.yaml",
    "openapi.yml",
    "openapi.json",
    "swagger.yaml",
    "swagger.json",
    "docs/openapi.yaml",
    "api/openapi.yaml",
)
_SERVERS = (".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")
_WORD = "search"


@dataclass(frozen=True)
class NamedSearch:
    """Where it is named, what it is, and what to say to have it measured."""

    file: str
    what: str
    agent: str


def named_searches(folder: Path) -> Iterator[NamedSearch]:
    """Every one, in the order of the files."""
    for file in _DESCRIPTIONS:
        yield from _of_openapi(file, _data(folder / file))
    for file in _SERVERS:
        yield from _of_servers(file, _data(folder / file))
    yield from _of_package(_data(folder / "package.json"))
    yield from _of_pyproject(_data(folder / "pyproject.toml"))


def _data(path: Path) -> Mapping[str, Any]:
    """The plain data of a file; nothing for one that is missing, large, broken, or not a mapping."""
    try:
        with open_stored(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            return {}
        text = content.decode()
        if path.suffix == ".toml":
            return parse_toml(path, text)
        data = json.loads(text) if path.suffix == ".json" else parse_yaml(path, text)
    except (SearchmarkError, OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, Mapping) else {}


def _of_openapi(file: str, data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    """Paths with the word search, at the first server of the description."""
    servers = data.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else {}
    server = first.get("url") if isinstance(first, Mapping) else None
    base = server if isinstance(server, str) and server.startswith(("http://", "https://")) else "http://localhost:8080"
    for path, operations in _mapping(data.get("paths")).items():
        if _WORD in str(path).lower() and "get" in _mapping(operations):
            yield NamedSearch(file, f"GET {path}", f"{base.rstrip('/')}{path}?{_query_parameter(operations['get'])}={{query}}")


def _query_parameter(operation: Any) -> str:
    parameters = _mapping(operation).get("parameters")
    named = [each.get("name") for each in parameters or () if isinstance(each, Mapping) and each.get("in") == "query"]
    return next((str(name) for name in named if name in ("q", "query", "search", "text", "term")), str(named[0]) if named else "q")


def _of_servers(file: str, data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    for name, server in _mapping(data.get("mcpServers") or data.get("servers")).items():
        described = _mapping(server)
        command, arguments, url = described.get("command"), described.get("args"), described.get("url")
        words = [command, *(arguments if isinstance(arguments, list) else [])] if isinstance(command, str) else [url]
        if all(isinstance(word, str) for word in words):
            yield NamedSearch(file, f"MCP server {name}", "mcp:" + " ".join(map(str, words)))


def _of_package(data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    for name in _mapping(data.get("scripts")):
        if _WORD in str(name).lower():
            yield NamedSearch("package.json", f"script {name}", f"command:npm run --silent {name} -- {{query}}")


def _of_pyproject(data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    for name in _mapping(_mapping(data.get("project")).get("scripts")):
        if _WORD in str(name).lower() and name != "searchmark":
            yield NamedSearch("pyproject.toml", f"command {name}", f"command:{name} {{query}}")


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}
