"""The same retriever with chunks of three sizes. Each returns as many chunks as fit into the prompt: 600 characters."""

from __future__ import annotations

import re
from collections import Counter
from math import log

PROMPT = 600


class Small:
    """Six chunks."""

    size = 100

    def initialize(self, corpus):
        self.chunks = [chunk for document in corpus for chunk in split(document, self.size)]
        self.counts = [Counter(words(chunk["text"])) for chunk in self.chunks]
        found_in = Counter(word for counts in self.counts for word in counts)
        self.weights = {word: log(1 + len(self.chunks) / count) for word, count in found_in.items()}

    def retrieve(self, query, k):
        scored = [
            chunk | {"score": sum(counts[word] * self.weights.get(word, 0.0) for word in words(query)) / counts.total() ** 0.5}
            for chunk, counts in zip(self.chunks, self.counts, strict=True)
        ]
        best = sorted(scored, key=lambda chunk: chunk["score"], reverse=True)
        return best[: min(k, PROMPT // self.size)]


class Medium(Small):
    """Three."""

    size = 200


class Large(Small):
    """One."""

    size = 600


def split(document, size):
    """Chunks of at most so many characters, cut at blanks."""
    for piece in re.finditer(rf"\S.{{0,{size - 1}}}(?=\s|$)", document.text, re.DOTALL):
        yield {"source": document.id, "start_index": piece.start(), "text": piece.group()}


def words(text):
    return re.findall(r"[a-z0-9]+", text.lower())
