"""From names, config and Python objects to agents: built-in ones, those of plug-ins, and those that the user names as code.

Nothing foreign is imported here before `create`, which only a worker calls, or the runner for an agent of its own process.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from searchmark.registry.checking import check_spec, name_secrets_of, searches_own_corpus, with_arms
from searchmark.registry.code import agent_class_of, code_digest
from searchmark.registry.creating import create
from searchmark.registry.known import KnownAgent, known_agents
from searchmark.registry.making import config_of
from searchmark.registry.naming import load_agent, named_spec, spec_of, spec_of_suite

__all__ = [
    "KnownAgent",
    "agent_class_of",
    "check_spec",
    "code_digest",
    "config_of",
    "create",
    "known_agents",
    "load_agent",
    "name_secrets_of",
    "named_spec",
    "searches_own_corpus",
    "spec_of",
    "spec_of_suite",
    "with_arms",
]
