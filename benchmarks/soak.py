"""A million searches by an agent that does nothing, through the command as a user types it: memory must stay flat.

10,000 cases are searched 100 times each. The memory of runner and worker is sampled from outside; the table has the highest value in
each tenth of the time that is spent asking. What the runner has after the first tenth may grow by what it must remember of every
search, its time, and by no more than GROWTH beside that. ``--quick`` searches a tenth as often.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from load_data import write_agent, write_files, write_gold_set
from processes import SEARCHMARK, watched

CASES, SEARCHES = 10_000, 100
GROWTH = 16.0  # megabytes, of either process
REMEMBERED = 10 / (1 << 20)  # megabytes per search: a number of eight bytes, and its share of what holds those of a case
TENTHS = 10
BEGUN = 1 << 16  # bytes of a journal that is not only a header


@dataclass(frozen=True)
class Sample:
    """Megabytes at one moment."""

    runner: float
    worker: float


class Sampler:
    """Takes a sample whenever the journal has grown: before the first answers an agent is loaded, after the last there is a report."""

    def __init__(self, journal: Path) -> None:
        self.samples: list[Sample] = []
        self._journal = journal
        self._size = BEGUN

    def look(self, runner: float, worker: float) -> None:
        size = sum(entry.stat().st_size for entry in os.scandir(self._journal)) if self._journal.exists() else 0
        if size > self._size:
            self._size = size
            self.samples.append(Sample(runner, worker))


def soak(scratch: Path, searches: int) -> list[Sample]:
    """The memory of both, for as long as answers are being written down."""
    agent, corpus, gold_set = write_agent(scratch), write_files(scratch), write_gold_set(scratch / "gold_set.json", CASES)
    command = [*SEARCHMARK, "evaluate", "--gold-set", gold_set, "--agent", agent, "--corpus", corpus]
    sampler = Sampler(scratch / "journal")
    options = ["--num-runs", str(searches), "--journal", "journal", "-o", "out.json"]
    seen = watched([*command, *options], scratch, sampler.look, PYTHONPATH=str(scratch))
    if seen.code:
        sys.exit(f"the command ended with {seen.code}:\n{seen.printed}")
    print(f"{CASES * searches:,} searches in {seen.seconds:.0f} s, {seen.cpu_seconds:.0f} s of processor time")
    print(f"peaks, with the report: runner {seen.peak:.0f} MB, worker {seen.worker_peak:.0f} MB")
    return sampler.samples


def tenths(samples: list[Sample]) -> list[tuple[float, float]]:
    """The highest memory of both in each tenth."""
    size = len(samples) / TENTHS
    parts = [samples[int(tenth * size) : int((tenth + 1) * size)] for tenth in range(TENTHS)]
    return [(max(each.runner for each in part), max(each.worker for each in part)) for part in parts]


def main(searches: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        rows = tenths(soak(Path(scratch), searches))
    print(f"  {'tenth':<8}{'runner MB':>12}{'worker MB':>12}")
    for number, (runner, worker) in enumerate(rows, 1):
        print(f"  {number:<8}{runner:>12.1f}{worker:>12.1f}")
    (runner, worker), allowed = rows[0], GROWTH + CASES * searches * REMEMBERED
    grown = {"runner": max(row[0] for row in rows) - runner, "worker": max(row[1] for row in rows) - worker}
    bounds = {"runner": allowed, "worker": GROWTH}
    for name, growth in grown.items():
        print(f"{name}: grew by {growth:.1f} MB after the first tenth (bound: {bounds[name]:.0f})")
    return int(any(growth > bounds[name] for name, growth in grown.items()))


if __name__ == "__main__":
    sys.exit(main(SEARCHES // 10 if "--quick" in sys.argv else SEARCHES))
