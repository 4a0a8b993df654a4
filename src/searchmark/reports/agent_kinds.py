"""What kind of agent a run is of, as far as it tells: that decides which advice could be followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.analysis.controls import CONTROLS
from searchmark.records import AgentIdentity
from searchmark.records.model_names import described
from searchmark.reports.report import AgentSummary

_FUSION = re.compile(r"hybrid|fusion|fused|\brrf\b|\w\+vector\b", re.IGNORECASE)


def is_control(agent: AgentSummary) -> bool:
    """Whether it only shows what a score is worth; a run that does not know its agent goes by its name."""
    known = agent.run.agent
    return (agent.name if known is None else known.source) in CONTROLS


def fuses(agent: AgentSummary) -> bool:
    """Whether it joins the answers of others, by what it says of itself or by its name."""
    known = agent.run.agent
    names = (agent.name,) if known is None else (agent.name, known.source)
    return any(map(_FUSION.search, names)) or (known is not None and _says_fusion(known.description))


def _says_fusion(said: Mapping[str, Any]) -> bool:
    return "fusion" in said or any(map(_says_fusion, _arms(said)))


def _arms(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    arms = said.get("arms")
    return [arm for arm in arms.values() if isinstance(arm, Mapping)] if isinstance(arms, Mapping) else []


def scores_by_vectors(agent: AgentSummary) -> bool:
    """Whether its scores are similarities of an embedding model, and not what was made of several of them."""
    known = agent.run.agent
    return known is not None and known.model is not None and "arms" not in known.description


def is_exact(agent: AgentSummary) -> bool:
    """Whether it says that every index that it searches is exact."""
    return agent.run.agent is not None and set(indexes_of(agent.run.agent)) == {"exact"}


def indexes_of(agent: AgentIdentity) -> list[str]:
    """The indexes that an agent and its arms say that they have, or else those that its options name."""
    return list(_indexes_in(agent.description)) or list(_indexes_in(agent.config))


def _indexes_in(said: Any) -> Iterator[str]:
    for key, value in described(said):
        name = value.get("name") if isinstance(value, Mapping) else value
        if key == "index" and isinstance(name, str):
            yield name
        else:
            yield from _indexes_in(value)


def is_normalised(agent: AgentSummary) -> bool:
    """Whether it says that its vectors are brought to length one."""
    made_of = {} if agent.run.agent is None else agent.run.agent.description.get("embedder")
    return isinstance(made_of, Mapping) and made_of.get("normalize") is True
