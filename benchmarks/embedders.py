"""Embedders side by side on the same real texts with the same threads: texts per second, one query, loading.

    .venv/bin/python benchmarks/embedders.py            # without sentence-transformers
    .venv-models/bin/python benchmarks/embedders.py     # with it, after make test-models

Rounds of all embedders alternate, so that whatever else the machine does meets each of them; the fastest round counts.
"""

from __future__ import annotations

import ast
import os
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else len(os.sched_getaffinity(0))
# Before the libraries are loaded, so that each of them has as many.
os.environ |= {name: str(THREADS) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true", "TQDM_DISABLE": "1"}

from searchmark.agents.vectors import load_embedder, models, onnx
from searchmark.agents.vectors.embedder import Embedder

TEXTS, ROUNDS, QUERIES = 2000, 3, 100
QUERY_LENGTH = 60  # characters
CHOICES = {
    "minilm": ({"name": "minilm", "threads": THREADS}, onnx.minilm_problem),
    "sentence-transformers": ({"name": "transformer", "model": models.ALL_MINILM, "offline": True}, models.transformer_problem),
    "wordllama": ({"name": "wordllama"}, models.wordllama_problem),
}


@dataclass
class Measured:
    """Seconds: to load, of each round over all texts, of each query."""

    embedder: Embedder
    loading: float
    rounds: list[float] = field(default_factory=list)
    queries: list[float] = field(default_factory=list)


def docstrings() -> Iterator[str]:
    """Of the modules and first packages of the standard library, in the order of their names."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in (*sorted(library.glob("*.py")), *sorted(library.glob("[a-e]*/*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (found := ast.get_docstring(node)):
                yield found


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def loaded(choice: dict[str, object]) -> Measured:
    started = time.perf_counter()
    embedder = load_embedder(choice | {"cache": False})
    embedder.embed_query("the first one")
    return Measured(embedder, time.perf_counter() - started)


def available() -> Iterator[tuple[str, dict[str, object]]]:
    for name, (choice, problem) in CHOICES.items():
        lacks = problem()
        if lacks is None:
            yield name, choice
        else:
            print(f"{name} is left out: {lacks}")


def main() -> None:
    texts = list(dict.fromkeys(docstrings()))[:TEXTS]
    measured = {name: loaded(choice) for name, choice in available()}
    for _ in range(ROUNDS):
        for each in measured.values():
            each.rounds.append(seconds(lambda each=each: each.embedder.embed_documents(texts)))
    for text in texts[:QUERIES]:
        for each in measured.values():
            each.queries.append(seconds(lambda each=each, text=text: each.embedder.embed_query(text[:QUERY_LENGTH])))
    print(f"{len(texts):,} docstrings of {statistics.mean(map(len, texts)):.0f} characters on average, {THREADS} threads:")
    for name, each in measured.items():
        print(f"  {name:22} {len(texts) / min(each.rounds):8.0f} texts per second; a query {1000 * statistics.median(each.queries):6.2f} ms (p50); "
              f"loaded in {each.loading:.2f} s")  # fmt: skip
    theirs = measured.get("sentence-transformers")
    if theirs is None:
        print("For sentence-transformers beside them: make test-models && .venv-models/bin/python benchmarks/embedders.py")
    elif "minilm" in measured:
        ours = measured["minilm"]
        print(f"minilm / sentence-transformers: {min(theirs.rounds) / min(ours.rounds):.2f}x the texts per second; a query takes "
              f"{statistics.median(ours.queries) / statistics.median(theirs.queries):.2f}x the time")  # fmt: skip


if __name__ == "__main__":
    main()
