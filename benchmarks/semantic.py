"""semantic: exact search beside one blocked matmul and partial sort; a run at parents beside what cannot be avoided."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# One thread each: what is compared is work, not how well it spreads. Both must be set before the libraries are loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

from histories import History, histories
from searchmark.agents.chunks import content_chunks
from searchmark.agents.vectors.exact import BLOCK_ROWS, ExactIndex
from searchmark.agents.vectors.models import WordLlamaModel
from searchmark.agents.vectors.pooling import ChunkTable, Pooling, nearest_files
from searchmark.agents.vectors.semantic import SemanticAgent

CASES = 200
ROUNDS = 3
VECTORS, FILES, DIMENSION, K = 200_000, 10_000, 256, 10


def clock() -> float:
    return time.process_time()


def seconds(work: Callable[[], object]) -> float:
    started = clock()
    work()
    return clock() - started


def blocked(rows: np.ndarray, query: np.ndarray, k: int = K) -> np.ndarray:
    """One matmul in blocks and a partial sort: the least that an exact search has to do."""
    scores = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        np.dot(rows[start : start + BLOCK_ROWS], query, out=scores[start : start + BLOCK_ROWS])
    best = np.argpartition(scores, -k)[-k:]
    return best[np.argsort(-scores[best])]


def exact_search() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(VECTORS, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    index, table = ExactIndex(DIMENSION), ChunkTable()
    keys = [number.to_bytes(4, "big") for number in range(VECTORS)]
    share = VECTORS // FILES
    table.put({f"f{n:05}": keys[n * share : (n + 1) * share] for n in range(FILES)})
    index.put(np.arange(VECTORS), rows)
    queries = rows[random.integers(0, VECTORS, 40)] + 0.05 * random.normal(size=(40, DIMENSION)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    layout, pooling = table.layout(), Pooling()
    ours, theirs = [], []
    for query in queries:
        ours.append(seconds(lambda query=query: nearest_files(index, layout, query, K, pooling)))
        theirs.append(seconds(lambda query=query: blocked(rows, query)))
    mine, least = statistics.median(ours), statistics.median(theirs)
    print(f"exact search, {VECTORS:,} chunks of {FILES:,} files: {mine * 1000:.1f} ms; one blocked matmul and partial sort "
          f"{least * 1000:.1f} ms: {mine / least:.2f}x")  # fmt: skip


def pieces(history: History, number: int) -> list[str]:
    """The chunks of one state, with repetitions between files, as an agent without memory would embed them."""
    return [
        piece
        for document in history.corpus(number)
        for piece in (document.id, *(chunk for chunk in content_chunks(document.text) if chunk.strip()))
    ]


def run_at_parents(history: History, agent: SemanticAgent) -> int:
    """How many texts were embedded."""
    before = agent.embedder.texts_encoded
    agent.initialize(history.corpus(0))
    agent.retrieve(history.queries[0], K)
    for number in range(1, len(history.trees)):
        agent.update(history.changes(number))
        agent.retrieve(history.queries[number], K)
    return agent.embedder.texts_encoded - before


def unavoidable(history: History, model: WordLlamaModel) -> tuple[float, float, int]:
    """Seconds to embed each distinct chunk once and to search each state; seconds to embed every tree, extrapolated; texts."""
    distinct: dict[str, None] = {}
    sizes, every = [], 0
    for number in range(len(history.trees)):
        own = pieces(history, number)
        distinct.update(dict.fromkeys(own))
        every += len(own)
        sizes.append(len(set(own)))
    texts = list(distinct)
    batches = [texts[start : start + model.batch] for start in range(0, len(texts), model.batch)]
    embedding = seconds(lambda: [model.encode(batch) for batch in batches])
    rows = np.random.default_rng(2).normal(size=(max(sizes), DIMENSION)).astype(np.float32)
    queries = [model.encode_query(query) for query in history.queries]
    searching = seconds(lambda: [blocked(rows[:size], query) for size, query in zip(sizes, queries, strict=True)])
    return embedding + searching, embedding * every / len(texts), len(texts)


def at_parents(history: History, model: WordLlamaModel) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEARCHMARK_CACHE"] = folder
        agent = SemanticAgent()
        agent.embedder.embed_query("loaded before the clock starts, as the other model is")
        colds, leasts, warms = [], [], []
        for _ in range(ROUNDS):
            least, trees, texts = unavoidable(history, model)
            leasts.append(least)
            for file in Path(folder).iterdir():
                file.unlink()
            started = clock()
            embedded = run_at_parents(history, agent)
            colds.append(clock() - started)
            started = clock()
            again = run_at_parents(history, agent)
            warms.append(clock() - started)
            agent.embedder.close()
    cold, least, warm = min(colds), min(leasts), min(warms)
    print(f"{history.name}: {len(history.trees)} states, {texts:,} distinct chunks, {embedded:,} embedded")
    print(f"  run at parents {cold:.1f} s; each distinct chunk once and the searches {least:.1f} s: {cold / least:.2f}x")
    print(f"  embedding every tree {trees:.0f} s (extrapolated): {trees / cold:.0f}x faster")
    print(f"  with a warm cache {warm:.1f} s, {again} texts embedded")


def main() -> None:
    print("seconds of one processor, best of three, so that other programs on the machine do not count")
    exact_search()
    model = WordLlamaModel()
    for history in histories(CASES):
        at_parents(history, model)


if __name__ == "__main__":
    main()
