"""The ``bm25`` agent: the ranking that every other one should be held against.

Files are searched by path and content, documents by title and text. `searchmark.agents.lexical.postings` has the formula,
`searchmark.agents.lexical.tokens` what a token is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.lexical.chunk_store import Contents, batches
from searchmark.agents.lexical.disk_cache import ChunkCache, RowsByContent
from searchmark.agents.lexical.postings import Postings
from searchmark.agents.lexical.tokens import TOKENISER
from searchmark.agents.lexical.vocabulary import Ints, Vocabulary
from searchmark.agents.names import name_of
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.files.store import collector_paused
from searchmark.options.strict import strict_record
from searchmark.records import Document

SAVED_AT = 20_000  # contents that are new since the last time: a run that is killed loses no more


@strict_record
class Bm25Config:
    """The options of ``bm25``.

    ``k1``: how soon further occurrences of a term stop counting; 0 asks only whether a term is there.
    ``b``: how much long documents are held back, from 0 (not at all) to 1 (in proportion to their length).
    ``name_weight``: how many times an occurrence in the path or title counts; 0 leaves that field out.
    ``content_weight``: the same for the content.
    ``cache``: cache what was counted on disk for the next run. The default is to do so where a corpus names the
    contents of its documents, as Git does, because then they need not even be read.
    """

    k1: float = 1.2
    b: float = 0.75
    name_weight: float = 1.0
    content_weight: float = 1.0
    cache: bool | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.k1 < inf or not 0 <= self.b <= 1:
            raise ValueError("k1 must not be negative, and b must lie between 0 and 1")
        weights = (self.name_weight, self.content_weight)
        if not all(0 <= weight < inf for weight in weights) or not any(weights):
            raise ValueError("weights must not be negative, and one of them must not be 0")


class Bm25Agent(RetrievalAgent):
    """BM25 with identifier-aware tokens; follows a corpus from state to state at the price of what has changed."""

    Config = Bm25Config

    def __init__(self, config: Bm25Config | None = None) -> None:
        self._config = config or Bm25Config()
        self._vocabulary = Vocabulary()
        self._contents = Contents(self._vocabulary)
        self._known: RowsByContent = {}  # the chunks of a content, by its name
        self._new: RowsByContent = {}  # those of them that are not in the cache yet
        self._cache: ChunkCache | None = None
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
        wanted = corpus.versions is not None if self._config.cache is None else self._config.cache
        if wanted and self._cache is None:
            self._cache = ChunkCache(self._contents)
        self._add(corpus, None)
        self._save(at_least=1)

    def update(self, changes: Changes) -> bool:
        self._postings.remove((*changes.removed, *changes.written))
        self._contents.forget(changes.removed)
        if changes.written:
            self._add(changes.corpus, changes.written)
        self._save(at_least=SAVED_AT)
        return True

    def close(self) -> None:
        self._save(at_least=1)

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found = self._postings.rank(self._vocabulary.query(query), k)
        return RetrievalResult([document for document, _ in found], [score for _, score in found])

    def index_bytes(self) -> int:
        return self._postings.nbytes + self._contents.nbytes

    def describe(self) -> Mapping[str, Any]:
        options = asdict(self._config)
        options.pop("cache")  # it changes no answer
        return {"ranking": "bm25", "tokenizer": TOKENISER, **options}

    def _add(self, corpus: Corpus, ids: Sequence[str] | None) -> None:
        """Index some documents of a corpus, or all."""
        with collector_paused():
            self._index(self._documents(corpus, ids))

    def _documents(self, corpus: Corpus, ids: Sequence[str] | None) -> list[tuple[str, str, Ints]]:
        """Name, id and chunks of every document that is a text."""
        if corpus.versions is None:
            return self._read(corpus) if ids is None else self._read_again(corpus.read(ids))
        wanted = {document: corpus.versions[document] for document in (corpus.versions if ids is None else ids)}
        self._learn(wanted.values())
        unknown = {version: document for document, version in wanted.items() if version not in self._known}
        rows_of = self._contents.rows if ids is None else self._contents.rows_of_versions
        read: RowsByContent = {wanted[document.id]: rows for document, rows in rows_of(corpus.read(list(unknown.values())))}
        self._remember(read)  # what was not read may be binary, or missing here and there elsewhere
        known = ((document, self._known.get(version)) for document, version in wanted.items())
        return [(document, document, rows) for document, rows in known if rows is not None]

    def _read_again(self, documents: Iterable[Document]) -> list[tuple[str, str, Ints]]:
        return [(name_of(document), document.id, rows) for document, rows in self._contents.rows_of_versions(documents)]

    def _read(self, documents: Iterable[Document]) -> list[tuple[str, str, Ints]]:
        """Documents whose contents have no names: they get some if they are to be cached."""
        if self._cache is None:
            return [(name_of(document), document.id, rows) for document, rows in self._contents.rows(documents)]
        found: list[tuple[str, str, Ints]] = []
        for batch in batches(documents):
            names = {document.id: sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest() for document in batch}
            self._learn(names.values())
            new = (document for document in batch if names[document.id] not in self._known)
            self._remember({names[document.id]: rows for document, rows in self._contents.rows(new)})
            rows_of = ((document, self._known[names[document.id]]) for document in batch)
            found += [(name_of(document), document.id, rows) for document, rows in rows_of if rows is not None]
        return found

    def _learn(self, names: Iterable[str]) -> None:
        """Load what the cache has of contents that are not known yet."""
        if self._cache is not None:
            self._known |= self._cache.find(name for name in names if name not in self._known)

    def _remember(self, contents: RowsByContent) -> None:
        self._known |= contents
        if self._cache is not None:
            self._new |= contents

    def _save(self, at_least: int) -> None:
        if self._cache is not None and len(self._new) >= at_least:
            self._cache.save(self._new)
            self._new = {}

    def _index(self, documents: Sequence[tuple[str, str, Ints]]) -> None:
        names, ids, rows = zip(*documents, strict=True) if documents else ((), (), ())
        owners = np.repeat(np.arange(len(ids)), np.fromiter(map(len, rows), np.int64, len(rows)))
        content = self._contents.counts(np.concatenate([np.empty(0, np.int64), *rows]))
        self._postings.add(ids, [(self._vocabulary.count(names), np.arange(len(ids))), (content, owners)])
