"""Comparison: speed at size, beside scipy's bootstrap, and the full-size simulation of coverage and error rates."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

from memory import peak_megabytes

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.simulation import KINDS, simulated

from searchmark import Run, Suite, compare, judge, score
from searchmark.analysis.paired_statistics import difference_intervals, holm, newcombe, randomisation_p

RUNS, CASES, RESAMPLES, TRIALS = 5, 10_000, 10_000, 2_000


def at_size() -> None:
    """Five runs on 10,000 cases, ten pairs, 10,000 resamples: everything that compare() does."""
    random = np.random.default_rng(1)
    suite = Suite.from_grades({f"q{n}": {"a": 2, "b": 1} for n in range(CASES)})
    names = [f"d{n}" for n in range(8)] + ["a", "b"]
    scores = []
    for number in range(RUNS):
        values = random.random((CASES, len(names))) + np.array([0.0] * 8 + [0.1 * number, 0.05])
        run = Run.from_scores(
            {f"q{n}": dict(zip(names, row, strict=True)) for n, row in enumerate(values.tolist())}, f"run{number}"
        )
        scores.append(score(judge(suite, run), ["nDCG@10"]))
    started = time.perf_counter()
    pairs = compare(scores)
    print(json.dumps({"seconds": time.perf_counter() - started, "peak": peak_megabytes(), "pairs": len(pairs)}))


def beside_scipy() -> tuple[float, float]:
    """The intervals of ten paired differences on 2,000 cases, by us and by scipy.stats.bootstrap."""
    values = np.random.default_rng(2).random((2000, 10)) - 0.48
    started = time.perf_counter()
    difference_intervals(values, np.ones(len(values)), RESAMPLES)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    for column in values.T:
        stats.bootstrap(
            (column,), np.mean, n_resamples=RESAMPLES, method="percentile", vectorized=True, batch=500, rng=np.random.default_rng(3)
        )
    return ours, time.perf_counter() - started


def simulation() -> None:
    print(f"simulation: {TRIALS} trials each; coverage of 95 % intervals (true difference 0 and not 0), 5 % test under the null")
    print(f"{'scores':<16}{'cases':>6}{'covers, null':>14}{'covers, effect':>16}{'fires':>8}")
    for kind in KINDS:
        for cases in (20, 50, 200):
            covered = []
            for shift in (0.0, 1.0):
                first, second, true = simulated(kind, cases, TRIALS, shift, seed=cases + int(shift))
                if kind == "binary":
                    low, high = np.transpose([newcombe(a, b, cases) for a, b in zip(first, second, strict=True)])
                else:
                    low, high, _ = difference_intervals((second - first).T, np.ones(cases), 2000)
                covered.append(np.mean((low <= true) & (true <= high)))
            first, second, _ = simulated(kind, cases, TRIALS, 0.0, seed=cases + 7)
            fires = np.mean(randomisation_p((second - first).T, mid=kind == "binary", resamples=2000) < 0.05)
            print(f"{kind:<16}{cases:>6}{covered[0]:>14.3f}{covered[1]:>16.3f}{fires:>8.3f}")
    first, second, _ = simulated("beta", 50, TRIALS * 10, 0.0, seed=3)
    families = randomisation_p((second - first).T, resamples=2000).reshape(TRIALS, 10)
    print(f"family-wise error of ten comparisons under Holm: {np.mean([min(holm(f.tolist())) < 0.05 for f in families]):.3f}")


def main() -> None:
    process = subprocess.run([sys.executable, __file__, "at-size"], capture_output=True, text=True, check=True)
    result = json.loads(process.stdout)
    print(
        f"compare: {RUNS} runs x {CASES:,} cases, {result['pairs']} pairs, {RESAMPLES:,} resamples: {result['seconds']:.1f} s, {result['peak']:.0f} MB"
    )
    times = [beside_scipy() for _ in range(3)]
    ours, theirs = sorted(t[0] for t in times)[1], sorted(t[1] for t in times)[1]
    print(
        f"bootstrap of ten differences, 2,000 cases: {ours:.2f} s, scipy.stats.bootstrap {theirs:.2f} s: {theirs / ours:.1f}x faster"
    )
    simulation()


if __name__ == "__main__":
    if sys.argv[1:] == ["at-size"]:
        at_size()
    else:
        main()
