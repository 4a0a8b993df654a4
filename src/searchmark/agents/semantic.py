"""Search by meaning: documents are cut into chunks, chunks become vectors, and the nearest ones are found exactly.

A chunk that did not change is not embedded again, whatever file it is in, whatever commit is looked at, and, by the
cache on disk, whatever run it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.chunk_table import ChunkTable
from searchmark.agents.chunking import Cutting, Lines
from searchmark.agents.pooling import FileHit, Pooling, PoolingKind, nearest_files
from searchmark.corpora.chunks import LONGEST
from searchmark.embedders import EmbedderChoice, check_embedder, load_embedder
from searchmark.errors import UsageError
from searchmark.indexes.exact import ExactIndex
from searchmark.options.sensitive import FilePath, ModelName
from searchmark.options.strict import strict_record

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.embedders.embedder import Embedder
    from searchmark.embedders.fingerprint import Fingerprint
    from searchmark.indexes.index import ScoringIndex
    from searchmark.records import Document

AT_ONCE = 8192  # chunks that wait for their vectors


@strict_record
class SemanticConfig:
    """Options of ``semantic``.

    ``embedder``: its name, or its name and options (``{name: openai, model: text-embedding-3-small}``).
    ``model``: a sentence-transformers model by its name on the hub or its folder, instead of ``embedder``.
    ``pooling``: the score of a file is that of its best chunk (``max``), the ``mean`` of its best ``mean_of``, or
    the ``sum`` of all. ``longest_chunk``: lines after which a chunk is cut at any blank line. ``paths``: the id of
    a document is one of its chunks. ``lines``: hits say where the best chunk is. ``top_k``: never more hits than
    that. ``query_cache``: how many queries are remembered until ``reset``; ``cache_answers``: with their answers.
    ``index_file``: a file that keeps the vectors of the corpus; it is made unless it exists.
    """

    embedder: EmbedderChoice = "wordllama"
    model: ModelName | None = None
    pooling: PoolingKind = "max"
    mean_of: int = 3
    longest_chunk: int = LONGEST
    paths: bool = True
    lines: bool = False
    top_k: int | None = None
    query_cache: int = 1000
    cache_answers: bool = False
    index_file: FilePath | None = None

    def __post_init__(self) -> None:
        least = {"mean_of": 1, "longest_chunk": 1, "top_k": 1, "query_cache": 0}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise ValueError(f"{name} is {value}, and must be {low} or more")
        if self.model is not None and self.embedder != "wordllama":
            raise ValueError("model and embedder exclude each other; set one of them")


class _RememberingSearch:
    """Queries to files, by one index; the least recently used of what is remembered goes first."""

    def __init__(self, index: ScoringIndex, table: ChunkTable, embedder: Embedder, config: SemanticConfig) -> None:
        pooling = Pooling(config.pooling, config.mean_of)
        # Caches over what is searched and not over methods: an agent with a cache of its own method would be part of a
        # cycle, and its vectors would stay in memory until a garbage collection.
        vector = lru_cache(config.query_cache)(embedder.embed_query)

        @lru_cache(config.query_cache if config.cache_answers else 0)
        def files(query: str, k: int) -> list[FileHit]:
            return nearest_files(index, table.layout(), vector(query), k, pooling)

        self.vector, self.files = vector, files

    @property
    def remembered(self) -> int:
        """How often the memory has helped since it was last emptied."""
        return self.vector.cache_info().hits + self.files.cache_info().hits

    def forget(self) -> None:
        """Forget everything, as if no query had been asked yet."""
        self.vector.cache_clear()
        self.files.cache_clear()


class SemanticAgent(RetrievalAgent):
    """Ranks by the cosine between the vectors of query and chunks; equal scores are ordered by id."""

    Config = SemanticConfig

    def __init__(self, config: SemanticConfig | None = None) -> None:
        self._config = config or SemanticConfig()
        chosen = self._config.embedder if self._config.model is None else {"name": "transformer", "model": self._config.model}
        self._options = check_embedder(chosen)
        self._embedder: Embedder | None = None
        self._cutting = Cutting(self._config.longest_chunk, self._config.paths, whole=False)
        self._table = ChunkTable()
        self._index: ScoringIndex | None = None
        self._search: _RememberingSearch | None = None
        self._lines_of: dict[str, list[Lines]] = {}

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
        options = self._config
        self._lines_of = {}
        self._cutting = Cutting(options.longest_chunk, options.paths, whole=self.embedder.keyed_by == "id")
        self._table = ChunkTable()
        self._index = ExactIndex(self.embedder.dimension, "cosine" if self._options.normalize else "ip")
        self._search = _RememberingSearch(self._index, self._table, self.embedder, options)
        if options.index_file is None:
            self._add(self._index, corpus)
        else:
            self._keep(self._index, corpus, Path(options.index_file))

    def update(self, changes: Changes) -> bool:
        if self._index is None or self._search is None:
            return False
        self._search.files.cache_clear()
        self._table.remove(changes.removed)
        added = self._add(self._index, changes.corpus.read(changes.written), again=True)
        # One that is no text any longer was not read, and must not be found as what it was.
        gone = set(changes.written) - added
        self._table.remove(gone)
        self._cutting.forget((*changes.removed, *gone))
        self._index.drop(self._table.collect())
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._search is None:
            raise UsageError("semantic was asked before it was initialised")
        wanted = k if self._config.top_k is None else min(k, self._config.top_k)
        before, known = self.embedder.cost(), self._search.remembered
        found = self._search.files(query, wanted)
        return RetrievalResult(
            [hit.name for hit in found],
            [hit.score for hit in found],
            metadata={"query_cache": "hit" if self._search.remembered > known else "miss"},
            lines=[self._lines_of[hit.name][hit.chunk] for hit in found] if self._config.lines else None,
            cost=self.embedder.cost() - before,
        )

    def reset(self) -> None:
        if self._search is not None:
            self._search.forget()

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = self._index = self._search = None
        self._table = ChunkTable()

    def index_bytes(self) -> int | None:
        size = None if self._index is None else self._index.size()
        return None if size is None else size + self._table.size()

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

    def _keep(self, index: ScoringIndex, corpus: Corpus, path: Path) -> None:
        """Use the vectors that were saved, if they were made from the same; otherwise save those of today."""
        from searchmark.indexes.saved import SavedVectors, read_vectors, save_vectors

        if self._config.lines:
            raise UsageError("a saved index does not know lines; leave out one of the options index_file and lines")
        fingerprint = self.fingerprint(corpus)
        if path.exists():
            saved = read_vectors(path, fingerprint)
            new = self._table.put({name: [saved.keys[row] for row in rows] for name, rows in saved.files.items()})
            index.put(np.array([new[key] for key in saved.keys], dtype=np.int64), saved.vectors)
            return
        self._add(index, corpus)
        every = np.unique(self._table.layout().numbers)
        files = {name: np.searchsorted(every, numbers).tolist() for name, numbers in self._table.files.items()}
        save_vectors(path, SavedVectors(self._table.keys(every), index.contents(every), files), fingerprint)

    def _add(self, index: ScoringIndex, documents: Iterable[Document], *, again: bool = False) -> set[str]:
        """Chunks wait until there are enough of them for the model; texts that are known already are not held."""
        waiting: dict[bytes, str] = {}
        files: dict[str, list[bytes]] = {}
        added: set[str] = set()
        for document in documents:
            pieces = self._cutting.pieces(document, again=again)
            files[document.id] = pieces.keys
            waiting.update((key, text) for key, text in pieces.fresh.items() if key not in self._table)
            if self._config.lines:
                self._lines_of[document.id] = self._cutting.lines(document)
            if len(waiting) >= AT_ONCE:
                self._embed(index, waiting, files)
                added.update(files)
                waiting, files = {}, {}
        self._embed(index, waiting, files)
        return added.union(files)

    def _embed(self, index: ScoringIndex, waiting: Mapping[bytes, str], files: Mapping[str, list[bytes]]) -> None:
        vectors = self.embedder.embed_documents(list(waiting.values())) if waiting else ()
        vector_of = dict(zip(waiting, vectors, strict=True))
        new = self._table.put(files)
        if new:
            index.put(np.fromiter(new.values(), np.int64, len(new)), np.stack([vector_of[key] for key in new]))
