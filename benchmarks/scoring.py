"""Scoring speed and memory beside pytrec_eval: 10,000 queries x 100 results, five measures; and a mined suite, by path.

Paths are what mined suites judge. Nothing else scores them, so the yardstick is the least that could be done: a set of paths
per case, and every hit looked up in it, without ranks, duplicates or spellings. To compare two versions, run this file in both.

Each contestant works in its own process, one after the other, in several rounds; the first call of each process
is not counted for time, so that imports and lazy loading are paid by neither. Medians are compared, as ratios.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memory import peak_megabytes

DATA = Path(__file__).parent / "data"
RUN, QRELS = DATA / "scoring.run", DATA / "scoring.qrels"
QUERIES, DEPTH, JUDGED = 10_000, 100, 20
MINED_CASES, MINED_TARGETS = 2_000, 4
ROUNDS, CALLS = 5, 3
OURS = ["nDCG@10", "P@10", "R@100", "AP", "RR"]
THEIRS = {"nDCG@10": "ndcg_cut_10", "P@10": "P_10", "R@100": "recall_100", "AP": "map", "RR": "recip_rank"}


def generate() -> None:
    """A run and its judgments; half of the judged documents are returned, grades 0 to 3, scores sorted in the file."""
    if RUN.exists() and QRELS.exists():
        return
    DATA.mkdir(exist_ok=True)
    rng = random.Random(20_240_615)
    with RUN.open("w") as run, QRELS.open("w") as qrels:
        for query in range(QUERIES):
            documents = rng.sample(range(200_000), DEPTH + JUDGED // 2)
            scores = sorted((rng.random() * 20 for _ in range(DEPTH)), reverse=True)
            run.writelines(
                f"q{query} Q0 doc{document:06d} {rank} {score:.6f} bench\n"
                for rank, (document, score) in enumerate(zip(documents[:DEPTH], scores, strict=True), 1)
            )
            judged = rng.sample(documents[:DEPTH], JUDGED // 2) + documents[DEPTH:]
            qrels.writelines(f"q{query} 0 doc{document:06d} {rng.choice([0, 0, 1, 1, 2, 3])}\n" for document in judged)


def searchmark_from_text() -> dict[str, float]:
    import searchmark as sm

    return sm.score(sm.judge(sm.load_suite(QRELS, format="qrels"), sm.load_run(RUN, format="trec")), OURS).means()


def pytrec_eval_means(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> dict[str, float]:
    import pytrec_eval

    results = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "P.10", "recall.100", "map", "recip_rank"}).evaluate(run)
    return {ours: statistics.fmean(values[theirs] for values in results.values()) for ours, theirs in THEIRS.items()}


def pytrec_eval_from_text() -> dict[str, float]:
    import pytrec_eval

    with QRELS.open() as qrels, RUN.open() as run:
        return pytrec_eval_means(pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run))


def dicts(shuffled: bool) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """The same data as nested dictionaries, results best first or in random order."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    with QRELS.open() as file:
        for query, _, document, grade in map(str.split, file):
            qrels.setdefault(query, {})[document] = int(grade)
    with RUN.open() as file:
        for query, _, document, _, score, _ in map(str.split, file):
            run.setdefault(query, {})[document] = float(score)
    if shuffled:
        rng = random.Random(1)
        run = {query: dict(rng.sample(list(hits.items()), len(hits))) for query, hits in run.items()}
    return qrels, run


def searchmark_from_dicts(shuffled: bool) -> Callable[[], dict[str, float]]:
    import searchmark as sm

    qrels, run = dicts(shuffled)
    return lambda: sm.score(sm.judge(sm.Suite.from_grades(qrels), sm.Run.from_scores(run)), OURS).means()


def pytrec_eval_from_dicts(shuffled: bool) -> Callable[[], dict[str, float]]:
    qrels, run = dicts(shuffled)
    return lambda: pytrec_eval_means(qrels, run)


def mined() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Targets and hits of the cases of a mined suite: paths of one repository, half of the targets among the hits."""
    rng = random.Random(20_240_616)
    files = [f"src/package_{n % 40}/module_{n % 400}/file_{n}.py" for n in range(20_000)]
    targets, hits = {}, {}
    for case in map(str, range(MINED_CASES)):
        drawn = rng.sample(files, DEPTH + MINED_TARGETS // 2)
        targets[case] = rng.sample(drawn[:DEPTH], MINED_TARGETS // 2) + drawn[DEPTH:]
        hits[case] = drawn[:DEPTH]
    return targets, hits


def searchmark_from_paths() -> Callable[[], dict[str, float]]:
    import searchmark as sm

    targets, hits = mined()
    cases = [sm.Case(case, judgments=tuple(sm.Judgment(path, "path") for path in paths)) for case, paths in targets.items()]
    suite = sm.Suite.from_cases("mined", cases)
    answers = [sm.Answer(case, "ok", tuple(sm.Hit(path, n) for n, path in enumerate(ids, 1))) for case, ids in hits.items()]
    run = sm.Run.from_answers("agent", answers)
    return lambda: sm.score(sm.judge(suite, run), ["R@100"]).means()


def sets_from_paths() -> Callable[[], dict[str, float]]:
    targets, hits = mined()

    def recall(case: str) -> float:
        wanted = set(targets[case])
        return sum(map(wanted.__contains__, hits[case])) / len(wanted)

    return lambda: {"R@100": statistics.fmean(map(recall, targets))}


CONTESTANTS: dict[str, dict[str, Callable[[], Callable[[], dict[str, float]]]]] = {
    "TREC text": {"searchmark": lambda: searchmark_from_text, "pytrec_eval": lambda: pytrec_eval_from_text},
    "dicts, best first": {"searchmark": lambda: searchmark_from_dicts(False), "pytrec_eval": lambda: pytrec_eval_from_dicts(False)},
    "dicts, shuffled": {"searchmark": lambda: searchmark_from_dicts(True), "pytrec_eval": lambda: pytrec_eval_from_dicts(True)},
    "mined suite, paths": {"searchmark": searchmark_from_paths, "sets": sets_from_paths},
}


def contest(source: str, name: str) -> None:
    """One contestant in this process: print seconds per call, peak memory after the first call, and the means."""
    work = CONTESTANTS[source][name]()
    started = time.perf_counter()
    means = work()
    first = time.perf_counter() - started
    peak = peak_megabytes()
    seconds = []
    for _ in range(CALLS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    print(json.dumps({"first": first, "seconds": seconds, "peak": peak, "means": means}))


def measured(source: str, name: str) -> dict[str, object]:
    process = subprocess.run([sys.executable, __file__, source, name], capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(process.stdout)
    return result


def contested(source: str) -> None:
    """All rounds of one source: one line of the table."""
    rounds: dict[str, list[dict[str, object]]] = {name: [] for name in CONTESTANTS[source]}
    for _ in range(ROUNDS):
        for name, results in rounds.items():
            results.append(measured(source, name))
    ours, theirs = rounds.values()
    for name, value in theirs[0]["means"].items():
        assert abs(value - ours[0]["means"][name]) < 1e-9, f"{name} differs"
    seconds, others = (statistics.median(s for each in results for s in each["seconds"]) for results in (ours, theirs))
    first, other_first = (statistics.median(each["first"] for each in results) for results in (ours, theirs))
    peak, other_peak = (statistics.median(each["peak"] for each in results) for results in (ours, theirs))
    print(
        f"{source:<20}{seconds:>11.3f}s{others:>12.3f}s{others / seconds:>8.2f}x{other_first / first:>11.2f}x"
        f"{peak:>10.0f}{other_peak:>10.0f}{peak / other_peak:>7.2f}x"
    )


def main() -> None:
    generate()
    print(f"scoring: {QUERIES:,} queries x {DEPTH} results, {', '.join(OURS)}; medians of {ROUNDS} processes x {CALLS} calls")
    print(
        f"{'source':<20}{'searchmark':>12}{'yardstick':>13}{'faster':>9}{'first call':>12}{'peak MB':>10}{'peak MB':>10}{'ratio':>8}"
    )
    for source in CONTESTANTS:
        contested(source)
    print(
        "yardstick: pytrec_eval; for the mined suite (2,000 cases x 100 hits) a set of paths per case, and nothing but recall\n"
        "faster: the yardstick's time over ours; first call: the same for a fresh process, imports included; ratio: our peak over its"
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        contest(*sys.argv[1:])
    else:
        main()
