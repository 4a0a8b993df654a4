"""Loading: a suite of 100,000 cases, and a corpus of 1 GB that must not end up in memory.

Each measurement is a fresh process. The yardstick beside it is the least that could be done with the same bytes:
parsing the JSON, or reading the lines, and nothing else.
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
    if not CORPUS.exists() or CORPUS.stat().st_size < CORPUS_BYTES:
        text = "a sentence that somebody might look for " * 48
        size = len(json.dumps({"id": "document-0000000", "title": "", "text": text})) + 1
        with CORPUS.open("w") as file:
            for n in range(CORPUS_BYTES // size + 1):
                file.write(json.dumps({"id": f"document-{n:07}", "title": "", "text": text}) + "\n")


def work(task: str, path: str) -> None:
    """One task in this process: print seconds, peak memory and size."""
    import searchmark as sm

    sm.load_suite, sm.load_corpus  # noqa: B018  # imported before the clock starts
    started = time.perf_counter()
    if task == "load":
        size = len(sm.load_suite(path))
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
