"""A comparison as one Markdown table, best first: ``python ranks.py report.json MEASURE [MEASURE...]``.

The rank of a run is one more than the number of runs that beat it for sure by the first measure, so runs that nothing tells apart
share theirs. Beside quality: the median time of a search, the size of the index, and the time to build it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def main(file: Path, first: str, *more: str) -> None:
    report = json.loads(file.read_text())
    agents, beaten = report["agents"], Counter[str]()
    for pair in report["pairs"]:
        found = next(each for each in pair["differences"] if each["measure"] == name_in(agents[pair["candidate"]], first))
        if found["verdict"] in ("IMPROVED", "REGRESSED"):
            beaten[pair["baseline" if found["verdict"] == "IMPROVED" else "candidate"]] += 1
    ordered = sorted(agents, key=lambda name: -value_of(agents[name], first)["mean"])
    measures = [name_in(agents[ordered[0]], measure) for measure in (first, *more)]
    rows = [["rank", "run", *measures, "search (p50)", "index", "built in"]]
    rows += [[str(1 + beaten[name]), name, *row(agents[name], measures)] for name in ordered]
    for number, cells in enumerate(rows):
        sys.stdout.write(f"| {' | '.join(cells)} |\n" + ("|---" * len(cells) + "|\n" if number == 0 else ""))


def row(agent: dict[str, Any], measures: list[str]) -> list[str]:
    index = agent.get("index") or {}
    size, seconds = index.get("bytes"), index.get("seconds")
    times = agent["latency_ms"].get("cold") or {}
    return [
        *(with_interval(value_of(agent, measure)) for measure in measures),
        "–" if times.get("p50") is None else f"{times['p50']:.2g} ms",
        "–" if not size else f"{size / 1e6:.1f} MB",
        "–" if seconds is None else f"{seconds:.0f} s",
    ]


def with_interval(value: dict[str, Any]) -> str:
    interval = "" if value.get("low") is None else f" ({value['low']:.3f} to {value['high']:.3f})"
    return f"{value['mean']:.3f}{interval}"


def name_in(agent: dict[str, Any], measure: str) -> str:
    """The measure as the report calls it: RR is RR@100 where answers end there."""
    return next(name for name in agent["measures"] if name == measure or name.startswith(f"{measure}@"))


def value_of(agent: dict[str, Any], measure: str) -> dict[str, Any]:
    return agent["measures"][name_in(agent, measure)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
