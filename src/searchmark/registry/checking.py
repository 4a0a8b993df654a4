"""What an agent asks, and whether it is available and allowed; nothing foreign is imported for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from searchmark.agents.agent import AgentSpec
from searchmark.agents.outside.needs import databases, filled_variables
from searchmark.agents.outside.templates import names
from searchmark.agents.permissions import check_options
from searchmark.agents.source import AgentSource, BuiltIn, Command, Http, InProcess, Mcp, PythonClass
from searchmark.errors import UsageError
from searchmark.registry.known import refuse_unavailable
from searchmark.registry.making import made
from searchmark.services.environment_secrets import name_addresses, name_secrets

DEEPEST = 20  # agents that ask agents that ask agents; a config that refers to itself would have no end
COMBINING = ("fts5+vector", "fts5+vector+reranker", "hybrid", "rerank")  # built-in agents that ask others, which their config names


def check_spec(spec: AgentSpec, *, foreign: bool = True, network: bool = True, depth: int = 0) -> None:
    """Refuse an agent that is not available or not allowed, in any of its modes, and likewise all that it asks.

    Nothing is started for that.
    """
    for mode in spec.modes:
        check_spec(spec.in_mode(mode), foreign=foreign, network=network, depth=depth)
    if spec.modes:  # what is common to all modes need not be whole
        return
    refuse_unavailable(spec.source)
    _name_own_secrets(spec)  # before anything is said of it
    if spec.source.executes and not foreign:
        what = "an outside system" if isinstance(spec.source, Command | Http | Mcp) else "not built in"
        raise UsageError(f"{spec.source.text!r} is {what}, and --no-exec allows built-in agents only")
    if depth > DEEPEST:
        raise UsageError(f"the arm {spec.name!r} is nested more than {DEEPEST} deep")
    check_options(spec, foreign=foreign, network=network)
    for arm in arms_by_config(spec).values():
        check_arm(spec, arm, foreign=foreign, network=network, depth=depth + 1)


def name_secrets_of(specs: Iterable[AgentSpec]) -> None:
    """Take what these agents, and all that they ask, are given by variables for secrets from now on, in this process."""
    for spec in specs:
        for each in with_arms(spec):
            _name_own_secrets(each)


def _name_own_secrets(spec: AgentSpec) -> None:
    name_secrets(filled_variables(spec), spec.env)
    name_addresses(databases(spec))


def check_arm(spec: AgentSpec, arm: AgentSpec, *, foreign: bool, network: bool, depth: int = 0) -> None:
    refuse_unavailable(arm.source)
    if is_code(arm.source):
        raise UsageError(
            f"the arm {arm.name!r} of {spec.name!r} is code ({arm.source.text}), which a config may not name: make it a plug-in"
        )
    check_spec(arm, foreign=foreign, network=network, depth=depth)


def is_code(source: AgentSource) -> bool:
    """What a config alone must not name: Python that no package declares which the user has installed."""
    return isinstance(source, PythonClass | InProcess)


def arms_by_config(spec: AgentSpec) -> Mapping[str, AgentSpec]:
    """The agents that one of ours asks; to know those of other agents, their code would have to run."""
    return made(spec).arms() if isinstance(spec.source, BuiltIn) and spec.source.name in COMBINING else {}


def with_arms(spec: AgentSpec) -> Iterator[AgentSpec]:
    """A checked agent in one mode, and those that it asks as far as its config says, however deeply nested."""
    yield spec
    for arm in arms_by_config(spec).values():
        yield from with_arms(arm)


def searches_own_corpus(spec: AgentSpec) -> bool | None:
    """Whether a checked agent has a corpus of its own; None where only its code knows, which is not run to learn that.

    An outside system has one unless its config says ``{corpus}``, and a table that is already there has one; a hybrid has one
    if all of its arms do. A reranker reads the texts of what it ranks, and needs them from us.
    """
    match spec.source:
        case Command() | Http() | Mcp():
            return not names(spec.options, "corpus")
        case BuiltIn("hybrid" | "fts5+vector"):
            known = [searches_own_corpus(arm) for arm in arms_by_config(spec).values()]
            return False if False in known else None if None in known else True
        case BuiltIn():
            return spec.source.name == "vector-table"
    return None
