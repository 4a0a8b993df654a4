"""From texts, config and Python objects to agents that can be asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentChoice, AgentSpec
from searchmark.agents.source import AgentSource, PythonClass, parse_named
from searchmark.errors import UsageError
from searchmark.options.sensitive import Sensitive, is_local_model, nested_values
from searchmark.registry.checking import check_spec, is_code
from searchmark.registry.known import refuse_unavailable


def load_agent(agent: Any, /, **config: Any) -> AgentSpec:
    """What `run_suite` takes, from anything that can search, with its options.

    That is a text as for ``--agent``, a class, an instance, or a function ``(query, k)``. What a worker can import runs in
    one; what only this process has (an instance, a lambda, a class in a notebook) is asked here, and cannot be isolated.
    """
    spec = _spec(agent)
    checked = replace(spec, config={**spec.config, **config})
    check_spec(checked)
    return checked


def _spec(agent: Any) -> AgentSpec:
    if isinstance(agent, AgentSpec):
        return agent
    if isinstance(agent, str):
        return named_spec(agent, ())
    from searchmark.agents.objects import spec_of_object

    return spec_of_object(agent)


def spec_of(text: str, configured: Iterable[AgentSpec] = (), *, foreign: bool = True, network: bool = True) -> AgentSpec:
    """The agent that the command line asks for by NAME, by a source, or by NAME=source.

    ``configured`` are the agents of a config file, which a name may mean; code that only the config names is refused,
    since a config may be a stranger's. With ``foreign`` False nothing that is not ours is executed, with ``network``
    False no service is asked.
    """
    spec = named_spec(text, configured)
    check_spec(spec, foreign=foreign, network=network)
    return spec


def named_spec(text: str, configured: Iterable[AgentSpec]) -> AgentSpec:
    """As `spec_of`, not checked yet: whether an agent is allowed may depend on the mode that it is asked in."""
    given, source = parse_named(text)
    name = given or (source.attribute if isinstance(source, PythonClass) else text)
    entry = next((each for each in configured if each.name == name), None)
    if entry is None:
        return AgentSpec(name, source)
    if given is not None or name != text:
        return replace(entry, source=source)
    refuse_unavailable(entry.source)
    if is_code(entry.source):
        raise UsageError(
            f"the config says that {name!r} is {entry.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {name}={entry.source.text})"
        )
    return entry


def spec_of_suite(
    choice: str | Mapping[str, Any], configured: Iterable[AgentSpec] = (), folder: Path | None = None, *, trusted: bool = False
) -> AgentSpec:
    """The agent that the header of a suite names, as ``--agent`` would or as ``{name, source, config}``.

    A suite may come from others: unless it is ``trusted``, it may not name code, nor set options that reach beyond it. A
    ``.py`` file is looked for from ``folder`` on, the one that the suite is in.
    """
    known = next((each for each in configured if each.name == choice), None)
    spec = known or named_spec(choice, ()) if isinstance(choice, str) else AgentSpec.from_plain(choice)
    if not trusted:
        _refuse_reaching_out(spec, choice)
    return replace(spec, source=_below(spec.source, folder))


def _refuse_reaching_out(spec: AgentSpec, choice: str | Mapping[str, Any]) -> None:
    if is_code(spec.source):
        raise UsageError(
            f"the suite says that its agent is {spec.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {spec.source.text})"
        )
    for value in (each for nested in AgentChoice.read(choice) for each in nested_values(nested)):
        if value.given and not (value.kind is Sensitive.MODEL and not is_local_model(value.value)):
            advice = f"describe the agent in a config and name that (--config FILE --agent {spec.name})"
            raise UsageError(f"the suite sets {value.field} of its agent, which {value.kind.value}: {advice}")


def _below(source: AgentSource, folder: Path | None) -> AgentSource:
    """The source with the file of its code as an absolute path, where it is a file."""
    if folder is None or not isinstance(source, PythonClass) or not source.module.endswith(".py"):
        return source
    return replace(source, module=str(folder / source.module))
