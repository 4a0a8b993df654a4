"""Frames: a run of a million hits, and the scores of 100,000 cases, as tables."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl

from searchmark import Run, RunLabel, Suite, match_hits, score

CASES, DEPTH, MANY = 10_000, 100, 100_000


def seconds(make: Callable[[], pl.DataFrame]) -> float:
    """The best of five, the first time of polars left out."""
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        make()
        taken.append(time.perf_counter() - started)
    return min(taken)


def runs() -> dict[str, Run]:
    """The same million hits: ids as a list, as an Arrow column, and in an order that is not that of their ranks."""
    ids = [f"document-{number % 50_000}" for number in range(CASES * DEPTH)]
    columns = (np.arange(0, CASES * DEPTH + 1, DEPTH), ids, np.random.default_rng(1).random(CASES * DEPTH))
    label, cases, status = RunLabel("large"), tuple(f"q{number}" for number in range(CASES)), np.zeros(CASES, np.uint8)
    starts, _, scores = columns
    backwards = np.tile(np.arange(DEPTH, 0, -1, dtype=np.int32), CASES)
    return {
        "ids in a list": Run(label, cases, starts, ids, scores, status),
        "ids in a column": Run(label, cases, starts, pl.Series(ids), scores, status),
        "not by rank": Run(label, cases, starts, pl.Series(ids), scores, status, rank=backwards),
    }


def main() -> None:
    for name, run in runs().items():
        print(f"1,000,000 hits, {name}: {seconds(run.frame):.3f} s")
    suite = Suite.from_grades({f"q{number}": {"a": 1} for number in range(MANY)})
    scores = score(
        match_hits(suite, Run.from_scores({f"q{number}": {"a": 1.0} for number in range(MANY)})), ["RR", "P@5", "Abstain"]
    )
    print(f"{MANY:,} cases, 3 measures, one of them undefined: {seconds(scores.frame):.3f} s")
    print(f"{MANY:,} judgments: {seconds(suite.frame):.3f} s")


if __name__ == "__main__":
    main()
