"""The agents that have a name: ours, and those of plug-ins."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from searchmark.agents.source import ALIASES, BUILT_IN, AgentSource, BuiltIn, EntryPoint
from searchmark.errors import UsageError

GROUP = "searchmark.agents"


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
    return ours + [KnownAgent(EntryPoint(point.name), _package_of(point), point.value) for point in entry_points_of_plugins()]


def entry_points_of_plugins() -> Iterable[Any]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _package_of(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown package"


def refuse_unavailable(source: AgentSource) -> None:
    if not isinstance(source, EntryPoint):
        return
    names = [known.name for known in known_agents()]
    if source.name not in names:
        near = difflib.get_close_matches(source.name, [*names, *ALIASES], 3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(names)}."
        raise UsageError(f"there is no agent {source.name!r}; {hint} For your own agent use module:Class.")
