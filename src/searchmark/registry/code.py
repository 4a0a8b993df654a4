"""The code behind an agent, found and imported: that of others only in a worker, or where the runner asks its own process."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import AgentSource, BuiltIn, Command, EntryPoint, Http, InProcess, Mcp, PythonClass
from searchmark.errors import UsageError, shortened
from searchmark.files.user_code import named_object
from searchmark.registry.known import entry_points_of_plugins


def agent_class_of(spec: AgentSpec) -> Any:
    """The class, function or instance behind a spec; importing it runs whatever its module does."""
    try:
        found, named = _found(spec.source)
    except Exception as error:
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be loaded: {said(error)}") from error
    if not callable(found) and not callable(getattr(found, "retrieve", None) or getattr(found, "invoke", None)):
        reason = f"{named} is neither a class nor a function"
        raise UsageError(f"the agent {spec.name!r} ({spec.source.text}) cannot be loaded: {reason}")
    return found


def _found(source: AgentSource) -> tuple[Any, str]:
    """What a source means, and what that is called."""
    match source:
        case BuiltIn() | Command() | Http() | Mcp():
            found = source.load()
            return found, found.__name__
        case EntryPoint(name):
            point = next(point for point in entry_points_of_plugins() if point.name == name)
            return point.load(), point.value
        case PythonClass(module, attribute):
            return named_object(module, attribute), attribute
        case InProcess(found):
            return found, source.text


def code_digest(spec: AgentSpec) -> str | None:
    """A digest of the file that an agent's code is in and of our own version; None if there is no such file."""
    from importlib.metadata import version

    found = agent_class_of(spec)
    try:
        file = inspect.getsourcefile(found if isinstance(found, type) or inspect.isroutine(found) else type(found))
        content = Path(file).read_bytes() if file else None
    except (OSError, TypeError):
        content = None
    return None if content is None else hashlib.sha256(content + version("searchmark").encode()).hexdigest()


def said(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}", 300)
