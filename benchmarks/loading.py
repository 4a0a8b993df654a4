"""Loading: a suite of 100,000 cases, runs of 1,000,000 hits, and a corpus of 1 GB that must not end up in memory.

Each measurement is a fresh process. The yardstick beside it is the least that could be done with the same bytes:
parsing the JSON, or reading the lines, and nothing else. That of a run is the same run as TREC.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from memory import peak_megabytes

DATA = Path(__file__).parent / "data"
CASES, JUDGMENTS, ROUNDS = 100_000, 3, 3
CORPUS_BYTES = 1_000_000_000
SUITES = {"suite, JSON": DATA / "suite.json", "suite, JSONL": DATA / "suite.jsonl", "gold set": DATA / "gold_set.json"}
CORPUS = DATA / "corpus.jsonl"
QUERIES, DEPTH = 1_000, 1_000
RUNS = {
    "run, TREC": DATA / "hits.trec",
    "run, CSV": DATA / "hits.csv",
    "run, JSONL": DATA / "hits.jsonl",
    "run, Parquet": DATA / "hits.parquet",
    "run, ranx JSON": DATA / "hits.json",
}


def generate() -> None:
    DATA.mkdir(exist_ok=True)
    if not SUITES["suite, JSON"].exists():
        cases = [
            {
                "id": f"case-{n}",
                "query": f"where is the thing number {n} handled",
                "category": f"group {n % 7}",
                "judgments": [
                    {"target": f"src/module_{n % 997}/file_{n}_{j}.py", "match": "path", "grade": j} for j in range(JUDGMENTS)
                ],
            }
            for n in range(CASES)
        ]
        header = {"schema_version": 1, "name": "bench"}
        SUITES["suite, JSON"].write_text(json.dumps({**header, "cases": cases}))
        SUITES["suite, JSONL"].write_text("\n".join(map(json.dumps, [header, *cases])))
        rows = [
            {
                "id": c["id"],
                "query": c["query"],
                "commit_hash": f"{n:040x}",
                "ground_truth_files": [j["target"] for j in c["judgments"]],
            }
            for n, c in enumerate(cases)
        ]
        SUITES["gold set"].write_text(json.dumps({"test_cases": rows, "metadata": {"repository": "example/bench"}}))
    if not RUNS["run, ranx JSON"].exists():
        generate_runs()
    if not CORPUS.exists() or CORPUS.stat().st_size < CORPUS_BYTES:
        text = "a sentence that somebody might look for " * 48
        size = len(json.dumps({"id": "document-0000000", "title": "", "text": text})) + 1
        with CORPUS.open("w") as file:
            for n in range(CORPUS_BYTES // size + 1):
                file.write(json.dumps({"id": f"document-{n:07}", "title": "", "text": text}) + "\n")


def generate_runs() -> None:
    """One run in every format, the hits of a query together and in order."""
    import polars as pl

    hits = [
        (f"q{q}", f"doc{(q * 7919 + n * 104_729) % 10_000_019}", n + 1, 30 - n / 40) for q in range(QUERIES) for n in range(DEPTH)
    ]
    frame = pl.DataFrame(hits, ["q_id", "doc_id", "rank", "score"], orient="row")
    frame.write_csv(RUNS["run, CSV"])
    frame.write_ndjson(RUNS["run, JSONL"])
    frame.drop("rank").write_parquet(RUNS["run, Parquet"])
    RUNS["run, TREC"].write_text("".join(f"{query} Q0 {hit} {rank} {score} t\n" for query, hit, rank, score in hits))
    by_query: dict[str, dict[str, float]] = {}
    for query, hit, _, score in hits:
        by_query.setdefault(query, {})[hit] = score
    RUNS["run, ranx JSON"].write_text(json.dumps(by_query, indent=2))


def work(task: str, path: str) -> None:
    """One task in this process: print seconds, peak memory and size."""
    import searchmark as sm

    sm.load_suite, sm.load_run, sm.load_corpus  # noqa: B018  # imported before the clock starts
    started = time.perf_counter()
    if task == "load":
        size = len(sm.load_suite(path))
    elif task == "run":
        size = len(sm.load_run(path).scores)
    elif task == "survey":
        size = len(sm.load_corpus(path).survey.ids)
    else:
        with Path(path).open() as file:
            size = sum(1 for line in file if json.loads(line)) if path.endswith("l") else len(json.load(file))
    print(json.dumps({"seconds": time.perf_counter() - started, "peak": peak_megabytes(), "size": size}))


def measured(task: str, path: Path) -> tuple[float, float, int]:
    results = []
    for _ in range(ROUNDS):
        process = subprocess.run([sys.executable, __file__, task, str(path)], capture_output=True, text=True, check=True)
        results.append(json.loads(process.stdout))
    return statistics.median(r["seconds"] for r in results), statistics.median(r["peak"] for r in results), results[0]["size"]


def main() -> None:
    generate()
    print(f"loading: medians of {ROUNDS} processes")
    print(f"{'what':<16}{'size':>12}{'seconds':>10}{'peak MB':>10}   yardstick")
    for name, path in SUITES.items():
        seconds, peak, size = measured("load", path)
        parse, parse_peak, _ = measured("parse", path)
        print(
            f"{name:<16}{size:>12,}{seconds:>10.2f}{peak:>10.0f}   {seconds / parse:.1f}x the time of json.loads alone ({parse_peak:.0f} MB)"
        )
    trec = None
    for name, path in RUNS.items():
        seconds, peak, size = measured("run", path)
        trec = trec or seconds
        print(f"{name:<16}{size:>12,}{seconds:>10.2f}{peak:>10.0f}   {seconds / trec:.1f}x the time of TREC")
    seconds, peak, size = measured("survey", CORPUS)
    parse, parse_peak, _ = measured("parse", CORPUS)
    gigabytes = CORPUS.stat().st_size / 1e9
    print(
        f"{f'corpus, {gigabytes:.1f} GB':<16}{size:>12,}{seconds:>10.2f}{peak:>10.0f}   {seconds / parse:.1f}x the time of json.loads alone ({parse_peak:.0f} MB)"
    )
    CORPUS.unlink()  # a gigabyte that nobody needs any more


if __name__ == "__main__":
    if len(sys.argv) == 3:
        work(*sys.argv[1:])
    else:
        main()
