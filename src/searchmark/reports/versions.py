"""Which versions a result belongs to: what the config declares, or else what digests and the agent's own words tell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from searchmark.records import AgentIdentity
from searchmark.records.model_names import described, models_in
from searchmark.records.versions import Versions
from searchmark.reports.report import RunSummary, SuiteSummary

_NOT_OF_THE_INDEX = ("embedder", "chunking", "top_k")  # the number of hits that are wanted is no part of an index


def versions_of(suite: SuiteSummary, run: RunSummary, declared: Versions) -> Versions:
    """The versions of one run: each as it is declared, or as it is known."""
    agent = run.agent
    known = Versions(
        dataset_version=run.corpus or suite.hashes.get("corpus"),
        model_version=None if agent is None else _model(agent),
        index_params=None if agent is None else _index(agent),
        chunking_config=None if agent is None else _chunking(agent),
        query_set_version=suite.hashes.get("queries"),
    )
    either = {each.name: getattr(declared, each.name) or getattr(known, each.name) for each in fields(Versions)}
    return Versions(**either)


def _model(agent: AgentIdentity) -> str | None:
    """Every model with the hash of its weights, where that is known; or else the name that the agent gives."""
    made_of = [each for each in _under(agent.description, "embedder") if isinstance(each, Mapping) and each.get("model")]
    named = [f"{each['model']}@{each['revision']}" if each.get("revision") else str(each["model"]) for each in made_of]
    return ", ".join(dict.fromkeys(named or models_in(agent.config))) or agent.model


def _chunking(agent: AgentIdentity) -> str | None:
    said = [str(each) for each in _under(agent.description, "chunking")]
    options = {name: value for name, value in agent.config.items() if "chunk" in name}
    return "; ".join(dict.fromkeys(said)) or _written(options)


def _index(agent: AgentIdentity) -> str | None:
    """What the agent says of how it searches, beside model and chunking; or else its options."""
    told = (_of_the_index(each) for each in (agent.description, agent.config))
    return next(filter(None, (_written({name: each[name] for name in each if name != "model"}) for each in told)), None)


def _of_the_index(said: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not known, and without what has a version of its own."""
    own = {name: said[name] for name in said if name not in _NOT_OF_THE_INDEX and "chunk" not in name and said[name] is not None}
    return {name: _of_the_index(value) if isinstance(value, Mapping) else value for name, value in own.items()}


def _written(options: Mapping[str, Any]) -> str | None:
    """Options on one line, in the order in which they were given."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in options.items()) or None


def value_text(value: Any) -> str:
    """As JSON; what has a name and nothing else is its name."""
    plain = value["name"] if isinstance(value, Mapping) and list(value) == ["name"] else value
    return plain if isinstance(plain, str) else json.dumps(plain, default=str, sort_keys=True)


def _under(said: Any, key: str) -> Iterator[Any]:
    """Every value of this name, in the arms of an agent too."""
    for name, value in described(said):
        if name == key:
            yield value
        else:
            yield from _under(value, key)
