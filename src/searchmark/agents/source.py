"""Where an agent comes from, read once from its text; nothing else looks into that text.

    NAME                          a built-in agent or an alias of one; any other name is the entry point of a plug-in
    module:Class  file.py:Class   Python code: a class, or a function (query, k)
    command:rg -l {query}         a program; `command` alone where the config says which
    http://…  https://…           a service; `http` alone likewise
    mcp:… (argv or address)       an MCP server; `mcp` alone likewise

Reading a text imports nothing and looks nothing up: whether there is such an agent is the registry's question.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NoReturn

from searchmark.errors import UsageError

# Where each built-in agent is, below this package; imported when it is asked for.
BUILT_IN = {
    "bm25": "bm25:Bm25Agent",
    "fts5": "fts5:Fts5Agent",
    "fts5+vector": "hybrid:Fts5VectorAgent",
    "fts5+vector+reranker": "rerank:Fts5VectorRerankerAgent",
    "hybrid": "hybrid:HybridAgent",
    "in-memory": "in_memory:InMemoryAgent",
    "keyword": "keyword:KeywordAgent",
    "path-match": "controls:PathMatchAgent",
    "popular": "controls:PopularAgent",
    "random": "controls:RandomAgent",
    "rerank": "rerank:RerankAgent",
    "semantic": "semantic:SemanticAgent",
    "vector-table": "vector_table:VectorTableAgent",
}
ALIASES = {
    "KeywordSearchAgent": "keyword",
    "keyword_search": "keyword",
    "SemanticSearchAgent": "semantic",
    "semantic_search": "semantic",
    "vector": "semantic",
    "HybridAgent": "hybrid",
    "HybridSearchAgent": "hybrid",
    "hybrid_search": "hybrid",
    "reranker": "rerank",
}
_IN_PROCESS = "in-process"


@dataclass(frozen=True)
class BuiltIn:
    """An agent that comes with Searchmark, by the name that we have for it."""

    name: str

    executes: ClassVar[bool] = False
    runs_code: ClassVar[bool] = False

    @property
    def text(self) -> str:
        return self.name

    def load(self) -> Any:
        """Its class, imported now."""
        return _imported(BUILT_IN[self.name])


def _imported(code: str) -> Any:
    module, _, attribute = code.rpartition(":")
    return getattr(import_module(f"searchmark.agents.{module}"), attribute)


@dataclass(frozen=True)
class EntryPoint:
    """An agent that an installed package brings along, by the name of its entry point."""

    name: str

    executes: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class PythonClass:
    """A class or function that a worker imports: ``module`` is the name of a module or the path of a ``.py`` file."""

    module: str
    attribute: str

    executes: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.module}:{self.attribute}"


@dataclass(frozen=True)
class _Outside:
    """A search that is already running, or can be started, and is none of Python: asked by an agent of ours.

    The text may hold options: those that `options` reads from it come below what the config says.
    """

    text: str

    executes: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True  # on this machine, with the rights of the user
    kind: ClassVar[str]
    agent: ClassVar[str]  # where the class is, below this package

    @property
    def described(self) -> str:
        """What follows the kind; nothing where the config says it all."""
        return "" if self.text == self.kind else self.text.partition(":")[2].strip()

    @property
    def options(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def load(self) -> Any:
        """The class of the agent that asks it, imported now."""
        return _imported(self.agent)


class Command(_Outside):
    """A program that is started for every query, or once."""

    kind = "command"
    agent = "outside.command:CommandAgent"

    @property
    def options(self) -> Mapping[str, Any]:
        return {"argv": _words(self.text, self.described)} if self.described else {}


class Http(_Outside):
    """A service that answers over HTTP, by its address. What it executes is not here."""

    kind = "http"
    agent = "outside.http:HttpAgent"
    runs_code = False

    @property
    def options(self) -> Mapping[str, Any]:
        return {} if self.text == self.kind else {"url": self.text}


class Mcp(_Outside):
    """An MCP server: a program that is started, or an address."""

    kind = "mcp"
    agent = "outside.mcp:McpAgent"

    @property
    def options(self) -> Mapping[str, Any]:
        if not self.described:
            return {}
        is_address = self.described.lower().startswith(("http://", "https://"))
        return {"url": self.described} if is_address else {"argv": _words(self.text, self.described)}


def _words(text: str, command: str) -> list[str]:
    """The words of a command as a shell would take them apart, without a shell."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a command: {error}") from error


@dataclass(frozen=True, eq=False)
class InProcess:
    """A class, instance or function of this very process, which no worker could load. Never read from text."""

    object: Any

    executes: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True

    @property
    def text(self) -> str:
        named = self.object if hasattr(self.object, "__qualname__") else type(self.object)
        return f"{_IN_PROCESS}:{named.__module__}.{named.__qualname__}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.text} belongs to this process and cannot be sent to a different one")


AgentSource = BuiltIn | EntryPoint | PythonClass | Command | Http | Mcp | InProcess
OUTSIDE: dict[str, type[Command | Http | Mcp]] = {each.kind: each for each in (Command, Http, Mcp)}
_PREFIXES: dict[str, type[Command | Http | Mcp]] = {"http://": Http, "https://": Http, "command:": Command, "mcp:": Mcp}


def parse_source(text: str) -> AgentSource:
    """What a text means; the text of the result means the same."""
    for prefix, kind in _PREFIXES.items():
        if text.lower().startswith(prefix):
            return kind(text)
    if text in OUTSIDE:
        return OUTSIDE[text](text)
    module, colon, attribute = text.rpartition(":")
    if colon:
        if not module or module == _IN_PROCESS or not all(part.isidentifier() for part in attribute.split(".")):
            raise _unreadable(text)
        return PythonClass(module, attribute)
    if not text:
        raise _unreadable(text)
    name = ALIASES.get(text, text)
    return BuiltIn(name) if name in BUILT_IN else EntryPoint(name)


def parse_named(text: str) -> tuple[str | None, AgentSource]:
    """NAME=SOURCE, or a source alone; the equals sign in an address names nothing."""
    name, equals, source = text.partition("=")
    if not equals or ":" in name:
        return None, parse_source(text)
    if not (name and source):
        raise _unreadable(text)
    return name, parse_source(source)


def _unreadable(text: str) -> UsageError:
    return UsageError(
        f"{text!r} does not name an agent; write it as NAME, module:Class, file.py:Class, command:ARGV, mcp:ARGV or an "
        "http address, or as NAME=bm25 to rename one"
    )
