"""For tests in Python: agents that will do, searches that must be good enough, and measures of lists.

assert_search(my_search, "search.yaml", {"P@5": 0.85})
assert precision_at_k(found, {"a", "b"}, k=5) >= 0.4
check_agent(MyAgent)
"""

from searchmark.testing.agents import check_agent
from searchmark.testing.lists import (
    RankingMetrics,
    all_metrics,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from searchmark.testing.searches import assert_search

__all__ = [
    "RankingMetrics",
    "all_metrics",
    "assert_search",
    "check_agent",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank",
]
