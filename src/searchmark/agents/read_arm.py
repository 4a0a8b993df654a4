"""An agent as whoever combines several gets it: its answers are read already, and its chunks are files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import NO_USAGE, AgentSpec, RetrievalAgent, RetrievalResult
from searchmark.agents.answers import HitReader, Parts, stream_of
from searchmark.agents.chunk_ids import ChunkRule, chunk_rule

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.corpora.path_names import PathNames


class ReadArm(RetrievalAgent):
    """Gives a `RetrievalResult` of ids, scores and lines, whatever the agent behind it returns.

    Paths are under the names of the corpus: what one arm calls ``./a`` and another ``/corpus/a`` is one document.
    """

    def __init__(self, agent: RetrievalAgent, chunk_of: str | None = None) -> None:
        self._agent = agent
        self._rule: ChunkRule | None = None if chunk_of is None else chunk_rule(chunk_of)
        self._names: PathNames | None = None
        self.needs_corpus = agent.needs_corpus

    def initialize(self, corpus: Corpus) -> None:
        self._agent.initialize(corpus)
        self._names = corpus.path_names

    def start(self) -> None:
        self._agent.start()

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found, reader = self._agent.retrieve(query, k), HitReader(k, self._rule, self._names)
        stream = stream_of(found)
        if stream is None:
            reader.read_all(Parts.of(found, k, self._rule))
        else:
            stream.feed(reader.take)
        scored = any(score is not None for score in reader.scores)
        return RetrievalResult(
            reader.ids,
            [float("nan") if score is None else score for score in reader.scores] if scored else None,
            getattr(found, "metadata", None) or {},
            reader.lines if any(reader.lines) else None,
            getattr(found, "cost", None),
            getattr(found, "usage", NO_USAGE),
            {kind: count for kind, count in reader.dropped().items() if kind != "beyond_depth"},  # of all arms together
        )

    def update(self, changes: Changes) -> bool:
        self._names = changes.corpus.path_names
        return self._agent.update(changes)

    def reset(self) -> None:
        self._agent.reset()

    def close(self) -> None:
        self._agent.close()

    def index_bytes(self) -> int | None:
        return self._agent.index_bytes()

    def describe(self) -> Mapping[str, Any]:
        return self._agent.describe()

    def arms(self) -> Mapping[str, AgentSpec]:
        return self._agent.arms()

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        self._agent.connect(arms)
