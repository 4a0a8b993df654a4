"""Writes ranx_numbers.json: `python tests/agents/make_ranx_numbers.py > tests/agents/ranx_numbers.json`, with ranx installed.

ranx is not a dependency of the tests, because it compiles for half a minute before its first number.
"""

from __future__ import annotations

import json
import random
import sys
from importlib.metadata import version

from ranx import Run, fuse

# The rankings that ranx's own tests of rrf and wsum fuse (two queries, three runs), and odd ones of ours.
RUNS = [
    [{"d1": 1.0, "d2": 2.0, "d3": 3.0}, {"d1": 3.0, "d2": 2.0}, {"d3": 1.0}],
    [{"d1": 1.0, "d2": 2.0}, {"d1": 1.0, "d3": 3.0}, {"d2": 2.0, "d3": 3.0}],
    [{"only": 0.7}, {"a": 5.0, "b": 4.0, "only": -1.0}],
    [{"a": -2.0, "b": -3.5, "c": -9.0}, {"x": 0.25, "y": 0.125}],
    [{"a": 1e-7, "b": 9e-8}, {"b": 1e6, "a": -1e6, "c": 0.0}],
]


def random_runs(seed: int) -> list[dict[str, float]]:
    chance = random.Random(seed)
    return [{f"d{chance.randrange(30)}": chance.gauss(0, 3) for _ in range(12)} for _ in range(3)]


def main() -> None:
    cases = []
    for number, runs in enumerate([*RUNS, *map(random_runs, range(6))]):
        given = [Run({"q": run}) for run in runs]
        weights = [0.3, 0.2, 0.5][: len(runs)]
        fused = {
            "rrf": fuse(given, norm=None, method="rrf", params={"k": 60}),
            "rrf-10": fuse(given, norm=None, method="rrf", params={"k": 10}),
            "min-max": fuse(given, norm="min-max", method="wsum", params={"weights": weights}),
            "z-score": fuse(given, norm="zmuv", method="wsum", params={"weights": weights}),
        }
        expected = {name: dict(run.to_dict()["q"]) for name, run in fused.items()}
        cases.append({"number": number, "runs": runs, "weights": weights, "expected": expected})
    json.dump({"made_by": f"ranx {version('ranx')}", "cases": cases}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
