"""One agent from its code and its options; what it asks itself is not made yet."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.errors import SearchmarkError, UsageError
from searchmark.registry.code import agent_class_of, said

_ADVICE = "; give it a default, set it as an option of the agent in a config, or name a function that makes the agent"


def made(spec: AgentSpec) -> Any:
    found = agent_class_of(spec)
    try:
        return _with_options(found, spec) if _makes_agents(found, spec.config) else _as_it_is(found, spec)
    except SearchmarkError:
        raise
    except Exception as error:
        more = _ADVICE if isinstance(error, TypeError) and "required" in str(error) else ""
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be made: {said(error)}{more}") from error


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
