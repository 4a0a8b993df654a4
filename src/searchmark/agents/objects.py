"""Classes, instances and functions as agents: what a worker can import goes there, the rest stays in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from searchmark.agents.adapted import search_method
from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import BUILT_IN, AgentSource, BuiltIn, InProcess, PythonClass
from searchmark.errors import UsageError

PROBE_SECONDS = 30.0
# Where a fresh interpreter finds a top-level module, seen as a worker sees it; finding one executes nothing of it.
_PROBE = (
    "import json, sys; from importlib.util import find_spec; sys.path.insert(0, sys.argv[1]); found = find_spec(sys.argv[2]); "
    "print(json.dumps(found and [found.origin, [*(found.submodule_search_locations or ())]]))"
)


def spec_of_object(agent: Any) -> AgentSpec:
    """The agent that a class, an instance or a function ``(query, k)`` is."""
    if search_method(agent) is None and not isinstance(agent, type):
        kinds = "a name, a class, an instance with retrieve(query, k), or a function (query, k)"
        raise UsageError(f"{type(agent).__name__} is not an agent; give {kinds}")
    source = _source(agent)
    return AgentSpec(source.name if isinstance(source, BuiltIn) else _name(agent), source)


def _name(agent: Any) -> str:
    named = getattr(agent, "__name__", None) or getattr(getattr(agent, "func", None), "__name__", None)
    return str(named or type(agent).__name__).strip("<>")


def _source(agent: Any) -> AgentSource:
    module, name = getattr(agent, "__module__", None), getattr(agent, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or _found(module, name) is not agent:
        return InProcess(agent)
    ours = {f"searchmark.agents.{code}": BuiltIn(built_in) for built_in, code in BUILT_IN.items()}
    if f"{module}:{name}" in ours:
        return ours[f"{module}:{name}"]
    return PythonClass(module, name) if _worker_finds(module.partition(".")[0], Path.cwd()) else InProcess(agent)


def _found(module: str, name: str) -> Any:
    """What has this name in its module; what is local to a function, or has another name by now, is not found."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


@cache
def _worker_finds(module: str, folder: Path) -> bool:
    """Whether a new process finds the same module by its name; what a notebook or a script holds it does not.

    Paths that were added in this process only are unknown there, so a new interpreter is asked.
    """
    if module == "__main__":
        return False
    ours = sys.modules[module]
    command = [sys.executable, "-P", "-c", _PROBE, str(folder), module]
    try:
        said = subprocess.run(command, capture_output=True, check=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL).stdout  # noqa: S603  # our own interpreter
        theirs = json.loads(said)
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    # A package without a file of its own is the folders that it is spread over.
    return bool(theirs == [getattr(ours, "__file__", None), list(getattr(ours, "__path__", ()))])
