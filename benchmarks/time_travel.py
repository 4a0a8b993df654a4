"""bm25 at the parents of every case: one index that travels, against a fresh one for every case.

SEARCHMARK_BENCH_REPOS names the repositories, ``name=path`` each, separated by colons; without it the repository that
this file is in is used. The goals are those for a history of a thousand cases; a short one has less to share.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path

from searchmark import Provenance, RunLabel, RunSettings, Suite, load_agent, load_corpus, load_suite
from searchmark.agents.chunks import content_chunks
from searchmark.agents.registry import create_agent
from searchmark.cli.main import main as searchmark
from searchmark.formats.corpora.locations import Commit
from searchmark.formats.corpora.snapshots import open_history_walk
from searchmark.git.repository import open_repository, order_along_history
from searchmark.running.request import AgentJob, RunRequest
from searchmark.running.runner import run_agents
from snapshots import repositories

CASES = 1000
FRESH = 20


def mined(name: str, path: Path, scratch: Path) -> Suite:
    file = scratch / f"{name}.json"
    assert (
        searchmark(["generate", "--repo", f"{name}={path}", "-o", str(file), "--max-cases", str(CASES), "--sample", "spread"]) == 0
    )
    return load_suite(file)


def at_parents(suite: Suite, path: Path) -> dict[str, Commit]:
    parents = {case.id: str(case.fields["parent_commit"]) for case in suite.cases}
    with open_repository(path) as repository:
        order = {commit: number for number, commit in enumerate(order_along_history(repository, parents.values()))}
    visited = sorted(parents.items(), key=lambda item: order[item[1]])
    return {case: Commit("bench", path, commit) for case, commit in visited}


def distinct_bytes(path: Path, commits: list[str]) -> tuple[int, int]:
    """Bytes of all distinct chunks of some snapshots, and of the files of the last one."""
    seen: set[bytes] = set()
    total = 0
    with open_history_walk(path) as journey:
        for commit in commits:
            changes = journey.move_to(commit)
            for document in changes.corpus.read(changes.written):
                for chunk in content_chunks(document.text):
                    content = chunk.encode("utf-8", "surrogatepass")
                    digest = hashlib.sha256(content).digest()
                    if digest not in seen:
                        seen.add(digest)
                        total += len(content)
        last = sum(len(document.text.encode("utf-8", "surrogatepass")) for document in changes.corpus)
    return total, last


def head_seconds(path: Path, commit: str) -> float:
    """Index one snapshot from nothing, without a cache."""
    with open_history_walk(path) as journey:
        corpus = journey.move_to(commit).corpus
        agent = create_agent(load_agent("bm25", cache=False))
        start = time.perf_counter()
        agent.initialize(corpus)
        return time.perf_counter() - start


def fresh_seconds(suite: Suite, path: Path) -> float:
    """Checkout the tree of a case, index it, ask: the mean over some cases, spread over all."""
    cases = list(suite.cases)[:: max(1, len(suite) // FRESH)][:FRESH]
    start = time.perf_counter()
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(
                ["git", "-C", str(path), "archive", str(case.fields["parent_commit"])], capture_output=True, check=True
            ).stdout
            with tarfile.open(fileobj=BytesIO(archive)) as tar:
                tar.extractall(folder, filter="tar")
            agent = create_agent(load_agent("bm25", cache=False))
            agent.initialize(load_corpus(folder))
            agent.retrieve(case.query or "", 100)
    return (time.perf_counter() - start) / len(cases)


def travel(suite: Suite, path: Path) -> tuple[float, Provenance]:
    job = AgentJob(load_agent("bm25"), at_parents(suite, path), RunLabel("bm25", "parent"))
    request = RunRequest(suite, (job,), RunSettings(num_runs=1))
    start = time.perf_counter()
    run = run_agents(request).runs[0]
    seconds = time.perf_counter() - start
    assert all(answer.status in ("ok", "empty") for answer in run.answers)
    return seconds, run.provenance


def measure(name: str, path: Path, scratch: Path) -> None:
    suite = mined(name, path, scratch)
    locations = at_parents(suite, path)
    commits = list(dict.fromkeys(location.commit for location in locations.values()))
    os.environ["SEARCHMARK_CACHE"] = str(scratch / f"cache-{name}")
    first, known = travel(suite, path)
    second, _ = travel(suite, path)
    head = head_seconds(path, commits[-1])
    total, last = distinct_bytes(path, commits)
    fresh = fresh_seconds(suite, path)
    allowed = 1.5 * (total / last) * head + 0.02 * len(suite)
    print(
        f"{name}: {len(suite)} cases, {len(commits)} snapshots, distinct content {total / last:.1f}x that of the last one",
        flush=True,
    )
    print(
        f"  bm25 at parents {first:.2f} s, goal {allowed:.2f} s (1.5 x {total / last:.1f} x {head:.2f} s + 20 ms a case): {first / allowed:.2f}x"
    )
    print(
        f"  export and index for every case {fresh * len(suite):.0f} s (from {FRESH} of them): {fresh * len(suite) / first:.0f}x as long"
    )
    print(f"  again, from the kept index {second:.2f} s: {first / second:.1f}x faster (goal: 5)")
    print(
        f"  peak memory of the worker {(known.memory_bytes or 0) / 1e6:.0f} MB, {known.index}",
        flush=True,
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for each, where in repositories().items():
            if sys.argv[1:] and each not in sys.argv[1:]:
                continue
            measure(each, where, Path(folder))
