"""The agent `bm25`, the baseline for all others. Its index follows a corpus from state to state at the price of what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from searchmark.agents.chunks import Passages, document_name, lines_description, refuse_lines_of_selection
from searchmark.agents.lexical.analyser import IDENTIFIER_TOKENISER, WORD_TOKENISER, Analyser, AnalyserSelector, AnalyserSettings
from searchmark.agents.lexical.cache import ChunkCache, ChunkStore, RowsByContent, batch_documents
from searchmark.agents.lexical.postings import Field, GrowingArray, Ints, Postings, TermCounts, Vocabulary
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult
from searchmark.config.strict import Number, strict_record
from searchmark.formats.corpora.corpus import Changes, Corpus, DocumentSelection
from searchmark.io.store import pause_garbage_collector
from searchmark.records.document import Document

# From counted tokens to counted terms: what an analyser makes of counts, each distinct token analysed once.

NO_TERM = -1


class TermCounter:
    """The terms of a vocabulary under one analyser. Where every token is its own term, nothing is done and nothing is held."""

    def __init__(self, vocabulary: Vocabulary, analyser: Analyser) -> None:
        self.analyser = analyser
        self._vocabulary = vocabulary
        self._terms: dict[str, int] = vocabulary.numbers if analyser.keeps_tokens else {}
        self._term_of = GrowingArray(np.int32)  # by the number of the token

    def counts(self, tokens: TermCounts) -> TermCounts:
        """The same texts as counts of terms; a text may hold a term several times over, once for each of its forms."""
        if self.analyser.keeps_tokens:
            return tokens
        self._learn()
        terms = self._term_of.values[tokens.terms]
        is_term = terms != NO_TERM
        before = np.concatenate(([0], np.cumsum(is_term)))
        words = np.concatenate(([0], np.cumsum(tokens.counts * is_term, dtype=np.int64)))
        return TermCounts(before[tokens.starts], terms[is_term], tokens.counts[is_term], np.diff(words[tokens.starts]))

    def query(self, text: str) -> dict[int, int]:
        """The known terms of a query, in order, and how often each is asked for."""
        counts: dict[int, int] = {}
        for term in self.analyser.query_terms(text):
            number = self._terms.get(term)
            if number is not None:
                counts[number] = counts.get(number, 0) + 1
        return counts

    def number(self, term: str) -> int | None:
        """The number of a term; None if no document ever held it."""
        return self._terms.get(term)

    def _learn(self) -> None:
        """Analyse the tokens that are new in the vocabulary."""
        unknown = len(self._vocabulary) - len(self._term_of.values)
        # From the end: to pass over a million known tokens for every few new ones would take longer than these.
        new = list(islice(reversed(self._vocabulary.numbers), unknown))
        self._term_of.extend([self._number(token) for token in reversed(new)])

    def _number(self, token: str) -> int:
        term = self.analyser.term(token)
        return NO_TERM if term is None else self._terms.setdefault(term, len(self._terms))


# An index by terms that follows a corpus from state to state, at the price of what has changed.
#
# Contents are counted by token, chunk by chunk, and cached; those of a corpus that cannot be read by id are not, since it has
# no next state. The analyser turns counts of tokens into counts of terms on
# their way into the postings; if a new state needs another analyser than the last, the postings are made again and nothing is
# counted twice.

SAVE_THRESHOLD = 20_000  # contents that are new since the last time: a run that is killed loses no more

DOCUMENTS_PER_BATCH = 1 << 13  # documents that become postings at once, where their chunks are known

FieldsOfDocuments = tuple[Sequence[str], list[Field]]  # ids, and what their documents hold


@dataclass(frozen=True)
class Bm25Weights:
    """The numbers of the formula."""

    k1: float = 1.2  # how soon further occurrences of a term stop counting
    b: float = 0.75  # how much long documents are penalised
    name: float = 1.0  # what an occurrence in the name counts
    content: float = 1.0  # what an occurrence in the content counts


class IndexedCollection:
    """The documents of a corpus by their terms. ``cache`` None: where the corpus names the contents of its documents."""

    def __init__(self, options: AnalyserSettings, weighting: Bm25Weights, *, cache: bool | None = None) -> None:
        self._weighting, self._use_cache = weighting, cache
        self._choice = AnalyserSelector(options)
        self._vocabulary = Vocabulary(IDENTIFIER_TOKENISER if options.identifiers else WORD_TOKENISER)
        self._contents = ChunkStore(self._vocabulary)
        self._known: RowsByContent = {}  # the chunks of a content, by its name
        self._new: RowsByContent = {}  # those of them that are not in the cache yet
        self._cache: ChunkCache | None = None
        self._terms = TermCounter(self._vocabulary, Analyser(identifiers=options.identifiers))
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
        return {**self.analyser.describe(), "analyser": self._choice.description}

    def initialize(self, corpus: Corpus) -> None:
        """Index a corpus; chunks that are known from before are not tokenised again."""
        self._postings = self._empty()
        self._use(self._choice.of(corpus))
        use_cache = corpus.versions is not None if self._use_cache is None else self._use_cache
        if use_cache and self._cache is None:
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
        if changes.written:
            self._add(changes.corpus, changes.written)
        self._save(at_least=SAVE_THRESHOLD)

    def close(self) -> None:
        """Cache what is new."""
        self._save(at_least=1)

    def rank(self, query: str, k: int) -> list[tuple[str, float]]:
        """The best documents and their scores."""
        return self._postings.rank(self._terms.query(query), k)

    def idf(self, terms: Iterable[str]) -> Mapping[str, float]:
        """What each term is worth among the documents of the present state."""
        numbers = {term: self._terms.number(term) for term in terms}
        known_numbers = {term: number for term, number in numbers.items() if number is not None}
        # A number below zero is no term, so no document holds it.
        return dict(zip(numbers, self._postings.idf([known_numbers.get(term, -1) for term in numbers]), strict=True))

    def _use(self, analyser: Analyser) -> None:
        if analyser != self.analyser:
            self._terms = TermCounter(self._vocabulary, analyser)

    def _empty(self) -> Postings:
        weighting = self._weighting
        return Postings(weighting.k1, weighting.b, (weighting.name, weighting.content))

    def _add(self, corpus: Corpus, ids: Sequence[str] | None) -> None:
        """Index some documents of a corpus, or all."""
        with pause_garbage_collector():
            self._postings.add_parts(self._parts(corpus, ids))

    def _parts(self, corpus: Corpus, ids: Sequence[str] | None) -> Iterator[FieldsOfDocuments]:
        if ids is None and self._cache is None and not corpus.reads_by_id:
            # Such a corpus is never followed from state to state: its counts are kept as postings and not as chunks too.
            yield from map(self._count, batch_documents(corpus))
            return
        documents = self._documents(corpus, ids)
        yield from (
            self._part(documents[begin : begin + DOCUMENTS_PER_BATCH]) for begin in range(0, len(documents), DOCUMENTS_PER_BATCH)
        )

    def _documents(self, corpus: Corpus, ids: Sequence[str] | None) -> list[tuple[str, str, Ints]]:
        """Name, id and chunks of every document that is a text."""
        if corpus.versions is None:
            return self._read(corpus if ids is None else corpus.read(ids))
        versions = {document: corpus.versions[document] for document in (corpus.versions if ids is None else ids)}
        self._learn(versions.values())
        unknown = {version: document for document, version in versions.items() if version not in self._known}
        contents = self._contents.rows(corpus.read(list(unknown.values())))
        new_rows: RowsByContent = {versions[document.id]: rows for document, rows in contents}
        self._remember(new_rows)  # what was not read may be binary, or missing here and there elsewhere
        pairs = ((document, self._known.get(version)) for document, version in versions.items())
        return [(document, document, rows) for document, rows in pairs if rows is not None]

    def _read(self, documents: Iterable[Document]) -> list[tuple[str, str, Ints]]:
        """Documents whose contents have no names: they get some if they are to be cached."""
        if self._cache is None:
            return [(document_name(document), document.id, rows) for document, rows in self._contents.rows(documents)]
        entries: list[tuple[str, str, Ints]] = []
        for batch in batch_documents(documents):
            names = {document.id: sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest() for document in batch}
            self._learn(names.values())
            new = (document for document in batch if names[document.id] not in self._known)
            self._remember({names[document.id]: rows for document, rows in self._contents.rows(new)})
            rows_of = ((document, self._known[names[document.id]]) for document in batch)
            entries += [(document_name(document), document.id, rows) for document, rows in rows_of if rows is not None]
        return entries

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

    def _count(self, documents: Sequence[Document]) -> FieldsOfDocuments:
        """Documents counted as they are read."""
        own = np.arange(len(documents))
        content = self._vocabulary.count(document.text for document in documents)
        return [document.id for document in documents], self._fields(map(document_name, documents), content, own)

    def _part(self, documents: Sequence[tuple[str, str, Ints]]) -> FieldsOfDocuments:
        """Documents by the rows of their chunks."""
        names, ids, rows = zip(*documents, strict=True)
        owners = np.repeat(np.arange(len(ids)), np.fromiter(map(len, rows), np.int64, len(rows)))
        return ids, self._fields(names, self._contents.counts(np.concatenate([np.empty(0, np.int64), *rows])), owners)

    def _fields(self, names: Iterable[str], content: TermCounts, owners: Ints) -> list[Field]:
        counts = self._vocabulary.count(names)
        return [(self._terms.counts(counts), np.arange(len(counts))), (self._terms.counts(content), owners)]


# The ``bm25`` agent: the ranking that every other one should be compared with.
#
# Files are searched by path and content, documents by title and text. `searchmark.agents.lexical` has the rest: `postings` the
# formula, `tokens` what a token is, `analyser` what becomes of it, and `choice` which analyser a corpus gets.


@strict_record
class Bm25Settings(AnalyserSettings):
    """The options of ``bm25``, beside those of its analyser.

    ``language``, ``stop_words``, ``stemming``, ``identifiers``: see `AnalyserSettings`.
    ``k1``: how soon further occurrences of a term stop counting; 0 asks only whether a term is there.
    ``b``: how much long documents are held back, from 0 (not at all) to 1 (in proportion to their length).
    ``name_weight``: how many times an occurrence in the path or title counts; 0 leaves that field out.
    ``content_weight``: the same for the content.
    ``fields``: what of a document is searched, by the names of its fields; ``title`` counts as its name, all others as content.
    ``filter``: only documents with these values, as ``{brand: [adidas, nike]}``.
    ``lines``: hits are passages, with their lines, and a file may be hit several times.
    ``cache``: cache what was counted on disk for the next run. The default is to do so where a corpus names the
    contents of its documents, as Git does, because then they need not even be read.
    """

    k1: Number = 1.2
    b: Number = 0.75
    name_weight: Number = 1.0
    content_weight: Number = 1.0
    fields: list[str] | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    lines: bool = False
    cache: bool | None = None

    def __post_init__(self) -> None:
        refuse_lines_of_selection(self.lines, DocumentSelection.of(self.fields, self.filter))
        if not 0 <= self.k1 < inf or not 0 <= self.b <= 1:
            raise ValueError("k1 must not be negative, and b must lie between 0 and 1")
        weights = (self.name_weight, self.content_weight)
        if not all(0 <= weight < inf for weight in weights) or not any(weights):
            raise ValueError("weights must not be negative, and one of them must not be 0")


class Bm25Agent(RetrievalAgent):
    """BM25 over what an analyser makes of identifiers and words; follows a corpus at the price of what has changed."""

    Config = Bm25Settings

    def __init__(self, config: Bm25Settings | None = None) -> None:
        self._config = config or Bm25Settings()
        options = self._config
        weighting = Bm25Weights(options.k1, options.b, options.name_weight, options.content_weight)
        self._selection = DocumentSelection.of(options.fields, options.filter)
        self._passages = Passages() if options.lines else None
        self.collection = IndexedCollection(options, weighting, cache=options.cache)

    @property
    def chunks_tokenised(self) -> int:
        """How many chunks were ever taken apart, each distinct one once; those of a corpus that is read only once are not kept."""
        return self.collection.chunks_tokenised

    def initialize(self, corpus: Corpus) -> None:
        selection = self._selection.corpus(corpus)
        self.collection.initialize(selection if self._passages is None else self._passages.corpus(selection))

    def update(self, changes: Changes) -> bool:
        selection = self._selection.changes(changes)
        self.collection.update(selection if self._passages is None else self._passages.changes(selection))
        return True

    def close(self) -> None:
        self.collection.close()

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        ranking = self.collection.rank(query, k)
        ids, scores = [document for document, _ in ranking], [score for _, score in ranking]
        return RetrievalResult(ids, scores) if self._passages is None else self._passages.hits(ids, scores)

    def index_bytes(self) -> int:
        return self.collection.nbytes

    def describe(self) -> Mapping[str, Any]:
        options = self._config
        weights = {"name_weight": options.name_weight, "content_weight": options.content_weight}
        index = {**self.collection.describe(), **self._selection.describe(), **lines_description(options.lines)}
        return {"ranking": "bm25", **index, "k1": options.k1, "b": options.b, **weights}
