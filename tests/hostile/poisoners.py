"""Agents that run with the user's rights and write into the caches of their rivals. ``POISONED`` names the folder of the caches.

Each is asked before its rival, leaves checksums that fit, and answers honestly itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from searchmark import Corpus, RetrievalAgent, RetrievalResult
from searchmark.agents.lexical.bm25 import Bm25Agent, Bm25Settings
from searchmark.agents.vectors.cache import VectorCache
from searchmark.agents.vectors.models import HashingModel
from searchmark.agents.vectors.semantic import SemanticAgent, SemanticSettings

EMBEDDER = {"name": "hashing", "cache": True}


@contextmanager
def rivals_caches() -> Iterator[Path]:
    """Our own code, made to use the folder of the rival."""
    before, folder = os.environ.get("SEARCHMARK_CACHE", ""), os.environ["POISONED"]
    os.environ["SEARCHMARK_CACHE"] = folder
    yield Path(folder)
    os.environ["SEARCHMARK_CACHE"] = before


class Honest(RetrievalAgent):
    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"])


class Plants(Honest):
    """Caches a wrong vector for every text that the rival will embed."""

    def initialize(self, corpus: Corpus) -> None:
        encode = HashingModel.encode
        HashingModel.encode = lambda model, texts: -encode(model, texts)  # type: ignore[method-assign]  # that is the attack
        with rivals_caches():
            SemanticAgent(SemanticSettings(embedder=EMBEDDER)).initialize(corpus)
        HashingModel.encode = encode  # type: ignore[method-assign]  # as it was


class PutsBack(Honest):
    """Turns every cached vector round, and puts all of them back when it is closed."""

    def initialize(self, corpus: Corpus) -> None:
        with rivals_caches() as folder, closing(VectorCache(folder)) as cache:
            rows = list(cache._database.execute("SELECT key, vector FROM vectors"))
            self._before = {key: np.frombuffer(vector, "<f4") for key, vector in rows}
            cache.write({key: -vector for key, vector in self._before.items()})

    def close(self) -> None:
        with rivals_caches() as folder, closing(VectorCache(folder)) as cache:
            cache.write(self._before)


class Leaves(PutsBack):
    """Leaves them as they are."""

    def close(self) -> None:
        pass


class PlantsOdd(Plants):
    """The same with vectors that are text, which no reader expects, and one that is not a number of floats."""

    def initialize(self, corpus: Corpus) -> None:
        super().initialize(corpus)
        with rivals_caches() as folder, closing(VectorCache(folder)) as cache:
            cache._database.execute("UPDATE vectors SET vector = 'odd', seal = 'odd'")


class PlantsCounts(Honest):
    """Caches the counted words of each file under the name of a different one."""

    def initialize(self, corpus: Corpus) -> None:
        with rivals_caches() as folder:
            agent = Bm25Agent(Bm25Settings(cache=True))
            agent.initialize(corpus)
            agent.close()
            for path in folder.glob("bm25/*/*.npz"):
                self._exchange(path)

    def _exchange(self, path: Path) -> None:
        with np.load(path) as file:
            columns: dict[str, Any] = dict(file)
        columns["names"] = columns["names"][::-1]
        np.savez(path, **columns)
