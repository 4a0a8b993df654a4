"""A command-line search over the symbols of a program, as a team might have one: full text, with vectors, with a reranker.

    lookup.py "enviar email con archivo adjunto" -n 10 --enable-semantic --use-reranker

It prints the names of symbols, best first. Full text search is that of SQLite (FTS5). The vectors count concepts, which
concepts.txt has words for in two languages: a stand-in for an embedding model that needs no download. The reranker looks at how
much of the query a symbol covers, by words and by concepts.
"""

from __future__ import annotations

import argparse
import csv
import re
import sqlite3
import sys
from collections import Counter
from math import sqrt
from pathlib import Path

HERE = Path(__file__).parent
CANDIDATES = 30
RRF_K = 60


def words(text: str) -> list[str]:
    """Words in lower case, identifiers taken apart: TMailer.SendMail is mailer, send, mail."""
    pieces = re.sub(r"(?<=[a-záéíóúñ0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[._]", " ", text)
    return [word for word in re.findall(r"\w+", pieces.lower()) if len(word) > 1]


def read_symbols() -> dict[str, str]:
    """Name to comment."""
    with (HERE / "corpus.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["text"] for row in csv.DictReader(file)}


def read_concepts() -> dict[str, str]:
    """The beginning of a word to its concept."""
    lines = (HERE / "concepts.txt").read_text(encoding="utf-8").splitlines()
    return {stem: concept for concept, _, stems in (line.partition(":") for line in lines) for stem in stems.split()}


class Lookup:
    """The symbols, and the ways to search them."""

    def __init__(self) -> None:
        self.symbols = read_symbols()
        self.stems = read_concepts()
        self.vectors = {name: self.vector(f"{name} {comment}") for name, comment in self.symbols.items()}

    def full_text(self, query: str) -> list[str]:
        """By SQLite's bm25 over names and comments; any word may match."""
        table = sqlite3.connect(":memory:")
        table.execute("CREATE VIRTUAL TABLE symbols USING fts5(name UNINDEXED, content)")
        rows = [(name, " ".join(words(f"{name} {comment}"))) for name, comment in self.symbols.items()]
        table.executemany("INSERT INTO symbols VALUES (?, ?)", rows)
        wanted = " OR ".join(f'"{word}"' for word in words(query))
        found = table.execute("SELECT name FROM symbols WHERE symbols MATCH ? ORDER BY rank, name", (wanted,)) if wanted else []
        return [name for (name,) in found][:CANDIDATES]

    def semantic(self, query: str) -> list[str]:
        """By the angle between the vectors of query and symbol."""
        wanted = self.vector(query)
        near = {name: cosine(wanted, vector) for name, vector in self.vectors.items()}
        return sorted((name for name in near if near[name] > 0), key=lambda name: (-near[name], name))[:CANDIDATES]

    def vector(self, text: str) -> Counter[str]:
        """How often each concept occurs."""
        return Counter(concept for word in words(text) if (concept := self.concept(word)))

    def concept(self, word: str) -> str | None:
        return next((self.stems[word[:end]] for end in range(len(word), 2, -1) if word[:end] in self.stems), None)

    def reranked(self, query: str, found: list[str]) -> list[str]:
        """By the share of the query's words and concepts that a symbol has; equal ones stay as they are."""
        wanted = set(words(query)) | set(self.vector(query))
        return sorted(found, key=lambda name: -len(wanted & self.terms(name)))

    def terms(self, name: str) -> set[str]:
        return set(words(f"{name} {self.symbols[name]}")) | set(self.vectors[name])


def cosine(one: Counter[str], other: Counter[str]) -> float:
    product = sum(count * other[concept] for concept, count in one.items())
    return product / sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values())) if product else 0.0


def fused(*rankings: list[str]) -> list[str]:
    """By reciprocal ranks."""
    scores: Counter[str] = Counter()
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] += 1 / (RRF_K + rank)  # type: ignore[assignment]  # a Counter of fractions
    return sorted(scores, key=lambda name: (-scores[name], name))


def main() -> None:
    parser = argparse.ArgumentParser(description="Search symbols.")
    parser.add_argument("query")
    parser.add_argument("-n", type=int, default=10, help="how many")
    parser.add_argument("--enable-semantic", action="store_true", help="search by vectors too")
    parser.add_argument("--use-reranker", action="store_true", help="look at the hits more closely")
    options = parser.parse_args()
    lookup = Lookup()
    found = lookup.full_text(options.query)
    if options.enable_semantic:
        found = fused(found, lookup.semantic(options.query))
    if options.use_reranker:
        found = lookup.reranked(options.query, found)
    sys.stdout.writelines(f"{name}\n" for name in found[: options.n])


if __name__ == "__main__":
    main()
