"""The agents of a first config: the one that the user names, and one of ours to hold it against."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import Command, EntryPoint, Http, Mcp, PythonClass, parse_named
from searchmark.registry import check_spec

_OUTSIDE = (Command, Http, Mcp)
_ENDS_WITH_1 = ("rg", "grep", "egrep", "fgrep", "ag", "ack")  # where a search that finds nothing ends so, and fails at nothing
UNNAMED = "my-search"


@dataclass(frozen=True)
class FirstAgents:
    """``measured`` is the one that the gate is about, ``reference`` what it is compared with; None where nothing could be."""

    measured: AgentSpec
    reference: str | None

    @property
    def needs_naming(self) -> bool:
        """Whether its options may not be taken from a config that was only found."""
        return isinstance(self.measured.source, _OUTSIDE)

    @property
    def code(self) -> str | None:
        """What the command line has to name as well, as a shell takes it, since no config may: NAME=module:Class."""
        source = self.measured.source
        return shlex.quote(f"{self.measured.name}={source.text}") if isinstance(source, PythonClass) else None

    def entries(self) -> Iterator[str]:
        """The entries of the section ``agents``, the reference first."""
        if self.reference is not None:
            yield self.reference
        yield _entry(self.measured)


def first_agents(text: str, *, searches_files: bool) -> FirstAgents:
    """The agent that a text names, which is looked up and not started."""
    given, source = parse_named(text)
    if isinstance(source, _OUTSIDE):
        spec = AgentSpec(given or UNNAMED, type(source)(source.kind), _options(source))
    elif isinstance(source, PythonClass):
        spec = AgentSpec(given or source.attribute, source)
    else:
        spec = AgentSpec(given or source.text, source)
    check_spec(spec)
    other = "fts5" if source.text == "bm25" else "bm25"
    return FirstAgents(spec, other if searches_files and other != spec.name else None)


def searches_elsewhere(text: str) -> bool:
    """Whether an agent may have documents of its own, so that a project need not have any."""
    return isinstance(parse_named(text)[1], (*_OUTSIDE, PythonClass, EntryPoint))


def _options(source: Command | Http | Mcp) -> Mapping[str, Any]:
    options = dict(source.options)
    words = options.get("argv") or [""]
    greps = PurePath(words[0]).name in _ENDS_WITH_1 or (PurePath(words[0]).name == "git" and "grep" in words)
    return options | ({"nothing": [1]} if isinstance(source, Command) and greps else {})


def _entry(spec: AgentSpec) -> str:
    if spec.source.text == spec.name and not spec.config:
        return spec.name
    parts = {"name": spec.name, "source": spec.source.text} | ({"config": dict(spec.config)} if spec.config else {})
    return json.dumps(parts, ensure_ascii=False)
