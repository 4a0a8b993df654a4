"""From names and specs to agents: known names, plug-ins, permissions, modes, and making them.

Foreign code is imported in `create_agent` alone.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from searchmark.agents.outside.process import find_program
from searchmark.agents.outside.templates import has_placeholder
from searchmark.agents.protocol import RetrievalAgent
from searchmark.config.agents import (
    AGENT_ALIASES,
    BUILT_IN,
    AgentEntry,
    AgentSource,
    AgentSpec,
    BuiltInSource,
    CommandSource,
    EntryPointSource,
    HttpSource,
    InProcessSource,
    McpSource,
    PythonSource,
    no_such_mode,
    options_record,
    parse_named_source,
)
from searchmark.config.permissions import Sensitive, is_local_model, sensitive_nested_values
from searchmark.errors import Missing, SearchmarkError, UsageError, shortened
from searchmark.io.network import NO_NETWORK
from searchmark.io.plugins import find_plugin, import_object, installed_plugins
from searchmark.io.secrets import DEFAULT_DSN, register_addresses, register_secrets, variables_in, without_credentials

# Modes: one agent in several ways of asking it, each of them an agent of its own to everything that follows.


def agents_in_modes(agents: Sequence[AgentSpec], modes: Sequence[str] = ()) -> list[AgentSpec]:
    """Every agent in those of the wanted modes that it has, or in all of its modes; one without modes as it is.

    Each is called as its mode is, with the name of the agent before it where two would be called alike.
    """
    for mode in modes:
        if not any(mode in agent.modes for agent in agents):
            raise no_such_mode(mode, agents)
    pairs = [(agent, mode) for agent in agents for mode in _modes_of(agent, modes)]
    counts = Counter((agent.name, mode) for agent, mode in pairs if mode is not None)
    twice = [name for (name, _), times in counts.items() if times > 1]
    if twice:
        raise UsageError(f"duplicate agent name {twice[0]!r}; name it once, with --mode for each of its modes that you want")
    names = Counter(agent.name if mode is None else mode for agent, mode in pairs)
    return [agent if mode is None else _agent_in_mode(agent, mode, alone=names[mode] == 1) for agent, mode in pairs]


def agent_in_one_mode(agent: AgentSpec, mode: str | None = None, advice: str = " with AgentSpec.in_mode") -> AgentSpec:
    """An agent in the wanted mode, or in the only one that it has; ``advice`` is how to name one where it has several."""
    if mode is not None:
        return agent.in_mode(mode)
    if len(agent.modes) > 1:
        raise UsageError(f"the agent {agent.name!r} has several modes, {', '.join(agent.modes)}; choose one{advice}")
    return agent.in_mode(next(iter(agent.modes))) if agent.modes else agent


def _modes_of(agent: AgentSpec, names: Sequence[str]) -> Sequence[str | None]:
    if not agent.modes:
        return (None,)
    modes = [mode for mode in dict.fromkeys(names) if mode in agent.modes]
    if names and not modes:
        raise no_such_mode(names[0], [agent])
    return modes or list(agent.modes)


def _agent_in_mode(agent: AgentSpec, mode: str, *, alone: bool) -> AgentSpec:
    spec = agent.in_mode(mode)
    return spec if alone else replace(spec, name=spec.qualified or mode)


# What an agent that asks something outside needs, read from its spec alone: an address, variables, a program and its files.


def is_asking_service(spec: AgentSpec) -> bool:
    """Whether it asks an address by itself; what a program does is not known."""
    return isinstance(spec.source, HttpSource) or (isinstance(spec.source, McpSource) and bool(spec.options.get("url")))


def variables_of_config(spec: AgentSpec) -> frozenset[str]:
    """The environment variables that its config names as ``${NAME}``: keys of a service, which no other agent gets."""
    return frozenset(variables_in(spec.options if isinstance(spec.source, HttpSource | McpSource) else database_addresses(spec)))


def database_addresses(spec: AgentSpec) -> list[str]:
    """The addresses of databases that one of our agents asks: for its index, or for the table that it searches."""
    if not isinstance(spec.source, BuiltInSource):
        return []
    index = spec.config.get("index")
    options = index if isinstance(index, Mapping) else {"name": index}
    configs = [options] if options.get("name") == "pgvector" else []
    if spec.source.agent.has_table and not spec.config.get("database"):
        configs.append(spec.config)
    return [str(each.get("dsn", DEFAULT_DSN)) for each in configs]


def program_files(spec: AgentSpec) -> Iterator[Path]:
    """The program that it starts, the files among its arguments, where it is started, and what the config says that it reads."""
    if not isinstance(spec.source, CommandSource | McpSource):
        return
    options, folder = spec.options, _folder(spec.options)
    if folder is not None:
        yield folder
    for argv in (_config_texts(options.get("argv")), _config_texts(options.get("startup"))):
        with suppress(UsageError):  # the agent says which program there is not
            yield from (Path(find_program(name)) for name in argv[:1])
        paths = ((folder or Path.cwd()) / word for word in argv[1:])
        yield from (path for path in paths if _is_file(path))
    yield from (path for each in _config_texts(options.get("reads")) if (path := Path(each).absolute()).exists())


def _folder(options: Mapping[str, Any]) -> Path | None:
    folder = options.get("folder")
    path = Path(folder).absolute() if isinstance(folder, str) else None
    return path if path is not None and path.is_dir() else None


def _config_texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no path at all
        return False


# What a built-in agent would need a permission for: the network, and code that is not ours.


def _value_text(value: Any) -> str:
    return ", ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


def uses_plugin(spec: AgentSpec) -> bool:
    """Whether the options of one of our agents name an embedder, an index or a preset of another package."""
    ours = isinstance(spec.source, BuiltInSource | HttpSource)
    return ours and any(value.kind is Sensitive.PLUGIN for value in sensitive_nested_values(options_record(spec)))


def refuse_options_without_permission(spec: AgentSpec, *, foreign: bool, network: bool) -> None:
    """Refuse options by which a built-in agent would use the network, or run code, where that is not allowed."""
    if foreign and network:  # then nothing has to be imported yet
        return
    if isinstance(spec.source, HttpSource) and not network:  # loopback too, and wherever its address comes from
        raise UsageError(f"the agent {spec.name!r} asks a service ({without_credentials(spec.source.text)}), and {NO_NETWORK}")
    if database_addresses(spec) and not network:  # whether the address comes from the config or from the environment
        raise UsageError(f"the agent {spec.name!r} asks a database, and {NO_NETWORK}")
    for option in sensitive_nested_values(options_record(spec)):
        if option.kind is Sensitive.ADDRESS and not network:
            address = without_credentials(_value_text(option.value))
            raise UsageError(f"the agent {spec.name!r} asks a service ({option.field}: {address}), and {NO_NETWORK}")
        if option.kind is Sensitive.PLUGIN and not foreign:
            plugin = f"{_value_text(option.value)!r} ({option.field} of {spec.name!r})"
            raise UsageError(f"{plugin} is not built in, and --no-exec allows built-in agents only")
        if option.kind is Sensitive.MODEL and not foreign and is_local_model(option.value):
            raise UsageError(
                f"the agent {spec.name!r} loads a model from a folder ({option.field}: {option.value}), which may hold code, "
                "and --no-exec allows built-in agents only"
            )


# The agents that have a name: ours, and those of plug-ins.


def agent_names() -> list[str]:
    """All agents that have a name: ours, and those that installed packages declare."""
    return list(dict.fromkeys((*BUILT_IN, *(plugin.name for plugin in installed_plugins("agents")))))


def refuse_unavailable(source: AgentSource) -> None:
    if not isinstance(source, EntryPointSource):
        return
    names = agent_names()
    if source.name not in names:
        near = difflib.get_close_matches(source.name, [*names, *AGENT_ALIASES], 3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(names)}."
        kind = UsageError if near else Missing  # what is nearly the name of an agent is a mistake in typing
        raise kind(f"there is no agent {source.name!r}; {hint} For your own agent use module:Class.")


# The code behind an agent, found and imported: that of others only in a worker, or where the runner asks its own process.


def agent_class_of(spec: AgentSpec) -> Any:
    """The class, function or instance behind a spec; importing it runs whatever its module does."""
    try:
        code, name = _load_source(spec.source)
    except Exception as error:
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be loaded: {error_text(error)}") from error
    if not callable(code) and not callable(getattr(code, "retrieve", None) or getattr(code, "invoke", None)):
        reason = f"{name} is neither a class nor a function"
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be loaded: {reason}")
    return code


def _load_source(source: AgentSource) -> tuple[Any, str]:
    """What a source means, and what that is called."""
    match source:
        case BuiltInSource() | CommandSource() | HttpSource() | McpSource():
            code = source.load()
            return code, code.__name__
        case EntryPointSource(name):
            plugin = find_plugin("agents", name)
            if plugin is None:
                raise LookupError("no installed package has it")
            return plugin.load(), plugin.point.value
        case PythonSource(module, attribute):
            return import_object(module, attribute), attribute
        case InProcessSource(code):
            return code, source.text


def code_digest(spec: AgentSpec) -> str | None:
    """A digest of the file that an agent's code is in and of our own version; None if there is no such file."""
    from importlib.metadata import version

    code = agent_class_of(spec)
    try:
        file = inspect.getsourcefile(code if isinstance(code, type) or inspect.isroutine(code) else type(code))
        content = Path(file).read_bytes() if file else None
    except (OSError, TypeError):
        content = None
    return None if content is None else hashlib.sha256(content + version("searchmark").encode()).hexdigest()


def error_text(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}", 300)


# One agent from its code and its options; what it asks itself is not made yet.

_FACTORY_ADVICE = "; give it a default, set it as an option of the agent in a config, or name a function that makes the agent"


def make_agent(spec: AgentSpec) -> Any:
    code = agent_class_of(spec)
    try:
        return _call_factory(code, spec) if _is_factory(code, spec.config) else _refuse_options(code, spec)
    except SearchmarkError:
        raise
    except Exception as error:
        more = _FACTORY_ADVICE if isinstance(error, TypeError) and "required" in str(error) else ""
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be made: {error_text(error)}{more}") from error


def _is_factory(code: Any, config: Mapping[str, Any]) -> bool:
    """Whether this is a class or a factory, and not an agent or a search function.

    A search function cannot do without its first argument, the query; what a factory cannot do without is in the config.
    """
    if isinstance(code, type):
        return True
    if hasattr(code, "retrieve") or hasattr(code, "invoke"):
        return False
    try:
        first = next(iter(inspect.signature(code).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    required = first is not None and first.default is inspect.Parameter.empty and first.kind is not inspect.Parameter.VAR_KEYWORD
    return not required or (first is not None and first.name in config)


def _refuse_options(agent: Any, spec: AgentSpec) -> Any:
    if spec.config:
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) takes no options; it was given {', '.join(spec.config)}")
    return agent


def _call_factory(agent_class: Any, spec: AgentSpec) -> Any:
    shape = getattr(agent_class, "Config", None)
    return agent_class(**spec.options) if shape is None else agent_class(settings_of_agent(shape, spec))


def settings_of_agent(shape: type, spec: AgentSpec) -> Any:
    """The options of an agent, checked."""
    if not spec.options:
        return shape()
    from pydantic import TypeAdapter

    from searchmark.io.data import check_shape

    return check_shape(f"agent {spec.name}", TypeAdapter(shape), dict(spec.options), "config")


# What an agent asks, and whether it is available and allowed; nothing foreign is imported for that.

DEEPEST = 20  # agents that ask agents that ask agents; a config that refers to itself would have no end


def check_spec(spec: AgentSpec, *, foreign: bool = True, network: bool = True, depth: int = 0) -> None:
    """Refuse an agent that is not available or not allowed, in any of its modes, and likewise all that it asks.

    Nothing is started for that.
    """
    for mode in spec.modes:
        check_spec(spec.in_mode(mode), foreign=foreign, network=network, depth=depth)
    if spec.modes:  # what is common to all modes need not be whole
        return
    refuse_unavailable(spec.source)
    _register_own_secrets(spec)  # before anything is said of it
    if spec.source.executes and not foreign:
        what = "an outside system" if isinstance(spec.source, CommandSource | HttpSource | McpSource) else "not built in"
        raise UsageError(f"{spec.source.text!r} is {what}, and --no-exec allows built-in agents only")
    if depth > DEEPEST:
        raise UsageError(f"the arm {spec.name!r} is nested more than {DEEPEST} deep")
    refuse_options_without_permission(spec, foreign=foreign, network=network)
    for arm in arms_of_spec(spec).values():
        check_arm(spec, arm, foreign=foreign, network=network, depth=depth + 1)


def register_secrets_of(specs: Iterable[AgentSpec]) -> None:
    """Take what these agents, and all that they ask, are given by variables for secrets from now on, in this process."""
    for spec in specs:
        for each in spec_and_arms(spec):
            _register_own_secrets(each)


def _register_own_secrets(spec: AgentSpec) -> None:
    register_secrets(variables_of_config(spec), spec.env)
    register_addresses(database_addresses(spec))


def check_arm(spec: AgentSpec, arm: AgentSpec, *, foreign: bool, network: bool, depth: int = 0) -> None:
    refuse_unavailable(arm.source)
    if is_code(arm.source):
        raise UsageError(
            f"the arm {arm.name!r} of {spec.name!r} is code ({arm.source.text}), which a config may not name: make it a plug-in"
        )
    check_spec(arm, foreign=foreign, network=network, depth=depth)


def is_code(source: AgentSource) -> bool:
    """What a config alone must not name: Python that no package declares which the user has installed."""
    return isinstance(source, PythonSource | InProcessSource)


def arms_of_spec(spec: AgentSpec) -> Mapping[str, AgentSpec]:
    """The agents that one of ours asks; to know those of other agents, their code would have to run."""
    return make_agent(spec).arms() if isinstance(spec.source, BuiltInSource) and spec.source.agent.combines else {}


def spec_and_arms(spec: AgentSpec) -> Iterator[AgentSpec]:
    """A checked agent in one mode, and those that it asks as far as its config says, however deeply nested."""
    yield spec
    for arm in arms_of_spec(spec).values():
        yield from spec_and_arms(arm)


def has_own_corpus(spec: AgentSpec) -> bool | None:
    """Whether a checked agent has a corpus of its own; None where only its code knows, which is not run to learn that.

    An outside system has one unless its config says ``{corpus}``, and a table that is already there has one; a hybrid has one
    if all of its arms do. A reranker reads the texts of what it ranks, and needs them from us.
    """
    match spec.source:
        case CommandSource() | HttpSource() | McpSource():
            return not has_placeholder(spec.options, "corpus")
        case BuiltInSource("hybrid" | "fts5+vector"):
            per_arm = [has_own_corpus(arm) for arm in arms_of_spec(spec).values()]
            return False if False in per_arm else None if None in per_arm else True
        case BuiltInSource():
            return spec.source.agent.has_table
    return None


# Agents with all that they ask, ready to search.

_OUR_SOURCES = (BuiltInSource, CommandSource, HttpSource, McpSource)  # agents whose code is in this package


def create_agent(
    spec: AgentSpec, *, foreign: bool = True, network: bool = True, variables: frozenset[str] = frozenset()
) -> RetrievalAgent:
    """Make the agent, with all that it asks itself. Whatever goes wrong names the agent.

    ``variables``: those of the environment that the agent which asks this one was given; its programs get these and its own, and
    not what another arm is given.
    """
    spec = agent_in_one_mode(spec)
    check_spec(spec, foreign=foreign, network=network)
    agent = _adapt_to_protocol(spec, make_agent(spec))
    variables = variables.union(spec.env)
    if isinstance(spec.source, CommandSource | McpSource):
        agent.given_variables = variables
    arms = agent.arms()
    for arm in arms.values():
        check_arm(spec, arm, foreign=foreign, network=network)
    made_arms = {name: create_agent(arm, foreign=foreign, network=network, variables=variables) for name, arm in arms.items()}
    agent.connect({name: _normalize_arm(arms[name], arm) for name, arm in made_arms.items()})
    return agent


def _adapt_to_protocol(spec: AgentSpec, agent: Any) -> RetrievalAgent:
    """The agent behind our protocol, which those of ours know already."""
    if isinstance(spec.source, _OUR_SOURCES):
        ours: RetrievalAgent = agent
        return ours
    from searchmark.agents.adapters import adapt_agent

    return adapt_agent(agent, spec.name, borrowed=isinstance(spec.source, InProcessSource) and agent is spec.source.object)


def _normalize_arm(spec: AgentSpec, agent: RetrievalAgent) -> RetrievalAgent:
    """The agent with its answers read, for an agent that fuses or reranks them; the built-in ones give ids of documents already."""
    if isinstance(spec.source, BuiltInSource) and spec.chunk_of is None:
        return agent
    from searchmark.agents.adapters import NormalizedArm

    return NormalizedArm(agent, spec.chunk_of)


# From texts, config and Python objects to agents that can be asked for.


def load_agent(agent: Any, /, **config: Any) -> AgentSpec:
    """What `run_suite` takes, from anything that can search, with its options.

    That is a text as for ``--agent``, a class, an instance, or a function ``(query, k)``. What a worker can import runs in
    one; what only this process has (an instance, a lambda, a class in a notebook) is asked here, and cannot be isolated.
    """
    spec = _spec(agent)
    spec = replace(spec, config={**spec.config, **config})
    check_spec(spec)
    return spec


def _spec(agent: Any) -> AgentSpec:
    if isinstance(agent, AgentSpec):
        return agent
    if isinstance(agent, str):
        spec = named_spec(agent, ())
        if not isinstance(spec.source, PythonSource) or spec.source.module != "__main__":
            return spec
        agent = _is_defined_in_main(spec.source)
    from searchmark.agents.adapters import spec_of_object

    return spec_of_object(agent)


def _is_defined_in_main(source: PythonSource) -> Any:
    """What a notebook or a script defines itself: no other process could import it."""
    value: Any = sys.modules["__main__"]
    for part in source.attribute.split("."):
        value = getattr(value, part, None)
    if value is None:
        raise UsageError(f"there is no {source.attribute!r} in this program; define it before it is named")
    return value


def spec_of(text: str, config_agents: Iterable[AgentSpec] = (), *, foreign: bool = True, network: bool = True) -> AgentSpec:
    """The agent that the command line asks for by NAME, AGENT:MODE, a source, or NAME= one of these.

    ``config_agents`` are the agents of a config file, which a name may mean; code that only the config names is refused,
    since a config may be a stranger's. With ``foreign`` False nothing that is not ours is executed, with ``network``
    False no service is asked.
    """
    spec = named_spec(text, config_agents)
    check_spec(spec, foreign=foreign, network=network)
    return spec


def named_spec(text: str, config_agents: Iterable[AgentSpec]) -> AgentSpec:
    """As `spec_of`, not checked yet: whether an agent is allowed may depend on the mode that it is asked in.

    AGENT:MODE is what the config has by these names, and NAME=AGENT or NAME=AGENT:MODE is that under another name.
    """
    agents = list(config_agents)
    entry_spec = _agents_of_config(text, agents) or _rename_agent(text, agents)
    if entry_spec is not None:
        return entry_spec
    alias, source = parse_named_source(text)
    name = alias or (source.attribute if isinstance(source, PythonSource) else text)
    entry = _config_entry(name, agents)
    return AgentSpec(name, source) if entry is None else replace(entry, source=source)


def _agents_of_config(text: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """What a config has by this name, refused if it is code."""
    spec = _find_in_config(text, agents)
    if spec is None:
        return None
    refuse_unavailable(spec.source)
    if is_code(spec.source):
        raise UsageError(
            f"the config says that {spec.name!r} is {spec.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {spec.name}={spec.source.text})"
        )
    return spec


def _find_in_config(text: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """The agent that is called so, or one with this mode alone if the text is AGENT:MODE."""
    modes = (
        replace(each, modes={mode: each.modes[mode]}) for each in agents for mode in each.modes if text == f"{each.name}:{mode}"
    )
    return _config_entry(text, agents) or next(modes, None)


def _config_entry(name: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    return next((each for each in agents if each.name == name), None)


def _rename_agent(text: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """An agent of a config under another name. One with a mode is that mode; several modes keep their names."""
    name, equals, target = text.partition("=")
    spec = _agents_of_config(target, agents) if equals and name and ":" not in name else None
    if spec is None:
        return None
    if name != spec.name and _config_entry(name, agents) is not None:
        raise UsageError(
            f"{text!r} could be the agent {name!r} of the config from another source, or its agent {target!r} under another name; "
            "use a name that the config does not have"
        )
    return replace(agent_in_one_mode(spec) if len(spec.modes) == 1 else spec, name=name, qualified=None)


def spec_of_suite(
    choice: str | Mapping[str, Any], config_agents: Iterable[AgentSpec] = (), folder: Path | None = None, *, trusted: bool = False
) -> AgentSpec:
    """The agent that the header of a suite names, as ``--agent`` would or as ``{name, source, config}``.

    A suite may come from others: unless it is ``trusted``, it may not name code, nor set options that reach beyond it. A
    ``.py`` file is looked for from ``folder`` on, the one that the suite is in.
    """
    if isinstance(choice, str):
        spec = _find_in_config(choice, list(config_agents)) or named_spec(choice, ())
    else:
        spec = AgentSpec.from_plain(choice)
    if not trusted:
        _refuse_sensitive_options(spec, choice)
    return replace(spec, source=_resolve_source_path(spec.source, folder))


def _refuse_sensitive_options(spec: AgentSpec, choice: str | Mapping[str, Any]) -> None:
    if is_code(spec.source):
        raise UsageError(
            f"the suite says that its agent is {spec.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {spec.source.text})"
        )
    for value in (each for options in AgentEntry.read(choice) for each in sensitive_nested_values(options)):
        if value.kind is Sensitive.PLUGIN or (value.kind is Sensitive.MODEL and not is_local_model(value.value)):
            continue
        if value.reaches_out:
            advice = f"describe the agent in a config and name that (--config FILE --agent {spec.name})"
            raise UsageError(f"the suite sets {value.field} of its agent, which {value.kind.value}: {advice}")


def _resolve_source_path(source: AgentSource, folder: Path | None) -> AgentSource:
    """The source with the file of its code as an absolute path, where it is a file."""
    if folder is None or not isinstance(source, PythonSource) or not source.module.endswith(".py"):
        return source
    return replace(source, module=str(folder / source.module))
