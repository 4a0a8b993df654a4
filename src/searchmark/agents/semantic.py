"""Search by meaning: documents are cut into chunks, chunks become vectors, and the nearest ones are found exactly.

A chunk that did not change is not embedded again, whatever file it is in, whatever commit is looked at, and, by the
cache on disk, whatever run it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.chunking import Cutting, Lines
from searchmark.agents.query_cache import QueryCache
from searchmark.corpora.chunks import LONGEST
from searchmark.embedders import check_embedder, load_embedder
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.embedders.embedder import Embedder, Vectors
    from searchmark.embedders.fingerprint import Fingerprint
    from searchmark.indexes.exact import ExactIndex, Neighbour
    from searchmark.records import Document

AT_ONCE = 8192  # chunks that wait for their vectors


class SemanticAgent(RetrievalAgent):
    """Ranks by the cosine between the vectors of query and chunks; equal scores are ordered by id."""

    @dataclass(frozen=True)
    class Config:
        """Options of ``semantic``.

        ``embedder``: its name, or its name and options (``{name: openai, model: text-embedding-3-small}``).
        ``model``: a sentence-transformers model by its name on the hub or its folder, in place of ``embedder``.
        ``pooling``: the score of a file is that of its best chunk (``max``), the ``mean`` of its best ``mean_of``, or
        the ``sum`` of all. ``longest_chunk``: lines after which a chunk is cut at any blank line. ``paths``: the id of
        a document is one of its chunks. ``lines``: hits say where the best chunk is. ``top_k``: never more hits than
        that. ``query_cache``: how many queries are remembered until ``reset``; ``cache_answers``: with their answers.
        ``index``: a file that keeps the vectors of the corpus between runs.
        """

        embedder: str | dict[str, Any] = "wordllama"
        model: str | None = None
        pooling: Literal["max", "mean", "sum"] = "max"
        mean_of: int = 3
        longest_chunk: int = LONGEST
        paths: bool = True
        lines: bool = False
        top_k: int | None = None
        query_cache: int = 1000
        cache_answers: bool = False
        index: str | None = None

        __pydantic_config__: ClassVar = {"extra": "forbid"}

        def __post_init__(self) -> None:
            least = {"mean_of": 1, "longest_chunk": 1, "top_k": 1, "query_cache": 0}
            for name, low in least.items():
                value = getattr(self, name)
                if value is not None and value < low:
                    raise ValueError(f"{name} is {value}, and must be {low} or more")
            if self.model is not None and self.embedder != "wordllama":
                raise ValueError("model stands for an embedder of its own; name either model or embedder")

    def __init__(self, config: Config | None = None) -> None:
        self._config = config or self.Config()
        chosen = self._config.embedder if self._config.model is None else {"name": "transformer", "model": self._config.model}
        self._options = check_embedder(chosen)
        self._embedder: Embedder | None = None
        self._cutting = Cutting(self._config.longest_chunk, self._config.paths, whole=False)
        self._index: ExactIndex | None = None
        self._lines_of: dict[str, list[Lines]] = {}
        self._queries: QueryCache[Vectors] = QueryCache(self._config.query_cache)
        self._answers: QueryCache[list[Neighbour]] = QueryCache(self._config.query_cache if self._config.cache_answers else 0)

    @property
    def embedder(self) -> Embedder:
        """Loaded when it is first needed."""
        if self._embedder is None:
            self._embedder = load_embedder(self._options)
        return self._embedder

    @classmethod
    def missing(cls) -> str | None:
        from searchmark.embedders.wordllama import problem

        return problem()

    def initialize(self, corpus: Corpus) -> None:
        from searchmark.indexes.exact import ExactIndex

        options = self._config
        self.reset()
        self._lines_of = {}
        self._cutting = Cutting(options.longest_chunk, options.paths, whole=self.embedder.keyed_by == "id")
        self._index = ExactIndex(
            self.embedder.dimension, cosine=self._options.normalize, pooling=options.pooling, mean_of=options.mean_of
        )
        if options.index is None:
            self._add(self._index, corpus)
        else:
            self._keep(self._index, corpus, Path(options.index))

    def update(self, changes: Changes) -> bool:
        if self._index is None:
            return False
        self._answers.clear()
        self._index.drop(changes.removed)
        added = self._add(self._index, changes.corpus.read(changes.written), again=True)
        # One that is no text any longer was not read, and must not be found as what it was.
        gone = set(changes.written) - added
        self._index.drop(gone)
        self._cutting.forget((*changes.removed, *gone))
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        index = self._index
        if index is None:
            raise UsageError("semantic was asked before it was initialised")
        wanted = k if self._config.top_k is None else min(k, self._config.top_k)
        before = self.embedder.cost()
        known = self._queries.hits + self._answers.hits
        found = self._answers.get((query, wanted), lambda: index.search(self._vector(query), wanted))
        remembered = self._queries.hits + self._answers.hits > known
        return RetrievalResult(
            [neighbour.name for neighbour in found],
            [neighbour.score for neighbour in found],
            metadata={"query_cache": "hit" if remembered else "miss"},
            lines=[self._lines_of[neighbour.name][neighbour.place] for neighbour in found] if self._config.lines else None,
            cost=self.embedder.cost() - before,
        )

    def reset(self) -> None:
        self._queries.clear()
        self._answers.clear()

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = self._index = None

    def index_bytes(self) -> int | None:
        return None if self._index is None else self._index.size()

    def describe(self) -> Mapping[str, Any]:
        made_of = {} if self._embedder is None else asdict(self._embedder.fingerprint())
        return {
            "ranking": "vectors",
            "embedder": {part: value for part, value in made_of.items() if value is not None},
            "distance": "cosine" if self._options.normalize else "inner product",
            "chunking": str(self._cutting),
            "index": "exact",
            "pooling": self._config.pooling,
            "mean_of": self._config.mean_of,
            "top_k": self._config.top_k,
        }

    def fingerprint(self, corpus: Corpus) -> Fingerprint:
        """What the index of this corpus is made of."""
        return replace(self.embedder.fingerprint(), chunking=str(self._cutting), corpus=corpus.survey.digest)

    def _vector(self, query: str) -> Vectors:
        return self._queries.get(query, lambda: self.embedder.embed_query(query))

    def _keep(self, index: ExactIndex, corpus: Corpus, place: Path) -> None:
        """Use the vectors that were kept, if they were made from the same; otherwise keep those of today."""
        from searchmark.indexes.saved import fill_index, save_index

        if self._config.lines:
            raise UsageError("a saved index does not know lines; leave out one of the options index and lines")
        fingerprint = self.fingerprint(corpus)
        if place.exists():
            fill_index(place, index, fingerprint)
            return
        self._add(index, corpus)
        save_index(place, index, fingerprint)

    def _add(self, index: ExactIndex, documents: Iterable[Document], *, again: bool = False) -> set[str]:
        """Chunks wait until there are enough of them for the model; texts that are known already are not held."""
        waiting: dict[bytes, str] = {}
        files: dict[str, list[bytes]] = {}
        added: set[str] = set()
        for document in documents:
            pieces = self._cutting.pieces(document, again=again)
            files[document.id] = pieces.keys
            waiting.update((key, text) for key, text in pieces.fresh.items() if key not in index)
            if self._config.lines:
                self._lines_of[document.id] = self._cutting.lines(document)
            if len(waiting) >= AT_ONCE:
                self._embed(index, waiting, files)
                added.update(files)
                waiting, files = {}, {}
        self._embed(index, waiting, files)
        return added.union(files)

    def _embed(self, index: ExactIndex, waiting: Mapping[bytes, str], files: Mapping[str, list[bytes]]) -> None:
        vectors = self.embedder.embed_documents(list(waiting.values())) if waiting else ()
        index.put(files, dict(zip(waiting, vectors, strict=True)))
