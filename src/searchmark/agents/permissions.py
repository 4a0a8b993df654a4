"""What a built-in agent would need a permission for: the network, and code that is not ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from searchmark.agents.agent import AgentSpec, nested_options
from searchmark.agents.outside.needs import databases
from searchmark.agents.source import Http
from searchmark.errors import UsageError
from searchmark.options.sensitive import Sensitive, is_local_model, nested_values
from searchmark.services.network import NO_NETWORK
from searchmark.services.secret_forms import without_credentials


def _text_of(value: Any) -> str:
    return ", ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


def check_options(spec: AgentSpec, *, foreign: bool, network: bool) -> None:
    """Refuse options by which a built-in agent would use the network, or run code, where that is not allowed."""
    if foreign and network:  # then nothing has to be imported yet
        return
    if isinstance(spec.source, Http) and not network:  # loopback too, and wherever its address comes from
        raise UsageError(f"the agent {spec.name!r} asks a service ({without_credentials(spec.source.text)}), and {NO_NETWORK}")
    if databases(spec) and not network:  # whether the address comes from the config or from the environment
        raise UsageError(f"the agent {spec.name!r} asks a database, and {NO_NETWORK}")
    for option in nested_values(nested_options(spec)):
        if option.kind is Sensitive.ADDRESS and not network:
            address = without_credentials(_text_of(option.value))
            raise UsageError(f"the agent {spec.name!r} asks a service ({option.field}: {address}), and {NO_NETWORK}")
        if option.kind is Sensitive.MODEL and not foreign and is_local_model(option.value):
            raise UsageError(
                f"the agent {spec.name!r} loads a model from a folder ({option.field}: {option.value}), which may hold code, "
                "and --no-exec allows built-in agents only"
            )
