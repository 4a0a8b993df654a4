"""The protocol of an agent: two methods to write, and more to override where they help.

An agent that was not written for us is adapted by the signature of its methods when it is loaded, so nothing here
asks an agent what it can do: whatever it leaves out is a method that does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from searchmark.agents.chunk_ids import chunk_rule
from searchmark.agents.source import AgentSource, BuiltIn, Command, Http, InProcess, Mcp, parse_source
from searchmark.errors import UsageError
from searchmark.options.sensitive import Described, Nested, Sensitive
from searchmark.options.short_repr import short_repr

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.records import VectorStatistics

_KEYS = ("name", "source", "class", "config", "network", "env", "chunk_of", "modes")


@dataclass(frozen=True)
class Usage:
    """What an answer took beside time, as far as the agent knows.

    ``tokens`` of the answer, counted by ``tokens_by`` (the name of a tokenizer, or who states it). ``retries``: further attempts
    after a failed one. ``waited_ms``: of the time of the search, what was spent waiting between attempts and for a rate limit.
    ``start_ms``: of that time, what starting a process takes. ``ann_recall``: the share of the true nearest ``ann_k`` vectors that
    an approximate index has found, all that are as near as the last of them being as good; ``ann_overlap``: the same by number,
    as if there were no ties.
    """

    tokens: int | None = None
    tokens_by: str | None = None
    retries: int | None = None
    waited_ms: float | None = None
    start_ms: float | None = None
    ann_k: int | None = None
    ann_recall: float | None = None
    ann_overlap: float | None = None


NO_USAGE = Usage()


@dataclass(frozen=True)
class RetrievalResult:
    """What an agent found, best first.

    ``files`` holds paths or ids, or hits in any other form that is read (docs/running.md, "Answers"). The rest is optional: a
    score per file, a range of lines per file (first and last, from 1; None for a whole file), what the query has cost in whatever
    the agent is paid in, what else it took, what was left out of it, by kind, and ``index_ms``: of the time of the search, what
    was spent in the index alone, without the embedding of the query.
    """

    files: Sequence[str]
    scores: Sequence[float] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[tuple[int, int] | None] | None = None
    cost: float | None = None
    usage: Usage = NO_USAGE
    dropped: Mapping[str, int] = field(default_factory=dict)
    index_ms: float | None = field(default=None, compare=False)  # two equal answers may take different times

    __repr__ = short_repr


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
            chunk_rule(self.chunk_of)

    @property
    def options(self) -> Mapping[str, Any]:
        """What its config says, over what its source says already."""
        return {**self.source.options, **self.config} if isinstance(self.source, Command | Http | Mcp) else self.config

    def in_mode(self, mode: str) -> AgentSpec:
        """This agent asked in one of its modes, which gives it its name: the options of the mode, key by key, over the others."""
        if mode not in self.modes:
            raise no_such_mode(mode, [self])
        return replace(self, name=mode, config={**self.config, **self.modes[mode]}, modes={}, qualified=f"{self.name}:{mode}")

    @property
    def isolated(self) -> bool:
        """Whether it runs in a worker of its own, where a deadline ends it and a crash is its own."""
        return not isinstance(self.source, InProcess)

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
        wrong = _wrong_part(plain)
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
    known = "; ".join(f"{agent.name} has {', '.join(agent.modes) or 'no modes'}" for agent in agents)
    return UsageError(f"there is no mode {mode!r}: {known}")


def nested_options(spec: AgentSpec) -> Nested:
    """The options of an agent with their record, which is known of our own agents alone: no foreign code is imported for it."""
    record = spec.source.load().Config if isinstance(spec.source, BuiltIn | Command | Http | Mcp) else None
    return Nested(record, spec.options, "config")


def _read_choice(choice: Any) -> Iterator[Nested]:
    """Its options, and whatever else is said of it: no found config grants an agent anything, whatever there may be to grant."""
    for key in choice if isinstance(choice, Mapping) else ():
        if key not in ("name", "source", "class", "config", "chunk_of", "modes"):
            yield Nested(None, {key: choice[key]}, str(key), Sensitive.PERMISSION)
    with suppress(UsageError):  # whoever makes the agent says what is wrong with it
        spec = AgentSpec.from_plain(choice)
        if isinstance(spec.source, Command | Http | Mcp):  # to name one reaches out, whatever its options are
            kind = Sensitive.ADDRESS if isinstance(spec.source, Http) else Sensitive.COMMAND
            yield Nested(None, {"source": spec.source.text}, "source", kind)
        yield nested_options(spec)
        for name, overrides in spec.modes.items():
            # Whole, since what an option means may depend on one that all modes have.
            yield replace(nested_options(replace(spec, config={**spec.config, **overrides})), below=f"modes.{name}")


AgentChoice = Described(_read_choice)  # marks a field that names an agent, or describes it as {name, source, config}


def _wrong_part(plain: Any) -> str | None:
    if not isinstance(plain, Mapping):
        return f"{type(plain).__name__} is neither"
    unknown = [key for key in plain if key not in _KEYS]
    if unknown:
        return f"{unknown[0]!r} is not one of these"
    if not isinstance(plain.get("name"), str):
        return "the name is missing"
    return _wrong_description(plain) or _wrong_permission(plain)


def _wrong_description(plain: Mapping[str, Any]) -> str | None:
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


def _wrong_permission(plain: Mapping[str, Any]) -> str | None:
    if not isinstance(plain.get("network", False), bool):
        return f"network of {plain['name']!r} is neither true nor false"
    env = plain.get("env", ())
    if not isinstance(env, list | tuple) or not all(isinstance(each, str) for each in env):
        return f"env of {plain['name']!r} is not a list of names of environment variables"
    return None


class RetrievalAgent:
    """A search system under test. Override ``initialize`` and ``retrieve``.

    ``Config`` is a dataclass with the agent's options, if it has any; an agent is made as ``Agent(config)``, or as
    ``Agent()`` without one. An agent that combines others says which in ``arms`` and gets them by ``connect``
    before anything else happens. One that asks a service, which has a corpus of its own, says ``needs_corpus = False``:
    there it is started in place of being initialised. One that can send the request that a case brings along says
    ``takes_request = True`` and has ``retrieve(query, k, request=None)``. ``given_variables``: secrets of the environment that
    programs which it starts may have; set before ``connect``.
    """

    Config: ClassVar[type | None] = None
    needs_corpus: bool = True
    takes_request: bool = False
    given_variables: frozenset[str] = frozenset()

    def initialize(self, corpus: Corpus) -> None:
        """Get ready to search this corpus; called again with another one where ``update`` gave False."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is initialised")

    def start(self) -> None:
        """Get ready where no corpus is given, since there is a service with its own: start a program, open a connection."""

    def retrieve(self, query: str, k: int) -> Any:
        """The best ``k`` files for a query, best first: a `RetrievalResult`, or whatever else is read as hits."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it searches")

    def update(self, changes: Changes) -> bool:  # noqa: ARG002  # a plain agent has no use for them
        """Follow the corpus to its next state; False means: initialise me again."""
        return False

    def usage_of_last(self) -> Usage:
        """What the last answer took beside what its result says; asked when the clock has stopped, so counting is not timed."""
        return NO_USAGE

    def offers(self) -> Mapping[str, Any]:
        """The tools that an outside system offers, as plain data; asked instead of everything else."""
        return {}

    def reset(self) -> None:
        """Forget whatever former queries have left behind; an index is no such thing."""

    def close(self) -> None:
        """Let go of files, connections and processes."""

    def index_bytes(self) -> int | None:
        """How large the index is, on disk and in memory; None if nobody knows."""
        return None

    def vectors(self) -> Sequence[VectorStatistics]:
        """What the stored vectors are like, once for every set of them; asked when ready."""
        return ()

    def describe(self) -> Mapping[str, Any]:
        """What it searches with, as short plain data: model, revision, dimension, chunking, tokeniser, index; asked when ready."""
        return {}

    @classmethod
    def missing(cls) -> str | None:
        """What this agent would need and does not find on this machine, and how to get it; None if it is ready."""
        return None

    def arms(self) -> Mapping[str, AgentSpec]:
        """The agents that this one asks."""
        return {}

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        """Take the agents that ``arms`` has named."""
