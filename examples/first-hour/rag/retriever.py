"""A retriever as people have it: built once from a folder, asked for the k best, answers pairs of a path and a score."""

from __future__ import annotations

import re
from collections import Counter
from math import log


class Retriever:
    """TF-IDF over whole files."""

    def initialize(self, corpus):
        self.counts = {document.id: Counter(words(document.text)) for document in corpus}
        found_in = Counter(word for counts in self.counts.values() for word in counts)
        self.weights = {word: log(1 + len(self.counts) / count) for word, count in found_in.items()}

    def retrieve(self, query, k):
        scores = {
            name: sum(counts[word] * self.weights.get(word, 0.0) for word in words(query)) / (1 + counts.total()) ** 0.5
            for name, counts in self.counts.items()
        }
        best = sorted(filter(scores.get, scores), key=scores.get, reverse=True)
        return [(name, scores[name]) for name in best[:k]]


class Broken(Retriever):
    """The same with a mistake that its author has to find."""

    def retrieve(self, query, k):
        if "429" in query:
            raise KeyError("429")
        return super().retrieve(query, k)


def words(text):
    return re.findall(r"[a-z0-9]+", text.lower())
