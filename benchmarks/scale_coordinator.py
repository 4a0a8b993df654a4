"""One run of the real coordinator whose work is made up, in a process of its own, so that its time and memory are seen alone.

    python benchmarks/scale_coordinator.py '{"executor": "process:2", "cases": 20000}'

prints what it took as JSON. Everything between the suite and the finished run is that of a user's run: blocks, packing, the pool,
retries, the journal on disk, the record. Only the agent is missing.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import cast

from memory import peak_megabytes, present_megabytes
from scale_work import line_of, made_up, made_up_suite, seconds_of
from searchmark import AgentSpec, RunLabel, RunSettings, Suite
from searchmark.config.agents import PythonSource
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import TaskPool, parse_executor
from searchmark.formats.corpora.locations import Folder
from searchmark.running.blocks import block_size
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.distribution import NO_SUPPLIES
from searchmark.running.journal import AnsweredCase, JournalEntry, parse_record
from searchmark.running.request import AgentJob, RunRequest
from searchmark.running.run_builder import RunBuilder
from searchmark.running.runner import AgentBlocks, hand_out

LABEL = RunLabel("made-up")


@dataclass(frozen=True)
class Setup:
    """What is run: on what, how many cases with how many hits each, in blocks of how many, and the seconds that a case takes."""

    executor: str
    cases: int
    hits: int = 10
    block: int = 100
    per_case: float = 0.0


@dataclass(frozen=True)
class Took:
    """Seconds that a run took, processor seconds of this process, and its megabytes.

    ``ideal`` is the time of all blocks by the number of workers. Memory is that without cases, with the suite, the highest until
    all answers were home, and the highest at all.
    """

    wall: float
    cpu: float
    whole_cpu: float
    ideal: float
    blocks: int
    at_start: float
    with_suite: float
    peak: float
    whole_peak: float


def coordinated(setup: Setup) -> Took:
    """One run as `run_on_executor` has it, after a small one which sees to imports, connections and processes."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_executor(parse_executor(setup.executor, foreign=True, network=True)) as pool,
    ):
        with run_of(made_up_suite(1), pool, Path(scratch, "first"), setup) as agent:
            hand_out(pool, {LABEL: agent}, partial(made_up, hits=setup.hits))
        at_start = present_megabytes()
        suite = made_up_suite(setup.cases)
        with_suite = present_megabytes()
        before = time.process_time()
        with run_of(suite, pool, Path(scratch, "second"), setup) as agent:
            wall, cpu = time.perf_counter(), time.process_time()
            hand_out(pool, {LABEL: agent}, partial(made_up, hits=setup.hits, per_case=setup.per_case))
            wall, cpu, peak = time.perf_counter() - wall, time.process_time() - cpu, peak_megabytes()
            assert len(agent.result(None)) == setup.cases
        seconds = block_seconds(setup, pool.slots or 1)
        whole = time.process_time() - before
        return Took(wall, cpu, whole, sum(seconds) / (pool.slots or 1), len(seconds), at_start, with_suite, peak, peak_megabytes())


@contextmanager
def run_of(suite: Suite, pool: TaskPool, folder: Path, setup: Setup) -> Iterator[AgentBlocks]:
    """A run that is about to begin."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "a.py").write_text("a = 1\n")
    locations = dict.fromkeys(suite.table.ids, Folder("corpus", corpus))
    job = AgentJob(AgentSpec("made-up", PythonSource(__file__, "Nobody")), locations, LABEL)
    request = RunRequest(suite, (job,), RunSettings(num_runs=1, block=setup.block))
    with open_inspector(suite, [locations]) as inspector:
        record = RunBuilder(job, request, inspector)
        record.open_journal(folder / "journal.jsonl", resume=False, retry=False)
        yield AgentBlocks(token_hex(8), record, request, inspector, pool, NO_SUPPLIES)


def block_seconds(setup: Setup, workers: int) -> list[float]:
    """How long each of the blocks takes."""
    size = block_size(setup.cases, workers, setup.block)
    return [seconds_of(place, min(size, setup.cases - place), setup.per_case) for place in range(0, setup.cases, size)]


def answers_alone(setup: Setup) -> float:
    """Megabytes that the answers take which a run keeps, and nothing else."""
    suite = made_up_suite(setup.cases)
    kept(suite, range(1), setup.hits)  # imports
    before = present_megabytes()
    answers = kept(suite, range(setup.cases), setup.hits)
    assert len(answers) == setup.cases
    return present_megabytes() - before


def kept(suite: Suite, rows: Iterable[int], hits: int) -> dict[str, JournalEntry]:
    """Answers as a record keeps them."""
    known: dict[str, str] = {}
    ids = [suite.table.ids[row] for row in rows]
    read = (cast(AnsweredCase, parse_record(json.loads(line_of(case, hits)), known)) for case in ids)
    return {case: replace(entry, row=suite.table.index[case]) for case, (_, entry) in zip(ids, read, strict=True)}


if __name__ == "__main__":
    asked = Setup(**json.loads(sys.argv[1]))
    print(json.dumps(asdict(coordinated(asked)) if asked.executor else {"megabytes": answers_alone(asked)}))
