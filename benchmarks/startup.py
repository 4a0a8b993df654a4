"""How long `searchmark --help` takes beside the smallest program that click allows."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 40
EMPTY = "import click\n\n\n@click.group()\ndef app():\n    pass\n\n\napp()\n"


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - started


def main() -> None:
    data = Path(__file__).parent / "data"
    data.mkdir(exist_ok=True)
    empty = data / "empty_click_program.py"
    empty.write_text(EMPTY)
    contestants = {
        "empty click program": [sys.executable, str(empty), "--help"],
        "searchmark --help": [str(Path(sys.executable).parent / "searchmark"), "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, command in contestants.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"startup: medians of {ROUNDS} alternating runs")
    for name, value in medians.items():
        print(f"  {name:<22}{value * 1000:7.0f} ms{value / medians['empty click program']:7.2f}x")


if __name__ == "__main__":
    main()
