"""Runs on an executor: their speed beside bare processes, what handing out costs, and a cluster of a hundred workers.

    python benchmarks/scale.py [speed] [coordinator] [memory] [simulation] [--full]

speed: whole commands with ``--executor`` and an agent that keeps a processor busy, beside two plain Python processes that ask the
same agent half of the cases each, in turns; a ratio of 1 means that nothing is lost. Steady is between the first and the last answer.

coordinator: processor time and time per case where answers cost nothing, with a journal on disk; a Dask cluster of this machine has
its scheduler in the same process. memory: the most that this process has, beside the suite and the answers that it keeps.

simulation: the real coordinator and a real Dask scheduler with up to a hundred workers, which sleep as long as cases of 20 ms would
take, give or take a fifth, and make up their answers. The ideal is the time of all blocks by the number of workers.

``--full`` goes up to a million cases, and to smaller and larger blocks, where the default ends at a hundred thousand. Needs Dask and psutil, as the environment of
``make scale-env`` has them, and Linux. Other work on the machine spoils all of it, so the load is said before and after.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from load_data import write_documents, write_questions
from processes import SEARCHMARK, watched
from scale_agent import DEPTH
from scale_cluster import Cluster, cluster
from scale_coordinator import Setup, Took

CASES, DOCUMENTS = 1000, 12_000
ROUNDS = 3
EXECUTORS = ("process:2", "dask:local:2")
BARE, REFERENCE = "2 bare processes", "--jobs 1"  # the latter is asked once: it takes twice as long
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Speed:
    """Cases per second, over all and between the first answer and the last."""

    whole: float
    steady: float


def speed(_: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        documents, questions = write_documents(scratch / "docs.jsonl", DOCUMENTS), write_questions(scratch / "q.json", CASES)
        ways: dict[str, Callable[[], Speed]] = {
            BARE: lambda: bare(scratch, documents, questions),
            REFERENCE: lambda: ours(scratch, documents, questions, "--jobs", "1"),
            **{each: lambda each=each: ours(scratch, documents, questions, "--executor", each) for each in EXECUTORS},
        }
        seen: dict[str, list[Speed]] = {way: [] for way in ways}
        for turn in range(ROUNDS):
            for way in list(ways)[:: -1 if turn % 2 else 1]:
                if way != REFERENCE or not seen[way]:
                    seen[way].append(ways[way]())
    print(
        f"{CASES:,} cases of an agent that keeps a processor busy, cases per second, medians of {ROUNDS}; ratio to bare processes"
    )
    print(f"  {'':<18}{'command':>10}{'ratio':>8}{'steady':>10}{'ratio':>8}   (goal: 0.85)")
    for way, speeds in seen.items():
        print(f"  {way:<18}{_beside(speeds, seen[BARE], 'whole')}{_beside(speeds, seen[BARE], 'steady')}")


def _beside(speeds: list[Speed], bare: list[Speed], name: str) -> str:
    """The median, and that of the ratios of each round."""
    own, other = ([getattr(each, name) for each in speeds] for speeds in (speeds, bare))
    return f"{median(own):>10.1f}{median(one / two for one, two in zip(own, other, strict=False)):>8.2f}"


def bare(scratch: Path, documents: Path, questions: Path) -> Speed:
    """Two processes side by side, each with half of the cases."""
    start = time.perf_counter()
    command = [sys.executable, HERE / "scale_agent.py", documents, questions]
    both = [subprocess.Popen([*command, str(part), "2"], cwd=scratch, stdout=subprocess.PIPE, text=True) for part in range(2)]
    steady = [float(process.communicate()[0]) for process in both]
    return Speed(CASES / (time.perf_counter() - start), sum(steady))


def ours(scratch: Path, documents: Path, questions: Path, *how: str) -> Speed:
    """The whole command; answers are counted in its journal, as they come."""
    folder = scratch / "run"
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir()
    seen: list[tuple[float, int]] = []

    def look(*_: float) -> None:
        there = sum(path.read_bytes().count(b'"status"') for path in folder.glob("journal/*.jsonl"))
        if there and (not seen or seen[-1][1] < there):
            seen.append((time.perf_counter(), there))

    command = [*SEARCHMARK, "evaluate", "--gold-set", questions, "--agent", f"{HERE / 'scale_agent.py'}:ScanAgent"]
    options = ["--corpus", documents, "--num-runs", "1", "--depth", str(DEPTH), "--journal", "journal", "-o", "out.json"]
    found = watched([*command, *options, *how], folder, look)
    assert not found.code, found.printed
    (first, few), (last, many) = seen[0], seen[-1]
    return Speed(CASES / found.seconds, (many - few) / (last - first))


def coordinator(_: bool) -> None:
    print("microseconds per case of whoever hands out 20,000 cases that cost nothing, medians of 3 (goal: 1000)")
    for executor in EXECUTORS:
        for hits in (10, 100):
            took = [took_by(Setup(executor, 20_000, hits)) for _ in range(ROUNDS)]
            cpu, wall = (median(getattr(each, name) for each in took) / 20_000 * 1e6 for name in ("whole_cpu", "wall"))
            print(f"  {executor:<14}{hits:>4} hits: {cpu:>6.0f} us of processor time, {wall:>6.0f} us")


def took_by(setup: Setup) -> Took:
    """In a process of its own, as nothing else may be in its memory."""
    return Took(**said_by(setup))


def said_by(setup: Setup) -> dict:
    """What the process prints."""
    command = [sys.executable, HERE / "scale_coordinator.py", json.dumps(asdict(setup))]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def memory(full: bool) -> None:
    print("peak memory of whoever hands out cases, in MB; beside the suite and the answers: bytes per case")
    print(f"  {'cases':>10}{'nothing':>9}{'suite':>8}{'answers':>9}{'peak':>8}{'beside':>8}{'per case':>10}")
    for cases in (10_000, 100_000, *([1_000_000] if full else [])):
        took, answers = took_by(Setup("process:2", cases)), said_by(Setup("", cases))["megabytes"]
        suite = took.with_suite - took.at_start
        beside = took.peak - took.with_suite - answers
        print(
            f"  {cases:>10,}{took.at_start:>9.0f}{suite:>8.0f}{answers:>9.0f}{took.peak:>8.0f}{beside:>8.1f}{beside * 2**20 / cases:>10.0f}"
        )


def simulation(full: bool) -> None:
    print("cases of 20 ms on a Dask cluster; processor time of coordinator and scheduler as a share of one processor, peak memory")
    print(
        f"  {'workers':>7}{'cases':>11}{'block':>6}{'ideal':>9}{'took':>9}{'ratio':>7}{'blocks/s':>9}   coordinator     scheduler"
    )
    for workers in (10, 30, 100):
        more = ((2000, 25), (2000, 400), (10_000, 100)) if full and workers == 100 else ()
        with tempfile.TemporaryDirectory() as scratch, cluster(workers, Path(scratch)) as played:
            for share, block in ((1000, 100), *more):
                print(simulated(played, Setup(played.executor, workers * share, block=block, per_case=0.02)), flush=True)


def simulated(played: Cluster, setup: Setup) -> str:
    """One run as a row."""
    before = played.scheduler_seconds()
    took = took_by(setup)
    load = (played.scheduler_seconds() - before) / took.wall
    return (
        f"  {played.workers:>7}{setup.cases:>11,}{setup.block:>6}{took.ideal:>8.1f}s{took.wall:>8.1f}s{took.wall / took.ideal:>7.2f}"
        f"{took.blocks / took.wall:>9.1f}   {took.cpu / took.wall:>4.0%} {took.peak:>5.0f} MB   {load:>4.0%} {played.scheduler_megabytes():>4.0f} MB"
    )


PARTS = {each.__name__: each for each in (speed, coordinator, memory, simulation)}

if __name__ == "__main__":
    for chosen in [each for each in sys.argv[1:] if each in PARTS] or PARTS:
        print(f"load of this machine: {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
        PARTS[chosen]("--full" in sys.argv)
    print(f"load of this machine: {os.getloadavg()[0]:.1f}")
