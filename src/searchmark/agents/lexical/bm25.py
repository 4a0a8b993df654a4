"""An index by terms that follows a corpus from state to state, at the price of what has changed.

Contents are counted by token, chunk by chunk, and cached; those of a corpus that cannot be read by id are not, since it has
no next state. The analyser turns counts of tokens into counts of terms on
their way into the postings; if a new state needs another analyser than the last, the postings are made again and nothing is
counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from searchmark.agents.lexical.analysed_counts import AnalysedCounts
from searchmark.agents.lexical.analyser import Analyser, AnalyserOptions
from searchmark.agents.lexical.choice import AnalyserChoice
from searchmark.agents.lexical.chunk_store import Contents, batches
from searchmark.agents.lexical.disk_cache import ChunkCache, RowsByContent
from searchmark.agents.lexical.postings import Field, Postings
from searchmark.agents.lexical.tokens import IDENTIFIERS, WORDS
from searchmark.agents.lexical.vocabulary import Counts, Ints, Vocabulary
from searchmark.agents.names import name_of
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.files.store import collector_paused
from searchmark.records import Document

SAVED_AT = 20_000  # contents that are new since the last time: a run that is killed loses no more
AT_ONCE = 1 << 13  # documents that become postings at once, where their chunks are known
Part = tuple[Sequence[str], list[Field]]  # ids, and what their documents hold


@dataclass(frozen=True)
class Weighting:
    """The numbers of the formula: ``k1``, ``b``, and what an occurrence in the name and in the content counts."""

    k1: float = 1.2
    b: float = 0.75
    name: float = 1.0
    content: float = 1.0


class Collection:
    """The documents of a corpus by their terms. ``cache`` None: where the corpus names the contents of its documents."""

    def __init__(self, options: AnalyserOptions, weighting: Weighting, *, cache: bool | None = None) -> None:
        self._weighting, self._cached = weighting, cache
        self._choice = AnalyserChoice(options)
        self._vocabulary = Vocabulary(IDENTIFIERS if options.identifiers else WORDS)
        self._contents = Contents(self._vocabulary)
        self._known: RowsByContent = {}  # the chunks of a content, by its name
        self._new: RowsByContent = {}  # those of them that are not in the cache yet
        self._cache: ChunkCache | None = None
        self._terms = AnalysedCounts(self._vocabulary, Analyser(identifiers=options.identifiers))
        self._postings = self._empty()

    @property
    def analyser(self) -> Analyser:
        """The one that the present state has chosen."""
        return self._terms.analyser

    @property
    def chunks_tokenised(self) -> int:
        """How many chunks were ever taken apart, each distinct one once; those of a corpus that is read only once are not kept."""
        return self._contents.chunks_tokenised

    @property
    def nbytes(self) -> int:
        return self._postings.nbytes + self._contents.nbytes

    @property
    def mean_length(self) -> float:
        """The mean length of a document, in terms."""
        return self._postings.mean_length

    def describe(self) -> dict[str, Any]:
        """The analyser, and why it is this one."""
        return {**self.analyser.describe(), "analyser": self._choice.described}

    def initialize(self, corpus: Corpus) -> None:
        """Index a corpus; chunks that are known from before are not tokenised again."""
        self._postings = self._empty()
        self._use(self._choice.of(corpus))
        wanted = corpus.versions is not None if self._cached is None else self._cached
        if wanted and self._cache is None:
            self._cache = ChunkCache(self._contents)
        self._add(corpus, None)
        self._save(at_least=1)

    def update(self, changes: Changes) -> None:
        """Follow the corpus to its next state."""
        analyser = self._choice.after(changes)
        if analyser != self.analyser:
            self.initialize(changes.corpus)
            return
        self._postings.remove((*changes.removed, *changes.written))
        self._contents.forget(changes.removed)
        if changes.written:
            self._add(changes.corpus, changes.written)
        self._save(at_least=SAVED_AT)

    def close(self) -> None:
        """Cache what is new."""
        self._save(at_least=1)

    def rank(self, query: str, k: int) -> list[tuple[str, float]]:
        """The best documents and their scores."""
        return self._postings.rank(self._terms.query(query), k)

    def idf(self, terms: Iterable[str]) -> Mapping[str, float]:
        """What each term is worth among the documents of the present state."""
        numbers = {term: self._terms.number(term) for term in terms}
        held = {term: number for term, number in numbers.items() if number is not None}
        # A number below zero is no term, so no document holds it.
        return dict(zip(numbers, self._postings.idf([held.get(term, -1) for term in numbers]), strict=True))

    def _use(self, analyser: Analyser) -> None:
        if analyser != self.analyser:
            self._terms = AnalysedCounts(self._vocabulary, analyser)

    def _empty(self) -> Postings:
        weighting = self._weighting
        return Postings(weighting.k1, weighting.b, (weighting.name, weighting.content))

    def _add(self, corpus: Corpus, ids: Sequence[str] | None) -> None:
        """Index some documents of a corpus, or all."""
        with collector_paused():
            self._postings.add_parts(self._parts(corpus, ids))

    def _parts(self, corpus: Corpus, ids: Sequence[str] | None) -> Iterator[Part]:
        if ids is None and self._cache is None and not corpus.reads_by_id:
            # Such a corpus is never followed from state to state: its counts are kept as postings and not as chunks too.
            yield from map(self._counted, batches(corpus))
            return
        documents = self._documents(corpus, ids)
        yield from (self._part(documents[begin : begin + AT_ONCE]) for begin in range(0, len(documents), AT_ONCE))

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

    def _counted(self, documents: Sequence[Document]) -> Part:
        """Documents counted as they are read."""
        own = np.arange(len(documents))
        content = self._vocabulary.count(document.text for document in documents)
        return [document.id for document in documents], self._fields(map(name_of, documents), content, own)

    def _part(self, documents: Sequence[tuple[str, str, Ints]]) -> Part:
        """Documents by the rows of their chunks."""
        names, ids, rows = zip(*documents, strict=True)
        owners = np.repeat(np.arange(len(ids)), np.fromiter(map(len, rows), np.int64, len(rows)))
        return ids, self._fields(names, self._contents.counts(np.concatenate([np.empty(0, np.int64), *rows])), owners)

    def _fields(self, names: Iterable[str], content: Counts, owners: Ints) -> list[Field]:
        counted = self._vocabulary.count(names)
        return [(self._terms.counts(counted), np.arange(len(counted))), (self._terms.counts(content), owners)]
