"""Exact search beside faiss: the same vectors, threads and run; peak memory; a million vectors in three gigabytes."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

VECTORS, DIMENSION, QUERIES, K = 100_000, 384, 1000, 10
ROUNDS = 9
SINGLES = 60
PIECE = 5_000  # vectors that are made and put at once
SLOWER, LARGER = 1.1, 1.5  # than faiss; than the vectors
MILLION, NARROW, GIGABYTES = 1_000_000, 128, 3


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def pieces(count: int, dimension: int) -> Iterator[tuple[int, object]]:
    """Random vectors of length one, some at a time, and the number of the first."""
    import numpy as np

    random = np.random.default_rng(1)
    for first in range(0, count, PIECE):
        rows = random.standard_normal((min(PIECE, count - first), dimension), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield first, rows


def filled(count: int, dimension: int, distance: str = "ip", **options: object):  # its class is loaded by the child alone
    import numpy as np

    from searchmark.agents.vectors.exact import ExactSettings

    index = ExactSettings(**options).open(dimension, distance)
    for first, rows in pieces(count, dimension):
        index.put(np.arange(first, first + len(rows)), rows)
    return index


def asked(count: int, dimension: int):  # numpy is loaded by the child alone
    import numpy as np

    queries = np.random.default_rng(2).standard_normal((count, dimension), dtype=np.float32)
    return queries / np.linalg.norm(queries, axis=1, keepdims=True)


def beside_faiss(threads: int) -> dict[str, object]:
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(threads)
    theirs, queries = faiss.IndexFlatIP(DIMENSION), asked(QUERIES, DIMENSION)
    for _, rows in pieces(VECTORS, DIMENSION):
        theirs.add(rows)
    ours, cosine = filled(VECTORS, DIMENSION), filled(VECTORS, DIMENSION, "cosine")
    same = np.stack([near.numbers for near in ours.search_many(queries, K)]) == theirs.search(queries, K)[1]
    rounds = [
        [seconds(work) for work in (lambda: theirs.search(queries, K), lambda: ours.search_many(queries, K),
                                    lambda: cosine.search_many(queries, K))]
        for _ in range(ROUNDS)
    ]  # fmt: skip
    singles = [
        [seconds(lambda query=query: theirs.search(query[None], K)), seconds(lambda query=query: ours.search(query, K))]
        for query in queries[:SINGLES]
    ]
    return {"agree": float(same.mean()), "rounds": rounds, "singles": singles}


def status(field: str) -> int:
    """Bytes, by the kernel's account of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def peak_memory() -> dict[str, object]:
    """Above the process that has imported everything and multiplied once, which makes BLAS take its own."""
    import numpy as np

    import searchmark.agents.vectors.exact  # noqa: F401  # loaded before the account begins

    queries = asked(QUERIES, DIMENSION)
    next(pieces(PIECE, DIMENSION))
    np.matmul(queries, queries.T)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = status("VmRSS")
    index = filled(VECTORS, DIMENSION)
    index.search_many(queries, K)
    return {"above": status("VmHWM") - before}


def a_million(memory_mb: int | None) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    made = time.perf_counter()
    index = filled(MILLION, NARROW, "cosine", memory_mb=memory_mb)
    made = time.perf_counter() - made
    queries = asked(QUERIES, NARROW)
    many = seconds(lambda: index.search_many(queries, K))
    one = statistics.median(seconds(lambda query=query: index.search(query, K)) for query in queries[:9])
    return {"made": made, "many": many, "one": one, "peak": status("VmHWM")}


CHILDREN = {"faiss": beside_faiss, "memory": peak_memory, "million": a_million}


def child(name: str, threads: int, *arguments: object) -> dict[str, object]:
    """What a process of its own measures; threads must be set before the libraries are loaded."""
    number = str(threads)
    done = subprocess.run(
        [sys.executable, __file__, name, json.dumps(arguments)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": number, "OMP_NUM_THREADS": number},
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"the process that measures {name} has failed")
    return json.loads(done.stdout)


def verdict(value: float, most: float) -> str:
    return "PASS" if value <= most else f"missed by {value / most - 1:.0%}"


def print_beside_faiss(threads: int) -> None:
    found = child("faiss", threads, threads)
    theirs, ours, cosine = (statistics.median(column) for column in zip(*found["rounds"], strict=True))
    ratio = statistics.median(mine / other for other, mine, _ in found["rounds"])
    by_cosine = statistics.median(mine / other for other, _, mine in found["rounds"])
    single, alone = (1000 * statistics.median(column) for column in zip(*found["singles"], strict=True))
    one = statistics.median(mine / other for other, mine in found["singles"])
    print(f"threads: {threads}; {found['agree']:.2%} of what is found is the same")
    print(f"  {QUERIES:,} queries: faiss {theirs:.2f} s, exact {ours:.2f} s: {ratio:.2f}x (at most {SLOWER}): {verdict(ratio, SLOWER)}; "
          f"by cosine {cosine:.2f} s: {by_cosine:.2f}x")  # fmt: skip
    print(f"  one query: faiss {single:.1f} ms, exact {alone:.1f} ms: {one:.2f}x")


def print_memory(threads: int) -> None:
    above, vectors = child("memory", threads)["above"], VECTORS * DIMENSION * 4
    print(f"peak memory: {above / 1e6:.0f} MB for {vectors / 1e6:.0f} MB of vectors: {above / vectors:.2f}x (at most {LARGER}): "
          f"{verdict(above / vectors, LARGER)}")  # fmt: skip


def print_million(threads: int, label: str, memory_mb: int | None) -> None:
    found = child("million", threads, memory_mb)
    print(f"{MILLION:,} x {NARROW} in {GIGABYTES} GB of address space, {label}: put in {found['made']:.1f} s, {QUERIES:,} queries "
          f"{found['many']:.1f} s, one {1000 * found['one']:.0f} ms, peak {found['peak'] / 1e9:.2f} GB: PASS")  # fmt: skip


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    print(f"top {K} of {VECTORS:,} x {DIMENSION}, wall time, rounds alternate, median of the {ROUNDS} ratios")
    for threads in sorted({1, cores}):
        print_beside_faiss(threads)
    print_memory(cores)
    print_million(cores, "in memory", None)
    print_million(cores, "in a mapped file", 0)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(CHILDREN[sys.argv[1]](*json.loads(sys.argv[2]))))
    else:
        main()
