"""From names and config to agents: built-in ones, those of plug-ins, and those that the user names as code.

Nothing foreign is imported here before `create`, which only a worker calls.
"""

from __future__ import annotations

import difflib
import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec, RetrievalAgent
from searchmark.errors import SearchmarkError, UsageError, shortened

GROUP = "searchmark.agents"

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


@dataclass(frozen=True)
class Known:
    """An agent that can be asked for by name, and whose code it is."""

    name: str
    origin: str
    source: str


def known_agents() -> list[Known]:
    """All agents that have a name: ours, and those that installed packages bring along."""
    ours = [Known(name, "built in", source) for name, source in BUILT_IN.items()]
    return ours + [Known(point.name, _package_of(point), point.value) for point in _entry_points()]


def _entry_points() -> Iterable[Any]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _package_of(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown package"


def load_agent(text: str, **config: Any) -> AgentSpec:
    """An agent by its name, as ``module:Class`` or ``file.py:Class``, with its options: what `run_suite` takes."""
    spec = spec_of(text)
    return AgentSpec(spec.name, spec.source, config)


def spec_of(text: str, configured: Iterable[AgentSpec] = (), *, foreign: bool = True) -> AgentSpec:
    """The agent that somebody asks for on the command line: NAME, ``module:Class``, ``file.py:Class`` or NAME=source.

    ``configured`` are the agents of a config file, which a name may mean; a class that only the config names is
    refused if it is not one that has a name already, since a config may be a stranger's. With ``foreign`` False
    nothing but built-in agents will do.
    """
    name, equals, source = text.partition("=")
    if equals and not (name and source):
        raise UsageError(f"{text!r} names no agent; write it like NAME=bm25 or NAME=module:Class")
    if not equals and ":" in text:
        name = text.rpartition(":")[2]
    entry = next((each for each in configured if each.name == name), None)
    if not equals:
        source = text if ":" in text or not entry else entry.source
    if entry and not equals and ":" in source and source != text:
        raise UsageError(
            f"the config says that {name!r} is {source!r}, which is code: "
            f"name it on the command line if you trust it (--agent {name}={source})"
        )
    spec = AgentSpec(name, canonical(source), entry.config if entry else {})
    if not foreign and spec.source not in BUILT_IN:
        raise UsageError(f"{text!r} is not built in, and --no-exec refuses everything else")
    _refuse_unknown(spec)
    return spec


def canonical(source: str) -> str:
    """The name that we use for what others call differently."""
    return ALIASES.get(source, source)


def _refuse_unknown(spec: AgentSpec) -> None:
    if ":" in spec.source:
        return
    names = [known.name for known in known_agents()]
    if spec.source not in names:
        near = difflib.get_close_matches(spec.source, [*names, *ALIASES], 3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
        raise UsageError(f"there is no agent {spec.source!r}; {hint} Your own is named as module:Class")


def create(spec: AgentSpec, *, foreign: bool = True) -> RetrievalAgent:
    """Make the agent, with all that it asks itself. Whatever goes wrong names the agent.

    Its arms stand in its config, which may be a stranger's: they must have names, and built-in ones if nothing
    ``foreign`` is allowed.
    """
    from searchmark.agents.adapted import adapted

    agent_class = agent_class_of(spec)
    try:
        made = _made(agent_class, spec)
    except SearchmarkError:
        raise
    except Exception as error:
        raise UsageError(f"the agent {spec.name!r} ({spec.source}) cannot be made: {_said(error)}") from error
    agent = adapted(made, spec.name)
    agent.connect({name: create(_arm(spec, arm, foreign=foreign), foreign=foreign) for name, arm in agent.arms().items()})
    return agent


def _arm(spec: AgentSpec, arm: AgentSpec, *, foreign: bool) -> AgentSpec:
    if ":" in arm.source:
        raise UsageError(
            f"the arm {arm.name!r} of {spec.name!r} is code ({arm.source}), which a config may not name: make it a plug-in"
        )
    return AgentSpec(arm.name, spec_of(arm.source, foreign=foreign).source, arm.config)


def _made(agent_class: Any, spec: AgentSpec) -> Any:
    shape = getattr(agent_class, "Config", None)
    if shape is None:
        return agent_class(**spec.config)
    return agent_class(config_of(shape, spec))


def config_of(shape: type, spec: AgentSpec) -> Any:
    """The options of an agent, checked."""
    if not spec.config:
        return shape()
    from pydantic import TypeAdapter

    from searchmark.files.store import check_shape

    return check_shape(f"agent {spec.name}", TypeAdapter(shape), dict(spec.config), "config")


def agent_class_of(spec: AgentSpec) -> Any:
    """The class behind a name; importing it runs whatever its module does."""
    module, attribute = _module_and_class(spec.source)
    try:
        found: Any = _module(module) if ":" in spec.source else import_module(module)
        for part in filter(None, attribute.split(".")):
            found = getattr(found, part)
    except Exception as error:
        raise UsageError(f"the agent {spec.name!r} ({spec.source}) cannot be loaded: {_said(error)}") from error
    if not callable(found):
        raise UsageError(f"the agent {spec.name!r} ({spec.source}) cannot be loaded: {attribute} is not a class")
    return found


def _module_and_class(source: str) -> tuple[str, str]:
    if source in BUILT_IN:
        module, _, attribute = BUILT_IN[source].rpartition(":")
        return f"searchmark.agents.{module}", attribute
    point = next((point for point in _entry_points() if point.name == source), None)
    if ":" not in source and point is not None:
        return point.module, point.attr
    module, _, attribute = source.rpartition(":")
    return module, attribute


def code_digest(spec: AgentSpec) -> str | None:
    """A digest of the file that an agent's class stands in and of our own version; None if there is no such file."""
    from importlib.metadata import version
    from inspect import getsourcefile

    try:
        file = getsourcefile(agent_class_of(spec))
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
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # any .py file has both
        module = module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    _find_modules_in(Path.cwd())
    return import_module(name)


def _find_modules_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _said(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}", 300)
