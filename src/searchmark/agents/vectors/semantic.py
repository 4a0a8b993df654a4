"""Search by meaning: documents are cut into chunks, chunks become vectors, and an index finds the nearest ones.

A chunk that did not change is not embedded again, whatever file it is in, whatever commit is looked at, and, by the
cache on disk, whatever run it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.agents.agent import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.chunk_choice import read_chunking
from searchmark.agents.chunk_table import ChunkTable
from searchmark.agents.chunking import Cutting, Lines, digest
from searchmark.agents.pooling import Pooling
from searchmark.agents.semantic_options import SemanticConfig
from searchmark.agents.stored_vectors import StoredVectors
from searchmark.agents.vector_search import SearchOptions, VectorAnswer, VectorSearch, measured_recall
from searchmark.corpora.selection import DocumentSelection
from searchmark.embedders import check_embedder, load_embedder
from searchmark.errors import UsageError
from searchmark.indexes import check_index
from searchmark.indexes.exact import ExactOptions

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.embedders.embedder import Embedder
    from searchmark.embedders.fingerprint import Fingerprint
    from searchmark.records import Document, VectorStatistics

AT_ONCE = 8192  # chunks that wait for their vectors


class SemanticAgent(RetrievalAgent):
    """Ranks by how near the vectors of chunks are to that of the query; equal scores are ordered by id."""

    Config = SemanticConfig

    def __init__(self, config: SemanticConfig | None = None) -> None:
        self._config = config or SemanticConfig()
        chosen = self._config.embedder if self._config.model is None else {"name": "transformer", "model": self._config.model}
        self._options = check_embedder(chosen)
        self._index_options = check_index(self._config.index)
        self._index_options.check_distance(self._config.distance)
        self._index_options.refuse_without_effect()
        if self._config.pooling != "max" and not isinstance(self._index_options, ExactOptions):
            raise UsageError(f"pooling {self._config.pooling!r} needs every chunk of a file: use index: exact, or pooling: max")
        self._embedder: Embedder | None = None
        self._selection = DocumentSelection.of(self._config.fields, self._config.filter)
        self._cutting = self._new_cutting(by_id=False)
        self._table = ChunkTable()
        self._stored: StoredVectors | None = None
        self._search: VectorSearch | None = None
        self._last: VectorAnswer | None = None
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
        self._check_pieces()
        corpus = self._selection.corpus(corpus)
        self._lines_of = {}
        self._cutting = self._new_cutting(by_id=self.embedder.keyed_by == "id")
        self._table = ChunkTable()
        self._stored = self._opened()
        pooling = Pooling(options.pooling, options.mean_of)
        remembering = SearchOptions(pooling, options.candidates, options.query_cache, options.cache_answers)
        self._search = VectorSearch(self._stored, self._table, self.embedder.embed_query, remembering)
        if options.index_file is None:
            self._add(self._stored, corpus)
        else:
            self._keep(self._stored, corpus, Path(options.index_file))
        if not options.measure_recall:
            self._stored.forget_truth()
        self._stored.build()

    def update(self, changes: Changes) -> bool:
        if self._stored is None or self._search is None:
            return False
        self._search.answer.cache_clear()
        changes = self._selection.changes(changes)
        self._table.remove(changes.removed)
        added = self._add(self._stored, changes.corpus.read(changes.written), again=True)
        # One that is no text any longer was not read, and must not be found as what it was.
        gone = set(changes.written) - added
        self._table.remove(gone)
        self._cutting.forget((*changes.removed, *gone))
        self._stored.drop(self._table.collect())
        self._stored.build()
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._search is None:
            raise UsageError("semantic was asked before it was initialised")
        wanted = k if self._config.top_k is None else min(k, self._config.top_k)
        before, known, answers = self.embedder.cost(), self._search.remembered, self._search.answers_remembered
        self._last = answer = self._search.answer(query, wanted)
        return RetrievalResult(
            [hit.name for hit in answer.hits],
            [hit.score for hit in answer.hits],
            metadata={"query_cache": "hit" if self._search.remembered > known else "miss"},
            lines=[self._lines_of[hit.name][hit.chunk] for hit in answer.hits] if self._config.lines else None,
            cost=self.embedder.cost() - before,
            index_ms=answer.index_ms if self._search.answers_remembered == answers else None,
        )

    def usage_of_last(self) -> Usage:
        if self._stored is None or self._last is None:
            return NO_USAGE
        return measured_recall(self._stored, len(self._table), self._last, self._config.recall_k)

    def reset(self) -> None:
        if self._search is not None:
            self._search.forget()

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        if self._stored is not None:
            self._stored.close()
        self._embedder = self._stored = self._search = self._last = None
        self._table = ChunkTable()

    def index_bytes(self) -> int | None:
        size = None if self._stored is None else self._stored.searched.size()
        return None if size is None else size + self._table.size()

    def vectors(self) -> Sequence[VectorStatistics]:
        if self._stored is None:
            return ()
        with_names = self._cutting.paths and not self._cutting.by_id
        names = self._table.numbers_of(map(digest, self._table.files)) if with_names else ()
        found = self._stored.ledger.statistics(normalized=self._options.normalize, names=names)
        # Vectors from a file of an earlier run are as they were treated then.
        known = self._options.normalize and self._config.index_file is None
        return (replace(found, unit_before=min(self.embedder.unit_documents, found.count)) if known else found,)

    def describe(self) -> Mapping[str, Any]:
        made_of = {} if self._embedder is None else asdict(self._embedder.fingerprint())
        return {
            "ranking": "vectors",
            "embedder": {part: value for part, value in made_of.items() if value is not None},
            "distance": self._config.distance,
            "chunking": str(self._cutting),
            **self._selection.describe(),
            "index": {} if self._stored is None else dict(self._stored.searched.describe()),
            "pooling": self._config.pooling,
            "mean_of": self._config.mean_of,
            "top_k": self._config.top_k,
        }

    def fingerprint(self, corpus: Corpus) -> Fingerprint:
        """What the index of this corpus is made of."""
        return replace(self.embedder.fingerprint(), chunking=str(self._cutting), corpus=corpus.survey.digest)

    def _check_pieces(self) -> None:
        """What of a document is embedded cannot be chosen any more where its vector was made elsewhere."""
        if self.embedder.keyed_by == "id" and (self._config.fields is not None or self._config.chunking != "lines"):
            raise UsageError(f"{self.embedder.name} has one vector for each document: leave out the options fields and chunking")

    def _new_cutting(self, *, by_id: bool) -> Cutting:
        return Cutting(read_chunking(self._config.chunking), self._config.paths and self._selection.ids, by_id)

    def _opened(self) -> StoredVectors:
        """An empty index in place of the one there was. What is to be saved is taken from the exact one."""
        if self._stored is not None:
            self._stored.close()
        with_truth = self._config.measure_recall or self._config.index_file is not None
        return StoredVectors(self._index_options, self.embedder.dimension, self._config.distance, with_truth=with_truth)

    def _keep(self, stored: StoredVectors, corpus: Corpus, path: Path) -> None:
        """Use the vectors that were saved, if they were made from the same; otherwise save those of today."""
        from searchmark.indexes.saved import SavedVectors, read_vectors, save_vectors

        if self._config.lines:
            raise UsageError("a saved index does not know lines; leave out one of the options index_file and lines")
        fingerprint = self.fingerprint(corpus)
        if path.exists():
            saved = read_vectors(path, fingerprint)
            new = self._table.put({name: [saved.keys[row] for row in rows] for name, rows in saved.files.items()})
            stored.put(np.array([new[key] for key in saved.keys], dtype=np.int64), saved.vectors)
            return
        self._add(stored, corpus)
        every = np.unique(self._table.layout().numbers)
        files = {name: np.searchsorted(every, numbers).tolist() for name, numbers in self._table.files.items()}
        vectors = stored.contents(every)
        save_vectors(path, SavedVectors(self._table.keys(every), vectors, files), fingerprint)

    def _add(self, stored: StoredVectors, documents: Iterable[Document], *, again: bool = False) -> set[str]:
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
                self._embed(stored, waiting, files)
                added.update(files)
                waiting, files = {}, {}
        self._embed(stored, waiting, files)
        return added.union(files)

    def _embed(self, stored: StoredVectors, waiting: Mapping[bytes, str], files: Mapping[str, list[bytes]]) -> None:
        vectors = self.embedder.embed_documents(list(waiting.values())) if waiting else ()
        vector_of = dict(zip(waiting, vectors, strict=True))
        new = self._table.put(files)
        if new:
            stored.put(np.fromiter(new.values(), np.int64, len(new)), np.stack([vector_of[key] for key in new]))
