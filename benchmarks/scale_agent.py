"""An agent that keeps a processor busy, and the bare way to ask it.

    python benchmarks/scale_agent.py DOCUMENTS QUESTIONS 0 2

asks it every second question, from the first one on, in this process: no runner, no journal, nothing but the agent.
"""

from __future__ import annotations

import heapq
import json
import sys
import time
from pathlib import Path

from searchmark import Corpus, RetrievalAgent, RetrievalResult
from searchmark.formats.corpora.locations import Folder

DEPTH = 10


class ScanAgent(RetrievalAgent):
    """Reads every word of every document for every query, in Python alone."""

    def initialize(self, corpus: Corpus) -> None:
        self._documents = [(document.id, document.text.split()) for document in corpus]

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        wanted = set(query.split())
        counts = [(sum(word in wanted for word in words), name) for name, words in self._documents]
        best = heapq.nlargest(k, (each for each in counts if each[0]))
        return RetrievalResult([name for _, name in best], [float(count) for count, _ in best])


def ask_bare(documents: Path, questions: Path, part: int, parts: int) -> float:
    """Cases per second between the first and the last answer."""
    agent = ScanAgent()
    agent.initialize(Folder("corpus", documents).open())
    own = json.loads(questions.read_text())["test_cases"][part::parts]
    moments = []
    for case in own:
        agent.retrieve(case["query"], DEPTH)
        moments.append(time.perf_counter())
    return (len(own) - 1) / (moments[-1] - moments[0])


if __name__ == "__main__":
    print(ask_bare(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
