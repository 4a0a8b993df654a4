"""What the runner adds to an agent's own time: per query, and over a whole run of 1,000 cases x 3.

The agent's own time is that of the same searches on the same corpus in one process without any runner. The corpus is
the standard library of this Python without its tests and installed packages, unless SEARCHMARK_BENCH_FOLDER names
another folder.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from searchmark import AgentSpec, Case, Corpus, Judgment, RetrievalAgent, RetrievalResult, RunLabel, RunSettings, Suite, load_agent
from searchmark.agents.registry import create_agent
from searchmark.config.agents import PythonSource
from searchmark.formats.corpora.locations import Folder
from searchmark.running.request import AgentJob, RunProgress, RunRequest
from searchmark.running.runner import run_agents
from searchmark.scoring.costs import latencies_of

CASES = 1000
REPEATS = 3
ROUNDS = 3


class NothingAgent(RetrievalAgent):
    """Does nothing, so that all the time it takes is the runner's."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> RetrievalResult:  # noqa: ARG002  # that is the point
        return RetrievalResult(["a.py"])


class SelfTimingAgent(NothingAgent):
    """Takes two milliseconds and says how long they were by its own clock."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:  # noqa: ARG002  # as above
        start = time.perf_counter_ns()
        while time.perf_counter_ns() - start < 2_000_000:
            pass
        return RetrievalResult(["a.py"], metadata={"own_ms": (time.perf_counter_ns() - start) / 1e6})


def agreement(folder: Path, suite: Suite) -> float:
    """How far the reported p50 is from that by the agent's own clock."""
    locations = dict.fromkeys(suite.table.ids, Folder("corpus", folder))
    spec = AgentSpec("self-timing", PythonSource(__file__, "SelfTimingAgent"))
    run = run_agents(RunRequest(suite, (AgentJob(spec, locations, RunLabel(spec.name)),), RunSettings(num_runs=1))).runs[0]
    own = statistics.median(each.said["own_ms"] for each in run.details or ())
    return abs(latencies_of(run)["cold"].p50 / own - 1)


def corpus_folder(scratch: Path) -> Path:
    named = os.environ.get("SEARCHMARK_BENCH_FOLDER")
    if named:
        return Path(named)
    left_out = shutil.ignore_patterns("site-packages", "test", "tests", "__pycache__", "*.so", "config-*")
    return Path(shutil.copytree(sysconfig.get_paths()["stdlib"], scratch / "standard-library", ignore=left_out))


def suite_of(folder: Path) -> Suite:
    """Queries made of words that stand in file names and texts, the same every time."""
    paths = sorted(folder.rglob("*.py"))
    chosen = [paths[i * len(paths) // CASES] for i in range(CASES)]
    cases = [Case(f"c{i}", _query(path), (Judgment(path.relative_to(folder).as_posix(), "path"),)) for i, path in enumerate(chosen)]
    return Suite.from_cases("bench", cases)


def _query(path: Path) -> str:
    words = [word for word in path.read_text("utf-8", "replace").split() if word.isalpha() and len(word) > 3]
    return " ".join([path.stem, *words[10:13]])


def own_seconds(spec: AgentSpec, folder: Path, suite: Suite, options: RunSettings) -> float:
    """The agent by itself: made, initialised, asked as often."""
    start = time.perf_counter()
    agent = create_agent(spec)
    agent.initialize(Folder("corpus", folder).open())
    for query in suite.table.queries or ():
        agent.reset()
        for _ in range(options.num_runs):
            agent.retrieve(query or "", options.depth)
    seconds = time.perf_counter() - start
    agent.close()
    return seconds


def run_seconds(spec: AgentSpec, folder: Path, suite: Suite, options: RunSettings, journal: Path) -> float:
    locations = dict.fromkeys(suite.table.ids, Folder("corpus", folder))
    start = time.perf_counter()
    ran = run_agents(RunRequest(suite, (AgentJob(spec, locations, RunLabel(spec.name)),), options, {RunLabel(spec.name): journal}))
    seconds = time.perf_counter() - start
    assert all(answer.status in ("ok", "empty") for answer in ran.runs[0].answers)
    return seconds


def overhead_us(folder: Path, suite: Suite, num_runs: int, journal: Path) -> float:
    """What is left per search when start, preparation and the agent's own searches are taken away."""
    spec = AgentSpec("nothing", PythonSource(__file__, "NothingAgent"))
    options = RunSettings(num_runs=num_runs)
    locations = dict.fromkeys(suite.table.ids, Folder("corpus", folder))
    begun: list[float] = []

    def answered(progress: RunProgress) -> None:
        if progress.done:
            begun.append(time.perf_counter())

    ran = run_agents(
        RunRequest(suite, (AgentJob(spec, locations, RunLabel(spec.name)),), options, {RunLabel(spec.name): journal}), answered
    )
    run = ran.runs[0]
    own = sum(sum(each.cold_ms) + sum(each.warm_ms) for each in (run.details or ())[1:]) / 1e3
    return (begun[-1] - begun[0] - own) / ((len(suite) - 1) * num_runs) * 1e6


def rows() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = corpus_folder(Path(scratch))
        suite = suite_of(folder)
        small = Path(scratch, "small")
        small.mkdir()
        (small / "a.py").write_text("a = 1\n")
        for num_runs in (1, REPEATS):
            figures = sorted(overhead_us(small, suite, num_runs, Path(scratch, f"o{num_runs}{i}.jsonl")) for i in range(ROUNDS))
            yield f"overhead per search, num_runs {num_runs}: {figures[ROUNDS // 2]:.0f} us (goal: 150)"
        yield f"p50 of an agent that times itself, 2 ms: {agreement(small, suite):.2%} from its own clock (goal: 1 %)"
        options = RunSettings(num_runs=REPEATS)
        for name in sys.argv[1:] or ("bm25", "keyword", "fts5", "semantic"):
            spec = load_agent(name)
            own = own_seconds(spec, folder, suite, options)
            whole = run_seconds(spec, folder, suite, options, Path(scratch, f"{name}.jsonl"))
            yield f"{name}: {CASES} cases x {REPEATS} on {folder.name}: own time {own:.2f} s, run {whole:.2f} s, ratio {whole / own:.2f} (goal: 1.2)"


if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
