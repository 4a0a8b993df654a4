"""An agent that was broken on purpose, to see a gate turn red."""

from __future__ import annotations

from searchmark.agents.agent import RetrievalResult
from searchmark.agents.bm25 import Bm25Agent


class WorstFirst(Bm25Agent):
    """bm25 that returns its first hits in the wrong order, as after mixing up distance and similarity."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        """The same ten hits, the worst first."""
        found = super().retrieve(query, min(k, 10))
        return RetrievalResult([*reversed(found.files)])
