"""What an outside system offers to ask for: the tools of an MCP server, shown before anything is measured.

The server runs below a worker, as in a run: what looks like a secret is withheld, there is a deadline, and nothing survives.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.outside.options import McpConfig
from searchmark.agents.outside.process import found_program
from searchmark.agents.source import Command, Http, Mcp
from searchmark.errors import UsageError, with_excerpt
from searchmark.options.run_options import RunOptions
from searchmark.registry import check_spec, config_of
from searchmark.running.sandbox.launch import Launch
from searchmark.running.sandbox.variables import explained
from searchmark.running.worker.client import Gone, Late, Output, Process
from searchmark.running.worker.protocol import longest_answer, wrong_shape
from searchmark.services.secret_forms import without_credentials

CLOSING_SECONDS = 10.0
MARGIN_SECONDS = 15.0  # beside the time that the server itself has: to start a worker, and to end a server that hangs
ONLY_MCP = "only MCP servers offer tools"


@dataclass(frozen=True)
class OfferedArgument:
    """What a tool takes."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True)
class OfferedTool:
    """A tool of a server, with the first line of what it says of itself."""

    name: str
    description: str
    arguments: tuple[OfferedArgument, ...]


@dataclass(frozen=True)
class ServerOffer:
    """A server and its tools, as it names them: texts of others, to be made harmless before they are shown."""

    name: str | None
    version: str | None
    tools: tuple[OfferedTool, ...]


def probe(spec: AgentSpec, options: RunOptions) -> ServerOffer | str:
    """The tools of an MCP server, which is started for that; of any other agent a sentence that says what it asks."""
    check_spec(spec, foreign=not options.no_exec, network=options.network)
    if not isinstance(spec.source, Mcp):
        return _sentence(spec)
    config: McpConfig = config_of(McpConfig, spec)
    return _read(_asked(spec, options, config.start_timeout_seconds + MARGIN_SECONDS))


def _sentence(spec: AgentSpec) -> str:
    if not isinstance(spec.source, Command | Http):
        return f"{spec.name!r} is not an outside system; {ONLY_MCP}"
    config = config_of(spec.source.load().Config, spec)
    if isinstance(spec.source, Http):
        asked = f"the service at {without_credentials(config.url)}" if config.url else "a service whose url is not given"
        return f"{spec.name!r} asks {asked}; {ONLY_MCP}"
    if not config.argv:
        return f"{spec.name!r} starts a program that argv does not name yet; {ONLY_MCP}"
    return f"{spec.name!r} starts {found_program(config.argv[0])}; {ONLY_MCP}"


def _asked(spec: AgentSpec, options: RunOptions, seconds: float) -> Mapping[str, Any]:
    launch = Launch.of(spec, {})
    process = Process({"stdout": Output(), "stderr": Output()}, longest_answer(1), launch)
    limits = {"memory_limit_mb": options.memory_limit_mb, "foreign": not options.no_exec, "network": options.network}
    try:
        _told(process, {"op": "load", "agent": spec.to_plain(), **limits}, seconds, launch)
        reply = _told(process, {"op": "offers"}, seconds, launch)
        with suppress(UsageError):  # it has said what it offers
            _told(process, {"op": "close"}, CLOSING_SECONDS, launch)
        offers: Mapping[str, Any] = reply["offers"]
        return offers
    finally:
        process.end()


def _told(process: Process, message: dict[str, Any], seconds: float, launch: Launch) -> dict[str, Any]:
    try:
        reply = process.ask(message, seconds)
    except Late:
        raise UsageError(f"the MCP server did not answer within {seconds:g} s") from None
    except Gone as gone:
        raise UsageError(str(gone)) from gone
    wrong = wrong_shape(message["op"], reply, 1)
    if wrong or "failed" in reply:
        raise UsageError(wrong or with_excerpt(explained(reply["failed"], launch.withheld), reply.get("excerpt")))
    return reply


def _read(offers: Mapping[str, Any]) -> ServerOffer:
    """The reply as a record; whatever is no text becomes one, since code of others could have written it."""
    tools = [each for each in _list(offers.get("tools")) if isinstance(each, Mapping)]
    name, version = (None if offers.get(key) is None else str(offers[key]) for key in ("name", "version"))
    return ServerOffer(name, version, tuple(map(_tool, tools)))


def _tool(plain: Mapping[str, Any]) -> OfferedTool:
    arguments = [each for each in _list(plain.get("arguments")) if isinstance(each, Mapping)]
    taken = [OfferedArgument(str(each.get("name")), str(each.get("type")), each.get("required") is True) for each in arguments]
    return OfferedTool(str(plain.get("name")), str(plain.get("description") or ""), tuple(taken))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
