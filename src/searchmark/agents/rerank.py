"""Two stages: an agent finds candidates, a reranker looks at them more closely and puts them in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.arms import AgentWithArms, ArmChoice, remembered, total_usage, with_tail
from searchmark.agents.names import name_of
from searchmark.agents.rerankers import Reranker, RerankerChoice, check_reranker
from searchmark.errors import UsageError
from searchmark.options.strict import strict_record

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.records import Document


@strict_record
class RerankConfig:
    """Options of ``rerank``.

    ``arm``: the agent that finds candidates, by name or as ``{name, source, config}``. ``reranker``: ``proximity``,
    ``cross-encoder`` or ``http``, by name or with its options (``{name: http, url: ...}``). ``candidates``: how
    many hits are scored, however many are wanted; those after them keep the order of the arm. ``names``: the title of a
    document, or else its id, is put before its text.
    """

    arm: ArmChoice = "bm25"
    reranker: RerankerChoice = "proximity"
    candidates: int = 50
    names: bool = True

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise ValueError("candidates must be 1 or more")


class RerankAgent(AgentWithArms):
    """Ranks the hits of another agent again; equal scores keep the order that they came in."""

    Config = RerankConfig

    def __init__(self, config: RerankConfig | None = None) -> None:
        self._config = config or self.Config()
        super().__init__([self._config.arm])
        self._options = check_reranker(self._config.reranker)
        self._reranker: Reranker | None = None
        self._corpus: Corpus | None = None
        self._texts: dict[str, str] | None = None

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        super().connect(arms)
        self.needs_corpus = True  # for the texts that are ranked, wherever they are found

    def initialize(self, corpus: Corpus) -> None:
        if self._reranker is None:
            self._reranker = self._options.load()
        super().initialize(corpus)
        self._reranker.initialize(corpus, *self._arms.values())
        self._look_at(corpus)

    def update(self, changes: Changes) -> bool:
        followed = super().update(changes)
        if self._reranker is not None:
            self._reranker.update(changes)
        self._look_at(changes.corpus)
        return followed

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._reranker is None or self._corpus is None:
            raise UsageError("rerank was asked before it was initialised")
        (arm,) = self._arms
        found = self.ask(arm, query, max(k, self._config.candidates))
        every = list(dict.fromkeys(found.files))
        candidates = every[: self._config.candidates]
        scores = self._reranker.scores(query, self._texts_of(self._corpus, candidates)) if candidates else []
        if len(scores) != len(candidates) or not all(map(isfinite, scores)):
            raise UsageError(f"the reranker did not give a usable score to each of {len(candidates)} candidates")
        head = sorted(zip(candidates, scores, strict=True), key=lambda hit: -hit[1])
        best = with_tail(head, every, k)
        lines = dict(zip(reversed(found.files), reversed(found.lines), strict=True)) if found.lines is not None else None
        return RetrievalResult(
            [name for name, _ in best],
            [score for _, score in best],
            metadata={"candidates": len(candidates), **remembered([found])},
            lines=None if lines is None else [lines[name] for name, _ in best],
            cost=found.cost,
            usage=total_usage([found]),
            index_ms=found.index_ms,
            dropped=found.dropped,
        )

    def describe(self) -> Mapping[str, Any]:
        reranker = {"name": self._config.reranker} if isinstance(self._config.reranker, str) else self._config.reranker
        return {
            "ranking": "reranked",
            "reranker": {"name": reranker["name"], **asdict(self._options)},
            "candidates": self._config.candidates,
            "names": self._config.names,
            **super().describe(),
        }

    def close(self) -> None:
        super().close()
        if self._reranker is not None:
            self._reranker.close()
        self._reranker = self._corpus = self._texts = None

    def _look_at(self, corpus: Corpus) -> None:
        """A corpus that cannot be read by id is held, since every query would otherwise pass over all of it."""
        self._corpus = corpus
        self._texts = None if corpus.reads_by_id else {document.id: self._text(document) for document in corpus}

    def _texts_of(self, corpus: Corpus, ids: list[str]) -> list[str]:
        known = self._texts
        if known is None:
            known = {document.id: self._text(document) for document in corpus.read(ids)}
        return [known.get(name, name) for name in ids]

    def _text(self, document: Document) -> str:
        return f"{name_of(document)}\n{document.text}" if self._config.names else document.text


@strict_record
class Fts5VectorRerankerConfig(RerankConfig):
    """Options of ``fts5+vector+reranker``: those of ``rerank``, with the arm ``fts5+vector``."""

    arm: ArmChoice = "fts5+vector"


class Fts5VectorRerankerAgent(RerankAgent):
    """Ranks the hits of fts5+vector again, as rerank does."""

    Config = Fts5VectorRerankerConfig
