"""What it adds to a program that stays if Searchmark asks it: the whole way from the runner through a worker and back.

The bare loop writes the same lines to the same program and reads its answers, and does nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

from searchmark import AgentSpec, Case, Corpus, Judgment, RetrievalAgent, RetrievalResult, RunLabel, RunSettings, Suite
from searchmark.agents.outside.command import CommandAgent
from searchmark.agents.outside.options import CommandSettings
from searchmark.config.agents import PythonSource, parse_source
from searchmark.formats.corpora.locations import Folder
from searchmark.running.request import AgentJob, RunProgress, RunRequest
from searchmark.running.runner import run_agents
from searchmark.scoring.costs import latencies_of

QUERIES = 2000
HITS = 10
ROUNDS = 5
BAR_MS = 0.5
PROGRAM = """
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    hits = [{"id": f"src/file{number}.py", "score": 1 / (1 + number)} for number in range(HITS)]
    print(json.dumps({"id": asked["id"], "hits": hits}), flush=True)
""".replace("HITS", str(HITS))
ARGV = (sys.executable, "-ISc", PROGRAM)


class NothingAgent(RetrievalAgent):
    """Does nothing, so that all the time it takes is the runner's."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> RetrievalResult:  # noqa: ARG002  # that is the point
        return RetrievalResult([f"src/file{number}.py" for number in range(HITS)])


STAYING = AgentSpec("staying", parse_source("command"), {"argv": list(ARGV), "stays": True})
NOTHING = AgentSpec("nothing", PythonSource(__file__, "NothingAgent"))


def queries() -> list[str]:
    return [f"what does part {number} of the program do" for number in range(QUERIES)]


def bare_ms() -> float:
    """Write a line, read a line."""
    with subprocess.Popen(ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None and program.stdout is not None  # noqa: PT018  # both are pipes
        program.stdout.readline()
        times = [time.perf_counter()]
        for number, query in enumerate(queries()):
            program.stdin.write(json.dumps({"id": number, "query": query, "k": HITS}).encode() + b"\n")
            program.stdin.flush()
            json.loads(program.stdout.readline())
            times.append(time.perf_counter())
        program.stdin.close()
    return median_ms(times)


def median_ms(times: list[float]) -> float:
    """Of what passed between two queries: a few that the machine has interrupted do not count."""
    return median(after - before for before, after in pairwise(times)) * 1e3


def agent_ms() -> float:
    """The agent alone, without a worker around it."""
    agent = CommandAgent(CommandSettings(argv=ARGV, stays=True))
    agent.start()
    times = [time.perf_counter()]
    for query in queries():
        agent.retrieve(query, HITS)
        times.append(time.perf_counter())
    agent.close()
    return median_ms(times)


def whole_ms(spec: AgentSpec, folder: Path) -> tuple[float, float]:
    """The whole way per query, and what is reported as the latency."""
    suite = Suite.from_cases("bench", [Case(f"c{i}", query, (Judgment("a.py", "path"),)) for i, query in enumerate(queries())])
    job = AgentJob(spec, dict.fromkeys(suite.table.ids, Folder("corpus", folder)), RunLabel(spec.name))
    times: list[float] = []

    def answered(progress: RunProgress) -> None:
        if progress.done:
            times.append(time.perf_counter())

    run = run_agents(RunRequest(suite, (job,), RunSettings(num_runs=1, depth=HITS)), answered).runs[0]
    assert {answer.status for answer in run.answers} == {"ok"}
    return median_ms(times), latencies_of(run)["cold"].p50


def rows() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "a.py").write_text("a = 1\n")
        rounds = [
            (bare_ms(), agent_ms(), whole_ms(NOTHING, Path(scratch))[0], *whole_ms(STAYING, Path(scratch))) for _ in range(ROUNDS)
        ]
    bare, alone, nothing, whole, reported = map(
        min, zip(*rounds, strict=True)
    )  # whatever else runs on the machine only adds to them
    yield f"bare loop, a program that stays: {bare:.3f} ms per query"
    yield f"the agent alone: {alone:.3f} ms, {alone - bare:+.3f} ms ({alone / bare:.2f} times)"
    yield f"the runner, for an agent that does nothing: {nothing:.3f} ms"
    yield f"reported latency (p50): {reported:.3f} ms, {reported - bare:+.3f} ms"
    yield f"the whole way: {whole:.3f} ms, {whole - bare:+.3f} ms ({whole / bare:.2f} times; bar: +{BAR_MS} ms)"


if __name__ == "__main__":
    for row in rows():
        print(row)
