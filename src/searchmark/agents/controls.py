"""Controls: agents that cannot know the answer, and show what a score is worth.

``path-match`` sees nothing but names, so its score is what the queries give away. ``popular`` answers every query alike,
so its score is what habit gives away. ``random`` is what no search at all would reach.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.lexical.postings import Postings
from searchmark.agents.lexical.tokens import TOKENISER
from searchmark.agents.lexical.vocabulary import Vocabulary
from searchmark.agents.names import name_of
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.errors import DamagedRepository, UsageError
from searchmark.history.log import commits_per_path
from searchmark.history.repository import open_repository, open_repository_around
from searchmark.options.strict import strict_record

K1, B = 1.2, 0.75


class PathMatchAgent(RetrievalAgent):
    """BM25 over the words of paths, or of titles where documents have them; contents are not read."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._postings = Postings(K1, B, (1.0,))

    def initialize(self, corpus: Corpus) -> None:
        self._postings = Postings(K1, B, (1.0,))
        self._add({document.id: name_of(document) for document in corpus})

    def update(self, changes: Changes) -> bool:
        self._postings.remove((*changes.removed, *changes.written))
        self._add({document.id: name_of(document) for document in changes.corpus.read(changes.written)})
        return True

    def _add(self, names: dict[str, str]) -> None:
        self._postings.add(list(names), [(self._vocabulary.count(names.values()), np.arange(len(names)))])

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found = self._postings.rank(self._vocabulary.query(query), k)
        return RetrievalResult([document for document, _ in found], [score for _, score in found])

    def index_bytes(self) -> int:
        return self._postings.nbytes

    def describe(self) -> Mapping[str, Any]:
        return {"ranking": "bm25 of names", "tokenizer": TOKENISER, "k1": K1, "b": B}


class PopularAgent(RetrievalAgent):
    """The files that were changed by most commits so far, whatever is asked. There must be a Git history.

    It is that of the folder, or that of the commit whose tree is searched: what came later does not count.
    """

    def __init__(self) -> None:
        self._best: list[tuple[str, int]] = []
        self._commits: Counter[str] = Counter()
        self._origin: tuple[Path, str] | None = None

    def initialize(self, corpus: Corpus) -> None:
        self._origin, self._commits = corpus.origin, _commits_per_file(corpus)
        self._order(corpus)

    def update(self, changes: Changes) -> bool:
        """From one commit to another: only the commits between them are counted."""
        before, after = self._origin, changes.corpus.origin
        if before is None or after is None or before[0] != after[0]:
            return False
        with open_repository(after[0]) as repository:
            self._commits.update(commits_per_path(repository, f"{before[1]}..{after[1]}"))
            self._commits.subtract(commits_per_path(repository, f"{after[1]}..{before[1]}"))
        self._origin = after
        self._order(changes.corpus)
        return True

    def _order(self, corpus: Corpus) -> None:
        ids = corpus.versions or [document.id for document in corpus]
        changed = [(path, self._commits[path]) for path in ids if self._commits[path] > 0]
        if not changed:
            raise UsageError(f"the agent 'popular' needs the history of {corpus.name!r}, and no file of it is in Git")
        self._best = sorted(changed, key=lambda entry: (-entry[1], entry[0]))

    def retrieve(self, query: str, k: int) -> RetrievalResult:  # noqa: ARG002  # every query gets the same answer
        return RetrievalResult([path for path, _ in self._best[:k]], [float(times) for _, times in self._best[:k]])

    def describe(self) -> Mapping[str, Any]:
        return {"ranking": "commits per file"}

    @classmethod
    def missing(cls) -> str | None:
        return None if shutil.which("git") else "needs git on the PATH"


def _commits_per_file(corpus: Corpus) -> Counter[str]:
    """The history that leads to a corpus, of a repository whose objects were checked."""
    try:
        if corpus.origin is not None:
            with open_repository(corpus.origin[0]) as repository:
                repository.check_objects(blobs=False)
                return commits_per_path(repository, corpus.origin[1])
        return _commits_below(corpus)
    except DamagedRepository:
        raise
    except UsageError as error:
        raise UsageError(f"the agent 'popular' needs a Git history; {error}") from error


def _commits_below(corpus: Corpus) -> Counter[str]:
    if corpus.folder is None:
        raise UsageError(f"the corpus {corpus.name!r} is not a folder with one")
    with open_repository_around(corpus.folder) as (repository, below):
        repository.check_objects(blobs=False)
        return commits_per_path(repository, repository.commit(), below)


@strict_record
class RandomConfig:
    """The options of ``random``. ``seed``: a different one gives different answers, the same one always the same."""

    seed: int = 0


class RandomAgent(RetrievalAgent):
    """Documents in an order that depends on seed, query and ids alone, so not on the order of the corpus."""

    Config = RandomConfig

    def __init__(self, config: RandomConfig | None = None) -> None:
        self._seed = (config or RandomConfig()).seed
        self._ids: list[str] = []
        self._hashes: NDArray[np.uint64] = np.empty(0, np.uint64)

    def initialize(self, corpus: Corpus) -> None:
        self._ids = sorted(document.id for document in corpus)
        self._hashes = np.fromiter(map(_hash, self._ids), np.uint64, len(self._ids))

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        keys = _mixed(self._hashes ^ np.uint64(_hash(f"{self._seed}\0{query}")))
        best = np.argsort(keys, kind="stable")[::-1][:k]
        return RetrievalResult([self._ids[place] for place in best], (keys[best] / 2.0**64).tolist())

    def describe(self) -> Mapping[str, Any]:
        return {"ranking": "random", "seed": self._seed}


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: without it, ids whose hashes are alike would stay neighbours for every query."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
