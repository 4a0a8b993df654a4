"""Modes: one agent in several ways of asking it, each of them an agent of its own to everything that follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from searchmark.agents.agent import AgentSpec, no_such_mode
from searchmark.errors import UsageError


def in_modes(agents: Sequence[AgentSpec], wanted: Sequence[str] = ()) -> list[AgentSpec]:
    """Every agent in those of the wanted modes that it has, or in all of its modes; one without modes as it is.

    Each is called as its mode is, with the name of the agent before it where two would be called alike.
    """
    for mode in wanted:
        if not any(mode in agent.modes for agent in agents):
            raise no_such_mode(mode, agents)
    asked = [(agent, mode) for agent in agents for mode in _modes_of(agent, wanted)]
    pairs = Counter((agent.name, mode) for agent, mode in asked if mode is not None)
    twice = [name for (name, _), times in pairs.items() if times > 1]
    if twice:
        raise UsageError(f"duplicate agent name {twice[0]!r}; name it once, with --mode for each of its modes that you want")
    names = Counter(agent.name if mode is None else mode for agent, mode in asked)
    return [agent if mode is None else _in_mode(agent, mode, alone=names[mode] == 1) for agent, mode in asked]


def in_one_mode(agent: AgentSpec, wanted: str | None = None, advice: str = " with AgentSpec.in_mode") -> AgentSpec:
    """An agent in the wanted mode, or in the only one that it has; ``advice`` is how to name one where it has several."""
    if wanted is not None:
        return agent.in_mode(wanted)
    if len(agent.modes) > 1:
        raise UsageError(f"the agent {agent.name!r} has several modes, {', '.join(agent.modes)}; choose one{advice}")
    return agent.in_mode(next(iter(agent.modes))) if agent.modes else agent


def _modes_of(agent: AgentSpec, wanted: Sequence[str]) -> Sequence[str | None]:
    if not agent.modes:
        return (None,)
    chosen = [mode for mode in dict.fromkeys(wanted) if mode in agent.modes]
    if wanted and not chosen:
        raise no_such_mode(wanted[0], [agent])
    return chosen or list(agent.modes)


def _in_mode(agent: AgentSpec, mode: str, *, alone: bool) -> AgentSpec:
    found = agent.in_mode(mode)
    return found if alone else replace(found, name=found.qualified or mode)
