"""Agents with all that they ask, ready to search."""

from __future__ import annotations

from typing import Any

from searchmark.agents.agent import AgentSpec, RetrievalAgent
from searchmark.agents.modes import in_one_mode
from searchmark.agents.source import BuiltIn, Command, Http, InProcess, Mcp
from searchmark.registry.checking import check_arm, check_spec
from searchmark.registry.making import made

_OURS = (BuiltIn, Command, Http, Mcp)  # agents whose code is in this package


def create(spec: AgentSpec, *, foreign: bool = True, network: bool = True, given: frozenset[str] = frozenset()) -> RetrievalAgent:
    """Make the agent, with all that it asks itself. Whatever goes wrong names the agent.

    ``given``: environment variables that whoever asks this agent has passed; its programs get these and its own, and not what
    another arm is given.
    """
    spec = in_one_mode(spec)
    check_spec(spec, foreign=foreign, network=network)
    agent = _adapted(spec, made(spec))
    given = given.union(spec.env)
    if isinstance(spec.source, Command | Mcp):
        agent.given_variables = given
    arms = agent.arms()
    for arm in arms.values():
        check_arm(spec, arm, foreign=foreign, network=network)
    made_arms = {name: create(arm, foreign=foreign, network=network, given=given) for name, arm in arms.items()}
    agent.connect({name: _as_arm(arms[name], arm) for name, arm in made_arms.items()})
    return agent


def _adapted(spec: AgentSpec, agent: Any) -> RetrievalAgent:
    """The agent behind our protocol, which those of ours know already."""
    if isinstance(spec.source, _OURS):
        ours: RetrievalAgent = agent
        return ours
    from searchmark.agents.adapted import adapted

    return adapted(agent, spec.name, borrowed=isinstance(spec.source, InProcess) and agent is spec.source.object)


def _as_arm(spec: AgentSpec, agent: RetrievalAgent) -> RetrievalAgent:
    """The agent with its answers read, for whoever fuses or reranks them; the built-in ones give ids of documents already."""
    if isinstance(spec.source, BuiltIn) and spec.chunk_of is None:
        return agent
    from searchmark.agents.read_arm import ReadArm

    return ReadArm(agent, spec.chunk_of)
