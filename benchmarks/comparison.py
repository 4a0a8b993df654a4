"""Comparison: five runs on 10,000 cases, and the intervals beside scipy's bootstrap. The claims are in verdicts.py."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
from scipy import stats

from memory import peak_megabytes
from searchmark import Run, Suite, compare, match_hits, score
from searchmark.scoring.statistics import SHOWN_LEVEL, difference_intervals, observations

RUNS, CASES, RESAMPLES = 5, 10_000, 10_000


def at_size() -> None:
    """Five runs on 10,000 cases, ten pairs, two measures: everything that compare() does."""
    random = np.random.default_rng(1)
    suite = Suite.from_grades({f"q{n}": {"a": 2, "b": 1} for n in range(CASES)})
    names = [f"d{n}" for n in range(8)] + ["a", "b"]
    scores = []
    for number in range(RUNS):
        values = random.random((CASES, len(names))) + np.array([0.0] * 8 + [0.1 * number, 0.05])
        run = Run.from_scores(
            {f"q{n}": dict(zip(names, row, strict=True)) for n, row in enumerate(values.tolist())}, f"run{number}"
        )
        scores.append(score(match_hits(suite, run), ["nDCG@10", "RR"]))
    started = time.perf_counter()
    pairs = compare(scores)
    print(json.dumps({"seconds": time.perf_counter() - started, "peak": peak_megabytes(), "pairs": len(pairs)}))


def beside_scipy() -> tuple[float, float]:
    """The intervals of ten paired differences on 2,000 cases, by us and by scipy.stats.bootstrap."""
    values = (np.random.default_rng(2).random((2000, 10)) - 0.48) / 2
    started = time.perf_counter()
    difference_intervals(observations(values, None), SHOWN_LEVEL)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    for column in values.T:
        stats.bootstrap(
            (column,), np.mean, n_resamples=RESAMPLES, method="percentile", vectorized=True, batch=500, rng=np.random.default_rng(3)
        )
    return ours, time.perf_counter() - started


def main() -> None:
    process = subprocess.run([sys.executable, __file__, "at-size"], capture_output=True, text=True, check=True)
    result = json.loads(process.stdout)
    print(
        f"compare: {RUNS} runs x {CASES:,} cases, {result['pairs']} pairs, two measures: "
        f"{result['seconds']:.1f} s, {result['peak']:.0f} MB (bar 5 s)"
    )
    times = [beside_scipy() for _ in range(3)]
    ours, theirs = sorted(t[0] for t in times)[1], sorted(t[1] for t in times)[1]
    print(
        f"intervals of ten differences, 2,000 cases: {ours:.3f} s, scipy.stats.bootstrap {theirs:.2f} s: {theirs / ours:.0f}x faster"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["at-size"]:
        at_size()
    else:
        main()
