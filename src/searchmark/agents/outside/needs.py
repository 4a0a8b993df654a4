"""What an agent that asks something outside needs, read from its spec alone: an address, variables, a program and its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.outside.process import found_program
from searchmark.agents.source import BuiltIn, Command, Http, Mcp
from searchmark.errors import UsageError
from searchmark.services.variables import DEFAULT_DSN, variables_in


def asks_service(spec: AgentSpec) -> bool:
    """Whether it asks an address by itself; what a program does is not known."""
    return isinstance(spec.source, Http) or (isinstance(spec.source, Mcp) and bool(spec.options.get("url")))


def filled_variables(spec: AgentSpec) -> frozenset[str]:
    """The environment variables that its config names as ``${NAME}``: keys of a service, which nobody else gets."""
    return frozenset(variables_in(spec.options if isinstance(spec.source, Http | Mcp) else databases(spec)))


def databases(spec: AgentSpec) -> list[str]:
    """The addresses of databases that one of our agents asks: for its index, or for the table that it searches."""
    if not isinstance(spec.source, BuiltIn):
        return []
    index = spec.config.get("index")
    described = index if isinstance(index, Mapping) else {"name": index}
    asking = [described] if described.get("name") == "pgvector" else []
    if spec.source.name == "vector-table" and not spec.config.get("database"):
        asking.append(spec.config)
    return [str(each.get("dsn", DEFAULT_DSN)) for each in asking]


def program_files(spec: AgentSpec) -> Iterator[Path]:
    """The program that it starts, the files among its arguments, where it is started, and what the config says that it reads."""
    if not isinstance(spec.source, Command | Mcp):
        return
    options, folder = spec.options, _folder(spec.options)
    if folder is not None:
        yield folder
    for argv in (_texts(options.get("argv")), _texts(options.get("startup"))):
        with suppress(UsageError):  # the agent says which program there is not
            yield from (Path(found_program(name)) for name in argv[:1])
        named = ((folder or Path.cwd()) / word for word in argv[1:])
        yield from (path for path in named if _is_file(path))
    yield from (path for each in _texts(options.get("reads")) if (path := Path(each).absolute()).exists())


def _folder(options: Mapping[str, Any]) -> Path | None:
    folder = options.get("folder")
    path = Path(folder).absolute() if isinstance(folder, str) else None
    return path if path is not None and path.is_dir() else None


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no path at all
        return False
