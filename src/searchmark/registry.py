"""From names, config and Python objects to agents: built-in ones, those of plug-ins, and those that the user names as code.

Nothing foreign is imported here before `create`, which only a worker calls, or the runner for an agent of its own process.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentChoice, AgentSpec, RetrievalAgent
from searchmark.agents.modes import in_one_mode
from searchmark.agents.outside.needs import filled_variables
from searchmark.agents.outside.templates import names
from searchmark.agents.permissions import check_options
from searchmark.agents.source import (
    ALIASES,
    BUILT_IN,
    AgentSource,
    BuiltIn,
    Command,
    EntryPoint,
    Http,
    InProcess,
    Mcp,
    PythonClass,
    parse_named,
)
from searchmark.errors import SearchmarkError, UsageError, shortened
from searchmark.options.sensitive import Sensitive, is_local_model, nested_values
from searchmark.services.environment_secrets import name_secrets

GROUP = "searchmark.agents"
DEEPEST = 20  # agents that ask agents that ask agents; a config that refers to itself would have no end
_OURS = (BuiltIn, Command, Http, Mcp)  # agents whose code is in this package
COMBINING = ("fts5+vector", "fts5+vector+reranker", "hybrid", "rerank")  # built-in agents that ask others, which their config names


@dataclass(frozen=True)
class KnownAgent:
    """An agent that can be asked for by name, whose code it is, and where that is."""

    source: BuiltIn | EntryPoint
    origin: str
    code: str

    @property
    def name(self) -> str:
        return self.source.name


def known_agents() -> list[KnownAgent]:
    """All agents that have a name: ours, and those that installed packages bring along."""
    ours = [KnownAgent(BuiltIn(name), "built in", code) for name, code in BUILT_IN.items()]
    return ours + [KnownAgent(EntryPoint(point.name), _package_of(point), point.value) for point in _entry_points()]


def _entry_points() -> Iterable[Any]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _package_of(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown package"


def load_agent(agent: Any, /, **config: Any) -> AgentSpec:
    """What `run_suite` takes, from anything that can search, with its options.

    That is a text as for ``--agent``, a class, an instance, or a function ``(query, k)``. What a worker can import runs in
    one; what only this process has (an instance, a lambda, a class in a notebook) is asked here, and cannot be isolated.
    """
    spec = _spec(agent)
    checked = replace(spec, config={**spec.config, **config})
    check_spec(checked)
    return checked


def _spec(agent: Any) -> AgentSpec:
    if isinstance(agent, AgentSpec):
        return agent
    if isinstance(agent, str):
        return named_spec(agent, ())
    from searchmark.agents.objects import spec_of_object

    return spec_of_object(agent)


def spec_of(text: str, configured: Iterable[AgentSpec] = (), *, foreign: bool = True, network: bool = True) -> AgentSpec:
    """The agent that the command line asks for by NAME, by a source, or by NAME=source.

    ``configured`` are the agents of a config file, which a name may mean; code that only the config names is refused,
    since a config may be a stranger's. With ``foreign`` False nothing that is not ours is executed, with ``network``
    False no service is asked.
    """
    spec = named_spec(text, configured)
    check_spec(spec, foreign=foreign, network=network)
    return spec


def named_spec(text: str, configured: Iterable[AgentSpec]) -> AgentSpec:
    """As `spec_of`, not checked yet: whether an agent is allowed may depend on the mode that it is asked in."""
    given, source = parse_named(text)
    name = given or (source.attribute if isinstance(source, PythonClass) else text)
    entry = next((each for each in configured if each.name == name), None)
    if entry is None:
        return AgentSpec(name, source)
    if given is not None or name != text:
        return replace(entry, source=source)
    _refuse_unavailable(entry.source)
    if _is_code(entry.source):
        raise UsageError(
            f"the config says that {name!r} is {entry.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {name}={entry.source.text})"
        )
    return entry


def spec_of_suite(
    choice: str | Mapping[str, Any], configured: Iterable[AgentSpec] = (), folder: Path | None = None, *, trusted: bool = False
) -> AgentSpec:
    """The agent that the header of a suite names, as ``--agent`` would or as ``{name, source, config}``.

    A suite may come from others: unless it is ``trusted``, it may not name code, nor set options that reach beyond it. A
    ``.py`` file is looked for from ``folder`` on, the one that the suite is in.
    """
    known = next((each for each in configured if each.name == choice), None)
    spec = known or named_spec(choice, ()) if isinstance(choice, str) else AgentSpec.from_plain(choice)
    if not trusted:
        _refuse_reaching_out(spec, choice)
    return replace(spec, source=_below(spec.source, folder))


def _refuse_reaching_out(spec: AgentSpec, choice: str | Mapping[str, Any]) -> None:
    if _is_code(spec.source):
        raise UsageError(
            f"the suite says that its agent is {spec.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {spec.source.text})"
        )
    for value in (each for nested in AgentChoice.read(choice) for each in nested_values(nested)):
        if value.given and not (value.kind is Sensitive.MODEL and not is_local_model(value.value)):
            advice = f"describe the agent in a config and name that (--config FILE --agent {spec.name})"
            raise UsageError(f"the suite sets {value.field} of its agent, which {value.kind.value}: {advice}")


def _below(source: AgentSource, folder: Path | None) -> AgentSource:
    """The source with the file of its code as an absolute path, where it is a file."""
    if folder is None or not isinstance(source, PythonClass) or not source.module.endswith(".py"):
        return source
    return replace(source, module=str(folder / source.module))


def _is_code(source: AgentSource) -> bool:
    """What a config alone must not name: Python that no package declares which the user has installed."""
    return isinstance(source, PythonClass | InProcess)


def check_spec(spec: AgentSpec, *, foreign: bool = True, network: bool = True, depth: int = 0) -> None:
    """Refuse an agent that is not available or not allowed, in any of its modes, and likewise all that it asks.

    Nothing is started for that.
    """
    for mode in spec.modes:
        check_spec(spec.in_mode(mode), foreign=foreign, network=network, depth=depth)
    if spec.modes:  # what is common to all modes need not be whole
        return
    _refuse_unavailable(spec.source)
    name_secrets(filled_variables(spec), spec.env)  # before anything is said of it
    if spec.source.executes and not foreign:
        raise UsageError(f"{spec.source.text!r} is not built in, and --no-exec allows built-in agents only")
    if depth > DEEPEST:
        raise UsageError(f"the arm {spec.name!r} is nested more than {DEEPEST} deep")
    check_options(spec, foreign=foreign, network=network)
    for arm in _arms_by_config(spec).values():
        _check_arm(spec, arm, foreign=foreign, network=network, depth=depth + 1)


def _arms_by_config(spec: AgentSpec) -> Mapping[str, AgentSpec]:
    """The agents that one of ours asks; to know those of other agents, their code would have to run."""
    return _made(spec).arms() if isinstance(spec.source, BuiltIn) and spec.source.name in COMBINING else {}


def with_arms(spec: AgentSpec) -> Iterator[AgentSpec]:
    """A checked agent in one mode, and those that it asks as far as its config says, however deeply nested."""
    yield spec
    for arm in _arms_by_config(spec).values():
        yield from with_arms(arm)


def searches_own_corpus(spec: AgentSpec) -> bool | None:
    """Whether a checked agent has a corpus of its own; None where only its code knows, which is not run to learn that.

    An outside system has one unless its config says ``{corpus}``; a hybrid has one if all of its arms do. A reranker reads the
    texts of what it ranks, and needs them from us.
    """
    match spec.source:
        case Command() | Http() | Mcp():
            return not names(spec.options, "corpus")
        case BuiltIn("hybrid" | "fts5+vector"):
            known = [searches_own_corpus(arm) for arm in _arms_by_config(spec).values()]
            return False if False in known else None if None in known else True
        case BuiltIn():
            return False
    return None


def _check_arm(spec: AgentSpec, arm: AgentSpec, *, foreign: bool, network: bool, depth: int = 0) -> None:
    _refuse_unavailable(arm.source)
    if _is_code(arm.source):
        raise UsageError(
            f"the arm {arm.name!r} of {spec.name!r} is code ({arm.source.text}), which a config may not name: make it a plug-in"
        )
    check_spec(arm, foreign=foreign, network=network, depth=depth)


def _refuse_unavailable(source: AgentSource) -> None:
    if not isinstance(source, EntryPoint):
        return
    names = [known.name for known in known_agents()]
    if source.name not in names:
        near = difflib.get_close_matches(source.name, [*names, *ALIASES], 3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(names)}."
        raise UsageError(f"there is no agent {source.name!r}; {hint} For your own agent use module:Class.")


def create(spec: AgentSpec, *, foreign: bool = True, network: bool = True) -> RetrievalAgent:
    """Make the agent, with all that it asks itself. Whatever goes wrong names the agent."""
    spec = in_one_mode(spec)
    check_spec(spec, foreign=foreign, network=network)
    agent = _adapted(spec, _made(spec))
    arms = agent.arms()
    for arm in arms.values():
        _check_arm(spec, arm, foreign=foreign, network=network)
    agent.connect({name: _as_arm(arm, create(arm, foreign=foreign, network=network)) for name, arm in arms.items()})
    return agent


def _adapted(spec: AgentSpec, made: Any) -> RetrievalAgent:
    """The agent behind our protocol, which those of ours know already."""
    if isinstance(spec.source, _OURS):
        ours: RetrievalAgent = made
        return ours
    from searchmark.agents.adapted import adapted

    return adapted(made, spec.name, borrowed=isinstance(spec.source, InProcess) and made is spec.source.object)


def _as_arm(spec: AgentSpec, agent: RetrievalAgent) -> RetrievalAgent:
    """The agent with its answers read, for whoever fuses or reranks them; the built-in ones give ids of documents already."""
    if isinstance(spec.source, BuiltIn) and spec.chunk_of is None:
        return agent
    from searchmark.agents.read_arm import ReadArm

    return ReadArm(agent, spec.chunk_of)


def _made(spec: AgentSpec) -> Any:
    found = agent_class_of(spec)
    try:
        return _with_options(found, spec) if _makes_agents(found, spec.config) else _as_it_is(found, spec)
    except SearchmarkError:
        raise
    except Exception as error:
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be made: {_said(error)}") from error


def _makes_agents(found: Any, config: Mapping[str, Any]) -> bool:
    """Whether this is a class or a factory, and not an agent or a search function.

    A search function cannot do without its first argument, the query; what a factory cannot do without is in the config.
    """
    if isinstance(found, type):
        return True
    if hasattr(found, "retrieve") or hasattr(found, "invoke"):
        return False
    try:
        first = next(iter(inspect.signature(found).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    needed = first is not None and first.default is inspect.Parameter.empty and first.kind is not inspect.Parameter.VAR_KEYWORD
    return not needed or (first is not None and first.name in config)


def _as_it_is(found: Any, spec: AgentSpec) -> Any:
    if spec.config:
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) takes no options; it was given {', '.join(spec.config)}")
    return found


def _with_options(agent_class: Any, spec: AgentSpec) -> Any:
    shape = getattr(agent_class, "Config", None)
    return agent_class(**spec.options) if shape is None else agent_class(config_of(shape, spec))


def config_of(shape: type, spec: AgentSpec) -> Any:
    """The options of an agent, checked."""
    if not spec.options:
        return shape()
    from pydantic import TypeAdapter

    from searchmark.files.store import check_shape

    return check_shape(f"agent {spec.name}", TypeAdapter(shape), dict(spec.options), "config")


def agent_class_of(spec: AgentSpec) -> Any:
    """The class, function or instance behind a spec; importing it runs whatever its module does."""
    try:
        found, named = _found(spec.source)
    except Exception as error:
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be loaded: {_said(error)}") from error
    if not callable(found) and not callable(getattr(found, "retrieve", None) or getattr(found, "invoke", None)):
        reason = f"{named} is neither a class nor a function"
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be loaded: {reason}")
    return found


def _found(source: AgentSource) -> tuple[Any, str]:
    """What a source means, and what that is called."""
    match source:
        case BuiltIn() | Command() | Http() | Mcp():
            found = source.load()
            return found, found.__name__
        case EntryPoint(name):
            point = next(point for point in _entry_points() if point.name == name)
            return point.load(), point.value
        case PythonClass(module, attribute):
            found = _module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
            return found, attribute
        case InProcess(found):
            return found, source.text


def code_digest(spec: AgentSpec) -> str | None:
    """A digest of the file that an agent's code is in and of our own version; None if there is no such file."""
    from importlib.metadata import version

    found = agent_class_of(spec)
    try:
        file = inspect.getsourcefile(found if isinstance(found, type) or inspect.isroutine(found) else type(found))
        content = Path(file).read_bytes() if file else None
    except (OSError, TypeError):
        content = None
    return None if content is None else hashlib.sha256(content + version("searchmark").encode()).hexdigest()


def _module(name: str) -> Any:
    """A module that the user has named, from the working directory if it is there, or by the file that it is in."""
    if name.endswith(".py"):
        from importlib.util import module_from_spec, spec_from_file_location

        path = Path(name).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {name}")
        _find_modules_in(path.parent)
        known = sys.modules.get(path.stem)
        if known is not None and getattr(known, "__file__", None) == str(path):
            return known  # a second copy would have classes of its own, which pickle refuses
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # any .py file has both
        module = module_from_spec(spec)
        sys.modules[path.stem] = module
        with _no_bytecode():
            spec.loader.exec_module(module)
        return module
    _find_modules_in(Path.cwd())
    with _no_bytecode():
        return import_module(name)


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """The code of an agent may lie in the folder that is searched, and a new folder there would be a change of it."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _find_modules_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _said(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}", 300)
