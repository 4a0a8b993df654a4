"""Reports: the whole command that writes every format, with and without charts, and what it takes at ten times the size."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from load_data import FILES, write_gold_set
from processes import SEARCHMARK, Watched, watched
from searchmark import Answer, AnswerDetails, Hit, Run, Suite, load_suite, save_run
from searchmark.reports.render import RENDERERS

RUNS, DEPTH = 4, 50
SMALL, LARGE = 1_000, 10_000
SECONDS, SECONDS_WITH_CHARTS, MEGABYTES = 3.0, 10.0, 500.0


def run_of(suite: Suite, name: str, random: np.random.Generator) -> Run:
    """An agent that finds a target in about half of the cases, with a time for every search."""
    return Run.from_answers(name, [_answer(case, random) for case in suite.table.ids])


def _answer(case: str, random: np.random.Generator) -> Answer:
    names = [f"src/file{number}.py" for number in random.choice(FILES, DEPTH, replace=False).tolist()]
    if random.random() < 0.5:  # half of the cases
        names.insert(int(random.integers(10)), f"src/file{int(case.removeprefix('case-')) % FILES}.py")
    hits = tuple(Hit(each, rank, 1.0 / rank) for rank, each in enumerate(dict.fromkeys(names), 1))
    times = (random.lognormal(1.0, 0.5, 4)).tolist()
    return Answer(case, "ok", hits, AnswerDetails(cold_ms=(times[0] * 2,), warm_ms=tuple(times[1:])))


def written(cases: int, *flags: str) -> tuple[Watched, float]:
    """What it took to compare four saved runs and to write every format; and the size of the page in megabytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        gold_set = write_gold_set(folder / "gold_set.json", cases)
        suite, random = load_suite(gold_set), np.random.default_rng(1)
        runs = [folder / f"run{number}.jsonl" for number in range(RUNS)]
        for number, path in enumerate(runs):
            save_run(run_of(suite, f"agent{number}", random), path)
        saved = [part for path in runs for part in ("--run", path)]
        files = [part for each in RENDERERS.values() for part in ("-o", folder / f"report{each.suffixes[0]}")]
        found = watched([*SEARCHMARK, "compare", "--gold-set", gold_set, *saved, *files, *flags], folder)
        if found.code:
            sys.exit(found.printed)
        return found, (folder / "report.html").stat().st_size / 1e6


def main() -> None:
    every = f"every format, {RUNS} runs x"
    found, page = written(SMALL)
    print(f"{every} {SMALL:,} cases: {found.seconds:.1f} s (bar {SECONDS:g} s), page {page:.1f} MB (bar 3 MB)")
    found, _ = written(SMALL, "--charts")
    print(f"{every} {SMALL:,} cases, with charts: {found.seconds:.1f} s (bar {SECONDS_WITH_CHARTS:g} s)")
    found, page = written(LARGE)
    print(f"{every} {LARGE:,} cases: {found.seconds:.1f} s, {found.peak:.0f} MB (bar {MEGABYTES:g} MB), page {page:.1f} MB")


if __name__ == "__main__":
    main()
