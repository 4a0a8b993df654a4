"""An agent that takes a moment for each query, so that a runner can be caught in the middle."""

from __future__ import annotations

import hashlib
import time

from searchmark import Corpus, RetrievalAgent, RetrievalResult


class SlowAgent(RetrievalAgent):
    """Orders the corpus by a digest of query and id."""

    def initialize(self, corpus: Corpus) -> None:
        self._ids = sorted(document.id for document in corpus)

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        time.sleep(0.002)
        order = sorted(self._ids, key=lambda each: hashlib.sha256(f"{query}{each}".encode()).digest())
        return RetrievalResult(order[:k], [1 / (rank + 1) for rank in range(len(order))][:k])
