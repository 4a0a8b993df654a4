"""Agents to compare with: path-match, popular, random, fixed answers, and one that is broken on purpose.

They show what a score is worth.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.chunks import document_name
from searchmark.agents.lexical.analyser import TOKENISER
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.agents.lexical.postings import Postings, Vocabulary
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult
from searchmark.config.strict import Whole, strict_record
from searchmark.errors import DamagedRepository, UsageError
from searchmark.formats.corpora.corpus import Changes, Corpus
from searchmark.git.log import commits_per_path
from searchmark.git.repository import open_repository, open_repository_around
from searchmark.records.columns import split_mix

# Controls: agents that cannot know the answer, and show what a score is worth.
#
# ``path-match`` sees nothing but names, so its score is what the queries give away. ``popular`` answers every query alike,
# so its score is what habit gives away. ``random`` is what no search at all would reach.

K1, B = 1.2, 0.75


class PathMatchAgent(RetrievalAgent):
    """BM25 over the words of paths, or of titles where documents have them; contents are not read."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._postings = Postings(K1, B, (1.0,))

    def initialize(self, corpus: Corpus) -> None:
        self._postings = Postings(K1, B, (1.0,))
        self._add({document.id: document_name(document) for document in corpus})

    def update(self, changes: Changes) -> bool:
        self._postings.remove((*changes.removed, *changes.written))
        self._add({document.id: document_name(document) for document in changes.corpus.read(changes.written)})
        return True

    def _add(self, names: dict[str, str]) -> None:
        self._postings.add(list(names), [(self._vocabulary.count(names.values()), np.arange(len(names)))])

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        scores_of = self._postings.rank(self._vocabulary.query(query), k)
        return RetrievalResult([document for document, _ in scores_of], [score for _, score in scores_of])

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
        counts = [(path, self._commits[path]) for path in ids if self._commits[path] > 0]
        if not counts:
            raise UsageError(f"the agent 'popular' needs the history of {corpus.name!r}, and no file of it is in Git")
        self._best = sorted(counts, key=lambda entry: (-entry[1], entry[0]))

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
        return _commits_below_folder(corpus)
    except DamagedRepository:
        raise
    except UsageError as error:
        raise UsageError(f"the agent 'popular' needs a Git history; {error}") from error


def _commits_below_folder(corpus: Corpus) -> Counter[str]:
    if corpus.folder is None:
        raise UsageError(f"the corpus {corpus.name!r} is not a folder with one")
    with open_repository_around(corpus.folder) as (repository, below):
        repository.check_objects(blobs=False)
        return commits_per_path(repository, repository.commit(), below)


@strict_record
class RandomSettings:
    """The options of ``random``. ``seed``: a different one gives different answers, the same one always the same."""

    seed: Whole = 0


class RandomAgent(RetrievalAgent):
    """Documents in an order that depends on seed, query and ids alone, so not on the order of the corpus."""

    Config = RandomSettings

    def __init__(self, config: RandomSettings | None = None) -> None:
        self._seed = (config or RandomSettings()).seed
        self._ids: list[str] = []
        self._hashes: NDArray[np.uint64] = np.empty(0, np.uint64)

    def initialize(self, corpus: Corpus) -> None:
        self._ids = sorted(document.id for document in corpus)
        self._hashes = np.fromiter(map(_hash, self._ids), np.uint64, len(self._ids))

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        # Mixed, since ids whose hashes are alike would otherwise stay neighbours for every query.
        keys = split_mix(self._hashes ^ np.uint64(_hash(f"{self._seed}\0{query}")))
        best = np.argsort(keys, kind="stable")[::-1][:k]
        return RetrievalResult([self._ids[place] for place in best], (keys[best] / 2.0**64).tolist())

    def describe(self) -> Mapping[str, Any]:
        return {"ranking": "random", "seed": self._seed}


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


# An agent that knows its answers by heart: for tests, notebooks, and results that come from elsewhere.


@strict_record
class InMemorySettings:
    """``answers``: for each query the ids to return, best first."""

    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class InMemoryAgent(RetrievalAgent):
    """Returns what its config says; a query that it does not know finds nothing."""

    Config = InMemorySettings

    def __init__(self, config: InMemorySettings) -> None:
        self._answers = config.answers

    def initialize(self, corpus: Corpus) -> None:
        """There is nothing to prepare."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(list(self._answers.get(query, ()))[:k])


# An agent that was broken on purpose, to see a gate turn red.


class WorstFirst(Bm25Agent):
    """bm25 that returns its first hits in the wrong order, as after mixing up distance and similarity."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        """The same ten hits, the worst first."""
        answer = super().retrieve(query, min(k, 10))
        return RetrievalResult([*reversed(answer.files)])
