"""Advice about approximate indexes: what they miss of the true nearest vectors, and which parameter finds more of them."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.records import AgentIdentity
from searchmark.reports.advice import Recommendation, recommendation
from searchmark.reports.agent_kinds import indexes_of, is_exact
from searchmark.reports.case_arrays import CaseArrays
from searchmark.reports.group_advice import FEWEST_CASES
from searchmark.reports.report import AgentSummary

ENOUGH = 0.95  # of the true neighbours
_MORE = {"hnsw": "Raise ef_search", "pgvector": "Raise ef_search (hnsw) or probes (ivfflat)"}
_ANY = "Let the index look at more candidates (ef_search, probes) or store more precise vectors"


def missed_neighbours(name: str, agent: AgentSummary, cases: CaseArrays) -> Iterator[Recommendation]:
    """Searches that miss more than a twentieth of the true nearest vectors, where the mean over all of them does so too."""
    found = next(iter(agent.ann.values()), None)  # that of the largest k
    if found is None or is_exact(agent) or found.searches < FEWEST_CASES or found.recall >= ENOUGH:
        return
    low = cases.ann_recall < ENOUGH
    count = int(low.sum())
    if not count:  # a mean of nothing but 0.95 may be below by rounding
        return
    seen = (
        f"the index found {found.recall:.1%} of the true nearest {found.k} vectors (mean of {found.searches} searches), "
        f"and less than {ENOUGH:.0%} in {count} of them".replace("%", " %")
    )
    advice = f"{_more(agent.run.agent)}, and compare with index: exact, which tells whether relevance is lost."
    yield recommendation("raise-ann-recall", name, seen, advice, cases.named(low), count)


def _more(agent: AgentIdentity | None) -> str:
    named = [] if agent is None else list(dict.fromkeys(indexes_of(agent)))
    return _MORE.get(named[0], _ANY) if len(named) == 1 else _ANY
