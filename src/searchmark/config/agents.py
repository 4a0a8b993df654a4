"""The texts and records that name an agent: `bm25`, `module:Class`, `command: ...`, and AgentSpec with its options.

Reading one imports nothing and looks nothing up.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn

from searchmark.config.permissions import NestedSettings, OptionsMark, Sensitive
from searchmark.config.strict import short_repr
from searchmark.errors import UsageError
from searchmark.io.plugins import load_code

_CHUNK_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def check_chunk_rule(text: str) -> tuple[Sequence[str], Sequence[str]]:
    """The texts of a rule and the placeholders between them; refused is what could not tell a file from the rest."""
    pieces = _CHUNK_PLACEHOLDER.split(text)
    texts, names = pieces[::2], pieces[1::2]
    wrong = _rule_problem(texts, names)
    if wrong:
        raise UsageError(f"chunk_of must be such as '{{file}}#chunk-{{n}}', and {text!r} {wrong}")
    return texts, names


def _rule_problem(texts: Sequence[str], names: Sequence[str]) -> str | None:
    checks: Sequence[tuple[Callable[[], bool], str]] = (
        (lambda: "file" not in names, "has no {file}, which is the part of an id that names the file"),
        (lambda: len(set(names)) < len(names), "has a placeholder twice"),
        (lambda: "last" in names and "first" not in names, "has {last} without {first}"),
        (lambda: any("{" in each or "}" in each for each in texts), "has braces that are not placeholders"),
        (lambda: not all(texts[1:-1]), "has two placeholders with nothing between them"),
        (lambda: not "".join(texts) and len(names) == 1, "says nothing but {file}"),
    )
    return next((sentence for fails, sentence in checks if fails()), None)


# Where an agent comes from, read once from its text; nothing else looks into that text.
#
#     NAME                          a built-in agent or an alias of one; any other name is the entry point of a plug-in
#     module:Class  file.py:Class   Python code: a class, or a function (query, k)
#     command:rg -l {query}         a program; `command` alone where the config says which
#     http://…  https://…           a service; `http` alone likewise
#     mcp:… (argv or address)       an MCP server; `mcp` alone likewise
#
# Reading a text imports nothing and looks nothing up: whether there is such an agent is the registry's question.


@dataclass(frozen=True)
class BuiltInAgent:
    """An agent that comes with Searchmark. Its class, imported when needed, says what it does, takes and lacks."""

    name: str
    code: str
    aliases: tuple[str, ...] = ()
    combines: bool = False  # asks others, which its config names
    is_control: bool = False  # cannot know the answer, and shows what a score is worth
    reads_history: bool = False  # of the repository that it searches
    has_table: bool = False  # searches what is already in a database


BUILT_IN = {
    each.name: each
    for each in (
        BuiltInAgent("bm25", "searchmark.agents.lexical.bm25:Bm25Agent"),
        BuiltInAgent("fts5", "searchmark.agents.lexical.fts5:Fts5Agent"),
        BuiltInAgent("fts5+vector", "searchmark.agents.hybrid:Fts5VectorAgent", combines=True),
        BuiltInAgent("fts5+vector+reranker", "searchmark.agents.rerank:Fts5VectorRerankerAgent", combines=True),
        BuiltInAgent(
            "hybrid",
            "searchmark.agents.hybrid:HybridAgent",
            aliases=("HybridAgent", "HybridSearchAgent", "hybrid_search"),
            combines=True,
        ),
        BuiltInAgent("in-memory", "searchmark.agents.controls:InMemoryAgent"),
        BuiltInAgent("keyword", "searchmark.agents.lexical.ripgrep:KeywordAgent", aliases=("KeywordSearchAgent", "keyword_search")),
        BuiltInAgent("path-match", "searchmark.agents.controls:PathMatchAgent", is_control=True),
        BuiltInAgent("popular", "searchmark.agents.controls:PopularAgent", is_control=True, reads_history=True),
        BuiltInAgent("random", "searchmark.agents.controls:RandomAgent", is_control=True),
        BuiltInAgent("rerank", "searchmark.agents.rerank:RerankAgent", aliases=("reranker",), combines=True),
        BuiltInAgent(
            "semantic",
            "searchmark.agents.vectors.semantic:SemanticAgent",
            aliases=("SemanticSearchAgent", "semantic_search", "vector"),
        ),
        BuiltInAgent("vector-table", "searchmark.agents.vectors.table:VectorTableAgent", has_table=True),
    )
}

AGENT_ALIASES = {alias: agent.name for agent in BUILT_IN.values() for alias in agent.aliases}

_IN_PROCESS = "in-process"


class _AnySource:
    """What is true of most: to ask such an agent executes something, and that on this machine, with the rights of the user."""

    executes: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True


@dataclass(frozen=True)
class _NamedSource(_AnySource):
    name: str

    @property
    def text(self) -> str:
        return self.name


class EntryPointSource(_NamedSource):
    """An agent that an installed package brings along, by the name of its entry point."""


class BuiltInSource(_NamedSource):
    """An agent that comes with Searchmark, by the name that we have for it."""

    executes = False
    runs_code = False

    @property
    def agent(self) -> BuiltInAgent:
        """What is known of it."""
        return BUILT_IN[self.name]

    def load(self) -> Any:
        """Its class, imported now."""
        return load_code(self.agent.code)


@dataclass(frozen=True)
class PythonSource(_AnySource):
    """A class or function that a worker imports: ``module`` is the name of a module or the path of a ``.py`` file."""

    module: str
    attribute: str

    @property
    def text(self) -> str:
        return f"{self.module}:{self.attribute}"


@dataclass(frozen=True)
class _OutsideSource(_AnySource):
    """A search that is already running, or can be started, and is none of Python: asked by an agent of ours.

    The text may hold options: those that `options` reads from it come below what the config says.
    """

    text: str

    kind: ClassVar[str]
    agent: ClassVar[str]  # where the class is

    @property
    def described(self) -> str:
        """What follows the kind; nothing where the config says it all."""
        return "" if self.text == self.kind else self.text.partition(":")[2].strip()

    @property
    def options(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def load(self) -> Any:
        """The class of the agent that asks it, imported now."""
        return load_code(self.agent)


class CommandSource(_OutsideSource):
    """A program that is started for every query, or once."""

    kind = "command"
    agent = "searchmark.agents.outside.command:CommandAgent"

    @property
    def options(self) -> Mapping[str, Any]:
        return {"argv": _words(self.text, self.described)} if self.described else {}


class HttpSource(_OutsideSource):
    """A service that answers over HTTP, by its address. What it executes is not here."""

    kind = "http"
    agent = "searchmark.agents.outside.http:HttpAgent"
    runs_code = False

    @property
    def options(self) -> Mapping[str, Any]:
        return {} if self.text == self.kind else {"url": self.text}


class McpSource(_OutsideSource):
    """An MCP server: a program that is started, or an address."""

    kind = "mcp"
    agent = "searchmark.agents.outside.mcp:McpAgent"

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
class InProcessSource(_AnySource):
    """A class, instance or function of this very process, which no worker could load. Never read from text."""

    object: Any

    @property
    def text(self) -> str:
        code = self.object if hasattr(self.object, "__qualname__") else type(self.object)
        return f"{_IN_PROCESS}:{code.__module__}.{code.__qualname__}"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.text} belongs to this process and cannot be sent to a different one")


AgentSource = BuiltInSource | EntryPointSource | PythonSource | CommandSource | HttpSource | McpSource | InProcessSource

OUTSIDE_SOURCES: dict[str, type[CommandSource | HttpSource | McpSource]] = {
    each.kind: each for each in (CommandSource, HttpSource, McpSource)
}

_PREFIXES: dict[str, type[CommandSource | HttpSource | McpSource]] = {
    "http://": HttpSource,
    "https://": HttpSource,
    "command:": CommandSource,
    "mcp:": McpSource,
}


def parse_source(text: str) -> AgentSource:
    """What a text means; the text of the result means the same."""
    for prefix, kind in _PREFIXES.items():
        if text.lower().startswith(prefix):
            return kind(text)
    if text in OUTSIDE_SOURCES:
        return OUTSIDE_SOURCES[text](text)
    module, colon, attribute = text.rpartition(":")
    if colon:
        if not module or module == _IN_PROCESS or not all(part.isidentifier() for part in attribute.split(".")):
            raise _source_error(text)
        return PythonSource(module, attribute)
    if not text:
        raise _source_error(text)
    name = AGENT_ALIASES.get(text, text)
    return BuiltInSource(name) if name in BUILT_IN else EntryPointSource(name)


def parse_named_source(text: str) -> tuple[str | None, AgentSource]:
    """NAME=SOURCE, or a source alone; the equals sign in an address names nothing."""
    name, equals, source = text.partition("=")
    if not equals or ":" in name:
        return None, parse_source(text)
    if not (name and source):
        raise _source_error(text)
    return name, parse_source(source)


def _source_error(text: str) -> UsageError:
    return UsageError(
        f"{text!r} does not name an agent; write it as NAME, module:Class, file.py:Class, command:ARGV, mcp:ARGV or an "
        "http address, or as NAME=bm25 to rename one"
    )


_SPEC_KEYS = ("name", "source", "class", "config", "network", "env", "chunk_of", "modes")


@dataclass(frozen=True)
class AgentSpec:
    """Which agent: what it is called here, where it comes from, and its options. An entry of a config file is one.

    ``network``: in a sandbox it may use the network. ``env``: environment variables that it gets although their names look
    secret or, in a sandbox, are not on the list of what every agent gets. ``chunk_of``: how the ids of its chunks are made of
    those of documents, as ``{file}#chunk-{n}``. ``modes``: names of ways to ask it, each with the options that differ.
    ``qualified``: AGENT:MODE, if this is an agent in one of its modes.
    """

    name: str
    source: AgentSource
    config: Mapping[str, Any] = field(default_factory=dict)
    network: bool = False
    env: tuple[str, ...] = ()
    chunk_of: str | None = None
    modes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    qualified: str | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.chunk_of is not None:
            check_chunk_rule(self.chunk_of)

    @property
    def options(self) -> Mapping[str, Any]:
        """What its config says, over what its source says already."""
        return (
            {**self.source.options, **self.config}
            if isinstance(self.source, CommandSource | HttpSource | McpSource)
            else self.config
        )

    def in_mode(self, mode: str) -> AgentSpec:
        """This agent asked in one of its modes, which gives it its name: the options of the mode, key by key, over the others."""
        if mode not in self.modes:
            raise no_such_mode(mode, [self])
        return replace(self, name=mode, config={**self.config, **self.modes[mode]}, modes={}, qualified=f"{self.name}:{mode}")

    @property
    def isolated(self) -> bool:
        """Whether it runs in a worker of its own, where a deadline ends it and a crash is its own."""
        return not isinstance(self.source, InProcessSource)

    def to_plain(self) -> dict[str, Any]:
        """As plain data that another process can read; an agent of this process is only named by it."""
        plain: dict[str, Any] = {"name": self.name, "source": self.source.text, "config": dict(self.config)}
        plain |= {"network": self.network, "env": list(self.env), "chunk_of": self.chunk_of}
        return plain | {"modes": {name: dict(overrides) for name, overrides in self.modes.items()}}

    @classmethod
    def from_plain(cls, plain: Any, role: str = "agent") -> AgentSpec:
        """From a name, or from ``{name, source, config}``; ``class`` is read as ``source``, and the name is the default."""
        if isinstance(plain, str):
            return cls(plain, parse_source(plain))
        wrong = _spec_part_problem(plain)
        if wrong:
            last = "env and chunk_of" if role == "arm" else "env, chunk_of and modes"  # an arm is asked in one way
            raise UsageError(f"an {role} is a name, or has a name, a source, a config, network, {last}; {wrong}")
        name, source = plain["name"], plain.get("source") or plain.get("class")
        config, network, env = plain.get("config", {}), plain.get("network", False), plain.get("env", ())
        modes = {mode: dict(overrides or {}) for mode, overrides in (plain.get("modes") or {}).items()}
        return cls(name, parse_source(source or name), dict(config), network, tuple(env), plain.get("chunk_of"), modes)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        """Entries of a config file are read by ``from_plain`` too; what is wrong gets file and field from pydantic."""
        from pydantic_core import PydanticCustomError, core_schema

        def read(plain: Any) -> AgentSpec:
            try:
                return cls.from_plain(plain)
            except UsageError as error:
                raise PydanticCustomError("sentence", "{reason}", {"reason": str(error)}) from error

        return core_schema.no_info_plain_validator_function(read)


def no_such_mode(mode: str, agents: Sequence[AgentSpec]) -> UsageError:
    """What is said where none of these agents has a mode of this name."""
    modes = "; ".join(f"{agent.name} has {', '.join(agent.modes) or 'no modes'}" for agent in agents)
    return UsageError(f"there is no mode {mode!r}: {modes}")


def options_record(spec: AgentSpec) -> NestedSettings:
    """The options of an agent with their record, which is known of our own agents alone: no foreign code is imported for it."""
    record = spec.source.load().Config if isinstance(spec.source, BuiltInSource | CommandSource | HttpSource | McpSource) else None
    return NestedSettings(record, spec.options, "config")


def _read_agent_entry(choice: Any) -> Iterator[NestedSettings]:
    """Its options, and whatever else is said of it: no found config grants an agent anything, whatever there may be to grant."""
    for key in choice if isinstance(choice, Mapping) else ():
        if key not in ("name", "source", "class", "config", "chunk_of", "modes"):
            yield NestedSettings(None, {key: choice[key]}, str(key), Sensitive.PERMISSION)
    with suppress(UsageError):  # reported where the agent is made
        spec = AgentSpec.from_plain(choice)
        if isinstance(spec.source, CommandSource | HttpSource | McpSource):  # to name one reaches out, whatever its options are
            kind = Sensitive.ADDRESS if isinstance(spec.source, HttpSource) else Sensitive.COMMAND
            yield NestedSettings(None, {"source": spec.source.text}, "source", kind)
        yield options_record(spec)
        for name, overrides in spec.modes.items():
            # Whole, since what an option means may depend on one that all modes have.
            yield replace(options_record(replace(spec, config={**spec.config, **overrides})), below=f"modes.{name}")


AgentEntry = OptionsMark(_read_agent_entry)  # marks a field that names an agent, or describes it as {name, source, config}


def _spec_part_problem(plain: Any) -> str | None:
    if not isinstance(plain, Mapping):
        return f"{type(plain).__name__} is neither"
    unknown = [key for key in plain if key not in _SPEC_KEYS]
    if unknown:
        return f"{unknown[0]!r} is not one of these"
    if not isinstance(plain.get("name"), str):
        return "the name is missing"
    return _description_problem(plain) or _permission_problem(plain)


def _description_problem(plain: Mapping[str, Any]) -> str | None:
    if not all(isinstance(plain.get(key), str | None) for key in ("source", "class")):
        return f"the source of {plain['name']!r} is not text"
    if not isinstance(plain.get("config", {}), Mapping):
        return f"the config of {plain['name']!r} is not a mapping"
    if not isinstance(plain.get("chunk_of"), str | None):
        return f"chunk_of of {plain['name']!r} is not text"
    modes = {} if plain.get("modes") is None else plain["modes"]
    if not isinstance(modes, Mapping) or not all(_is_mode(*each) for each in modes.items()):
        return f"modes of {plain['name']!r} are not names, each with the options that differ"
    return None


def _is_mode(name: Any, overrides: Any) -> bool:
    """A mode that changes nothing may be a name alone."""
    return isinstance(name, str) and bool(name.strip()) and isinstance(overrides, Mapping | None)


def _permission_problem(plain: Mapping[str, Any]) -> str | None:
    if not isinstance(plain.get("network", False), bool):
        return f"network of {plain['name']!r} is neither true nor false"
    env = plain.get("env", ())
    if not isinstance(env, list | tuple) or not all(isinstance(each, str) for each in env):
        return f"env of {plain['name']!r} is not a list of names of environment variables"
    return None
