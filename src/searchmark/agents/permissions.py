"""What a built-in agent would need a permission for: the network, and code that is not ours."""

from __future__ import annotations

from searchmark.agents.agent import AgentSpec, nested_options
from searchmark.errors import UsageError
from searchmark.options.sensitive import Sensitive, is_local_model, nested_values
from searchmark.services.network import NO_NETWORK
from searchmark.services.secret_forms import without_credentials


def check_options(spec: AgentSpec, *, foreign: bool, network: bool) -> None:
    """Refuse options by which a built-in agent would use the network, or run code, where that is not allowed."""
    if foreign and network:  # then nothing has to be imported yet
        return
    for option in nested_values(nested_options(spec)):
        if option.kind is Sensitive.ADDRESS and not network:
            address = without_credentials(str(option.value))
            raise UsageError(f"the agent {spec.name!r} asks a service ({option.field}: {address}), and {NO_NETWORK}")
        if option.kind is Sensitive.MODEL and not foreign and is_local_model(option.value):
            raise UsageError(
                f"the agent {spec.name!r} loads a model from a folder ({option.field}: {option.value}), which may hold code, "
                "and --no-exec allows built-in agents only"
            )
