"""From texts, config and Python objects to agents that can be asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentChoice, AgentSpec
from searchmark.agents.modes import in_one_mode
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
        spec = named_spec(agent, ())
        if not isinstance(spec.source, PythonClass) or spec.source.module != "__main__":
            return spec
        agent = _of_this_program(spec.source)
    from searchmark.agents.objects import spec_of_object

    return spec_of_object(agent)


def _of_this_program(source: PythonClass) -> Any:
    """What a notebook or a script defines itself: no other process could import it."""
    found: Any = sys.modules["__main__"]
    for part in source.attribute.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise UsageError(f"there is no {source.attribute!r} in this program; define it before it is named")
    return found


def spec_of(text: str, configured: Iterable[AgentSpec] = (), *, foreign: bool = True, network: bool = True) -> AgentSpec:
    """The agent that the command line asks for by NAME, AGENT:MODE, a source, or NAME= one of these.

    ``configured`` are the agents of a config file, which a name may mean; code that only the config names is refused,
    since a config may be a stranger's. With ``foreign`` False nothing that is not ours is executed, with ``network``
    False no service is asked.
    """
    spec = named_spec(text, configured)
    check_spec(spec, foreign=foreign, network=network)
    return spec


def named_spec(text: str, configured: Iterable[AgentSpec]) -> AgentSpec:
    """As `spec_of`, not checked yet: whether an agent is allowed may depend on the mode that it is asked in.

    AGENT:MODE is what the config has by these names, and NAME=AGENT or NAME=AGENT:MODE is that under another name.
    """
    agents = list(configured)
    known = _configured(text, agents) or _renamed(text, agents)
    if known is not None:
        return known
    given, source = parse_named(text)
    name = given or (source.attribute if isinstance(source, PythonClass) else text)
    entry = _entry(name, agents)
    return AgentSpec(name, source) if entry is None else replace(entry, source=source)


def _configured(text: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """What a config has by this name, refused if it is code."""
    found = _of_config(text, agents)
    if found is None:
        return None
    refuse_unavailable(found.source)
    if is_code(found.source):
        raise UsageError(
            f"the config says that {found.name!r} is {found.source.text!r}, which is code: "
            f"name it on the command line if you trust it (--agent {found.name}={found.source.text})"
        )
    return found


def _of_config(text: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """The agent that is called so, or one with this mode alone if the text is AGENT:MODE."""
    modes = (
        replace(each, modes={mode: each.modes[mode]}) for each in agents for mode in each.modes if text == f"{each.name}:{mode}"
    )
    return _entry(text, agents) or next(modes, None)


def _entry(name: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    return next((each for each in agents if each.name == name), None)


def _renamed(text: str, agents: Sequence[AgentSpec]) -> AgentSpec | None:
    """An agent of a config under another name. One with a mode is that mode; several modes keep their names."""
    name, equals, meant = text.partition("=")
    found = _configured(meant, agents) if equals and name and ":" not in name else None
    if found is None:
        return None
    if name != found.name and _entry(name, agents) is not None:
        raise UsageError(
            f"{text!r} could be the agent {name!r} of the config from another source, or its agent {meant!r} under another name; "
            "use a name that the config does not have"
        )
    return replace(in_one_mode(found) if len(found.modes) == 1 else found, name=name, qualified=None)


def spec_of_suite(
    choice: str | Mapping[str, Any], configured: Iterable[AgentSpec] = (), folder: Path | None = None, *, trusted: bool = False
) -> AgentSpec:
    """The agent that the header of a suite names, as ``--agent`` would or as ``{name, source, config}``.

    A suite may come from others: unless it is ``trusted``, it may not name code, nor set options that reach beyond it. A
    ``.py`` file is looked for from ``folder`` on, the one that the suite is in.
    """
    if isinstance(choice, str):
        spec = _of_config(choice, list(configured)) or named_spec(choice, ())
    else:
        spec = AgentSpec.from_plain(choice)
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
        if value.reaches_out and not (value.kind is Sensitive.MODEL and not is_local_model(value.value)):
            advice = f"describe the agent in a config and name that (--config FILE --agent {spec.name})"
            raise UsageError(f"the suite sets {value.field} of its agent, which {value.kind.value}: {advice}")


def _below(source: AgentSource, folder: Path | None) -> AgentSource:
    """The source with the file of its code as an absolute path, where it is a file."""
    if folder is None or not isinstance(source, PythonClass) or not source.module.endswith(".py"):
        return source
    return replace(source, module=str(folder / source.module))
