"""BM25 by the book, in plain Python: slow, obvious, and sharing nothing with the index but the tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Set
from functools import cache

from searchmark import Document
from searchmark.agents.lexical.analyser import tokenize


def bm25_by_the_book(
    documents: Iterable[Document],
    query: str,
    k: int,
    k1: float = 1.2,
    b: float = 0.75,
    name: float = 1.0,
    content: float = 1.0,
    stop_words: Set[str] = frozenset(),
) -> list[tuple[str, float]]:
    """``stop_words`` are left out of a query that has other words."""
    held = {document.id: _frequencies(document, name, content) for document in documents}
    length = {key: sum(frequencies.values()) for key, frequencies in held.items()}
    mean = math.fsum(length.values()) / len(held)
    scores: dict[str, float] = {}
    for term in [token for token in tokenize(query) if token not in stop_words] or tokenize(query):
        holding = [key for key, frequencies in held.items() if frequencies.get(term)]
        idf = math.log(1 + (len(held) - len(holding) + 0.5) / (len(holding) + 0.5))
        for key in holding:
            tf = held[key][term]
            part = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length[key] / mean))
            scores[key] = scores.get(key, 0.0) + part
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[:k]


def _frequencies(document: Document, name: float, content: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for text, weight in ((document.title or document.id, name), (document.text, content)):
        for term, count in _counts(text).items():
            found[term] = found.get(term, 0.0) + weight * count
    return found


@cache
def _counts(text: str) -> Counter[str]:
    """Counted once for all queries and weights."""
    return Counter(tokenize(text))
