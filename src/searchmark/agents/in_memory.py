"""An agent that knows its answers by heart: for tests, notebooks, and results that come from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.corpora.corpus import Corpus
from searchmark.options.strict import strict_record


@strict_record
class InMemoryConfig:
    """``answers``: for each query the ids to return, best first."""

    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class InMemoryAgent(RetrievalAgent):
    """Returns what its config says; a query that it does not know finds nothing."""

    Config = InMemoryConfig

    def __init__(self, config: InMemoryConfig) -> None:
        self._answers = config.answers

    def initialize(self, corpus: Corpus) -> None:
        """There is nothing to prepare."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(list(self._answers.get(query, ()))[:k])
