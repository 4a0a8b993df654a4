"""``searchmark agents``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli._known_names import agent_names, completed_by
from searchmark.cli._options import SectionedCommand, option
from searchmark.cli._output import harmless, show
from searchmark.config import load_config
from searchmark.errors import EXIT_GATE_FAILED, EXIT_OK, UsageError
from searchmark.options.run_options import RunOptions
from searchmark.records.shown import counted

if TYPE_CHECKING:
    from searchmark.agents.agent import AgentSpec
    from searchmark.running.probing import ServerOffer


_WHICH = "Which agent"


@click.command("agents", cls=SectionedCommand, short_help="List the agents, or show one with its options.")
@click.argument("name", required=False, shell_complete=completed_by(agent_names))
@option(_WHICH, "--probe", is_flag=True, help="Start the MCP server of the agent and show the tools that it offers.")
@option(_WHICH, "--check", is_flag=True, help="Ask the agent a few queries; say what is wrong with it (exit code 1).")
@option(_WHICH, "--corpus", metavar="PATH", help="With --check: what the agent searches, in place of four small files.")
@option(_WHICH, "--no-exec", is_flag=True, help="With --probe or --check: start nothing that is not built in.")
@option(_WHICH, "--offline", is_flag=True, help="With --probe or --check: use no network, loopback included.")
@option(_WHICH, "--config", "config_path", metavar="FILE", help="YAML or TOML file that describes the agent.")
def command(
    name: str | None, config_path: str | None, probe: bool, check: bool, corpus: str | None, no_exec: bool, offline: bool
) -> int:
    """List the agents, or show one with its options.

    \b
    searchmark agents
    searchmark agents bm25
    searchmark agents --check my.module:Agent --corpus docs/
    searchmark agents --probe "mcp:python -m mcp_server_git --repository ."
    searchmark agents git --config searchmark.yaml --probe
    """
    if not (probe or check) and (no_exec or offline):
        raise UsageError("--no-exec and --offline are for --probe and --check, which start something; give one as well")
    if corpus is not None and not check:
        raise UsageError("--corpus is what --check lets the agent search; give that as well")
    configured = () if config_path is None else load_config(config_path).agents
    if check:
        return _checked(name, configured, corpus, RunOptions(no_exec=no_exec, offline=offline))
    if probe:
        lines = _probed(name, configured, RunOptions(no_exec=no_exec, offline=offline))
    else:
        lines = _listing() if name is None else _description(name, configured)
    show("\n".join(lines) + "\n")
    return EXIT_OK


def _checked(name: str | None, configured: Sequence[AgentSpec], corpus: str | None, options: RunOptions) -> int:
    """What `searchmark.testing.check_agent` says, as an exit code and in the same words."""
    from searchmark.registry import spec_of
    from searchmark.testing.agents import checked_agent

    if name is None:
        raise UsageError("--check needs an agent: a name, module:Class, or file.py:Class")
    spec = spec_of(name, configured, foreign=not options.no_exec, network=options.network)
    found = checked_agent(spec, corpus, network=options.network)
    show("".join(f"{harmless(line)}\n" for line in found.sentence.splitlines()))
    return EXIT_GATE_FAILED if found.problems else EXIT_OK


def _probed(name: str | None, configured: Sequence[AgentSpec], options: RunOptions) -> Iterator[str]:
    """What an outside system offers, in each of its modes. All of it is text of others, and made harmless."""
    from searchmark.agents.modes import in_modes
    from searchmark.registry import spec_of
    from searchmark.running.probing import probe

    if name is None:
        raise UsageError('--probe needs an agent: its name in the config, or "mcp:" and the command of a server')
    spec = spec_of(name, configured, foreign=not options.no_exec, network=options.network)
    for each in in_modes([spec]):
        offer = probe(each, options)
        lines = [offer] if isinstance(offer, str) else _tools(offer)
        yield from map(harmless, [f"In the mode {each.name}:", *lines, ""] if spec.modes else lines)


def _tools(offer: ServerOffer) -> Iterator[str]:
    named = " ".join(part for part in (offer.name, offer.version) if part) or "a server without a name"
    yield f"{named} offers {counted(len(offer.tools), 'tool')}."
    for tool in offer.tools:
        yield ""
        yield f"{tool.name}: {tool.description}" if tool.description else tool.name
        for argument in tool.arguments:
            yield f"  {argument.name}: {argument.type}{' (required)' if argument.required else ''}"


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
    yield "Your own: --agent module:Class or --agent file.py:Class; 'searchmark docs running' shows how to write one."
    yield "A search that is already there: --agent command:ARGV, mcp:ARGV or an http address; see 'searchmark docs outside'."


def _summary(agent_class: Any) -> str:
    return (inspect.getdoc(agent_class) or "").split("\n", 1)[0]


def _description(name: str, configured: Sequence[AgentSpec]) -> Iterator[str]:
    """What an agent says about itself, and every option with its type and default. A plug-in is imported for that."""
    from searchmark.registry import agent_class_of, spec_of

    spec = spec_of(name, configured)
    agent_class = agent_class_of(spec)
    yield name
    yield ""
    yield inspect.getdoc(agent_class) or "(no description)"
    shape = getattr(agent_class, "Config", None)
    if shape is not None and is_dataclass(shape):
        yield ""
        yield inspect.getdoc(shape) or "Options:"
        yield ""
        yield from map(_option, fields(shape))
    if spec.modes:
        yield ""
        yield harmless(f"Modes: {', '.join(spec.modes)}")


def _option(field: Field[Any]) -> str:
    default = (
        field.default
        if field.default is not MISSING
        else field.default_factory()
        if field.default_factory is not MISSING
        else "(required)"
    )
    return f"  {field.name}: {field.type} = {default!r}" if default != "(required)" else f"  {field.name}: {field.type} (required)"
