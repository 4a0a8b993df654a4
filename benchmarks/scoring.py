"""Scoring speed and memory beside pytrec_eval: 10,000 queries x 100 results, five measures; and a mined suite, by path.

Paths are what mined suites judge. Nothing else scores them, so the yardstick is the least that could be done: a set of paths
per case, and every hit looked up in it, without ranks, duplicates or spellings. To compare two versions, run this file in both.

Each contestant works in its own process, one after the other, in several rounds; the first call of each process
is not counted for time, so that imports and lazy loading are paid by neither. Medians are compared, as ratios.

Whole commands are compared as well, of 1 and of 10 million lines: from the start of a process to its end, with imports,
intervals, a report on every case and what goes to the terminal. The yardstick is a script that reads the same files with
pytrec_eval's own parsers and writes the values of every query as JSON.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memory import peak_megabytes

DATA = Path(__file__).parent / "data"
RUN, QRELS = DATA / "scoring.run", DATA / "scoring.qrels"
LARGE_RUN, LARGE_QRELS = DATA / "scoring-large.run", DATA / "scoring-large.qrels"
COPIES = 10  # of all queries, under other names, in the large files
QUERIES, DEPTH, JUDGED = 10_000, 100, 20
MINED_CASES, MINED_TARGETS = 2_000, 4
ROUNDS, CALLS = 5, 3
WHOLE_ROUNDS = {"1M lines": 9, "10M lines": 3}
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


def generate_large() -> None:
    """The same queries ten times, each time under other names."""
    for source, target in ((RUN, LARGE_RUN), (QRELS, LARGE_QRELS)):
        lines = "\n" + source.read_text().rstrip("\n")
        with target.open("w") as file:
            for copy in range(COPIES):
                file.write(lines.replace("\nq", f"\nq{copy}-")[1:] + "\n")


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


def pytrec_eval_script(qrels: str, run: str, output: str) -> None:
    """What people write around pytrec_eval: read, score, print the means, keep the values of every query."""
    import pytrec_eval

    with Path(qrels).open() as judged, Path(run).open() as returned:
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(judged), {"ndcg_cut.10", "P.10", "recall.100", "map", "recip_rank"}
        )
        results = evaluator.evaluate(pytrec_eval.parse_run(returned))
    means = {ours: statistics.fmean(values[theirs] for values in results.values()) for ours, theirs in THEIRS.items()}
    Path(output).write_text(json.dumps({"means": means, "queries": results}))
    print(means)


def whole_commands(qrels: Path, run: Path) -> dict[str, list[str]]:
    measures = [word for name in OURS for word in ("-m", name)]
    ours = [str(Path(sys.executable).parent / "searchmark"), "evaluate", "--gold-set", str(qrels), "--run", str(run), *measures]
    return {
        "searchmark": [*ours, "-o", str(DATA / "whole.json")],
        "pytrec_eval": [sys.executable, __file__, str(qrels), str(run), str(DATA / "whole-pytrec.json")],
    }


def whole_seconds(command: list[str]) -> tuple[float, float]:
    """Seconds by the clock and of processors that a fresh process takes, its bytecode installed as usual."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, env=environment)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def contested_whole(size: str, qrels: Path, run: Path) -> None:
    """All rounds of whole commands: one line of the table."""
    commands = whole_commands(qrels, run)
    for command in commands.values():
        whole_seconds(command)  # files and bytecode are in memory from here on
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(WHOLE_ROUNDS[size]):
        for name, results in rounds.items():
            results.append(whole_seconds(commands[name]))
    (seconds, cpu), (others, other_cpu) = (map(statistics.median, zip(*results, strict=True)) for results in rounds.values())
    check_whole()
    print(
        f"{size:<20}{seconds:>11.2f}s{others:>12.2f}s{others / seconds:>8.2f}x{cpu:>11.2f}s{other_cpu:>12.2f}s{other_cpu / cpu:>8.2f}x"
    )


def check_whole() -> None:
    """Both have written the same values for the same queries."""
    (agent,) = json.loads((DATA / "whole.json").read_text())["agents"].values()
    theirs = json.loads((DATA / "whole-pytrec.json").read_text())
    for ours, name in THEIRS.items():
        assert abs(agent["measures"][ours]["mean"] - theirs["means"][ours]) < 1e-9, f"{ours} differs"
        assert all(abs(agent["cases"][q]["measures"][ours] - values[name]) < 1e-6 for q, values in theirs["queries"].items())


def main() -> None:
    generate()
    generate_large()
    print(
        f"whole evaluate in a fresh process, {', '.join(OURS)}; medians of alternating runs ({', '.join(f'{count} of {size}' for size, count in WHOLE_ROUNDS.items())})"
    )
    print(f"{'size':<20}{'searchmark':>12}{'pytrec_eval':>13}{'faster':>9}{'CPU':>12}{'CPU':>13}{'less':>9}")
    contested_whole("1M lines", QRELS, RUN)
    contested_whole("10M lines", LARGE_QRELS, LARGE_RUN)
    for large in (LARGE_RUN, LARGE_QRELS):
        large.unlink()
    print()
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
    if len(sys.argv) == 4:
        pytrec_eval_script(*sys.argv[1:])
    elif len(sys.argv) == 3:
        contest(*sys.argv[1:])
    else:
        main()
