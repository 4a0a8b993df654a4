"""Audits: the full audit of four runs, and what the short form adds to whole commands; with --checks the time of every check.

A command without the short form is the same one with nothing in place of the checks, their imports included. What is added is
processor time, which other work on the machine hardly changes.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from load_data import ZipfWords, write_documents
from processes import SEARCHMARK, Watched, watched
from searchmark import load_corpus, load_run, load_suite
from searchmark.audit.full import CHECKS, TABLES
from searchmark.audit.quick import SHORT
from searchmark.experiments.audit import build_subject

DOCUMENTS, CASES, RUNS, DEPTH, MANY = 10_000, 1_000, 4, 100, 100_000
JUDGED, RELEVANT, WORDS_PER_QUERY = 30, 5, 4
ROUNDS = 7
LIVE_SHARE, SAVED_SECONDS, FULL_SECONDS = 0.05, 0.1, 20.0
SLOWEST = 12
SUITE = ("--gold-set", "qrels.txt", "--topics", "topics.tsv")

_WITHOUT = """\
import sys, types
checks = types.ModuleType("searchmark.audit.quick")
checks.short_audit = lambda *_: []
sys.modules[checks.__name__] = checks
from searchmark import experiments
experiments._subject = lambda *_: None
from searchmark.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
WITHOUT = (sys.executable, "-c", _WITHOUT)


def write_suite(folder: Path, cases: int) -> None:
    """Judgments and queries: some documents of each case are relevant, in two grades."""
    random = np.random.default_rng(2)
    with (folder / "qrels.txt").open("w") as file:
        for case in range(cases):
            for at, document in enumerate(random.choice(DOCUMENTS, JUDGED, replace=False).tolist()):
                file.write(f"q{case:06} 0 doc-{document:07} {(2 if at < RELEVANT // 2 else 1) if at < RELEVANT else 0}\n")
    queries = ZipfWords(seed=3).texts(cases, WORDS_PER_QUERY)
    (folder / "topics.tsv").write_text("".join(f"q{case:06}\t{text}\n" for case, text in enumerate(queries)))


def write_runs(folder: Path, cases: int, depth: int) -> None:
    """Rankings that find the judged documents more or less often among others."""
    judged = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    for run in range(RUNS):
        random = np.random.default_rng(10 + run)
        with (folder / f"run{run}.trec").open("w") as file:
            for case in range(cases):
                own = [row[2] for row in judged[case * JUDGED : (case + 1) * JUDGED] if random.random() < (int(row[3]) + run) / 5]
                others = (f"doc-{each:07}" for each in random.choice(DOCUMENTS, depth, replace=False).tolist())
                names = list(dict.fromkeys([*own, *others]))[:depth]
                random.shuffle(names)
                file.writelines(f"q{case:06} Q0 {name} {rank} {1 / rank:.6f} run{run}\n" for rank, name in enumerate(names, 1))


def taken(folder: Path, command: Sequence[str], arguments: Sequence[str]) -> Watched:
    found = watched([*command, *arguments], folder)
    if found.code:
        sys.exit(found.printed)
    return found


def added(folder: Path, arguments: Sequence[str], rounds: int = ROUNDS) -> tuple[float, float]:
    """The median time of a command without the short form, and what the short form adds to it, both asked in turns."""
    without, with_it = [], []
    for _ in range(rounds):
        without.append(taken(folder, WITHOUT, arguments).cpu_seconds)
        with_it.append(taken(folder, SEARCHMARK, arguments).cpu_seconds)
    whole = statistics.median(without)
    return whole, statistics.median(with_it) - whole


def steps(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every check and table of an audit, ready to be run one after the other."""
    suite = load_suite(folder / "qrels.txt", topics=folder / "topics.tsv")
    runs = [load_run(folder / f"run{number}.trec") for number in range(RUNS)]
    subject = build_subject(suite, load_corpus(folder / "corpus.jsonl"), runs, ["nDCG@10", "RR"])
    yield "suite expanded", lambda: subject.expanded
    for check in CHECKS:
        name = f"{check.look.__module__.removeprefix('searchmark.audit.')}.{check.look.__name__}"
        yield f"{name}{' (short)' if check in SHORT else ''}", partial(lambda look: list(look(subject)), check.look)
    for table in TABLES:
        yield f"table {table.__module__.removeprefix('searchmark.audit.')}.{table.__name__}", partial(table, subject)


def timed(folder: Path) -> list[tuple[float, str]]:
    found = []
    for name, step in steps(folder):
        start = time.process_time()
        step()
        found.append((time.process_time() - start, name))
    return sorted(found, reverse=True)


def _share(more: float, whole: float) -> str:
    return f"short form {1e3 * more:+.0f} ms = {more / whole:+.1%} of {whole:.2f} s"


def full_audit(folder: Path) -> str:
    runs = [part for number in range(RUNS) for part in ("--run", f"run{number}.trec")]
    found = taken(folder, SEARCHMARK, ["audit", "qrels.txt", *SUITE[2:], "--corpus", "corpus.jsonl", *runs])
    what = f"full audit, {CASES:,} cases x {RUNS} runs, {DOCUMENTS:,} documents"
    share = f"{found.seconds / FULL_SECONDS:.0%} of the bar of {FULL_SECONDS:g} s"
    return f"{what}: {found.seconds:.1f} s = {share}, {found.cpu_seconds:.1f} s of the processor, {found.peak:.0f} MB"


def every_check(folder: Path) -> Iterator[str]:
    """The slowest of all, then the short ones."""
    found = timed(folder)
    yield from (f"  {1e3 * took:9.1f} ms  {step}" for took, step in found[:SLOWEST])
    short = [(took, step) for took, step in found if step.endswith("(short)")]
    yield f"short checks on {RUNS} runs together: {1e3 * sum(took for took, _ in short):.1f} ms"
    yield from (f"  {1e3 * took:9.1f} ms  {step}" for took, step in short)


def saved_run(folder: Path) -> str:
    whole, more = added(folder, ["evaluate", *SUITE, "--run", "run0.trec"], 2 * ROUNDS)
    return f"saved run, {CASES:,} x {DEPTH} hits: {_share(more, whole)} (bar {1e3 * SAVED_SECONDS:.0f} ms)"


def live(folder: Path) -> str:
    whole, more = added(folder, ["evaluate", *SUITE, "--agent", "bm25", "--corpus", "corpus.jsonl", "--no-archive"])
    return f"live bm25, {CASES:,} cases: {_share(more, whole)} (bar {LIVE_SHARE:.0%})"


def many_cases(folder: Path) -> str:
    write_suite(folder, MANY)
    write_runs(folder, MANY, 10)
    whole, more = added(folder, ["evaluate", *SUITE, "--run", "run0.trec"], 3)
    return f"saved run, {MANY:,} cases x 10 hits: {_share(more, whole)}"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "corpus.jsonl", DOCUMENTS)
        write_suite(folder, CASES)
        write_runs(folder, CASES, DEPTH)
        for bar in (full_audit, saved_run, live):
            print(bar(folder), flush=True)
        if "--checks" in sys.argv[1:]:
            print(*every_check(folder), sep="\n", flush=True)
        print(many_cases(folder), flush=True)


if __name__ == "__main__":
    main()
