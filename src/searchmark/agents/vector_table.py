"""Searches a table with vectors that is already there, as it is: in PostgreSQL by pgvector, or in SQLite by sqlite-vec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.existing.table import SAMPLE, ExistingTable, Rows, VectorTableConfig
from searchmark.embedders import check_embedder, load_embedder
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.embedders.embedder import Embedder, Vectors
    from searchmark.records import VectorStatistics


class VectorTableAgent(RetrievalAgent):
    """Ranks the rows of a table by the distance between their vectors and that of the query; nothing is written there."""

    Config = VectorTableConfig
    needs_corpus = False

    def __init__(self, config: VectorTableConfig | None = None) -> None:
        self._config = config or VectorTableConfig()
        self._options = check_embedder(self._config.embedder)
        self._embedder: Embedder | None = None
        self._table: ExistingTable | None = None
        self._last: tuple[Vectors, Rows, int] | None = None

    def start(self) -> None:
        """Vectors that cannot be compared are refused here, and not in the first search."""
        if not self._config.table:
            raise UsageError("vector-table needs the option table, and a dsn or a database")
        self.close()
        self._table = _opened(self._config)
        self._embedder = load_embedder(self._options)
        given, stored = self._embedder.dimension, self._table.dimension
        if given != stored:
            name = self._embedder.name
            self.close()
            raise UsageError(
                f"the embedder {name} gives {given} numbers, and the vectors of {self._config.table} have {stored}; name the "
                "embedder that the table was made with"
            )

    def initialize(self, corpus: Corpus) -> None:  # noqa: ARG002  # the table has its own
        self.start()

    def update(self, changes: Changes) -> bool:  # noqa: ARG002  # whatever has changed is not in the table
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._table is None or self._embedder is None:
            raise UsageError("vector-table was asked before it was started")
        before = self._embedder.cost()
        vector = self._embedder.embed_query(query)
        self._last = None
        started = perf_counter()
        rows = self._table.nearest(vector, k) if vector.any() else Rows((), ())  # a query of zeros is near to nothing
        index_ms = (perf_counter() - started) * 1000
        self._last = (vector, rows, k)
        return RetrievalResult(rows.ids, self._table.scores(rows), cost=self._embedder.cost() - before, index_ms=index_ms)

    def usage_of_last(self) -> Usage:
        if self._table is None or self._last is None or not self._config.measure_recall or not self._last[0].any():
            return NO_USAGE
        vector, rows, k = self._last
        measured = self._table.recall(vector, rows, min(k, self._config.recall_k))
        return NO_USAGE if measured is None else Usage(ann_k=measured.k, ann_recall=measured.recall, ann_overlap=measured.overlap)

    def index_bytes(self) -> int | None:
        return None if self._table is None else self._table.size()

    def vectors(self) -> Sequence[VectorStatistics]:
        return () if self._table is None else (self._table.statistics(),)

    def describe(self) -> Mapping[str, Any]:
        made_of = {} if self._embedder is None else asdict(self._embedder.fingerprint())
        return {
            "ranking": "vectors",
            "embedder": {part: value for part, value in made_of.items() if value is not None},
            "distance": self._config.distance,
            "index": {} if self._table is None else dict(self._table.describe()),
            "filter": None if self._config.filter is None else dict(self._config.filter),
            "statistics_of_first": SAMPLE,
        }

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()
        if self._table is not None:
            self._table.close()
        self._embedder = self._table = self._last = None


def _opened(config: VectorTableConfig) -> ExistingTable:
    if config.database is not None:
        from searchmark.agents.existing.sqlite_table import SqliteTable

        return SqliteTable(config)
    from searchmark.agents.existing.postgres_table import PostgresTable

    return PostgresTable(config)
