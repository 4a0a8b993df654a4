"""Search by meaning: documents are cut into chunks, chunks become vectors, and the nearest ones are found exactly.

A chunk that did not change is not embedded again, whatever file it is in, whatever commit is looked at, and, by the
cache on disk, whatever run it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.query_cache import QueryCache
from searchmark.corpora.chunks import LONGEST, chunks
from searchmark.embedders import check_embedder, load_embedder
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.corpora import Changes, Corpus
    from searchmark.embedders.embedder import Embedder, Vectors
    from searchmark.indexes.exact import ExactIndex, Neighbour
    from searchmark.indexes.fingerprint import Fingerprint
    from searchmark.records import Document

Piece = tuple[str, tuple[int, int] | None]  # a text, and its lines if it has any

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

    def __init__(self, config: Config | None = None) -> None:
        self._config = config or self.Config()
        chosen = self._config.embedder if self._config.model is None else {"name": "transformer", "model": self._config.model}
        self._options = check_embedder(chosen)
        self._embedder: Embedder | None = None
        self._index: ExactIndex | None = None
        self._lines_of: dict[str, list[tuple[int, int] | None]] = {}
        self._queries: QueryCache[Vectors] = QueryCache(self._config.query_cache)
        self._answers: QueryCache[list[Neighbour]] = QueryCache(self._config.query_cache if self._config.cache_answers else 0)

    @property
    def embedder(self) -> Embedder:
        """Loaded when it is first needed."""
        if self._embedder is None:
            self._embedder = load_embedder(self._options)
        return self._embedder

    def initialize(self, corpus: Corpus) -> None:
        from searchmark.indexes.exact import ExactIndex

        options = self._config
        self.reset()
        self._lines_of = {}
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
        # Those that were written go as well: one that is no text any longer is not read, and must not be found as it was.
        self._index.drop((*changes.removed, *changes.written))
        self._add(self._index, changes.corpus.read(changes.written))
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

    def fingerprint(self, corpus: Corpus) -> Fingerprint:
        """What the index of this corpus is made of."""
        chunking = "documents" if self.embedder.keyed_by == "id" else f"content-defined/{self._config.longest_chunk}"
        paths = "+paths" if self._config.paths else ""
        return replace(self.embedder.fingerprint(), chunking=chunking + paths, corpus=corpus.survey.digest)

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

    def _add(self, index: ExactIndex, documents: Iterable[Document]) -> None:
        """Chunks wait until there are enough of them for the model; texts that are known already are not held."""
        waiting: dict[bytes, str] = {}
        files: dict[str, list[bytes]] = {}
        for document in documents:
            lines: dict[bytes, tuple[int, int] | None] = {}
            for text, place in self._pieces(document):
                key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
                lines.setdefault(key, place)  # what stands twice in a file counts once, where it stands first
                if key not in index:
                    waiting[key] = text
            files[document.id] = list(lines)
            if self._config.lines:
                self._lines_of[document.id] = list(lines.values())
            if len(waiting) >= AT_ONCE:
                self._embed(index, waiting, files)
                waiting, files = {}, {}
        self._embed(index, waiting, files)

    def _embed(self, index: ExactIndex, waiting: Mapping[bytes, str], files: Mapping[str, list[bytes]]) -> None:
        vectors = self.embedder.embed_documents(list(waiting.values())) if waiting else ()
        index.put(files, dict(zip(waiting, vectors, strict=True)))

    def _pieces(self, document: Document) -> Iterator[Piece]:
        """What becomes a vector: the id and the title, if there is one, and the chunks that say something."""
        if self.embedder.keyed_by == "id":
            yield document.id, None
            return
        if self._config.paths:
            yield document.id, None
        if document.title:
            yield document.title, None
        line = 1
        for chunk in chunks(document.text, self._config.longest_chunk):
            text = chunk.rstrip()
            if text:
                yield chunk, (line, line + text.count("\n"))
            line += chunk.count("\n")
