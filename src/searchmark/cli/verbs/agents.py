"""``searchmark agents``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import click

from searchmark.cli._output import show


@click.command("agents", short_help="List the agents, or show one with its options.")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the agents, or show one with its options.

    \b
    searchmark agents
    searchmark agents bm25
    """
    show("\n".join(_listing() if name is None else _description(name)) + "\n")


def _listing() -> Iterator[str]:
    """Built-in agents with what they do; those of plug-ins are named, and not imported for that."""
    from searchmark.agents.agent import AgentSpec
    from searchmark.registry import agent_class_of, known_agents

    known = known_agents()
    width = max(len(each.name) for each in known)
    for each in known:
        foreign = each.source.executes
        summary = f"{each.code}, from {each.origin}" if foreign else _summary(agent_class_of(AgentSpec(each.name, each.source)))
        yield f"{each.name:<{width}}  {summary}"
    yield ""
    yield "Your own: --agent module:Class or --agent file.py:Class; docs/running.md shows how to write one."


def _summary(agent_class: Any) -> str:
    return (inspect.getdoc(agent_class) or "").split("\n", 1)[0]


def _description(name: str) -> Iterator[str]:
    """What an agent says about itself, and every option with its type and default. A plug-in is imported for that."""
    from searchmark.registry import agent_class_of, spec_of

    agent_class = agent_class_of(spec_of(name))
    yield name
    yield ""
    yield inspect.getdoc(agent_class) or "(no description)"
    shape = getattr(agent_class, "Config", None)
    if shape is not None and is_dataclass(shape):
        yield ""
        yield inspect.getdoc(shape) or "Options:"
        yield ""
        yield from map(_option, fields(shape))


def _option(field: Field[Any]) -> str:
    default = (
        field.default
        if field.default is not MISSING
        else field.default_factory()
        if field.default_factory is not MISSING
        else "(required)"
    )
    return f"  {field.name}: {field.type} = {default!r}" if default != "(required)" else f"  {field.name}: {field.type} (required)"
