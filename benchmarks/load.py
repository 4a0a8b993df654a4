"""Whole commands under load: a hundred thousand cases, and a million documents in ``bm25`` beside bm25s.

``--quick`` takes a tenth of both. Memory is the highest of each process, from outside. bm25s indexes the same documents in a process
of its own, with its own way of cutting them, and answers the same queries; a ratio below 1 means that searchmark takes less.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from load_data import write_agent, write_documents, write_files, write_gold_set, write_questions
from memory import peak_megabytes
from processes import SEARCHMARK, Watched, watched

CASES, DOCUMENTS, QUERIES, K = 100_000, 1_000_000, 200, 100
PEER = "peer"


@dataclass(frozen=True)
class Index:
    """What an index and its answers take."""

    seconds: float
    query_ms: float
    megabytes: float


def many_cases(scratch: Path, cases: int) -> None:
    """Asking is what lies between start and end of the run, reporting all that comes after."""
    agent, corpus, gold_set = write_agent(scratch), write_files(scratch), write_gold_set(scratch / "gold_set.json", cases)
    command = [*SEARCHMARK, "evaluate", "--gold-set", gold_set, "--agent", agent, "--corpus", corpus]
    started = time.time()
    seen = watched([*command, "--num-runs", "1", "--no-warm-up", "-o", "out.json"], scratch, PYTHONPATH=str(scratch))
    check(seen)
    run = agent_in(scratch / "out.json")["run"]
    asked_from, asked_to = (seconds_of(run[moment]) for moment in ("started", "ended"))
    asking, reporting = asked_to - asked_from, started + seen.seconds - asked_to
    print(f"{cases:,} cases, one search each by an agent that does nothing")
    print(f"  reading {asked_from - started:.1f} s, asking {asking:.1f} s (goal: 10), reporting {reporting:.1f} s (goal: 10)")
    print(f"  {seen.cpu_seconds:.1f} s of processor time; runner {seen.peak:.0f} MB (goal: 400), worker {seen.worker_peak:.0f} MB")


def many_documents(scratch: Path, documents: int) -> None:
    corpus, questions = write_documents(scratch / "docs.jsonl", documents), write_questions(scratch / "questions.json", QUERIES)
    ours, seen = our_index(scratch, corpus, questions)
    print(f"{documents:,} documents of 60 words in bm25, {QUERIES} queries of three words")
    print(f"  whole command {seen.seconds:.1f} s, {seen.cpu_seconds:.1f} s of processor time; runner {seen.peak:.0f} MB")
    theirs = their_index(scratch, corpus, questions)
    print(f"  {'':<12}{'searchmark':>12}{'bm25s':>12}{'ratio':>8}")
    for name, unit, digits in (("index", "seconds", 1), ("query p50", "query_ms", 2), ("memory", "megabytes", 0)):
        own, other = getattr(ours, unit), None if theirs is None else getattr(theirs, unit)
        beside = f"{'-':>12}{'-':>8}" if other is None else f"{other:>12.{digits}f}{own / other:>8.2f}"
        print(f"  {name:<12}{own:>12.{digits}f}{beside}   {unit.replace('query_', '')}")


def our_index(scratch: Path, corpus: Path, questions: Path) -> tuple[Index, Watched]:
    command = [*SEARCHMARK, "evaluate", "--gold-set", questions, "--agent", "bm25", "--corpus", corpus, "--num-runs", "1"]
    seen = watched([*command, "--depth", K, "--initialize-timeout", "3600", "-o", "docs.json"], scratch)
    check(seen)
    agent = agent_in(scratch / "docs.json")
    return Index(agent["index"]["seconds"], agent["latency_ms"]["cold"]["p50"], seen.worker_peak), seen


def their_index(scratch: Path, corpus: Path, questions: Path) -> Index | None:
    try:
        import bm25s  # noqa: F401  # only asked whether it is there
    except ImportError:
        print("  bm25s is not installed, so nothing is compared (make bench installs it)")
        return None
    seen = watched([sys.executable, __file__, PEER, corpus, questions], scratch)
    check(seen)
    return Index(**json.loads(seen.printed.splitlines()[-1]))


def peer(corpus: Path, questions: Path) -> None:
    """bm25s as its documentation uses it, in this process."""
    import bm25s

    start = time.perf_counter()
    with corpus.open() as file:
        texts = [json.loads(line)["text"] for line in file]
    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    retriever.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    seconds, samples = time.perf_counter() - start, []
    for case in json.loads(questions.read_text())["test_cases"]:
        start = time.perf_counter()
        retriever.retrieve(bm25s.tokenize(case["query"], stopwords=None, show_progress=False), k=K, show_progress=False)
        samples.append(time.perf_counter() - start)
    found = {"seconds": seconds, "query_ms": sorted(samples)[len(samples) // 2] * 1e3, "megabytes": peak_megabytes()}
    print(f"\n{json.dumps(found)}")


def check(seen: Watched) -> None:
    if seen.code:
        sys.exit(f"a command ended with {seen.code}:\n{seen.printed}")


def agent_in(report: Path) -> dict:
    (agent,) = json.loads(report.read_text())["agents"].values()
    return agent


def seconds_of(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def main(share: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        many_cases(Path(scratch), CASES // share)
        many_documents(Path(scratch), DOCUMENTS // share)


if __name__ == "__main__":
    if sys.argv[1:2] == [PEER]:
        peer(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(10 if "--quick" in sys.argv else 1)
