"""The verb `searchmark agents`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli.options import SectionedCommand, agent_names, completed_by, option
from searchmark.cli.output import harmless, show
from searchmark.config.file import load_config
from searchmark.config.run import RunSettings
from searchmark.config.sections import Config
from searchmark.errors import EXIT_GATE_FAILED, EXIT_OK, UsageError
from searchmark.io.plugins import installed_plugins, load_code
from searchmark.records.sentences import count_of

if TYPE_CHECKING:
    from searchmark.config.agents import AgentSpec
    from searchmark.running.agent_check import ServerOffer


_WHICH = "Which agent"


# The numbers of `searchmark.config.strict` as a reader knows them.
_PLAIN_TYPES = {"Whole": "int", "Number": "float", ", STRICT": ""}


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
    config = Config() if config_path is None else load_config(config_path)
    specs = config.agents
    if check:
        return _check_agent(name, specs, corpus or config.corpus.path, RunSettings(no_exec=no_exec, offline=offline))
    if probe:
        lines = _probe_lines(name, specs, RunSettings(no_exec=no_exec, offline=offline))
    else:
        lines = _listing() if name is None else _description(name, specs)
    show("\n".join(lines) + "\n")
    return EXIT_OK


def _check_agent(name: str | None, specs: Sequence[AgentSpec], corpus: str | None, options: RunSettings) -> int:
    """What `searchmark.testing.check_agent` says, as an exit code and in the same words."""
    from searchmark.agents.registry import spec_of
    from searchmark.running.agent_check import find_agent_problems

    if name is None:
        raise UsageError("--check needs an agent: a name, module:Class, or file.py:Class")
    spec = spec_of(name, specs, foreign=not options.no_exec, network=options.network)
    report = find_agent_problems(spec, corpus, network=options.network)
    show("".join(f"{harmless(line)}\n" for line in report.sentence.splitlines()))
    return EXIT_GATE_FAILED if report.problems else EXIT_OK


def _probe_lines(name: str | None, specs: Sequence[AgentSpec], options: RunSettings) -> Iterator[str]:
    """What an outside system offers, in each of its modes. All of it is text of others, and made harmless."""
    from searchmark.agents.registry import agents_in_modes, spec_of
    from searchmark.running.agent_check import probe

    if name is None:
        raise UsageError('--probe needs an agent: its name in the config, or "mcp:" and the command of a server')
    spec = spec_of(name, specs, foreign=not options.no_exec, network=options.network)
    for each in agents_in_modes([spec]):
        offer = probe(each, options)
        lines = [offer] if isinstance(offer, str) else _tools(offer)
        yield from map(harmless, [f"In the mode {each.name}:", *lines, ""] if spec.modes else lines)


def _tools(offer: ServerOffer) -> Iterator[str]:
    server = " ".join(part for part in (offer.name, offer.version) if part) or "a server without a name"
    yield f"{server} offers {count_of(len(offer.tools), 'tool')}."
    for tool in offer.tools:
        yield ""
        yield f"{tool.name}: {tool.description}" if tool.description else tool.name
        for argument in tool.arguments:
            yield f"  {argument.name}: {argument.type}{' (required)' if argument.required else ''}"


def _listing() -> Iterator[str]:
    """Built-in agents with what they do; those of plug-ins are named, and not imported for that."""
    from searchmark.config.agents import BUILT_IN

    ours = {name: _summary(load_code(agent.code)) for name, agent in BUILT_IN.items()}
    theirs = (plugin for plugin in installed_plugins("agents") if plugin.shadowed_by is None)
    summaries = ours | {plugin.name: f"{plugin.point.value}, from {plugin.package}" for plugin in theirs}
    width = max(map(len, summaries))
    yield from (f"{name:<{width}}  {summary}" for name, summary in summaries.items())
    yield ""
    yield "Your own: --agent module:Class or --agent file.py:Class; 'searchmark docs running' shows how to write one."
    yield "A search that is already there: --agent command:ARGV, mcp:ARGV or an http address; see 'searchmark docs outside'."


def _summary(agent_class: Any) -> str:
    return (inspect.getdoc(agent_class) or "").split("\n", 1)[0]


def _description(name: str, specs: Sequence[AgentSpec]) -> Iterator[str]:
    """What an agent says about itself, and every option with its type and default. A plug-in is imported for that."""
    from searchmark.agents.registry import agent_class_of, spec_of

    spec = spec_of(name, specs)
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
    kind = re.sub(r"\bWhole\b|\bNumber\b|, STRICT\b", lambda mark: _PLAIN_TYPES[mark[0]], str(field.type))
    return f"  {field.name}: {kind} = {default!r}" if default != "(required)" else f"  {field.name}: {kind} (required)"
