"""The agent `semantic`: chunks become vectors, an index finds the nearest, files are ranked by them.

Unchanged chunks are never embedded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.agents.chunks import refuse_lines_of_selection
from searchmark.agents.protocol import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.vectors import EmbedderEntry, IndexEntry, embedder_settings, index_settings, load_embedder
from searchmark.agents.vectors.chunking import Chunker, ChunkLines, parse_chunking, text_key
from searchmark.agents.vectors.embedder import Vectors
from searchmark.agents.vectors.exact import ExactIndex, ExactSettings
from searchmark.agents.vectors.index import (
    Distance,
    IndexSettings,
    Neighbours,
    TimedIndex,
    TimedScoringIndex,
    VectorIndex,
    VectorNumbers,
    VectorStatisticsTracker,
    neighbour_recall,
)
from searchmark.agents.vectors.pooling import NO_CHUNKS, ChunkTable, FileHit, Pooling, PoolingKind, files_of_nearest, nearest_files
from searchmark.config.permissions import FilePath, ModelName
from searchmark.config.strict import Whole, strict_record
from searchmark.errors import UsageError
from searchmark.formats.corpora.corpus import DocumentSelection
from searchmark.io.paths import expand_paths
from searchmark.records.columns import distinct

if TYPE_CHECKING:
    from searchmark.agents.vectors.embedder import Embedder, Fingerprint
    from searchmark.formats.corpora.corpus import Changes, Corpus
    from searchmark.records.document import Document
    from searchmark.records.provenance import VectorStatistics


MINIMUM_VALUES = {"mean_of": 1, "top_k": 1, "query_cache": 0, "recall_k": 1, "candidates": 1}


@strict_record
class SemanticSettings:
    """Options of ``semantic``.

    ``embedder``: its name, or its name and options (``{name: openai, model: text-embedding-3-small}``).
    ``model``: a sentence-transformers model by its name on the hub or its folder, instead of ``embedder``.
    ``index``: its name, or its name and options (``{name: hnsw, m: 16}``). ``distance``: what is near, by ``cosine``, inner
    product (``ip``) or Euclidean distance (``l2``), whether or not the embedder normalises. ``candidates``: how many chunks an
    approximate index is asked for at first (as many as hits are wanted). ``recall_k``: how many of the nearest chunks its recall
    is measured on; ``measure_recall``: keep the vectors in an exact index too, to know which are the nearest.
    ``pooling``: the score of a file is that of its best chunk (``max``), the ``mean`` of its best ``mean_of``, or
    the ``sum`` of all. ``chunking``: ``lines`` (at blank lines before unindented text; ``{lines: 60}``: at any blank line in what
    is longer), ``{tokens: 300-800, overlap: 15%}`` or ``whole``. ``fields``: what of a document is searched, by the
    names of its fields (``[title, bullets]``); ``filter``: only documents with these values (``{brand: [adidas, nike]}``).
    ``paths``: the id of a document is one of its chunks, unless ``fields`` leaves it out.
    ``lines``: hits say where the best chunk is. ``top_k``: never more hits than that. ``query_cache``: how many queries are
    remembered until ``reset``; ``cache_answers``: with their answers.
    ``index_file``: a file that keeps the vectors of the corpus; it is made unless it exists.
    """

    embedder: EmbedderEntry = "wordllama"
    model: ModelName | None = None
    index: IndexEntry = "exact"
    distance: Distance = "cosine"
    candidates: Whole | None = None
    recall_k: Whole = 10
    measure_recall: bool = True
    pooling: PoolingKind = "max"
    mean_of: Whole = 3
    chunking: str | dict[str, Any] = "lines"
    fields: list[str] | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    paths: bool = True
    lines: bool = False
    top_k: Whole | None = None
    query_cache: Whole = 1000
    cache_answers: bool = False
    index_file: FilePath | None = None

    def __post_init__(self) -> None:
        expand_paths(self, "index_file")
        for name, low in MINIMUM_VALUES.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise ValueError(f"{name} is {value}, and must be {low} or more")
        parse_chunking(self.chunking)
        refuse_lines_of_selection(self.lines, DocumentSelection.of(self.fields, self.filter))
        if self.model is not None and self.embedder != "wordllama":
            raise ValueError("model and embedder exclude each other; set one of them")


# The vectors of a corpus: in the index that is searched and, beside an approximate one, in an exact one that knows the truth.


class VectorStore:
    """What is put or dropped is so in both indexes. ``truth``: the exact index, also if it is the one that is searched."""

    def __init__(self, options: IndexSettings, dimension: int, distance: Distance, *, with_truth: bool) -> None:
        self.searched: VectorIndex = options.open(dimension, distance)
        self.ledger = VectorStatisticsTracker(dimension)
        self.truth = self.scoring
        if self.truth is None and with_truth:
            self.truth = ExactIndex(dimension, distance)

    @property
    def scoring(self) -> ExactIndex | None:
        """The searched index, if it can score whatever it is asked for."""
        return self.searched if isinstance(self.searched, ExactIndex) else None

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        for index in self._indexes():
            index.put(numbers, vectors)
        self.ledger.put(numbers, vectors)

    def drop(self, numbers: VectorNumbers) -> None:
        for index in self._indexes():
            index.drop(numbers)
        self.ledger.drop(numbers)

    def build(self) -> None:
        """To be called before the next search."""
        for index in self._indexes():
            index.build()

    def contents(self, numbers: VectorNumbers) -> Vectors:
        """The vectors under these numbers; only asked where the truth is kept."""
        assert self.truth is not None  # noqa: S101  # it is kept where contents are wanted
        return self.truth.contents(numbers)

    def forget_truth(self) -> None:
        """Keep the searched index alone."""
        if self.scoring is None and self.truth is not None:
            self.truth.close()
            self.truth = None

    def close(self) -> None:
        for index in self._indexes():
            index.close()

    def _indexes(self) -> list[VectorIndex]:
        return [self.searched] if self.truth is None or self.scoring is not None else [self.searched, self.truth]


# Queries to files by the vectors of an index: what the index took, and what it has found of the true neighbours.
#
# The truth is that of an exact index over the same vectors, which is asked after the search and never in its time.

EmbedQuery = Callable[[str], Vectors]

NO_NEIGHBOURS = Neighbours(NO_CHUNKS, np.empty(0))


@dataclass(frozen=True)
class VectorSearchSettings:
    """How files are found, and what is remembered of queries."""

    pooling: Pooling
    candidates: int | None  # chunks that are asked for at first
    remembered: int  # queries
    answers: bool  # whether answers are remembered too


@dataclass(frozen=True, eq=False)
class VectorSearchResult:
    """The files that were found for a query."""

    query: Vectors
    hits: list[FileHit] = field(default_factory=list)
    near: Neighbours = NO_NEIGHBOURS  # the nearest chunks; none where an index scores files by all of their chunks
    asked: int = 0  # how many chunks were asked for at first
    index_ms: float | None = None  # None if the index was not asked


class VectorSearch:
    """Queries to files, by one index; the least recently used of what is remembered goes first."""

    def __init__(self, store: VectorStore, table: ChunkTable, embed: EmbedQuery, options: VectorSearchSettings) -> None:
        # Caches over what is searched and not over methods: an agent with a cache of its own method would be part of a
        # cycle, and its vectors would stay in memory until a garbage collection.
        vector = lru_cache(options.remembered)(embed)

        @lru_cache(options.remembered if options.answers else 0)
        def answer(query: str, k: int) -> VectorSearchResult:
            return search_files(store, table, vector(query), k, options)

        self.vector, self.answer = vector, answer

    @property
    def remembered(self) -> int:
        """How often the memory has helped since it was last emptied."""
        return self.vector.cache_info().hits + self.answers_remembered

    @property
    def answers_remembered(self) -> int:
        """How often a whole answer was remembered, and no index was asked."""
        return self.answer.cache_info().hits

    def forget(self) -> None:
        """Forget everything, as if no query had been asked yet."""
        self.vector.cache_clear()
        self.answer.cache_clear()


def search_files(
    store: VectorStore, table: ChunkTable, query: Vectors, k: int, options: VectorSearchSettings
) -> VectorSearchResult:
    """The best ``k`` files for a vector; one of zeros is near to nothing, and no index is asked for it."""
    layout = table.layout()
    if k < 1 or not layout.names or not query.any():
        return VectorSearchResult(query)
    if store.scoring is not None:
        scoring = TimedScoringIndex(store.scoring)
        hits = nearest_files(scoring, layout, query, k, options.pooling)
        return VectorSearchResult(query, hits, NO_NEIGHBOURS, k, scoring.spent_ns / 1e6)
    index = TimedIndex(store.searched)
    nearest = files_of_nearest(index, layout, query, k, options.candidates)
    # Where files were too few, more chunks were asked for than a user of the index would have; recall is that of the first.
    return VectorSearchResult(query, nearest.hits, nearest.near, nearest.asked, index.spent_ns / 1e6)


def measure_recall(store: VectorStore, chunks: int, last: VectorSearchResult, recall_k: int) -> Usage:
    """What the index has found of the true nearest vectors, before files were made of them; an exact one finds all."""
    k = min(recall_k, last.asked, chunks)
    if k < 1:
        return NO_USAGE
    if store.searched.exact:
        return Usage(ann_k=k, ann_recall=1.0, ann_overlap=1.0)
    recall = None if store.truth is None else neighbour_recall(store.truth, last.query, last.near.numbers, k)
    return NO_USAGE if recall is None else Usage(ann_k=recall.k, ann_recall=recall.recall, ann_overlap=recall.overlap)


# Search by meaning: documents are cut into chunks, chunks become vectors, and an index finds the nearest ones.
#
# A chunk that did not change is not embedded again, whatever file it is in, whatever commit is looked at, and, by the
# cache on disk, whatever run it is.

CHUNKS_AT_ONCE = 8192  # chunks that wait for their vectors


class SemanticAgent(RetrievalAgent):
    """Ranks by how near the vectors of chunks are to that of the query; equal scores are ordered by id."""

    Config = SemanticSettings

    def __init__(self, config: SemanticSettings | None = None) -> None:
        self._config = config or SemanticSettings()
        embedder = self._config.embedder if self._config.model is None else {"name": "transformer", "model": self._config.model}
        self._options = embedder_settings(embedder)
        self._index_options = index_settings(self._config.index)
        self._index_options.check_distance(self._config.distance)
        self._index_options.refuse_without_effect()
        if self._config.pooling != "max" and not isinstance(self._index_options, ExactSettings):
            raise UsageError(f"pooling {self._config.pooling!r} needs every chunk of a file: use index: exact, or pooling: max")
        self._embedder: Embedder | None = None
        self._selection = DocumentSelection.of(self._config.fields, self._config.filter)
        self._chunker = self._new_chunker(by_id=False)
        self._table = ChunkTable()
        self._store: VectorStore | None = None
        self._search: VectorSearch | None = None
        self._last: VectorSearchResult | None = None
        self._lines_of: dict[str, list[ChunkLines]] = {}

    @property
    def embedder(self) -> Embedder:
        """Loaded when it is first needed."""
        if self._embedder is None:
            self._embedder = load_embedder(self._options)
        return self._embedder

    @classmethod
    def missing(cls) -> str | None:
        from searchmark.agents.vectors.models import wordllama_problem

        return wordllama_problem()

    def initialize(self, corpus: Corpus) -> None:
        options = self._config
        self._check_pieces()
        corpus = self._selection.corpus(corpus)
        self._lines_of = {}
        self._chunker = self._new_chunker(by_id=self.embedder.keyed_by == "id")
        self._table = ChunkTable()
        self._store = self._open()
        pooling = Pooling(options.pooling, options.mean_of)
        settings = VectorSearchSettings(pooling, options.candidates, options.query_cache, options.cache_answers)
        self._search = VectorSearch(self._store, self._table, self.embedder.embed_query, settings)
        if options.index_file is None:
            self._add(self._store, corpus)
        else:
            self._keep(self._store, corpus, Path(options.index_file))
        if not options.measure_recall:
            self._store.forget_truth()
        self._store.build()

    def update(self, changes: Changes) -> bool:
        if self._store is None or self._search is None:
            return False
        self._search.answer.cache_clear()
        changes = self._selection.changes(changes)
        self._table.remove(changes.removed)
        added_ids = self._add(self._store, changes.corpus.read(changes.written))
        # One that is no text any longer was not read, and must not be found as what it was.
        self._table.remove(set(changes.written) - added_ids)
        self._store.drop(self._table.collect())
        self._store.build()
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._search is None:
            raise UsageError("semantic was asked before it was initialised")
        most = k if self._config.top_k is None else min(k, self._config.top_k)
        before, query_hits, answers = self.embedder.cost(), self._search.remembered, self._search.answers_remembered
        self._last = answer = self._search.answer(query, most)
        return RetrievalResult(
            [hit.name for hit in answer.hits],
            [hit.score for hit in answer.hits],
            metadata={"query_cache": "hit" if self._search.remembered > query_hits else "miss"},
            lines=[self._lines_of[hit.name][hit.chunk] for hit in answer.hits] if self._config.lines else None,
            cost=self.embedder.cost() - before,
            index_ms=answer.index_ms if self._search.answers_remembered == answers else None,
        )

    def usage_of_last(self) -> Usage:
        if self._store is None or self._last is None:
            return NO_USAGE
        return measure_recall(self._store, len(self._table), self._last, self._config.recall_k)

    def reset(self) -> None:
        if self._search is not None:
            self._search.forget()

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        if self._store is not None:
            self._store.close()
        self._embedder = self._store = self._search = self._last = None
        self._table = ChunkTable()

    def index_bytes(self) -> int | None:
        size = None if self._store is None else self._store.searched.size()
        return None if size is None else size + self._table.size()

    def vectors(self) -> Sequence[VectorStatistics]:
        if self._store is None:
            return ()
        with_names = self._chunker.paths and not self._chunker.by_id
        names = self._table.numbers_of(map(text_key, self._table.files)) if with_names else ()
        statistics = self._store.ledger.statistics(normalized=self._options.normalize, names=names)
        # Vectors from a file of an earlier run are as they were treated then.
        normalized_here = self._options.normalize and self._config.index_file is None
        return (
            replace(statistics, unit_before=min(self.embedder.unit_documents, statistics.count)) if normalized_here else statistics,
        )

    def describe(self) -> Mapping[str, Any]:
        made_of = {} if self._embedder is None else asdict(self._embedder.fingerprint())
        return {
            "ranking": "vectors",
            "embedder": {part: value for part, value in made_of.items() if value is not None},
            "distance": self._config.distance,
            "chunking": str(self._chunker),
            **self._selection.describe(),
            "index": {} if self._store is None else dict(self._store.searched.describe()),
            "pooling": self._config.pooling,
            "mean_of": self._config.mean_of,
            "top_k": self._config.top_k,
        }

    def fingerprint(self, corpus: Corpus) -> Fingerprint:
        """What the index of this corpus is made of."""
        return replace(self.embedder.fingerprint(), chunking=str(self._chunker), corpus=corpus.survey.digest)

    def _check_pieces(self) -> None:
        """What of a document is embedded cannot be chosen any more where its vector was made elsewhere."""
        if self.embedder.keyed_by == "id" and (self._config.fields is not None or self._config.chunking != "lines"):
            raise UsageError(f"{self.embedder.name} has one vector for each document: leave out the options fields and chunking")

    def _new_chunker(self, *, by_id: bool) -> Chunker:
        return Chunker(parse_chunking(self._config.chunking), self._config.paths and self._selection.ids, by_id)

    def _open(self) -> VectorStore:
        """An empty index in place of the one there was. What is to be saved is taken from the exact one."""
        if self._store is not None:
            self._store.close()
        with_truth = self._config.measure_recall or self._config.index_file is not None
        return VectorStore(self._index_options, self.embedder.dimension, self._config.distance, with_truth=with_truth)

    def _keep(self, store: VectorStore, corpus: Corpus, path: Path) -> None:
        """Use the vectors that were saved, if they were made from the same; otherwise save those of today."""
        from searchmark.agents.vectors.precomputed import SavedIndex, read_saved_index, save_index

        if self._config.lines:
            raise UsageError("a saved index does not know lines; leave out one of the options index_file and lines")
        fingerprint = self.fingerprint(corpus)
        if path.exists():
            index = read_saved_index(path, fingerprint)
            new = self._table.put({name: [index.keys[row] for row in rows] for name, rows in index.files.items()})
            store.put(np.array([new[key] for key in index.keys], dtype=np.int64), index.vectors)
            return
        self._add(store, corpus)
        every = distinct(self._table.layout().numbers)
        files = {name: np.searchsorted(every, numbers).tolist() for name, numbers in self._table.files.items()}
        vectors = store.contents(every)
        save_index(path, SavedIndex(self._table.keys(every), vectors, files), fingerprint)

    def _add(self, store: VectorStore, documents: Iterable[Document]) -> set[str]:
        """Chunks wait until there are enough of them for the model; texts that are known already are not held."""
        pending: dict[bytes, str] = {}
        files: dict[str, list[bytes]] = {}
        ids: set[str] = set()
        for document in documents:
            pieces = self._chunker.pieces(document)
            files[document.id] = list(pieces)
            pending.update((key, text) for key, text in pieces.items() if key not in self._table)
            if self._config.lines:
                self._lines_of[document.id] = self._chunker.lines(document)
            if len(pending) >= CHUNKS_AT_ONCE:
                self._embed(store, pending, files)
                ids.update(files)
                pending, files = {}, {}
        self._embed(store, pending, files)
        return ids.union(files)

    def _embed(self, store: VectorStore, pending: Mapping[bytes, str], files: Mapping[str, list[bytes]]) -> None:
        vectors = self.embedder.embed_documents(list(pending.values())) if pending else ()
        vector_of = dict(zip(pending, vectors, strict=True))
        new = self._table.put(files)
        if new:
            store.put(np.fromiter(new.values(), np.int64, len(new)), np.stack([vector_of[key] for key in new]))
