"""What kind of agent a run is of, as far as it tells: that decides which advice could be followed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from searchmark.reports.report import AgentSummary

# They show what a score is worth, and are not meant to get better.
CONTROLS = frozenset({"path-match", "popular", "random"})
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
    named = index_names(agent)
    return bool(named) and set(named) == {"exact"}


def index_names(agent: AgentSummary) -> list[str]:
    """What the indexes are called that it, or any of its arms, says that it searches."""
    known = agent.run.agent
    return [] if known is None else _index_names(known.description)


def _index_names(said: Mapping[str, Any]) -> list[str]:
    own = said.get("index")
    name = own.get("name") if isinstance(own, Mapping) else own
    return [*([name] if isinstance(name, str) else []), *(each for arm in _arms(said) for each in _index_names(arm))]


def is_normalised(agent: AgentSummary) -> bool:
    """Whether it says that its vectors have one length."""
    return agent.run.agent is not None and agent.run.agent.description.get("distance") == "cosine"
