"""The ``bm25`` agent: the ranking that every other one should be held against.

Files are searched by path and content, documents by title and text. `searchmark.agents.postings` has the formula,
`searchmark.agents.tokens` what a token is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.contents import Contents
from searchmark.agents.postings import Postings
from searchmark.agents.vocabulary import Ints, Vocabulary
from searchmark.corpora import Changes, Corpus
from searchmark.records import Document
from searchmark.store import collector_paused


@dataclass(frozen=True)
class Bm25Config:
    """The options of ``bm25``.

    ``k1``: how soon further occurrences of a term stop counting; 0 asks only whether a term is there.
    ``b``: how much long documents are held back, from 0 (not at all) to 1 (in proportion to their length).
    ``name_weight``: how many times an occurrence in the path or title counts; 0 leaves that field out.
    ``content_weight``: the same for the content.
    """

    k1: float = 1.2
    b: float = 0.75
    name_weight: float = 1.0
    content_weight: float = 1.0

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise ValueError("k1 must not be negative, and b must lie between 0 and 1")
        if min(self.name_weight, self.content_weight) < 0 or not self.name_weight + self.content_weight:
            raise ValueError("weights must not be negative, and one of them must not be 0")


class Bm25Agent(RetrievalAgent):
    """BM25 with identifier-aware tokens; follows a corpus from state to state at the price of what has changed."""

    Config = Bm25Config

    def __init__(self, config: Bm25Config | None = None) -> None:
        self._config = config or Bm25Config()
        self._vocabulary = Vocabulary()
        self._contents = Contents(self._vocabulary)
        self._by_version: dict[str, Ints | None] = {}  # None: there is no text
        self._postings = self._empty()

    @property
    def chunks_tokenised(self) -> int:
        """How many chunks were ever taken apart: not more than there are distinct ones."""
        return self._contents.chunks_tokenised

    def _empty(self) -> Postings:
        config = self._config
        return Postings(config.k1, config.b, (config.name_weight, config.content_weight))

    def initialize(self, corpus: Corpus) -> None:
        """Index a corpus; chunks that are known from before are not tokenised again."""
        self._postings = self._empty()
        self._add(corpus, None)

    def update(self, changes: Changes) -> bool:
        self._postings.remove((*changes.removed, *changes.written))
        self._contents.forget(changes.removed)
        if changes.written:
            self._add(changes.corpus, changes.written)
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found = self._postings.rank(self._vocabulary.query(query), k)
        return RetrievalResult([document for document, _ in found], [score for _, score in found])

    def index_bytes(self) -> int:
        return self._postings.nbytes + self._contents.nbytes

    def _add(self, corpus: Corpus, ids: Sequence[str] | None) -> None:
        """Index some documents of a corpus, or all."""
        with collector_paused():
            self._index(self._documents(corpus, ids))

    def _documents(self, corpus: Corpus, ids: Sequence[str] | None) -> list[tuple[str, str, Ints]]:
        """Name, id and chunks of every document that is a text."""
        rows_of = self._contents.rows if ids is None else self._contents.rows_of_versions
        if corpus.versions is None:
            found = rows_of(corpus if ids is None else corpus.read(ids))
            return [(name_of(document), document.id, rows) for document, rows in found]
        wanted = {document: corpus.versions[document] for document in (corpus.versions if ids is None else ids)}
        unknown = {version: document for document, version in wanted.items() if version not in self._by_version}
        self._by_version |= dict.fromkeys(unknown)
        self._by_version |= {wanted[document.id]: rows for document, rows in rows_of(corpus.read(list(unknown.values())))}
        known = ((document, self._by_version[version]) for document, version in wanted.items())
        return [(document, document, rows) for document, rows in known if rows is not None]

    def _index(self, documents: Sequence[tuple[str, str, Ints]]) -> None:
        names, ids, rows = zip(*documents, strict=True) if documents else ((), (), ())
        owners = np.repeat(np.arange(len(ids)), np.fromiter(map(len, rows), np.int64, len(rows)))
        content = self._contents.counts(np.concatenate([np.empty(0, np.int64), *rows]))
        self._postings.add(ids, [(self._vocabulary.count(names), np.arange(len(ids))), (content, owners)])


def name_of(document: Document) -> str:
    """What a document is called: its title, or else its id, which is the path of a file."""
    return document.title or document.id
