"""Where an agent comes from, read once from its text; nothing else looks into that text.

    NAME                          a built-in agent or an alias of one; any other name is the entry point of a plug-in
    module:Class  file.py:Class   Python code: a class, or a function (query, k)
    http://…  https://…           a service        (recognised, and refused until it is built)
    command:…                     a program        (likewise)
    mcp:…                         an MCP server    (likewise)

Reading a text imports nothing and looks nothing up: whether there is such an agent is the registry's question.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NoReturn

from searchmark.errors import UsageError

# Where each built-in agent is, below this package; imported when it is asked for.
BUILT_IN = {
    "bm25": "bm25:Bm25Agent",
    "fts5": "fts5:Fts5Agent",
    "hybrid": "hybrid:HybridAgent",
    "in-memory": "in_memory:InMemoryAgent",
    "keyword": "keyword:KeywordAgent",
    "path-match": "controls:PathMatchAgent",
    "popular": "controls:PopularAgent",
    "random": "controls:RandomAgent",
    "rerank": "rerank:RerankAgent",
    "semantic": "semantic:SemanticAgent",
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

    @property
    def text(self) -> str:
        return self.name

    def load(self) -> Any:
        """Its class, imported now."""
        module, _, attribute = BUILT_IN[self.name].rpartition(":")
        return getattr(import_module(f"searchmark.agents.{module}"), attribute)


@dataclass(frozen=True)
class EntryPoint:
    """An agent that an installed package brings along, by the name of its entry point."""

    name: str

    executes: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class PythonClass:
    """A class or function that a worker imports: ``module`` is the name of a module or the path of a ``.py`` file."""

    module: str
    attribute: str

    executes: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return f"{self.module}:{self.attribute}"


@dataclass(frozen=True)
class Command:
    """A program that is started, as it was written."""

    text: str

    executes: ClassVar[bool] = True


@dataclass(frozen=True)
class Http:
    """A service that answers over HTTP, by its address. What it executes is not ours."""

    text: str

    executes: ClassVar[bool] = True


@dataclass(frozen=True)
class Mcp:
    """An MCP server, as it was written."""

    text: str

    executes: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class InProcess:
    """A class, instance or function of this very process, which no worker could load. Never read from text."""

    object: Any

    executes: ClassVar[bool] = True

    @property
    def text(self) -> str:
        named = self.object if hasattr(self.object, "__qualname__") else type(self.object)
        return f"{_IN_PROCESS}:{named.__module__}.{named.__qualname__}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.text} belongs to this process and cannot be sent to a different one")


AgentSource = BuiltIn | EntryPoint | PythonClass | Command | Http | Mcp | InProcess

PLANNED: dict[type[AgentSource], str] = {Command: "command agents", Http: "HTTP agents", Mcp: "MCP agents"}
_PREFIXES: dict[str, type[Command | Http | Mcp]] = {"http://": Http, "https://": Http, "command:": Command, "mcp:": Mcp}


def parse_source(text: str) -> AgentSource:
    """What a text means; the text of the result means the same."""
    for prefix, kind in _PREFIXES.items():
        if text.lower().startswith(prefix):
            return kind(text)
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
        f"{text!r} does not name an agent; write it as NAME, module:Class or file.py:Class, or as NAME=bm25 to rename one"
    )
