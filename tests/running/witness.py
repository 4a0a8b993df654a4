"""An agent that looks at the journal of its own run."""

from __future__ import annotations

import time
from pathlib import Path

from searchmark import Corpus, RetrievalAgent, RetrievalResult

PATIENCE = 20.0


class Witness(RetrievalAgent):
    """Answers a query once all answers before it have been written down; finds nothing if they never are."""

    def initialize(self, corpus: Corpus) -> None:
        self._answered = 0

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        until = time.monotonic() + PATIENCE
        while (seen := _answers_written()) < self._answered and time.monotonic() < until:
            pass
        self._answered += 1
        return RetrievalResult(["f1.txt"] if seen >= self._answered - 1 else [])


def _answers_written() -> int:
    return sum(path.read_bytes().count(b'{"case":') for path in Path("journal").glob("*.jsonl"))
