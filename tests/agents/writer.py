"""A process that fills the cache: `python -m tests.agents.writer FIRST LAST`. It says a number after each batch."""

from __future__ import annotations

import sys

from searchmark.agents.vectors import load_embedder

BATCH = 40


def texts(first: int, last: int) -> list[str]:
    return [f"chunk {number} says {number * number}" for number in range(first, last)]


def main(first: int, last: int) -> None:
    embedder = load_embedder({"name": "hashing", "cache": True})
    for start in range(first, last, BATCH):
        embedder.embed_documents(texts(start, min(start + BATCH, last)))
        print(start, flush=True)  # noqa: T201  # how the test knows that a batch is written


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
